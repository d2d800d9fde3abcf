// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queue pairs: creation and destruction. */
#include "command.h"
#include "cq.h"
#include "objects.h"
#include "verbs.h"
#include "wr.h"

namespace tern {
namespace {

/* The ibv_wr_* operations asked for. */
uint64_t asked_ops(const ibv_qp_init_attr_ex &attr)
{
	return attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? attr.send_ops_flags : 0;
}

uint32_t create_flags(const ibv_qp_init_attr_ex &attr)
{
	return attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? attr.create_flags : 0;
}

bool is_target(const ibv_qp_init_attr_ex &attr)
{
	return attr.qp_type == IBV_QPT_XRC_RECV;
}

bool is_xrc(const ibv_qp_init_attr_ex &attr)
{
	return is_target(attr) || attr.qp_type == IBV_QPT_XRC_SEND;
}

/* Has the program given what such a QP works with? XRC ignores anything else. */
bool has_parts(const ibv_qp_init_attr_ex &attr)
{
	const bool names_xrcd = attr.comp_mask & IBV_QP_INIT_ATTR_XRCD;
	const bool names_pd = attr.comp_mask & IBV_QP_INIT_ATTR_PD;

	if (is_target(attr))
		return names_xrcd && attr.xrcd;
	return !names_xrcd && names_pd && attr.pd && attr.send_cq && (is_xrc(attr) || attr.recv_cq);
}

/* Refuse what is not understood, before anything is done. 0 or errno. */
int check_attr(ibv_context *context, const ibv_qp_init_attr_ex &attr)
{
	constexpr uint32_t kMasks = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
				    IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	const bool iwarp = is_iwarp(context);

	if (attr.comp_mask & ~kMasks)
		return EOPNOTSUPP;
	if (create_flags(attr) & ~static_cast<uint32_t>(IBV_QP_CREATE_BLOCK_SELF_MCAST_LB))
		return EOPNOTSUPP;
	if (is_target(attr) ? iwarp : !send_service(attr.qp_type, iwarp))
		return EOPNOTSUPP;
	if (asked_ops(attr) & (to_context(context)->absent_ops | ~send_ops_of(attr.qp_type, iwarp)))
		return EOPNOTSUPP;
	return has_parts(attr) ? 0 : EINVAL;
}

/* The kernel's answer. */
struct Created {
	uint32_t handle;
	uint32_t qp_num;
	ib_uverbs_qp_cap cap; /* granted */
	tern_create_qp_resp driver;
};

/* ATOMIC WRITE's data is inline. */
uint32_t inline_bytes(const ibv_qp_init_attr_ex &attr)
{
	constexpr uint32_t kValueBytes = sizeof(uint64_t);

	if (asked_ops(attr) & abi::kWithAtomicWrite && attr.cap.max_inline_data < kValueBytes)
		return kValueBytes;
	return attr.cap.max_inline_data;
}

/* What the QP works with: a target with a domain only. */
void add_handles(Command *cmd, const ibv_qp_init_attr_ex &attr)
{
	if (is_target(attr)) {
		cmd->handle(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, to_xrcd(attr.xrcd)->handle);
		return;
	}
	cmd->handle(UVERBS_ATTR_CREATE_QP_PD_HANDLE, attr.pd->handle)
		.handle(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, attr.send_cq->handle);
	if (is_xrc(attr))
		return;
	cmd->handle(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, attr.recv_cq->handle);
	if (attr.srq)
		cmd->handle(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, attr.srq->handle);
}

int command_create(const ibv_context *context, Qp *qp, const ibv_qp_init_attr_ex &attr,
		   Created *made)
{
	const ib_uverbs_qp_cap cap = {attr.cap.max_send_wr, attr.cap.max_recv_wr,
				      attr.cap.max_send_sge, attr.cap.max_recv_sge,
				      inline_bytes(attr)};
	/* The kernel's flags have the values of the library's. */
	const uint32_t flags =
		create_flags(attr) | (attr.sq_sig_all ? IB_UVERBS_QP_CREATE_SQ_SIG_ALL : 0);
	Command cmd(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	int err;

	cmd.create(UVERBS_ATTR_CREATE_QP_HANDLE)
		.in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, user_handle(qp))
		.in(UVERBS_ATTR_CREATE_QP_CAP, cap)
		.in<uint64_t>(UVERBS_ATTR_CREATE_QP_TYPE, attr.qp_type)
		.in(UVERBS_ATTR_CREATE_QP_FLAGS, flags)
		.fd(UVERBS_ATTR_CREATE_QP_EVENT_FD, context->async_fd)
		.out(UVERBS_ATTR_CREATE_QP_RESP_CAP, &made->cap)
		.out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &made->qp_num)
		.out(UVERBS_ATTR_UHW_OUT, &made->driver);
	add_handles(&cmd, attr);
	err = cmd.run(context->cmd_fd);
	made->handle = cmd.new_handle();
	return err;
}

void init_public(ibv_context *context, ibv_qp *qp, ibv_qp_type type, void *qp_context)
{
	qp->context = context;
	qp->qp_context = qp_context;
	qp->qp_type = type;
	pthread_mutex_init(&qp->mutex, nullptr);
	pthread_cond_init(&qp->cond, nullptr);
}

void init_parts(ibv_qp *qp, const ibv_qp_init_attr_ex &attr)
{
	/* A target works without one, but librdmacm looks here for that of the target's SRQ. */
	if (attr.comp_mask & IBV_QP_INIT_ATTR_PD)
		qp->pd = attr.pd;
	if (is_target(attr))
		return;
	qp->send_cq = attr.send_cq;
	if (is_xrc(attr))
		return;
	qp->recv_cq = attr.recv_cq;
	qp->srq = attr.srq;
}

/* Limits are what the kernel granted. */
int map_rings(Qp *qp, const Created &made)
{
	const tern_create_qp_resp &driver = made.driver;
	const int cmd_fd = qp->vqp.qp.context->cmd_fd;
	int err;

	if (!driver.sq.bytes)
		return 0;
	qp->limits.max_sge = made.cap.max_send_sge;
	qp->limits.max_inline = driver.max_inline;
	err = map_ring(&qp->sq, &qp->sq_map, cmd_fd, driver.sq,
		       send_stride(qp->limits.max_sge, qp->limits.max_inline));
	if (err || !driver.rq.bytes)
		return err;
	qp->recv_max_sge = made.cap.max_recv_sge;
	return map_ring(&qp->rq, &qp->rq_map, cmd_fd, driver.rq, recv_stride(qp->recv_max_sge));
}

void unmap_rings(Qp *qp)
{
	qp->sq_map.unmap();
	qp->rq_map.unmap();
}

} // namespace

