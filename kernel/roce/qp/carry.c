// SPDX-License-Identifier: GPL-2.0
/*
 * The one loop that sends: it asks an engine for a run, carries it by the wire (batch.c)
 * or to a QP of this host (local.c), and tells the engine. way.c says which. The answers
 * of a QP of this host are fetched by the QP that delivers to it, between two runs.
 */
#include "core/fault.h"
#include "core/qp.h"
#include "core/stats.h"
#include "core/trace.h"
#include "mem/span.h"
#include "proto/run.h"
#include "queue/sq.h"
#include "roce/qp/batch.h"
#include "roce/qp/carry.h"
#include "roce/qp/error.h"
#include "roce/qp/local.h"
#include "roce/qp/lock.h"
#include "roce/qp/peer.h"
#include "roce/qp/req.h"
#include "roce/qp/target.h"
#include "roce/qp/time.h"
#include "roce/qp/trace.h"
#include "roce/qp/way.h"
#include "roce/wire/path.h"
#include "roce/wire/room.h"
#include "roce/wire/source.h"
#include "uncleared.h"

/* Requests of at most ROCE_LOCAL_SHORT_BYTES that share one acknowledge. */
#define LOCAL_UNANSWERED	16u

/* ---- answers of a peer of this host, fetched by the QP that delivers to it ---- */

/* A plain acknowledge, without what it takes to send one: most often there is nothing else. */
static void take_ack(struct roce_qp *qp, struct roce_qp *to)
{
	struct roce_rx ack TERN_UNCLEARED;

	roce_local_rx_begin(&ack, NULL);
	rc_resp_take_ack(&to->resp, &ack.k);
	roce_req_rx(qp, &ack);
}

/* All that to owes, delivered to qp. */
static enum roce_step fetch_all(struct roce_qp *qp, struct roce_qp *to, u32 *budget)
{
	u32 left = max(*budget, 1u);	/* an acknowledge goes always */
	enum roce_step step;

	to->local.open = true;
	to->local.to = qp;
	step = roce_carry_answers(to, &left);
	*budget = min(*budget, left);
	/* A QP connected to itself goes on by the same way. */
	to->local.open = to == qp;
	to->local.to = to == qp ? qp : NULL;
	return step;
}

/* The peer has taken in what came: what does it owe, and have to do? */
static void fetch_answers(struct roce_qp *qp, struct roce_qp *to, u32 *budget)
{
	enum roce_step step = ROCE_DONE;

	qp->local.unanswered = 0;
	if (roce_is_reliable(to) && to->resp_ready && rc_resp_owes(&to->resp)) {
		bool back = to->local.resp && roce_path_is_back(&to->path, &qp->path);

		if (back && to->base.state != IB_QPS_ERR && rc_resp_owes_ack_only(&to->resp)) {
			take_ack(qp, to);
			*budget -= min(*budget, 1u);
			return;
		}
		step = back ? fetch_all(qp, to, budget) : ROCE_MORE;
	}
	if (step == ROCE_MORE || to->base.state == IB_QPS_ERR || to->base.state == IB_QPS_SQE)
		roce_mark(to, TERN_QP_MARK_SEND);
}

/* Of short messages one acknowledge for some is enough, if there is nothing else to say. */
static bool answer_may_wait(struct roce_qp *qp, const struct roce_qp *to, const struct run *run)
{
	return run->bytes <= ROCE_LOCAL_SHORT_BYTES && rc_resp_owes_ack_only(&to->resp) &&
	       ++qp->local.unanswered < LOCAL_UNANSWERED;
}

/* Before the peer is let go of, and before giving up: false if all is answered already. */
static bool settle_answers(struct roce_qp *qp, u32 *budget)
{
	if (!qp->local.unanswered)
		return false;
	fetch_answers(qp, qp->local.to, budget);
	return true;
}

/* ---- a run of requests ---- */

static void set_source(struct roce_source *src, struct roce_qp *qp, const struct run *run)
{
	*src = (struct roce_source){ .path = &qp->path, .off = run->offset };
	if (run->bytes)
		roce_local_source(src, qp, tern_sq_wqe(&qp->base.sq, run->slot));
}

static enum roce_step request_locally(struct roce_qp *qp, const struct run *run, u32 *budget)
{
	struct roce_qp *to = qp->local.to;
	struct roce_source src TERN_UNCLEARED;
	int ret;

	*budget -= min(*budget, roce_local_cost(run->bytes));
	set_source(&src, qp, run);
	ret = roce_local_request(qp, run, &src);
	if (ret == -EAGAIN) {
		tern_fault_begin(&qp->base);
		return ROCE_BLOCKED;
	}
	if (ret)
		rc_req_fail(&qp->req, run->slot, WR_ST_LOC_PROT_ERR);
	else if (to && !answer_may_wait(qp, to, run))
		fetch_answers(qp, to, budget);
	return ROCE_NEXT;
}

/* Is there too much in the stack to send more? A run follows when there is not. */
static bool is_held_up(struct roce_qp *qp, u32 bytes)
{
	if (likely(!roce_tx_full(&qp->tx, bytes)))
		return false;
	trace_tern_gate_wait(&qp->base, bytes);
	return true;
}

