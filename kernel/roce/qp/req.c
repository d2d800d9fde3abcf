// SPDX-License-Identifier: GPL-2.0
/*
 * Posted WQEs into the requester's engine, its verdicts carried out. The runs that it
 * hands out are sent by carry.c.
 */
#include "core/fault.h"
#include "core/stats.h"
#include "mem/sgl.h"
#include "proto/rc_ack.h"
#include "queue/sq.h"
#include "roce/qp/ahead.h"
#include "roce/qp/drop.h"
#include "roce/qp/error.h"
#include "roce/qp/local.h"
#include "roce/qp/packet.h"
#include "roce/qp/req.h"
#include "roce/qp/time.h"
#include "roce/qp/trace.h"
#include "roce/wire/room.h"
#include "wr/local.h"
#include "wr/request.h"
#include "wr/status.h"

/* ---- WQEs into the engine ---- */

static const u8 rc_op_of[TERN_WR_OPCODES] = {
	[TERN_WR_RDMA_WRITE] = WR_WRITE,
	[TERN_WR_RDMA_WRITE_WITH_IMM] = WR_WRITE,
	[TERN_WR_SEND] = WR_SEND,
	[TERN_WR_SEND_WITH_IMM] = WR_SEND,
	[TERN_WR_RDMA_READ] = WR_READ,
	[TERN_WR_ATOMIC_CMP_AND_SWP] = WR_CMP_SWAP,
	[TERN_WR_ATOMIC_FETCH_AND_ADD] = WR_FETCH_ADD,
	[TERN_WR_LOCAL_INV] = WR_LOCAL,
	[TERN_WR_BIND_MW] = WR_LOCAL,
	[TERN_WR_SEND_WITH_INV] = WR_SEND,
	[TERN_WR_REG_MR] = WR_LOCAL,
	[TERN_WR_RDMA_READ_WITH_INV] = TERN_WR_NO_OP,	/* iWARP only */
	[TERN_WR_FLUSH] = WR_FLUSH,
	[TERN_WR_ATOMIC_WRITE] = WR_ATOMIC_WRITE,
};

/*
 * What is posted goes to the engine. Its ring is as large as the queue, but it gets no more at a
 * time than one run may send.
 */
static void take_posted(struct roce_qp *qp)
{
	const struct rc_req *req = &qp->req;
	struct wr wr;
	u32 n = 0;
	int ret;

	while (rc_req_num_unsent(req) < ROCE_BUDGET_WQES &&
	       (ret = tern_wr_take(&qp->base, rc_op_of, true, &wr)) != 0) {
		if (ret < 0) {
			roce_qp_fatal(qp, IB_EVENT_QP_FATAL);
			return;
		}
		rc_req_post(&qp->req, &wr);
		n++;
	}
	if (n)
		tern_qp_count_add(&qp->base, TERN_CNT_REQ_SENT, n);
}

/* ---- runs out of the engine ---- */

static u32 max_pkts(const struct roce_qp *qp, u32 budget)
{
	return qp->local.req ? roce_local_pkts(budget, rc_req_pmtu(&qp->req)) :
			       roce_tx_pkts(&qp->tx, rc_req_pmtu(&qp->req), budget);
}

enum roce_step roce_req_next(struct roce_qp *qp, u32 *budget, struct run *run)
{
	struct tern_sq *sq = &qp->base.sq;
	struct rc_req *req = &qp->req;

	for (;;) {
		if (tern_sq_pending(sq))
			take_posted(qp);
		/* An error is flushed at the end of the run. */
		if (!roce_req_may_send(qp))
			return ROCE_BLOCKED;
		if (!rc_req_has_unsent(req))
			return ROCE_DONE;
		if (unlikely(tern_fault_is_pending(&qp->base)))
			return ROCE_BLOCKED;
		if (!*budget)
			return ROCE_MORE;
		if (!rc_req_next(req, rc_req_needs_time(req) ? roce_now(qp) : 0,
				 max_pkts(qp, *budget), run))
			/* The engine may have passed by all that was already executed. */
			return rc_req_has_unsent(req) ? ROCE_BLOCKED : ROCE_DONE;
		if (run->kind != RUN_LOCAL)
			return ROCE_NEXT;
		rc_req_local_done(req, run->slot,
				  tern_wr_execute_local(&qp->base, tern_sq_wqe(sq, run->slot)));
		--*budget;
	}
}

/* ---- packets and time ---- */

static const enum tern_counter event_counter[] = {
	[RC_EV_GHOST] = TERN_CNT_GHOST_ACK,
	[RC_EV_DUPLICATE] = TERN_CNT_GHOST_ACK,
	[RC_EV_OUT_OF_SEQ] = TERN_CNT_GHOST_ACK,
	[RC_EV_SEQ_NAK] = TERN_CNT_SEQ_NAK_RX,
	[RC_EV_RNR_NAK] = TERN_CNT_RNR_NAK_RX,
	[RC_EV_IMPLIED_NAK] = TERN_CNT_IMPLIED_NAK,
	[RC_EV_TIMEOUT] = TERN_CNT_ACK_TIMEOUT,
	[RC_EV_PROBE] = TERN_CNT_PROBES,
	[RC_EV_REMOTE_ERR] = TERN_CNT_REQ_REMOTE_ERR,
	[RC_EV_BAD_RESP] = TERN_CNT_REQ_REMOTE_ERR,
};

/* Answers ahead of their turn are counted in ahead.c, a gap of the peer when its NAK came. */
static bool is_counted(enum rc_event event)
{
	return event != RC_EV_NONE && event != RC_EV_AHEAD && event != RC_EV_HOLE &&
	       event < ARRAY_SIZE(event_counter);
}

