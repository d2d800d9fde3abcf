// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shared receive queues: life, limit and resize. Posting is in post.cc. */
#include "command.h"
#include "objects.h"
#include "verbs.h"

namespace tern {
namespace {

/* The kernel's answer. */
struct Created {
	uint32_t handle;
	uint32_t max_wr; /* granted */
	uint32_t max_sge;
	uint32_t srq_num; /* XRC; driver has it for all */
	tern_create_srq_resp driver;
};

/* xrcd and cq are NULL for a basic SRQ. */
int command_create(Srq *srq, const ibv_pd *pd, const ibv_srq_attr &attr, const Xrcd *xrcd,
		   const ibv_cq *cq, Created *made)
{
	const ibv_context *context = pd->context;
	Command cmd(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	int err;

	cmd.create(UVERBS_ATTR_CREATE_SRQ_HANDLE)
		.handle(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd->handle)
		.in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, user_handle(srq))
		.in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, attr.max_wr)
		.in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, attr.max_sge)
		.in(UVERBS_ATTR_CREATE_SRQ_LIMIT, attr.srq_limit)
		.in<uint64_t>(UVERBS_ATTR_CREATE_SRQ_TYPE,
			      xrcd ? IB_UVERBS_SRQT_XRC : IB_UVERBS_SRQT_BASIC)
		.fd(UVERBS_ATTR_CREATE_SRQ_EVENT_FD, context->async_fd)
		.out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &made->max_wr)
		.out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &made->max_sge)
		.out(UVERBS_ATTR_UHW_OUT, &made->driver);
	if (xrcd)
		cmd.handle(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, xrcd->handle)
			.handle(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, cq->handle)
			.out(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &made->srq_num);
	err = cmd.run(context->cmd_fd);
	made->handle = cmd.new_handle();
	return err;
}

/* xrcd and cq as above. */
Srq *make_srq(ibv_pd *pd, ibv_srq_attr *attr, Xrcd *xrcd, ibv_cq *cq)
{
	ibv_context *context = pd->context;
	Created made{};
	Srq *srq = alloc_object<Srq>();
	int err;

	if (!srq)
		return nullptr;
	err = command_create(srq, pd, *attr, xrcd, cq, &made);
	if (err)
		goto free_srq;

	srq->vsrq.srq.context = context;
	srq->vsrq.srq.pd = pd;
	srq->vsrq.srq.handle = made.handle;
	srq->vsrq.srq_type = xrcd ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	srq->vsrq.xrcd = xrcd;
	srq->vsrq.cq = cq;
	srq->vsrq.srq_num = made.driver.srq_num;
	srq->max_sge = made.max_sge;
	srq->lock.init(is_single_threaded(context, pd));
	err = map_ring(&srq->ring, &srq->map, context->cmd_fd, made.driver.ring,
		       recv_stride(srq->max_sge));
	if (err)
		goto destroy_srq;
	attr->max_wr = made.max_wr;
	attr->max_sge = made.max_sge;
	return srq;

destroy_srq:
	ib_uverbs_destroy_srq_resp ignored;
	(void)command_destroy(context->cmd_fd, IB_USER_VERBS_CMD_DESTROY_SRQ, made.handle,
			      &ignored);
free_srq:
	return create_failed(srq, err);
}

/* 0 or errno. */
int check_attr_ex(const ibv_srq_init_attr_ex &attr, bool is_xrc)
{
	constexpr uint32_t kBasic = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	constexpr uint32_t kXrc = kBasic | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;

	if (attr.comp_mask & ~kXrc ||
	    (attr.comp_mask & IBV_SRQ_INIT_ATTR_TYPE && !is_xrc && attr.srq_type != IBV_SRQT_BASIC))
		return EOPNOTSUPP;
	if (!(attr.comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr.pd)
		return EINVAL;
	if (is_xrc && (attr.comp_mask != kXrc || !attr.xrcd || !attr.cq))
		return EINVAL;
	return 0;
}

} // namespace

/* libibverbs fills in the rest of the public structure. */
ibv_srq *create_srq(ibv_pd *pd, ibv_srq_init_attr *attr)
{
	Srq *srq = make_srq(pd, &attr->attr, nullptr, nullptr);

	return srq ? &srq->vsrq.srq : nullptr;
}

/* Not called through libibverbs, so this fills in all of the public structure. */
ibv_srq *create_srq_ex(ibv_context * /*context*/, ibv_srq_init_attr_ex *attr)
{
	const bool is_xrc =
		attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;
	const int err = check_attr_ex(*attr, is_xrc);
	Srq *srq;

	if (err) {
		errno = err;
		return nullptr;
	}
	srq = make_srq(attr->pd, &attr->attr, is_xrc ? to_xrcd(attr->xrcd) : nullptr,
		       is_xrc ? attr->cq : nullptr);
	if (!srq)
		return nullptr;
	srq->vsrq.srq.srq_context = attr->srq_context;
	pthread_mutex_init(&srq->vsrq.srq.mutex, nullptr);
	pthread_cond_init(&srq->vsrq.srq.cond, nullptr);
	return &srq->vsrq.srq;
}

/*
 * A resize returns a new ring with the WQEs not yet consumed. The lock keeps
 * posters away. If the ring cannot be mapped, the SRQ accepts no more WQEs.
 */
int modify_srq(ibv_srq *ibsrq, ibv_srq_attr *attr, int mask)
{
	Srq *srq = to_srq(ibsrq);
	const ib_uverbs_modify_srq req = {.srq_handle = ibsrq->handle,
					  .attr_mask = static_cast<uint32_t>(mask),
					  .max_wr = attr->max_wr,
					  .srq_limit = attr->srq_limit};
	tern_modify_srq_resp driver{};
	int err;

	Guard guard(srq->lock);
	err = WriteCommand(IB_USER_VERBS_CMD_MODIFY_SRQ, req)
		      .driver_resp(&driver)
		      .run(ibsrq->context->cmd_fd);
	if (err || !driver.ring.bytes)
		return err;
	return map_ring(&srq->ring, &srq->map, ibsrq->context->cmd_fd, driver.ring,
			recv_stride(srq->max_sge));
}

int query_srq(ibv_srq *ibsrq, ibv_srq_attr *attr)
{
	const ib_uverbs_query_srq req = {.response = 0, .srq_handle = ibsrq->handle, .reserved = 0};
	ib_uverbs_query_srq_resp resp{};
	int err;

	err = WriteCommand(IB_USER_VERBS_CMD_QUERY_SRQ, req)
		      .resp(&resp)
		      .run(ibsrq->context->cmd_fd);
	if (err)
		return err;
	attr->max_wr = resp.max_wr;
	attr->max_sge = resp.max_sge;
	attr->srq_limit = resp.srq_limit;
	return 0;
}

int destroy_srq(ibv_srq *ibsrq)
{
	Srq *srq = to_srq(ibsrq);
	ib_uverbs_destroy_srq_resp resp{};
	int err;

	err = command_destroy(ibsrq->context->cmd_fd, IB_USER_VERBS_CMD_DESTROY_SRQ, ibsrq->handle,
			      &resp);
	if (destroy_error(ibsrq->context, err))
		return err;
	if (!err)
		wait_for_acks(&ibsrq->mutex, &ibsrq->cond, &ibsrq->events_completed,
			      resp.events_reported);
	srq->map.unmap();
	free_object(srq);
	return 0;
}

int get_srq_num(ibv_srq *ibsrq, uint32_t *srq_num)
{
	*srq_num = to_srq(ibsrq)->vsrq.srq_num;
	return 0;
}

} // namespace tern
