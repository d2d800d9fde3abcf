// SPDX-License-Identifier: GPL-2.0
/*
 * Completions of a QP: CQEs of send and receive WQEs, flushing, and the ways
 * into the error states. Which status a work request gets is decided by the
 * engines and by req.c, resp.c, ud.c.
 */
#include "roce/exec.h"

static const u8 send_wc_opcode[TERN_WR_OPCODES] = {
	[TERN_WR_RDMA_WRITE] = TERN_WC_RDMA_WRITE,
	[TERN_WR_RDMA_WRITE_WITH_IMM] = TERN_WC_RDMA_WRITE,
	[TERN_WR_SEND] = TERN_WC_SEND,
	[TERN_WR_SEND_WITH_IMM] = TERN_WC_SEND,
	[TERN_WR_RDMA_READ] = TERN_WC_RDMA_READ,
	[TERN_WR_ATOMIC_CMP_AND_SWP] = TERN_WC_COMP_SWAP,
	[TERN_WR_ATOMIC_FETCH_AND_ADD] = TERN_WC_FETCH_ADD,
	[TERN_WR_LOCAL_INV] = TERN_WC_LOCAL_INV,
	[TERN_WR_BIND_MW] = TERN_WC_BIND_MW,
	[TERN_WR_SEND_WITH_INV] = TERN_WC_SEND,
	[TERN_WR_REG_MR] = TERN_WC_REG_MR,
	[TERN_WR_RDMA_READ_WITH_INV] = TERN_WC_RDMA_READ,
};

/* How the CQE names the QP: by number, and for kernel consumers by pointer. */
static void cqe_set_qp(const struct roce_qp *qp, const struct tern_cq *cq, struct tern_cqe *cqe)
{
	cqe->qp_num = qp->base.qpn;
	cqe->qp_context = cq->user ? 0 : (uintptr_t)qp->base.ibqp;
}

void roce_complete_send(struct roce_qp *qp, u32 index, enum ib_wc_status status)
{
	const struct tern_send_wqe *wqe = tern_sq_wqe(&qp->base.sq, index);
	struct tern_cqe cqe = {};

	if (status == IB_WC_SUCCESS && !qp->base.sq_sig_all && !(wqe->flags & TERN_SEND_SIGNALED))
		return;
	cqe.wr_id = wqe->wr_id;
	cqe.status = status;
	if (wqe->opcode < TERN_WR_OPCODES)
		cqe.opcode = send_wc_opcode[wqe->opcode];
	if (status == IB_WC_SUCCESS && wqe->opcode < TERN_WR_OPCODES &&
	    wqe->opcode != TERN_WR_LOCAL_INV && wqe->opcode != TERN_WR_BIND_MW &&
	    wqe->opcode != TERN_WR_REG_MR)
		cqe.byte_len = tern_wqe_bytes(wqe);
	cqe_set_qp(qp, qp->base.scq, &cqe);
	/* Who sees the CQE may post at once: the room must be there before it. wqe is over. */
	tern_sq_retire(&qp->base.sq, index + 1);
	if (!tern_cq_post(qp->base.scq, &cqe, status != IB_WC_SUCCESS))
		roce_qp_fatal(qp, IB_EVENT_QP_FATAL);	/* IBTA 10.2.6.3: overrun */
}

void roce_complete_recv(struct roce_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
			bool solicited)
{
	cqe->wr_id = qp->rwqe.wr_id;
	cqe->status = status;
	if (status != IB_WC_SUCCESS && !cqe->opcode)
		cqe->opcode = TERN_WC_RECV;
	cqe_set_qp(qp, qp->base.rcq, cqe);
	qp->have_rwqe = false;
	if (!tern_cq_post(qp->base.rcq, cqe, solicited || status != IB_WC_SUCCESS))
		roce_qp_fatal(qp, IB_EVENT_QP_FATAL);
}

static struct tern_rq *recv_queue(struct roce_qp *qp)
{
	return qp->base.srq ? &qp->base.srq->rq : &qp->base.rq;
}