static bool goes_back(enum rc_event event)
{
	return event == RC_EV_SEQ_NAK || event == RC_EV_RNR_NAK || event == RC_EV_IMPLIED_NAK ||
	       event == RC_EV_TIMEOUT || event == RC_EV_PROBE || event == RC_EV_HOLE;
}

/* window: in packets, before what the event is of */
static void note_event(struct roce_qp *qp, enum rc_event event, u32 window)
{
	if (is_counted(event))
		tern_qp_count(&qp->base, event_counter[event]);
	if (trace_tern_retransmit_enabled() && goes_back(event))
		trace_tern_retransmit(qp, event);
	if (trace_tern_window_enabled() && window != rc_req_window_pkts(&qp->req))
		trace_tern_window(qp, window);
}

static void note_answer(const struct roce_qp *qp, const struct pkt *k, enum rc_event event)
{
	if (event == RC_EV_GHOST || event == RC_EV_DUPLICATE || event == RC_EV_OUT_OF_SEQ)
		roce_note_drop(qp, k, TERN_DROP_GHOST);
	if ((k->op_flags & OPF_ACK) && aeth_is_nak(k->syndrome))
		trace_tern_nak_rcvd(qp, k->psn, k->syndrome);
}

static int place_response(struct roce_qp *qp, const struct roce_rx *rx,
			  const struct rc_req_act *act)
{
	struct tern_send_wqe *wqe = tern_sq_wqe(&qp->base.sq, act->slot);
	struct tern_sgl sgl;
	int ret;

	tern_sgl_begin(&sgl, &qp->base.mem, tern_wqe_sge(wqe), wqe->num_sge,
		       IB_ACCESS_LOCAL_WRITE);
	if (act->kind == RC_REQ_PLACE_ATOMIC)
		ret = tern_sgl_write(&sgl, 0, &act->value, sizeof(act->value));
	else
		ret = roce_rx_to_sgl(rx, 0, &sgl, act->offset, act->bytes);
	tern_sgl_end(&sgl);
	return ret;
}

void roce_req_rx(struct roce_qp *qp, const struct roce_rx *rx)
{
	u32 window = rc_req_window_pkts(&qp->req);
	struct rc_req_act act;
	u64 now;

	if (!roce_req_may_send(qp) || !roce_is_reliable(qp)) {
		tern_qp_count(&qp->base, TERN_CNT_RX_BAD_PATH);
		roce_note_drop(qp, &rx->k, TERN_DROP_STATE);
		return;
	}
	now = rc_req_times_answer(&qp->req, &rx->k) ? roce_now(qp) : roce_ack_timer_from(qp);
	rc_req_rx(&qp->req, now, &rx->k, &act);
	note_answer(qp, &rx->k, act.event);
	note_event(qp, act.event, window);
	if (act.kind == RC_REQ_DONE)
		return;
	if (unlikely(act.kind == RC_REQ_KEEP)) {
		roce_ahead_add(qp, &qp->ahead_answers, rx);
		return;
	}
	switch (place_response(qp, rx, &act)) {
	case 0:
		rc_req_placed(&qp->req, now, &act);
		break;
	case -EAGAIN:
		/* Asked for once more when the pages are there (roce_req_next()). */
		rc_req_ask_again(&qp->req, rx->k.psn);
		tern_fault_begin(&qp->base);
		break;
	default:
		rc_req_fail(&qp->req, act.slot, WR_ST_LOC_PROT_ERR);
	}
}

void roce_req_slow_down(struct roce_qp *qp)
{
	u32 window = rc_req_window_pkts(&qp->req);

	/* Of responses each may have a mark, and a peer may send more CNPs than it is to. */
	if (!roce_req_may_send(qp) || !cnp_is_due(&qp->cnp_in, roce_now(qp)))
		return;
	rc_req_cnp(&qp->req, roce_now(qp));
	note_event(qp, RC_EV_NONE, window);
}

void roce_req_missing(struct roce_qp *qp, bool kept, u32 psn)
{
	u32 window = rc_req_window_pkts(&qp->req);

	note_event(qp, rc_req_missing(&qp->req, roce_now(qp), kept, psn), window);
}

void roce_req_timer(struct roce_qp *qp)
{
	u32 window = rc_req_window_pkts(&qp->req);

	if (!roce_req_may_send(qp))
		return;
	/* It may be another since. */
	rc_req_set_peer_timeout(&qp->req, roce_peer_timeout_ns(qp));
	note_event(qp, rc_req_timeout(&qp->req, roce_now(qp)), window);
}

enum roce_step roce_req_reap(struct roce_qp *qp)
{
	u32 left = ROCE_BUDGET_WQES;
	enum wr_status status;
	u32 slot;

	if (!qp->req_ready) {
		/* An XRC target has no requests to drain. */
		roce_check_drained(qp);
		return ROCE_DONE;
	}
	while (left && rc_req_reap(&qp->req, &slot, &status)) {
		roce_complete_send(qp, slot, tern_wr_wc_status(status));
		if (status == WR_ST_RETRY_EXC_ERR)
			tern_qp_count(&qp->base, TERN_CNT_RETRY_EXCEEDED);
		else if (status == WR_ST_RNR_RETRY_EXC_ERR)
			tern_qp_count(&qp->base, TERN_CNT_RNR_EXCEEDED);
		left--;
	}
	/* Those without a CQE */
	if (left < ROCE_BUDGET_WQES)
		tern_sq_retire(&qp->base.sq, slot + 1);

	if (rc_req_in_error(&qp->req)) {
		if (qp->base.type == IB_QPT_UC)
			roce_sq_error(qp);
		else
			roce_qp_error(qp);
	} else if (left) {
		roce_check_drained(qp);
	}
	return left ? ROCE_DONE : ROCE_MORE;
}
