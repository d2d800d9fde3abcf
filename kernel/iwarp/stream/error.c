// SPDX-License-Identifier: GPL-2.0
/*
 * Completions of an iWARP QP, flushing, and the ways into SQD and ERR. The connection's end follows
 * from there: tx.c sets `fin`, the endpoint sees it (close.c, cm/open.c).
 */
#include "core/complete.h"
#include "core/event.h"
#include "core/stats.h"
#include "iwarp/stream/error.h"
#include "iwarp/stream/upcalls.h"
#include "queue/cq.h"
#include "queue/rq.h"
#include "queue/sq.h"
#include "wr/status.h"

static void complete_send(struct iw_qp *qp, u32 index, enum ib_wc_status status)
{
	if (!tern_qp_complete_send(&qp->base, index, status))
		iw_qp_fatal(qp, IB_EVENT_QP_FATAL);
}

void iw_complete_recv(struct iw_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
		      bool solicited)
{
	if (!tern_qp_complete_recv(&qp->base, cqe, status, solicited))
		iw_qp_fatal(qp, IB_EVENT_QP_FATAL);
}

/* FIN follows what is written. */
static void begin_close(struct iw_qp *qp)
{
	qp->tx.closing = true;
	/* The endpoint bounds the time that this takes. */
	if (qp->ready)
		iw_ep_kick(qp->ep);
}

void iw_qp_drain(struct iw_qp *qp)
{
	struct tern_qp *base = &qp->base;

	/* In ERR the connection is about to end anyway. */
	if (base->state != IB_QPS_RTS)
		return;
	/* Later posts are flushed at the end (RFC 5041 6.2.1). */
	qp->tx.take_end = base->sq.head + min(READ_ONCE(base->sq.ring->hdr->prod) - base->sq.head,
					      base->sq.ring->nslots);
	begin_close(qp);
	tern_qp_set_state(base, IB_QPS_SQD);
}

void iw_qp_error(struct iw_qp *qp)
{
	struct tern_qp *base = &qp->base;

	if (base->state == IB_QPS_ERR)
		return;
	tern_qp_set_state(base, IB_QPS_ERR);
	if (qp->ready)
		iw_req_flush(&qp->req);
	if (!base->srq)
		tern_rq_kick_wanted(&base->rq, true);
	/* What is written is sent, also a Terminate; then the end. */
	begin_close(qp);
}

void iw_qp_fatal(struct iw_qp *qp, enum ib_event_type event)
{
	if (qp->base.state == IB_QPS_ERR)
		return;
	if (qp->ready)
		iw_resp_terminate(&qp->resp, TERM_LOCAL, NULL, 0, 0);
	iw_qp_error(qp);
	tern_qp_event(&qp->base, event);
}

void iw_qp_refused(struct iw_qp *qp, int code)
{
	tern_qp_count(&qp->base, TERN_CNT_RESP_REFUSED);
	iw_qp_fatal(qp, (code & 0xff00) == 0x0100 || (code & 0xff00) == 0x1100 ?
				IB_EVENT_QP_ACCESS_ERR : IB_EVENT_QP_REQ_ERR);
}

enum iw_step iw_complete_requests(struct iw_qp *qp)
{
	u32 left = IW_BUDGET_WQES;
	enum wr_status status;
	u32 slot;

	while (left && iw_req_reap(&qp->req, &slot, &status)) {
		complete_send(qp, slot, tern_wr_wc_status(status));
		left--;
	}
	/* Those without a CQE */
	tern_sq_retire(&qp->base.sq, slot + 1);
	return left ? IW_DONE : IW_MORE;
}

enum iw_step iw_flush(struct iw_qp *qp, u32 *budget)
{
	struct tern_qp *base = &qp->base;
	struct tern_send_wqe *wqe;
	bool more = true;
	int ret;

	tern_sq_draining(&base->sq, false);
	for (; more && *budget; --*budget) {
		/*
		 * What the engine has comes first: it may wait for memory that is lent. A dead CQ
		 * reports nothing, and flushing would not end while a program goes on posting.
		 */
		if ((qp->ready && !iw_req_is_empty(&qp->req)) || tern_cq_is_dead(base->scq))
			ret = 0;
		else
			ret = tern_sq_take(&base->sq, base->type, &wqe);
		if (ret == 0 || ret == -EOVERFLOW)
			more = false;
		else
			complete_send(qp, base->sq.head - 1, IB_WC_WR_FLUSH_ERR);
	}
	more |= tern_qp_flush_recv(base, budget);
	if (base->srq && !qp->last_wqe_told) {
		qp->last_wqe_told = true;
		tern_qp_event(base, IB_EVENT_QP_LAST_WQE_REACHED);
	}
	return more ? IW_MORE : IW_DONE;
}
