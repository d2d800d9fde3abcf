// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: life and plain polling. Extended polling is in cq_ex.cc.
 * Polling and arming are memory accesses only: an empty poll returns at once.
 */
#include "cq.h"

#include "command.h"
#include "cq_ex.h"
#include "cqe.h"
#include "objects.h"
#include "verbs.h"

namespace tern {
namespace {

/* An older module is not asked for an option that it lacks. */
uint32_t kernel_flags(ibv_context *context, uint32_t flags)
{
	return to_context(context)->cq_options && flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN ?
		       IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN :
		       0;
}

uint32_t driver_flags(ibv_context *context, uint64_t wc_flags)
{
	return to_context(context)->cq_options &&
			       wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK ?
		       TERN_CQ_WALLCLOCK :
		       0;
}

/* Create either kind of CQ. libibverbs fills in the rest of the public structure. */
Cq *make_cq(ibv_context *context, const ibv_cq_init_attr_ex &attr, uint32_t flags,
	    bool single_threaded)
{
	Command cmd(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	const tern_create_cq_req req = {driver_flags(context, attr.wc_flags), 0};
	tern_create_cq_resp driver{};
	uint32_t cqe = 0;
	Cq *cq = alloc_object<Cq>();
	int err;

	if (!cq)
		return nullptr;
	err = cmd.create(UVERBS_ATTR_CREATE_CQ_HANDLE)
		      .in(UVERBS_ATTR_CREATE_CQ_CQE, attr.cqe)
		      .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, user_handle(cq))
		      .fd(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, attr.channel ? attr.channel->fd : -1)
		      .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, attr.comp_vector)
		      .in(UVERBS_ATTR_CREATE_CQ_FLAGS, kernel_flags(context, flags))
		      .fd(UVERBS_ATTR_CREATE_CQ_EVENT_FD, context->async_fd)
		      .out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe)
		      .in(UVERBS_ATTR_UHW_IN, req)
		      .out(UVERBS_ATTR_UHW_OUT, &driver)
		      .run(context->cmd_fd);
	if (err)
		goto free_cq;

	cq->vcq.cq.context = context;
	cq->vcq.cq.handle = cmd.new_handle();
	cq->vcq.cq.cqe = static_cast<int>(cqe);
	cq->lock.init(single_threaded);
	cq->arm_lock.init(single_threaded);
	err = map_ring(&cq->ring, &cq->map, context->cmd_fd, driver.ring, sizeof(tern_cqe));
	if (err)
		goto destroy_cq;
	return cq;

destroy_cq:
	ib_uverbs_destroy_cq_resp ignored;
	(void)command_destroy(context->cmd_fd, IB_USER_VERBS_CMD_DESTROY_CQ, cq->vcq.cq.handle,
			      &ignored);
free_cq:
	return create_failed(cq, err);
}

void drop_cqes(Cq *cq, uint32_t qp_num)
{
	Guard guard(cq->lock);
	cq->ring.remove_if([qp_num](const tern_cqe &cqe) { return cqe.qp_num == qp_num; });
}

} // namespace

ibv_cq *create_cq(ibv_context *context, int cqe, ibv_comp_channel *channel, int comp_vector)
{
	ibv_cq_init_attr_ex attr{};
	Cq *cq;

	if (cqe <= 0) {
		errno = EINVAL;
		return nullptr;
	}
	attr.cqe = static_cast<uint32_t>(cqe);
	attr.channel = channel;
	attr.comp_vector = static_cast<uint32_t>(comp_vector);
	cq = make_cq(context, attr, 0, is_single_threaded(context, nullptr));
	return cq ? &cq->vcq.cq : nullptr;
}

/*
 * An older module knows no IGNORE_OVERRUN, and its CQs end in an overrun: an application
 * that keeps its promise sees no difference.
 */
