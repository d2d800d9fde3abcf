// SPDX-License-Identifier: GPL-2.0
/*
 * Completions of a RoCE QP, flushing, and the ways into the error states.
 * Which status a work request gets is decided by the engines and by req.c,
 * resp.c, ud.c; the CQE itself is verbs/'.
 */
#include "roce/exec.h"

void roce_complete_send(struct roce_qp *qp, u32 index, enum ib_wc_status status)
{
	if (!tern_qp_complete_send(&qp->base, index, status))
		roce_qp_fatal(qp, IB_EVENT_QP_FATAL);	/* IBTA 10.2.6.3: overrun */
}

void roce_complete_recv(struct roce_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
			bool solicited)
{
	if (!tern_qp_complete_recv(&qp->base, cqe, status, solicited))
		roce_qp_fatal(qp, IB_EVENT_QP_FATAL);
}

int roce_take_recv(struct roce_qp *qp)
{
	int ret = tern_qp_take_recv(&qp->base);

	if (ret == -EINVAL) {
		struct tern_cqe cqe = { .opcode = TERN_WC_RECV };

		roce_complete_recv(qp, &cqe, IB_WC_LOC_QP_OP_ERR, true);
	}
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
		/* There is nobody to tell, and no end if somebody goes on posting. */
		if (tern_cq_is_dead(qp->base.scq))
			return false;
		ret = tern_sq_take(sq, qp->base.type, &wqe);
		if (ret == 0 || ret == -EOVERFLOW)
			return false;
		roce_complete_send(qp, sq->head - 1, IB_WC_WR_FLUSH_ERR);
		qp->ud_sending = sq->head;
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
	/* Requests that waited for a receive: nobody looks at them any more. */
	__skb_queue_purge(&qp->kept);
	more |= tern_qp_flush_recv(&qp->base, budget);
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
