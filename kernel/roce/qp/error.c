// SPDX-License-Identifier: GPL-2.0
/*
 * CQEs, flushing and the ways into the error states.
 */
#include "core/complete.h"
#include "core/event.h"
#include "queue/cq.h"
#include "queue/rq.h"
#include "queue/sq.h"
#include "roce/qp/error.h"
#include "roce/qp/target.h"

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

static enum roce_step flush_send(struct roce_qp *qp, u32 *budget)
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
		/* No CQE is read, and a program that goes on posting would leave no end. */
		if (tern_cq_is_dead(qp->base.scq))
			return ROCE_DONE;
		ret = tern_sq_take(sq, qp->base.type, &wqe);
		if (ret == 0 || ret == -EOVERFLOW)
			return ROCE_DONE;
		roce_complete_send(qp, sq->head - 1, IB_WC_WR_FLUSH_ERR);
		qp->ud_sending = sq->head;
	}
	return ROCE_MORE;
}

enum roce_step roce_flush(struct roce_qp *qp, u32 *budget)
{
	enum roce_step step = ROCE_DONE;

	if (tern_qp_has_sq(&qp->base)) {
		/* A dead queue is not drained by itself: posters must ring. */
		tern_sq_draining(&qp->base.sq, false);
		step = flush_send(qp, budget);
	}
	if (qp->base.state != IB_QPS_ERR)
		return step;
	/* Requests that waited for a receive: they are not looked at any more. */
	__skb_queue_purge(&qp->kept);
	if (roce_is_target(qp))
		roce_target_flush_recv(qp);
	if (tern_qp_flush_recv(&qp->base, budget))
		step = ROCE_MORE;
	if (qp->base.srq && !qp->last_wqe_told) {
		qp->last_wqe_told = true;
		tern_qp_event(&qp->base, IB_EVENT_QP_LAST_WQE_REACHED);
	}
	return step;
}

void roce_qp_error(struct roce_qp *qp)
{
	if (qp->base.state == IB_QPS_ERR || qp->base.state == IB_QPS_RESET)
		return;
	tern_qp_set_state(&qp->base, IB_QPS_ERR);
	qp->base.attr.sq_draining = 0;
	if (qp->req_ready)
		rc_req_flush(&qp->req);
	if (tern_qp_has_rq(&qp->base))
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
	tern_qp_set_state(&qp->base, IB_QPS_SQE);
	qp->base.attr.sq_draining = 0;
	if (qp->req_ready)
		rc_req_flush(&qp->req);
}

void roce_sqd_check(struct roce_qp *qp)
{
	if (!qp->base.attr.sq_draining)
		return;
	/* A UD WQE is begun and complete at once. */
	if (roce_has_requester(qp) && !rc_req_is_drained(&qp->req))
		return;
	qp->base.attr.sq_draining = 0;
	if (qp->base.attr.en_sqd_async_notify)
		tern_qp_event(&qp->base, IB_EVENT_SQ_DRAINED);
}
