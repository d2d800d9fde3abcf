// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Three questions to the running libibverbs: does it have the public version
 * node of our release and not the next one, does it look for the QP's
 * comp_mask where we keep it, and (per context) does it read our operation
 * table in our order.
 */
#include "abi/check.h"

#include <dlfcn.h>

#include <cstring>

#include "abi/verbs_private.h"

namespace tern::abi {
namespace {

#define TERN_STR2(x) #x
#define TERN_STR(x)  TERN_STR2(x)

#if TERN_PUBLIC_LEVEL == 14
constexpr const char *kNextNode = "IBVERBS_1.15";
#elif TERN_PUBLIC_LEVEL == 15
constexpr const char *kNextNode = "IBVERBS_1.16";
#elif TERN_PUBLIC_LEVEL == 16
constexpr const char *kNextNode = "IBVERBS_1.17";
#else
constexpr const char *kNextNode = "IBVERBS_1.18";
#endif
constexpr const char *kOurNode = "IBVERBS_1." TERN_STR(TERN_PUBLIC_LEVEL);

/* A version node is an absolute symbol named like itself, of value 0: only dlerror() tells. */
bool has_node(void *library, const char *node)
{
	(void)dlerror();
	(void)dlvsym(library, node, node);
	return dlerror() == nullptr;
}

/*
 * ibv_qp_to_qp_ex() does nothing but test a bit of comp_mask, so it shows where
 * the library believes that to be: the offset that differs between releases of
 * one public level.
 */
bool comp_mask_fits()
{
	struct Probe {
		verbs_qp vqp;
		unsigned char beyond[256];
	};
	static Probe probe;

	memset(&probe, 0, sizeof(probe));
	if (ibv_qp_to_qp_ex(&probe.vqp.qp))
		return false;
	probe.vqp.comp_mask = VERBS_QP_EX;
	return ibv_qp_to_qp_ex(&probe.vqp.qp) == &probe.vqp.qp_ex;
}

} // namespace

const char *library_mismatch()
{
	void *library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	const char *why = nullptr;

	if (!library)
		return "libibverbs.so.1 is not loaded";
	if (!has_node(library, kOurNode))
		why = "it lacks public level " TERN_STR(TERN_PUBLIC_LEVEL);
	else if (has_node(library, kNextNode))
		why = "its public level is above " TERN_STR(TERN_PUBLIC_LEVEL);
	else if (!comp_mask_fits())
		why = "its struct verbs_qp is laid out differently";
	dlclose(library);
	return why;
}

const char *ops_mismatch(const verbs_context &vctx, const verbs_context_ops &ops)
{
	const ibv_context_ops &pub = vctx.context.ops;

	if (pub.alloc_mw != ops.alloc_mw || pub.bind_mw != ops.bind_mw ||
	    pub.dealloc_mw != ops.dealloc_mw || pub.poll_cq != ops.poll_cq ||
	    pub.post_recv != ops.post_recv || pub.post_send != ops.post_send ||
	    pub.post_srq_recv != ops.post_srq_recv || pub.req_notify_cq != ops.req_notify_cq ||
	    vctx.alloc_td != ops.alloc_td || vctx.create_qp_ex != ops.create_qp_ex ||
	    vctx.query_device_ex != ops.query_device_ex ||
	    vctx.query_rt_values != ops.query_rt_values || vctx.get_srq_num != ops.get_srq_num)
		return "it has its operations in another order";
	return nullptr;
}

} // namespace tern::abi