/* Leaves the granted capabilities in attr->cap. */
ibv_qp *create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *attr)
{
	Created made{};
	bool single_threaded;
	Qp *qp;
	int err;

	err = check_attr(context, *attr);
	if (err) {
		errno = err;
		return nullptr;
	}
	qp = alloc_object<Qp>();
	if (!qp)
		return nullptr;
	err = command_create(context, qp, *attr, &made);
	if (err)
		goto free_qp;

	init_public(context, &qp->vqp.qp, attr->qp_type, attr->qp_context);
	init_parts(&qp->vqp.qp, *attr);
	qp->vqp.qp.handle = made.handle;
	qp->vqp.qp.qp_num = made.qp_num;
	qp->vqp.qp.state = IBV_QPS_RESET;
	single_threaded = is_single_threaded(context, qp->vqp.qp.pd);
	qp->sq_lock.init(single_threaded);
	qp->rq_lock.init(single_threaded);
	qp->limits.qp_type = attr->qp_type;
	qp->limits.sig_all = attr->sq_sig_all != 0;
	qp->limits.iwarp = is_iwarp(context);
	qp->doorbell = {to_context(context)->doorbell_fd, made.qp_num, context->cmd_fd,
			made.handle};
	err = map_rings(qp, made);
	if (err)
		goto destroy_qp;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		wr_init(qp, attr->send_ops_flags);
	attr->cap.max_send_wr = made.cap.max_send_wr;
	attr->cap.max_recv_wr = made.cap.max_recv_wr;
	attr->cap.max_send_sge = made.cap.max_send_sge;
	attr->cap.max_recv_sge = made.cap.max_recv_sge;
	attr->cap.max_inline_data = qp->limits.max_inline;
	return &qp->vqp.qp;

destroy_qp:
	ib_uverbs_destroy_qp_resp ignored;
	(void)command_destroy(context->cmd_fd, IB_USER_VERBS_CMD_DESTROY_QP, made.handle, &ignored);
	unmap_rings(qp);
free_qp:
	return create_failed(qp, err);
}

