/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The libibverbs in this process: which release it is, the four private
 * functions that tern calls, and what is done by its layout.
 *
 * The functions are looked up, not linked. Their names and version nodes change
 * with each private ABI, and the host that builds has one libibverbs only: so
 * the one file that is built serves every release, under the name that each
 * looks for, and needs no package of a certain version.
 */
#ifndef TERN_PROVIDER_ABI_LIBRARY_H
#define TERN_PROVIDER_ABI_LIBRARY_H

#include <cstddef>
#include <cstdint>

#include "abi/release.h"
#include "abi/verbs_private.h"

namespace tern::abi {

struct Library {
	const Release *release;
	size_t qp_comp_mask; /* offset in verbs_qp */

	/* Adds the provider to the library's list; ops must live for ever. */
	void (*register_driver)(const verbs_device_ops *ops);
	/*
	 * Zeroed memory of alloc_size bytes with the library's verbs_context at context_offset
	 * initialised. cmd_fd belongs to the context from then on, also on failure (NULL,
	 * errno). The memory is freed by the provider with free().
	 */
	void *(*init_and_alloc_context)(ibv_device *device, int cmd_fd, size_t alloc_size,
					size_t context_offset, uint32_t driver_id);
	/* Copies what is set in a table of release->num_ops functions. */
	void (*set_ops)(verbs_context *vctx, const void *ops);
	/* Closes the file descriptors; the memory stays. */
	void (*uninit_context)(verbs_context *vctx);
};

/* What find_library() found. */
extern Library library;

/*
 * NULL if the loaded library is one that tern knows, else a static string that
 * says why not. Call from the plugin's constructor, before all else here.
 */
const char *find_library();

/*
 * The entry of kReleases for a library that has these version nodes, or NULL
 * and a static string. has(node, symbol) tells of a symbol (NULL: any) of a
 * version node; both may be of any name.
 */
const Release *choose_release(bool (*has)(const char *node, const char *symbol), const char **why);

/* ops as that release's library wants them, in table[kMaxOps]; returns how many there are. */
size_t pack_ops(const verbs_context_ops &ops, const Release &release, void (**table)());

/* The library's verbs_context, which ends with the public one. */
verbs_context *context_of(ibv_context *context);

/*
 * Give the context tern's operations. NULL, or a static string if the library
 * did not take them as it should: then it is not what it seemed.
 */
const char *set_ops(ibv_context *context, const verbs_context_ops &ops);

/* The QP has the ibv_wr_* interface: ibv_qp_to_qp_ex() may tell. */
void set_qp_ex(verbs_qp *qp);

/* Say on stderr that, and why, this libibverbs cannot be served. */
void complain(const char *why);

} // namespace tern::abi

#endif
