// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory regions. The kernel pins and checks; this side only has the keys. */
#include "command.h"
#include "objects.h"
#include "verbs.h"

namespace tern {
namespace {

/* What every kind of region has. The keys are not known before the command. */
verbs_mr *new_mr(ibv_pd *pd, verbs_mr_type type, void *addr, size_t length, int access)
{
	auto *mr = alloc_object<verbs_mr>();

	if (!mr)
		return nullptr;
	mr->ibv_mr.context = pd->context;
	mr->ibv_mr.pd = pd;
	mr->ibv_mr.addr = addr;
	mr->ibv_mr.length = length;
	mr->mr_type = type;
	mr->access = access;
	return mr;
}

} // namespace

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
	verbs_mr *mr = new_mr(pd, VERBS_MR_TYPE_MR, addr, length, access);
	int err;

	if (!mr)
		return nullptr;
	err = WriteCommand(IB_USER_VERBS_CMD_REG_MR, req).resp(&resp).run(pd->context->cmd_fd);
	if (err)
		return create_failed(mr, err);
	mr->ibv_mr.handle = resp.mr_handle;
	mr->ibv_mr.lkey = resp.lkey;
	mr->ibv_mr.rkey = resp.rkey;
	return &mr->ibv_mr;
}

/* Its address is an offset, as the library has it. */
ibv_mr *reg_dmabuf_mr(ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	Command command(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	verbs_mr *mr;
	int err;

	if (fd < 0) {
		errno = EBADF;
		return nullptr;
	}
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	mr = new_mr(pd, VERBS_MR_TYPE_DMABUF_MR, reinterpret_cast<void *>(offset), length, access);
	if (!mr)
		return nullptr;
	err = command.create(UVERBS_ATTR_REG_DMABUF_MR_HANDLE)
		      .handle(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd->handle)
		      .in(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, offset)
		      .in(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, uint64_t{length})
		      .in(UVERBS_ATTR_REG_DMABUF_MR_IOVA, iova)
		      .in(UVERBS_ATTR_REG_DMABUF_MR_FD, static_cast<uint32_t>(fd))
		      .in(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, static_cast<uint32_t>(access))
		      .out(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &mr->ibv_mr.lkey)
		      .out(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &mr->ibv_mr.rkey)
		      .run(pd->context->cmd_fd);
	if (err)
		return create_failed(mr, err);
	mr->ibv_mr.handle = command.new_handle();
	return &mr->ibv_mr;
}

/* Addresses are offsets, and the program has none of its own. */
ibv_mr *reg_dm_mr(ibv_pd *pd, ibv_dm *dm, uint64_t offset, size_t length, unsigned int access)
{
	Command command(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
	verbs_mr *mr = new_mr(pd, VERBS_MR_TYPE_MR, nullptr, length, static_cast<int>(access));
	int err;

	if (!mr)
		return nullptr;
	err = command.create(UVERBS_ATTR_REG_DM_MR_HANDLE)
		      .in(UVERBS_ATTR_REG_DM_MR_OFFSET, offset)
		      .in(UVERBS_ATTR_REG_DM_MR_LENGTH, uint64_t{length})
		      .handle(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, pd->handle)
		      .in(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, static_cast<uint32_t>(access))
		      .handle(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, dm->handle)
		      .out(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &mr->ibv_mr.lkey)
		      .out(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &mr->ibv_mr.rkey)
		      .run(pd->context->cmd_fd);
	if (err)
		return create_failed(mr, err);
	mr->ibv_mr.handle = command.new_handle();
	return &mr->ibv_mr;
}

/* The kernel knows the null region by its key, and nothing of its owners. */
ibv_mr *alloc_null_mr(ibv_pd *pd)
{
	verbs_mr *mr;

	if (!has_feature(pd->context, TERN_FEATURE_NULL_MR)) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	mr = new_mr(pd, VERBS_MR_TYPE_NULL_MR, nullptr, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		return nullptr;
	mr->ibv_mr.lkey = TERN_NULL_LKEY;
	to_pd(pd)->users++;
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

	if (mr->mr_type == VERBS_MR_TYPE_NULL_MR)
		return EINVAL;
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
	if (mr->mr_type == VERBS_MR_TYPE_NULL_MR) {
		to_pd(mr->ibv_mr.pd)->users--;
		free_object(mr);
		return 0;
	}
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
	verbs_mr *mr = new_mr(pd, VERBS_MR_TYPE_IMPORTED_MR, nullptr, 0, 0);
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
	mr->ibv_mr.length = length;
	mr->ibv_mr.handle = handle;
	return &mr->ibv_mr;
}

void unimport_mr(ibv_mr *mr)
{
	free_object(reinterpret_cast<verbs_mr *>(mr));
}

} // namespace tern
