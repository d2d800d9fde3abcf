// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory regions. The kernel pins and checks; this side only has the keys. */
#include "command.h"
#include "objects.h"
#include "verbs.h"

namespace tern {

ibv_mr *reg_mr(ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	const ib_uverbs_reg_mr req = {
		.response = 0,
		.start = reinterpret_cast<uintptr_t>(addr),
		.length = length,
		.hca_va = iova,
		.pd_handle = pd->handle,
		.access_flags = static_cast<uint32_t>(access),
	};
	ib_uverbs_reg_mr_resp resp{};
	auto *mr = alloc_object<verbs_mr>();
	int err;

	if (!mr)
		return nullptr;
	err = WriteCommand(IB_USER_VERBS_CMD_REG_MR, req).resp(&resp).run(pd->context->cmd_fd);
	if (err)
		return create_failed(mr, err);
	mr->ibv_mr.context = pd->context;
	mr->ibv_mr.pd = pd;
	mr->ibv_mr.addr = addr;
	mr->ibv_mr.length = length;
	mr->ibv_mr.handle = resp.mr_handle;
	mr->ibv_mr.lkey = resp.lkey;
	mr->ibv_mr.rkey = resp.rkey;
	mr->mr_type = VERBS_MR_TYPE_MR;
	mr->access = access;
	return &mr->ibv_mr;
}

/* libibverbs checks the flags, and updates addr, length and pd. */
int rereg_mr(verbs_mr *mr, int flags, ibv_pd *pd, void *addr, size_t length, int access)
{
	const ib_uverbs_rereg_mr req = {
		.response = 0,
		.mr_handle = mr->ibv_mr.handle,
		.flags = static_cast<uint32_t>(flags),
		.start = reinterpret_cast<uintptr_t>(addr),
		.length = length,
		.hca_va = reinterpret_cast<uintptr_t>(addr),
		.pd_handle = flags & IBV_REREG_MR_CHANGE_PD ? pd->handle : 0,
		.access_flags = static_cast<uint32_t>(access),
	};
	ib_uverbs_rereg_mr_resp resp{};
	int err;

	err = WriteCommand(IB_USER_VERBS_CMD_REREG_MR, req)
		      .resp(&resp)
		      .run(mr->ibv_mr.context->cmd_fd);
	if (err)
		return err;
	mr->ibv_mr.lkey = resp.lkey;
	mr->ibv_mr.rkey = resp.rkey;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->access = access;
	return 0;
}

int dereg_mr(verbs_mr *mr)
{
	return destroy_object(mr->ibv_mr.context, IB_USER_VERBS_CMD_DEREG_MR, mr->ibv_mr.handle,
			      mr);
}

int advise_mr(ibv_pd *pd, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge *sges,
	      uint32_t num_sge)
{
	static_assert(sizeof(*sges) == sizeof(ib_uverbs_sge));

	/* The kernel's interface has 16 bits for the length of the list. */
	if (!num_sge || num_sge > UINT16_MAX / sizeof(*sges))
		return EINVAL;
	return Command(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR)
		.handle(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, pd->handle)
		.in<uint64_t>(UVERBS_ATTR_ADVISE_MR_ADVICE, advice)
		.in(UVERBS_ATTR_ADVISE_MR_FLAGS, flags)
		.in_array(UVERBS_ATTR_ADVISE_MR_SGE_LIST, sges, num_sge)
		.run(pd->context->cmd_fd);
}

/* The importer does not know the address: that member stays NULL. */
ibv_mr *import_mr(ibv_pd *pd, uint32_t handle)
{
	auto *mr = alloc_object<verbs_mr>();
	uint64_t length = 0;
	int err;

	if (!mr)
		return nullptr;
	err = Command(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR)
		      .handle(UVERBS_ATTR_QUERY_MR_HANDLE, handle)
		      .out(UVERBS_ATTR_QUERY_MR_RESP_LKEY, &mr->ibv_mr.lkey)
		      .out(UVERBS_ATTR_QUERY_MR_RESP_RKEY, &mr->ibv_mr.rkey)
		      .out(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &length)
		      .run(pd->context->cmd_fd);
	if (err)
		return create_failed(mr, err);
	mr->ibv_mr.context = pd->context;
	mr->ibv_mr.pd = pd;
	mr->ibv_mr.length = length;
	mr->ibv_mr.handle = handle;
	mr->mr_type = VERBS_MR_TYPE_IMPORTED_MR;
	return &mr->ibv_mr;
}

void unimport_mr(ibv_mr *mr)
{
	free_object(reinterpret_cast<verbs_mr *>(mr));
}

} // namespace tern