static enum roce_step request_by_wire(struct roce_qp *qp, const struct run *run, u32 *budget)
{
	struct roce_source src TERN_UNCLEARED;
	struct rc_req *req = &qp->req;
	u32 sent;
	int ret;

	if (!roce_batch_room(qp, run) || is_held_up(qp, run->bytes))
		return ROCE_BLOCKED;
	set_source(&src, qp, run);
	ret = roce_batch_run(qp, run, &src, &sent);
	if (rc_req_is_resent(req, run))
		tern_qp_count_add(&qp->base, TERN_CNT_RETRANS_PKTS, sent);
	if (qp->base.type == IB_QPT_UC) {
		/* complete once it is sent, so it must be */
		if (!roce_batch_send(qp))
			return ROCE_BLOCKED;
	} else if (sent && !qp->batch.has_requests) {
		qp->batch.has_requests = true;
		qp->batch.psn = run->psn;
		ack_hold_reply(&qp->hold, ack_hold_is_asked(&qp->hold) ? roce_now(qp) : 0);
	}
	rc_req_sent(req, rc_req_times_run(req, run) ? roce_now(qp) : roce_ack_timer_from(qp), run,
		    sent);
	*budget -= min(*budget, sent + 1);
	if (ret == -EAGAIN) {
		tern_fault_begin(&qp->base);
		return ROCE_BLOCKED;
	}
	if (ret)
		rc_req_fail(req, run->slot, WR_ST_LOC_PROT_ERR);
	return ROCE_NEXT;
}

static enum roce_step send_request(struct roce_qp *qp, const struct run *run, u32 *budget)
{
	switch (roce_way_of_request(qp, run)) {
	case ROCE_WAY_LOCAL:
		return request_locally(qp, run, budget);
	case ROCE_WAY_WIRE:
		return request_by_wire(qp, run, budget);
	case ROCE_WAY_CHANGED:
		return ROCE_NEXT;
	default:
		return ROCE_BLOCKED;
	}
}

static enum roce_step next_request(struct roce_qp *qp, u32 *budget, struct run *run)
{
	enum roce_step step;

	for (;;) {
		step = roce_req_next(qp, budget, run);
		if (step == ROCE_NEXT || step == ROCE_MORE)
			return step;	/* draining stays on: the work queue goes on */
		/* What the peer answers may let more go. */
		if (settle_answers(qp, budget) && rc_req_has_unsent(&qp->req))
			continue;
		/* The peer's own work need not wait until ours is complete. */
		roce_peer_let_go(qp);
		if (!roce_req_may_send(qp) || rc_req_has_unsent(&qp->req) || roce_req_rest(qp))
			return step;
	}
}

/* ---- a run of answers: a READ's responses, a NAK, an atomic's result ---- */

/*
 * 0: the memory of a run of READ responses may be read, until tern_span_put(). -EAGAIN: not now;
 * other errors: no longer.
 */
static int get_span(struct roce_qp *qp, const struct run *run, struct tern_span *span)
{
	u64 left = run->dma_bytes - run->offset;
	int ret;

	if (!roce_borrow(qp, run->srqn))
		return -EFAULT;
	ret = tern_span_get(&qp->base.mem, run->rkey, run->va + run->offset, left,
			    IB_ACCESS_REMOTE_READ, span);
	if (!ret) {
		ret = tern_span_present(&qp->base.mem, span, 0, run->bytes, left - run->bytes,
					IB_ACCESS_REMOTE_READ);
		if (unlikely(ret))
			tern_span_put(span);
	}
	roce_give_back(qp);
	return ret;
}

/* From remotely readable memory or none. -EAGAIN: not now; other errors: no longer readable. */
static int carry_answer(struct roce_qp *qp, const struct run *run, u32 *sent)
{
	struct roce_source src = { .path = &qp->path };
	bool local = qp->local.open;
	struct tern_span span;
	int ret = 0;

	*sent = 0;
	if (!local && ((run->bytes && is_held_up(qp, run->bytes)) ||
		       !roce_batch_room(qp, run)))
		return -EAGAIN;
	if (run->bytes) {
		ret = get_span(qp, run, &span);
		if (ret)
			return ret;
		src.span = &span;
	}
	if (local) {
		roce_local_answer(qp, run, &src);
		*sent = run->npkts;
	} else {
		ret = roce_batch_run(qp, run, &src, sent);
	}
	if (run->bytes)
		tern_span_put(&span);
	if (!local && !roce_batch_send(qp)) {
		*sent = 0;
		return -EAGAIN;
	}
	return ret;
}

static void note_sent(const struct roce_qp *qp, const struct run *run, u32 sent)
{
	if (trace_tern_nak_sent_enabled() && sent && run->kind == RUN_CONTROL &&
	    run->op == OP_ACK && aeth_is_nak(run->syndrome))
		trace_tern_nak_sent(qp, run->psn, run->syndrome);
}

