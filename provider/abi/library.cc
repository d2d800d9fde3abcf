// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Identifies the loaded libibverbs by what it exports: the private version node
 * names the private ABI, the newest public node the length of its tables, and
 * ibv_qp_to_qp_ex() shows where the QP's comp_mask is. Each context is checked
 * again: its size, and the places of its operations.
 */
#include "abi/library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <iterator>

namespace tern::abi {
namespace {

constexpr unsigned int kNoOffset = 0;

/* The program's libibverbs. The plugin is linked with it, so it is never closed. */
void *handle;

/* A version node is an absolute symbol of its own name with value 0: only dlerror() tells. */
bool exports(const char *node, const char *symbol)
{
	(void)dlerror();
	(void)dlvsym(handle, symbol ? symbol : node, node);
	return dlerror() == nullptr;
}

bool has_public_level(bool (*has)(const char *, const char *), unsigned int level)
{
	char node[32];

	(void)snprintf(node, sizeof(node), "IBVERBS_1.%u", level);
	return has(node, nullptr);
}

bool has_private_abi(bool (*has)(const char *, const char *), unsigned int abi)
{
	char node[32];
	char symbol[40];

	(void)snprintf(node, sizeof(node), "IBVERBS_PRIVATE_%u", abi);
	(void)snprintf(symbol, sizeof(symbol), "verbs_register_driver_%u", abi);
	return has(node, symbol);
}

template <typename Function>
bool look_up(const Release &release, const char *symbol, Function *function)
{
	char node[32];

	(void)snprintf(node, sizeof(node), "IBVERBS_PRIVATE_%u", release.private_abi);
	*function = reinterpret_cast<Function>(dlvsym(handle, symbol, node));
	return *function != nullptr;
}

bool look_up_functions(const Release &release, Library *lib)
{
	char symbol[40];

	(void)snprintf(symbol, sizeof(symbol), "verbs_register_driver_%u", release.private_abi);
	return look_up(release, symbol, &lib->register_driver) &&
	       look_up(release, "_verbs_init_and_alloc_context", &lib->init_and_alloc_context) &&
	       look_up(release, "verbs_set_ops", &lib->set_ops) &&
	       look_up(release, "verbs_uninit_context", &lib->uninit_context);
}

/*
 * ibv_qp_to_qp_ex() only tests a bit of comp_mask, so it shows where the
 * library has that member.
 */
size_t find_qp_comp_mask()
{
	static verbs_qp probe;
	const uint32_t mask = VERBS_QP_EX;

	for (const size_t offset : kQpCompMaskOffsets) {
		memset(&probe, 0, sizeof(probe));
		if (ibv_qp_to_qp_ex(&probe.qp))
			break;
		memcpy(&probe.room[offset], &mask, sizeof(mask));
		if (ibv_qp_to_qp_ex(&probe.qp) == &probe.qp_ex)
			return offset;
	}
	return kNoOffset;
}

/* Did the library put the operations where the public header says? */
bool ops_arrived(const ibv_context &context, const verbs_context_ops &ops)
{
	const ibv_context_ops &pub = context.ops;
	const verbs_context *ext = verbs_get_ctx(const_cast<ibv_context *>(&context));

	return ext && pub.alloc_mw == ops.alloc_mw && pub.bind_mw == ops.bind_mw &&
	       pub.dealloc_mw == ops.dealloc_mw && pub.poll_cq == ops.poll_cq &&
	       pub.post_recv == ops.post_recv && pub.post_send == ops.post_send &&
	       pub.post_srq_recv == ops.post_srq_recv && pub.req_notify_cq == ops.req_notify_cq &&
	       ext->alloc_td == ops.alloc_td && ext->create_qp_ex == ops.create_qp_ex &&
	       ext->query_device_ex == ops.query_device_ex &&
	       ext->query_rt_values == ops.query_rt_values && ext->get_srq_num == ops.get_srq_num;
}

} // namespace

Library library;

const Release *choose_release(bool (*has)(const char *node, const char *symbol), const char **why)
{
	const Release &newest = kReleases[std::size(kReleases) - 1];
	bool private_fits = false;

	if (has_public_level(has, newest.public_level + 1)) {
		*why = "it is newer";
		return nullptr;
	}
	for (const Release &release : kReleases) {
		if (!has_private_abi(has, release.private_abi))
			continue;
		private_fits = true;
		if (has_public_level(has, release.public_level) &&
		    !has_public_level(has, release.public_level + 1))
			return &release;
	}
	*why = private_fits ? "its public functions are not those of its private ABI" :
			      "its private ABI is another";
	return nullptr;
}

const char *find_library()
{
	const char *why = nullptr;

	handle = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return "libibverbs.so.1 is not loaded";
	library.release = choose_release(exports, &why);
	if (!library.release)
		return why;
	if (!look_up_functions(*library.release, &library))
		return "it lacks a function of its private ABI";
	library.qp_comp_mask = find_qp_comp_mask();
	if (library.qp_comp_mask == kNoOffset)
		return "its struct verbs_qp is laid out differently";
	return nullptr;
}

size_t pack_ops(const verbs_context_ops &ops, const Release &release, void (**table)())
{
	static constexpr unsigned char kSince[] = {
#define TERN_OP(since, ret, name, args) since,
#define TERN_OP_UNUSED(since, name)	since,
#include "abi/ops.inc"
#undef TERN_OP
#undef TERN_OP_UNUSED
	};
	static_assert(std::size(kSince) == kMaxOps);
	using Op = void (*)();
	Op all[kMaxOps];
	size_t n = 0;

	static_assert(sizeof(all) == sizeof(ops));
	memcpy(static_cast<void *>(all), &ops, sizeof(all));
	for (size_t i = 0; i < kMaxOps; i++)
		if (kSince[i] <= release.since)
			table[n++] = all[i];
	return n;
}

verbs_context *context_of(ibv_context *context)
{
	return reinterpret_cast<verbs_context *>(reinterpret_cast<char *>(context) -
						 library.release->context_offset);
}

const char *set_ops(ibv_context *context, const verbs_context_ops &ops)
{
	void (*table[kMaxOps + kRoomForMore])() = {};
	const size_t vctx_bytes = library.release->context_offset + sizeof(ibv_context);
	size_t sz;

	/*
	 * The member before the public context: the size that the library gave its verbs_context.
	 */
	memcpy(&sz, reinterpret_cast<char *>(context) - sizeof(sz), sizeof(sz));
	if (sz != vctx_bytes)
		return "its struct verbs_context is laid out differently";
	(void)pack_ops(ops, *library.release, table);
	library.set_ops(context_of(context), static_cast<const void *>(table));
	return ops_arrived(*context, ops) ? nullptr : "it has its operations in another order";
}

/* Whatever comes before comp_mask is a member. */
bool has_wr_op(size_t offset)
{
	return offset < library.qp_comp_mask;
}

void set_qp_ex(verbs_qp *qp)
{
	const uint32_t mask = VERBS_QP_EX;

	memcpy(&qp->room[library.qp_comp_mask], &mask, sizeof(mask));
}

void complain(const char *why)
{
	(void)fprintf(stderr,
		      "tern: made for rdma-core %u to %u, but this libibverbs differs: %s; "
		      "install a tern that knows it\n",
		      kFirstRelease, kLastRelease, why);
}

} // namespace tern::abi