ibv_qp *create_qp(ibv_pd *pd, ibv_qp_init_attr *attr)
{
	ibv_qp_init_attr_ex ex{};
	ibv_qp *qp;

	ex.qp_context = attr->qp_context;
	ex.send_cq = attr->send_cq;
	ex.recv_cq = attr->recv_cq;
	ex.srq = attr->srq;
	ex.cap = attr->cap;
	ex.qp_type = attr->qp_type;
	ex.sq_sig_all = attr->sq_sig_all;
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	qp = create_qp_ex(pd->context, &ex);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

/* An XRC target that a program with the same domain has created. */
ibv_qp *open_qp(ibv_context *context, ibv_qp_open_attr *attr)
{
	constexpr uint32_t kNeeded =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	constexpr uint32_t kMasks = kNeeded | IBV_QP_OPEN_ATTR_CONTEXT;
	ib_uverbs_open_qp req{};
	ib_uverbs_create_qp_resp resp{};
	Qp *qp;
	int err;

	if (attr->comp_mask & ~kMasks) {
		errno = EOPNOTSUPP;
		return nullptr;
	}
	if ((attr->comp_mask & kNeeded) != kNeeded || attr->qp_type != IBV_QPT_XRC_RECV) {
		errno = EINVAL;
		return nullptr;
	}
	qp = alloc_object<Qp>();
	if (!qp)
		return nullptr;
	req.user_handle = user_handle(qp);
	req.pd_handle = to_xrcd(attr->xrcd)->handle;
	req.qpn = attr->qp_num;
	req.qp_type = static_cast<uint8_t>(attr->qp_type);
	err = WriteCommand(IB_USER_VERBS_CMD_OPEN_QP, req).resp(&resp).run(context->cmd_fd);
	if (err)
		return create_failed(qp, err);
	init_public(context, &qp->vqp.qp, attr->qp_type,
		    attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : nullptr);
	qp->vqp.qp.handle = resp.qp_handle;
	qp->vqp.qp.qp_num = resp.qpn;
	/* Another program connects it. */
	qp->vqp.qp.state = IBV_QPS_UNKNOWN;
	return &qp->vqp.qp;
}

/*
 * The kernel leaves the CQEs of a dead QP in user CQs. They are dropped when no
 * more can come. QP numbers are reused slowly, so no newer QP with this number
 * can have completed anything by then.
 */
int destroy_qp(ibv_qp *ibqp)
{
	Qp *qp = to_qp(ibqp);
	ib_uverbs_destroy_qp_resp resp{};
	int err;

	err = command_destroy(ibqp->context->cmd_fd, IB_USER_VERBS_CMD_DESTROY_QP, ibqp->handle,
			      &resp);
	if (destroy_error(ibqp->context, err))
		return err;
	cq_forget_qp(ibqp);
	if (!err)
		wait_for_acks(&ibqp->mutex, &ibqp->cond, &ibqp->events_completed,
			      resp.events_reported);
	pthread_cond_destroy(&ibqp->cond);
	pthread_mutex_destroy(&ibqp->mutex);
	unmap_rings(qp);
	free_object(qp);
	return 0;
}

} // namespace tern