ibv_cq_ex *create_cq_ex(ibv_context *context, ibv_cq_init_attr_ex *attr)
{
	constexpr uint32_t kMasks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	constexpr uint32_t kFlags =
		IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	const uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	ibv_pd *pd = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ? attr->parent_domain : nullptr;
	Cq *cq;

	if (attr->comp_mask & ~kMasks || flags & ~kFlags || attr->wc_flags & ~kCqExWcFlags) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	if (!attr->cqe || (pd && !to_pd(pd)->parent)) {
		errno = EINVAL;
		return nullptr;
	}
	cq = make_cq(context, *attr, flags,
		     flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED || is_single_threaded(context, pd));
	if (!cq)
		return nullptr;
	cq_ex_init(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;
}

/*
 * Both locks keep pollers away, and threads that arm, while the kernel moves
 * the unpolled CQEs. If the new ring cannot be mapped, the CQ stays empty.
 */
int resize_cq(ibv_cq *ibcq, int cqe)
{
	Cq *cq = to_cq(ibcq);
	const ib_uverbs_resize_cq req = {
		.response = 0, .cq_handle = ibcq->handle, .cqe = static_cast<uint32_t>(cqe)};
	ib_uverbs_resize_cq_resp resp{};
	tern_resize_cq_resp driver{};
	int err;

	if (cqe <= 0)
		return EINVAL;

	Guard guard(cq->lock);
	Guard arm_guard(cq->arm_lock);

	err = WriteCommand(IB_USER_VERBS_CMD_RESIZE_CQ, req)
		      .resp(&resp)
		      .driver_resp(&driver)
		      .run(ibcq->context->cmd_fd);
	if (err)
		return err;
	err = map_ring(&cq->ring, &cq->map, ibcq->context->cmd_fd, driver.ring, sizeof(tern_cqe));
	if (!err)
		ibcq->cqe = static_cast<int>(resp.cqe);
	return err;
}

/* Attributes that the kernel does not know are EOPNOTSUPP there. */
int modify_cq(ibv_cq *ibcq, ibv_modify_cq_attr *attr)
{
	const ib_uverbs_ex_modify_cq req = {.cq_handle = ibcq->handle,
					    .attr_mask = attr->attr_mask,
					    .attr = {.cq_count = attr->moderate.cq_count,
						     .cq_period = attr->moderate.cq_period},
					    .reserved = 0};

	return WriteCommand(extended(IB_USER_VERBS_EX_CMD_MODIFY_CQ), req)
		.run(ibcq->context->cmd_fd);
}

int destroy_cq(ibv_cq *ibcq)
{
	Cq *cq = to_cq(ibcq);
	ib_uverbs_destroy_cq_resp resp{};
	int err;

	err = command_destroy(ibcq->context->cmd_fd, IB_USER_VERBS_CMD_DESTROY_CQ, ibcq->handle,
			      &resp);
	if (destroy_error(ibcq->context, err))
		return err;
	if (!err) {
		wait_for_acks(&ibcq->mutex, &ibcq->cond, &ibcq->comp_events_completed,
			      resp.comp_events_reported);
		wait_for_acks(&ibcq->mutex, &ibcq->cond, &ibcq->async_events_completed,
			      resp.async_events_reported);
	}
	cq->map.unmap();
	free_object(cq);
	return 0;
}

void cq_forget_qp(const ibv_qp *qp)
{
	if (qp->recv_cq)
		drop_cqes(to_cq(qp->recv_cq), qp->qp_num);
	if (qp->send_cq && qp->send_cq != qp->recv_cq)
		drop_cqes(to_cq(qp->send_cq), qp->qp_num);
}

/* Number of completions, or -1: the CQ overran, and all its CQEs were polled. */
int poll_cq(ibv_cq *ibcq, int num_entries, ibv_wc *wc)
{
	Cq *cq = to_cq(ibcq);
	int n = 0;

	Guard guard(cq->lock);
	for (; n < num_entries; n++) {
		const tern_cqe *cqe = cq->ring.peek();

		if (!cqe)
			break;
		cqe_to_wc(*cqe, &wc[n]);
		cq->ring.advance();
	}
	if (n)
		cq->ring.release();
	else if (num_entries > 0 && cq->ring.dead())
		return -1;
	return n;
}

int req_notify_cq(ibv_cq *ibcq, int solicited_only)
{
	Cq *cq = to_cq(ibcq);

	Guard guard(cq->arm_lock);
	cq->ring.arm(solicited_only != 0);
	return 0;
}

} // namespace tern