int roce_take_recv(struct roce_qp *qp)
{
	bool limit_hit = false;
	int ret;

	if (qp->have_rwqe)
		return 1;
	ret = tern_rq_take(recv_queue(qp), &qp->rwqe, &limit_hit);
	if (limit_hit)
		tern_srq_event(qp->base.srq, IB_EVENT_SRQ_LIMIT_REACHED);
	if (ret == -EINVAL) {
		struct tern_cqe cqe = { .opcode = TERN_WC_RECV };

		roce_complete_recv(qp, &cqe, IB_WC_LOC_QP_OP_ERR, true);
		return ret;
	}
	if (ret == 1)
		qp->have_rwqe = true;
	return ret;
}

static bool flush_send(struct roce_qp *qp, u32 *budget)
{
	struct tern_sq *sq = &qp->base.sq;
	struct tern_send_wqe *wqe;
	u32 index;
	int ret;

	/* UD: taken, and waiting for room in the local queue */
	while (!roce_is_connected(qp) && qp->ud_sending != sq->head) {
		index = qp->ud_sending++;
		roce_complete_send(qp, index, IB_WC_WR_FLUSH_ERR);
	}
	for (; *budget; --*budget) {
		ret = tern_sq_take(sq, qp->base.type, &wqe);
		if (ret == 0 || ret == -EOVERFLOW)
			return false;
		roce_complete_send(qp, sq->head - 1, IB_WC_WR_FLUSH_ERR);
		qp->ud_sending = sq->head;
	}
	return true;
}

static bool flush_recv(struct roce_qp *qp, u32 *budget)
{
	struct tern_cqe cqe;

	if (qp->have_rwqe) {
		cqe = (struct tern_cqe){ .opcode = TERN_WC_RECV };
		roce_complete_recv(qp, &cqe, IB_WC_WR_FLUSH_ERR, true);
	}
	if (qp->base.srq)
		return false;	/* the shared queue's WQEs are not this QP's */
	for (; *budget; --*budget) {
		int ret = roce_take_recv(qp);

		if (ret == 0 || ret == -EOVERFLOW)
			return false;
		if (ret < 0)
			continue;	/* malformed, and complete already */
		cqe = (struct tern_cqe){ .opcode = TERN_WC_RECV };
		roce_complete_recv(qp, &cqe, IB_WC_WR_FLUSH_ERR, true);
	}
	return true;
}

bool roce_flush(struct roce_qp *qp, u32 *budget)
{
	bool more;

	/* Nobody drains a dead queue by itself: posters must ring. */
	tern_sq_draining(&qp->base.sq, false);
	more = flush_send(qp, budget);
	if (qp->base.state != IB_QPS_ERR)
		return more;
	more |= flush_recv(qp, budget);
	if (qp->base.srq && !qp->last_wqe_told) {
		qp->last_wqe_told = true;
		tern_qp_event(&qp->base, IB_EVENT_QP_LAST_WQE_REACHED);
	}
	return more;
}

void roce_qp_error(struct roce_qp *qp)
{
	if (qp->base.state == IB_QPS_ERR || qp->base.state == IB_QPS_RESET)
		return;
	WRITE_ONCE(qp->base.state, IB_QPS_ERR);
	qp->base.attr.qp_state = IB_QPS_ERR;
	if (qp->req_ready)
		rc_req_flush(&qp->req);
	if (!qp->base.srq)
		tern_rq_kick_wanted(&qp->base.rq, true);
}

void roce_qp_fatal(struct roce_qp *qp, enum ib_event_type event)
{
	if (qp->base.state == IB_QPS_ERR)
		return;
	roce_qp_error(qp);
	tern_qp_event(&qp->base, event);
}

void roce_sq_error(struct roce_qp *qp)
{
	if (qp->base.state != IB_QPS_RTS && qp->base.state != IB_QPS_SQD)
		return;
	WRITE_ONCE(qp->base.state, IB_QPS_SQE);
	qp->base.attr.qp_state = IB_QPS_SQE;
	if (qp->req_ready)
		rc_req_flush(&qp->req);
}