/* The memory of a READ's responses is no longer readable. */
static enum roce_step refuse_read(struct roce_qp *qp, struct run *run)
{
	u32 sent;

	if (!rc_resp_read_failed(&qp->resp, run))
		return ROCE_NEXT;
	tern_qp_count(&qp->base, TERN_CNT_RESP_REFUSED);
	if (rc_resp_next(&qp->resp, 1, run)) {
		carry_answer(qp, run, &sent);
		note_sent(qp, run, sent);
		rc_resp_sent(&qp->resp, run, sent);
	}
	roce_qp_fatal(qp, IB_EVENT_QP_ACCESS_ERR);
	return ROCE_DONE;
}

static enum roce_step send_answer(struct roce_qp *qp, struct run *run, u32 *budget)
{
	u32 sent;
	int ret = carry_answer(qp, run, &sent);

	note_sent(qp, run, sent);
	rc_resp_sent(&qp->resp, run, sent);
	*budget -= min(*budget, qp->local.open ? roce_local_cost(run->bytes) : sent + 1);
	if (ret == -EAGAIN) {
		tern_fault_begin(&qp->base);
		return ROCE_BLOCKED;
	}
	return ret ? refuse_read(qp, run) : ROCE_NEXT;
}

/* Will a request go with the ACK, or may it wait for one? It does not within a message. */
static bool ack_may_wait(struct roce_qp *qp)
{
	if (!ack_hold_is_for(&qp->hold) || rc_resp_in_message(&qp->resp) ||
	    tern_sq_pending(&qp->base.sq) || qp->base.state == IB_QPS_ERR) {
		ack_hold_cancel(&qp->hold);
		return false;
	}
	return ack_hold_may_wait(&qp->hold, roce_now(qp));
}

/* It waits in the batch for the requests that may follow it. */
static enum roce_step send_ack(struct roce_qp *qp, u32 *budget)
{
	if (!*budget)
		return ROCE_MORE;
	if (ack_may_wait(qp))
		return ROCE_BLOCKED;
	--*budget;
	return roce_batch_ack(qp) ? ROCE_DONE : ROCE_BLOCKED;
}

static enum roce_step next_answer(struct roce_qp *qp, u32 *budget, struct run *run)
{
	u32 max_pkts;

	if (!rc_resp_owes(&qp->resp))
		return ROCE_DONE;
	if (rc_resp_owes_ack_only(&qp->resp) && !qp->local.open)
		return send_ack(qp, budget);
	if (!*budget)
		return ROCE_MORE;
	max_pkts = qp->local.open ? roce_local_pkts(*budget, rc_resp_pmtu(&qp->resp)) :
				    roce_tx_pkts(&qp->tx, rc_resp_pmtu(&qp->resp), *budget);
	return rc_resp_next(&qp->resp, max_pkts, run) ? ROCE_NEXT : ROCE_DONE;
}

/* ---- the loop of both ---- */

enum side {
	REQUESTS,
	ANSWERS,
};

static __always_inline enum roce_step send_runs(struct roce_qp *qp, enum side side, u32 *budget)
{
	struct run run TERN_UNCLEARED;
	enum roce_step step;

	do {
		step = side == REQUESTS ? next_request(qp, budget, &run) :
					  next_answer(qp, budget, &run);
		if (step == ROCE_NEXT)
			step = side == REQUESTS ? send_request(qp, &run, budget) :
						  send_answer(qp, &run, budget);
	} while (step == ROCE_NEXT);
	return step;
}

enum roce_step roce_carry_requests(struct roce_qp *qp, u32 *budget)
{
	enum roce_step step = ROCE_DONE;

	if (roce_req_begin(qp))
		step = send_runs(qp, REQUESTS, budget);
	settle_answers(qp, budget);
	roce_peer_close(qp);
	return step;
}

enum roce_step roce_carry_answers(struct roce_qp *qp, u32 *budget)
{
	enum roce_step step;
	bool opened = false;

	if (!qp->resp_ready || !roce_is_reliable(qp) || !rc_resp_owes(&qp->resp))
		return ROCE_DONE;
	/*
	 * In ERR only the NAK that says why is still sent, after the responses due before it,
	 * or an ACK that waited.
	 */
	if (qp->base.state == IB_QPS_ERR && !rc_resp_owes_nak(&qp->resp) &&
	    !ack_hold_waits(&qp->hold))
		return ROCE_DONE;
	if (qp->local.resp && !qp->local.open) {
		enum roce_way way = roce_way_of_answers(qp);

		if (way == ROCE_WAY_WAIT)
			return ROCE_BLOCKED;
		opened = way == ROCE_WAY_LOCAL;
	}
	step = send_runs(qp, ANSWERS, budget);
	if (opened)
		roce_peer_close(qp);
	return step;
}

void roce_carry_held_ack(struct roce_qp *qp)
{
	u32 budget = ROCE_BUDGET_SOFTIRQ;

	if (!ack_hold_waits(&qp->hold))
		return;
	ack_hold_init(&qp->hold);
	roce_carry_answers(qp, &budget);
	roce_batch_send(qp);
}
