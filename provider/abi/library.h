/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The libibverbs in this process: which release it is, the four private
 * functions that tern calls, and what depends on its layout.
 *
 * The functions are looked up, not linked: their names and version nodes change
 * with each private ABI. So the one file that is built serves every release,
 * under the name that each looks for, and needs no package of a certain version.
 */
#ifndef TERN_PROVIDER_ABI_LIBRARY_H
#define TERN_PROVIDER_ABI_LIBRARY_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "abi/release.h"
#include "abi/verbs_private.h"

namespace tern::abi {

struct Library {
	const Release *release;
	size_t qp_comp_mask; /* offset in verbs_qp */

	/* Adds the provider to the library's list. ops must stay valid for ever. */
	void (*register_driver)(const verbs_device_ops *ops);
	/*
	 * Returns zeroed memory of alloc_size bytes, in which the library's verbs_context at
	 * context_offset is initialised, or NULL and errno. cmd_fd then belongs to the context,
	 * on failure too. The provider frees the memory with free().
	 */
	void *(*init_and_alloc_context)(ibv_device *device, int cmd_fd, size_t alloc_size,
					size_t context_offset, uint32_t driver_id);
	/* Copies the functions that are set in a table of release->num_ops. */
	void (*set_ops)(verbs_context *vctx, const void *ops);
	/* Closes the file descriptors; the memory stays. */
	void (*uninit_context)(verbs_context *vctx);
};

/* Filled in by find_library(). */
extern Library library;

/*
 * NULL if tern knows the loaded library, else a static string that says why
 * not. The plugin's constructor calls it before all else here.
 */
const char *find_library();

/*
 * The entry of kReleases for a library that has these version nodes, or NULL
 * and a static string in *why. has(node, symbol): does the library have symbol
 * (NULL: any) of that version node? It accepts unknown names.
 */
const Release *choose_release(bool (*has)(const char *node, const char *symbol), const char **why);

/* Put ops into table[kMaxOps] in the order of that release. Returns how many it has. */
size_t pack_ops(const verbs_context_ops &ops, const Release &release, void (**table)());

/* The library's verbs_context, which ends with the public one. */
verbs_context *context_of(ibv_context *context);

/*
 * Give the context tern's operations. NULL, or a static string if the library did
 * not put them where it should: then it is not the release that it seemed to be.
 */
const char *set_ops(ibv_context *context, const verbs_context_ops &ops);

/* Has the library's ibv_qp_ex the operation at this offset? */
bool has_wr_op(size_t offset);

/* Put op there. */
template <typename Function> void set_wr_op(verbs_qp *qp, size_t offset, Function *op)
{
	memcpy(&qp->room[offset], &op, sizeof(op));
}

/* Mark the QP as one with the ibv_wr_* interface, for ibv_qp_to_qp_ex(). */
void set_qp_ex(verbs_qp *qp);

/* Print to stderr why this libibverbs cannot be served. */
void complain(const char *why);

} // namespace tern::abi

#endif
