// SPDX-License-Identifier: GPL-2.0
/*
 * RC and UC responder: carries out the engine's verdicts on requests. Takes
 * receive WQEs, checks keys, moves payload, executes atomics, completes
 * receives, and sends READ responses and acknowledges.
 */
#include "roce/exec.h"
#include "uncleared.h"

static void count_request(struct roce_qp *qp, const struct pkt *k)
{
	struct tern_dev *dev = qp->base.dev;

	if (k->op_flags & OPF_READ)
		tern_count(dev, TERN_CNT_RDMA_READS);
	else if (k->op_flags & OPF_ATOMIC)
		tern_count(dev, TERN_CNT_RDMA_ATOMICS);
	else if (!(k->op_flags & OPF_LAST))
		return;
	else if (k->op_flags & OPF_WRITE)
		tern_count(dev, TERN_CNT_RDMA_WRITES);
	else
		tern_count(dev, TERN_CNT_RDMA_SENDS);
}

static void count_event(struct roce_qp *qp, enum rc_event event)
{
	switch (event) {
	case RC_EV_DUPLICATE:
		tern_count(qp->base.dev, TERN_CNT_DUP_REQUEST);
		break;
	case RC_EV_OUT_OF_SEQ:
		tern_count(qp->base.dev, TERN_CNT_OUT_OF_SEQ);
		break;
	case RC_EV_REQ_ERR:
		tern_count(qp->base.dev, TERN_CNT_RESP_REFUSED);
		break;
	default:
		break;
	}
}

/*
 * The request cannot be carried out. RC: NAK and, except for RNR, the end of
 * the QP once the NAK is on its way; UC: the message is forgotten.
 */
static void fail(struct roce_qp *qp, const struct pkt *k, enum rc_fail why)
{
	static const enum ib_event_type event[] = {
		[RC_FAIL_INVALID_REQ] = IB_EVENT_QP_REQ_ERR,
		[RC_FAIL_ACCESS] = IB_EVENT_QP_ACCESS_ERR,
		[RC_FAIL_OP] = IB_EVENT_QP_FATAL,
	};
	u32 budget = ROCE_BUDGET_SOFTIRQ;

	rc_resp_fail(&qp->resp, k, why);
	if (why == RC_FAIL_RNR)
		return;
	tern_count(qp->base.dev, TERN_CNT_RESP_REFUSED);
	if (qp->base.type == IB_QPT_UC)
		return;
	/* Who delivered without a packet fetches it. */
	if (!qp->local.resp)
		roce_resp_send(qp, &budget);
	roce_qp_fatal(qp, event[why]);
}

/* The receive WQE in hand ends with an error of its own (too short, SGEs refused). */
static void fail_recv(struct roce_qp *qp, const struct pkt *k, enum ib_wc_status status,
		      enum rc_fail why)
{
	struct tern_cqe cqe = { .opcode = TERN_WC_RECV };

	roce_complete_recv(qp, &cqe, status, true);
	fail(qp, k, why);
}

/* Payload of a SEND packet. False: the request failed. */
static bool place_recv(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	struct tern_sgl sgl;
	int ret;

	if ((u64)act->offset + act->bytes > qp->base.rwqe.bytes) {
		fail_recv(qp, &rx->k, IB_WC_LOC_LEN_ERR, RC_FAIL_INVALID_REQ);
		return false;
	}
	if (!act->bytes)
		return true;
	tern_sgl_begin(&sgl, &qp->base.mem, qp->base.rwqe.sge, qp->base.rwqe.num_sge,
		       IB_ACCESS_LOCAL_WRITE);
	ret = roce_rx_to_sgl(rx, 0, &sgl, act->offset, act->bytes);
	tern_sgl_end(&sgl);
	if (ret && !roce_rx_is_void(rx))
		fail_recv(qp, &rx->k, IB_WC_LOC_PROT_ERR, RC_FAIL_OP);
	return !ret;
}

/* Payload of a WRITE packet; the first one answers for the whole message (IBTA 9.7.4.1.6). */
static bool place_write(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	u64 va = act->va + (act->begin ? 0 : act->offset);
	u32 length = act->begin ? act->length : act->bytes;
	const void *payload = roce_rx_flat(rx, act->bytes);
	struct tern_span span;
	int ret;

	if (!length)
		return true;
	if (likely(payload)) {
		ret = tern_span_write_once(&qp->base.mem, act->rkey, va, length,
					   IB_ACCESS_REMOTE_WRITE, 0, payload, act->bytes);
	} else {
		ret = tern_span_get(&qp->base.mem, act->rkey, va, length, IB_ACCESS_REMOTE_WRITE,
				    &span);
		if (!ret) {
			ret = roce_rx_to_span(rx, 0, &span, 0, act->bytes);
			tern_span_put(&span);
		}
	}
	if (ret && !roce_rx_is_void(rx))
		fail(qp, &rx->k, RC_FAIL_ACCESS);
	return !ret;
}

static void complete_recv(struct roce_qp *qp, const struct pkt *k, const struct rc_act *act)
{
	struct tern_cqe cqe = {
		.opcode = act->kind == RC_ACT_WRITE ? TERN_WC_RECV_RDMA_WITH_IMM : TERN_WC_RECV,
		.byte_len = act->length,
		.src_qp = qp->base.attr.dest_qp_num,
	};

	if (k->op_flags & OPF_IMM) {
		cqe.wc_flags |= TERN_WC_WITH_IMM;
		cqe.imm = k->imm;
	} else if (k->op_flags & OPF_IETH) {
		cqe.wc_flags |= TERN_WC_WITH_INV;
		cqe.inv_key = k->inv_rkey;
	}
	roce_complete_recv(qp, &cqe, IB_WC_SUCCESS, k->solicited);
}

/* ---- requests that wait for a receive WQE, and those behind them ---- */

/* Is who posts a receive to ring? In ERR he does anyway. Nobody rings for a shared queue. */
static void call_for_recv(struct roce_qp *qp, bool on)
{
	if (qp->recv_called == on || qp->base.srq || qp->base.state == IB_QPS_ERR)
		return;
	qp->recv_called = on;
	tern_rq_kick_wanted(&qp->base.rq, on);
}

static void keep(struct roce_qp *qp, const struct roce_rx *rx, bool first)
{
	struct sk_buff *skb;

	if (roce_rx_is_local(rx)) {
		/* Who brings it brings it again. */
		rx->src->waits = true;
		qp->local.peer_waits = !qp->base.srq;
		return;
	}
	skb = skb_queue_len(&qp->kept) < ROCE_RX_BACKLOG_MAX ? roce_skb_ref(rx) : NULL;
	if (!skb)
		tern_count(qp->base.dev, TERN_CNT_RX_BACKLOG_DROPPED);
	else if (first)
		__skb_queue_head(&qp->kept, skb);
	else
		__skb_queue_tail(&qp->kept, skb);
}

void roce_resp_rx_behind(struct roce_qp *qp, const struct roce_rx *rx)
{
	keep(qp, rx, false);
}

/* As roce_take_recv(), but -EAGAIN: there is none, and the request waits. */
static int take_recv(struct roce_qp *qp, const struct roce_rx *rx)
{
	int ret = roce_take_recv(qp);

	if (likely(ret)) {
		if (unlikely(qp->recv_called) && skb_queue_empty(&qp->kept))
			call_for_recv(qp, false);
		return ret;
	}
	if (!rc_resp_recv_look_ns(&qp->resp))
		tern_count(qp->base.dev, TERN_CNT_RNR_NAK_TX);
	if (!rc_resp_recv_may_wait(&qp->resp, roce_now(qp))) {
		call_for_recv(qp, false);
		return 0;
	}
	call_for_recv(qp, true);
	ret = roce_take_recv(qp);	/* posted before it could be seen that we call */
	if (ret)
		return ret;
	keep(qp, rx, true);
	return -EAGAIN;
}

static bool takes_requests(const struct roce_qp *qp)
{
	return qp->base.state >= IB_QPS_RTR && qp->base.state != IB_QPS_ERR;
}

/* A QP of this host waits to bring its request again. */
static void resume_peer(struct roce_qp *qp)
{
	if (takes_requests(qp) && rc_resp_recv_look_ns(&qp->resp) &&
	    !tern_qp_recv_is_posted(&qp->base))
		return;
	qp->local.peer_waits = false;
	call_for_recv(qp, false);
	roce_local_call_peer(qp);
}

bool roce_resp_resume(struct roce_qp *qp, u32 *budget)
{
	struct roce_rx rx TERN_UNCLEARED;

	if (qp->local.peer_waits)
		resume_peer(qp);
	while (!skb_queue_empty(&qp->kept)) {
		struct sk_buff *skb;

		if (!*budget)
			return true;
		--*budget;
		skb = __skb_dequeue(&qp->kept);
		if (takes_requests(qp) && roce_skb_parse(qp->base.dev, skb, &rx))
			roce_resp_rx(qp, &rx);
		napi_consume_skb(skb, 1);
		if (rc_resp_recv_look_ns(&qp->resp))
			return false;
	}
	if (!qp->local.peer_waits)
		call_for_recv(qp, false);
	return false;
}

/* ---- requests ---- */

static void do_place(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	const struct pkt *k = &rx->k;

	if (act->take_recv) {
		int ret = take_recv(qp, rx);

		if (ret == -EAGAIN)
			return;
		if (ret <= 0) {
			fail(qp, k, ret == 0 ? RC_FAIL_RNR : RC_FAIL_OP);
			return;
		}
	}
	if (act->kind == RC_ACT_RECV ? !place_recv(qp, rx, act) : !place_write(qp, rx, act))
		return;
	if ((k->op_flags & OPF_IETH) && tern_mem_invalidate(&qp->base.mem, k->inv_rkey, true)) {
		/* IBTA 9.4.1.1.3: a key that must not be invalidated is an access error */
		fail_recv(qp, k, IB_WC_LOC_PROT_ERR, RC_FAIL_ACCESS);
		return;
	}
	count_request(qp, k);
	rc_resp_commit(&qp->resp, k, act, 0);
	if (k->ack_req && qp->base.type == IB_QPT_RC && !roce_rx_is_local(rx) && ack_hold_watches(&qp->hold))
		ack_hold_message(&qp->hold, roce_now(qp));
	if (act->complete_recv)
		complete_recv(qp, k, act);
}

static void do_read(struct roce_qp *qp, const struct pkt *k, const struct rc_act *act)
{
	struct tern_span span;

	/* The responses look again; this is the answer to the request as a whole. */
	if (tern_span_get(&qp->base.mem, act->rkey, act->va, act->length, IB_ACCESS_REMOTE_READ,
			  &span)) {
		fail(qp, k, RC_FAIL_ACCESS);
		return;
	}
	tern_span_put(&span);
	count_request(qp, k);
	rc_resp_commit(&qp->resp, k, act, 0);
}

static void do_atomic(struct roce_qp *qp, const struct pkt *k, const struct rc_act *act)
{
	struct tern_span span;
	u64 orig = 0;
	int ret;

	ret = tern_span_get(&qp->base.mem, act->rkey, act->va, act->length,
			    IB_ACCESS_REMOTE_ATOMIC, &span);
	if (!ret) {
		const struct atomic_op op =
			atomic_op_plain(act->cmp_swap, act->compare, act->swap_add);

		ret = tern_span_atomic(&span, &op, &orig);
		tern_span_put(&span);
	}
	if (ret) {
		fail(qp, k, RC_FAIL_ACCESS);
		return;
	}
	count_request(qp, k);
	rc_resp_commit(&qp->resp, k, act, orig);
}

void roce_resp_rx(struct roce_qp *qp, const struct roce_rx *rx)
{
	const struct pkt *k = &rx->k;
	struct rc_act act TERN_UNCLEARED;
	u32 budget;

	if (!qp->comm_est && qp->base.state == IB_QPS_RTR) {
		qp->comm_est = true;
		tern_qp_event(&qp->base, IB_EVENT_COMM_EST);
	}
	if (qp->base.type == IB_QPT_RC)
		rc_resp_rx(&qp->resp, k, &act);
	else
		uc_resp_rx(&qp->resp, k, &act);
	count_event(qp, act.event);

	switch (act.kind) {
	case RC_ACT_RECV:
	case RC_ACT_WRITE:
		do_place(qp, rx, &act);
		break;
	case RC_ACT_READ:
		do_read(qp, k, &act);
		break;
	case RC_ACT_ATOMIC:
		do_atomic(qp, k, &act);
		break;
	case RC_ACT_FATAL:
		budget = ROCE_BUDGET_SOFTIRQ;
		if (!qp->local.resp)
			roce_resp_send(qp, &budget);
		roce_qp_fatal(qp, IB_EVENT_QP_REQ_ERR);
		break;
	default:
		break;
	}
}

/* ---- sending back ---- */

/*
 * As send_request_run() in req.c, from remotely readable memory or none: a READ's
 * responses, a NAK, an atomic's result.
 */
static int send_response_run(struct roce_qp *qp, const struct run *run, u32 *sent)
{
	struct tern_span span = {};
	struct pkt k TERN_UNCLEARED;
	int ret = 0;
	u32 i;

	*sent = 0;
	if (run->bytes && roce_tx_full(&qp->tx, run->bytes))
		return -EAGAIN;
	if (!roce_batch_room(qp, run))
		return -EAGAIN;
	if (run->bytes &&
	    tern_span_get(&qp->base.mem, run->rkey, run->va + run->offset, run->bytes,
			  IB_ACCESS_REMOTE_READ, &span))
		return -EFAULT;
	for (i = 0; i < run->npkts; i++) {
		void *dst;

		run_pkt(run, i, &k);
		if (!roce_tx_fits(&qp->tx, &k))
			break;
		dst = roce_tx_begin(&qp->tx, &qp->path, &k);
		if (!dst) {
			roce_tx_later(qp, NSEC_PER_MSEC);
			ret = -EAGAIN;
			break;
		}
		if (k.payload_bytes)
			tern_span_read(&span, (u64)i * run->pmtu, dst, k.payload_bytes);
		roce_tx_end(&qp->tx, &qp->path, &k);
	}
	if (run->bytes)
		tern_span_put(&span);
	if (!roce_batch_send(qp))
		return -EAGAIN;
	*sent = i;
	return ret;
}

/* Will a request go with the ACK, or may it wait for one? It does not within a message. */
static bool ack_may_wait(struct roce_qp *qp)
{
	if (!ack_hold_is_for(&qp->hold) || rc_resp_in_message(&qp->resp) || tern_sq_pending(&qp->base.sq) ||
	    qp->base.state == IB_QPS_ERR) {
		ack_hold_cancel(&qp->hold);
		return false;
	}
	return ack_hold_may_wait(&qp->hold, roce_now(qp));
}

/* It waits in the batch for the requests that may follow it. True: budget spent. */
static bool send_ack(struct roce_qp *qp, u32 *budget)
{
	struct pkt k TERN_UNCLEARED;

	if (!*budget)
		return true;
	if (ack_may_wait(qp))
		return false;
	--*budget;
	rc_resp_take_ack(&qp->resp, &k);
	if (!roce_tx_fits(&qp->tx, &k) && !roce_batch_send(qp))
		goto not_now;
	if (!roce_tx_begin(&qp->tx, &qp->path, &k)) {
		roce_tx_later(qp, NSEC_PER_MSEC);
		goto not_now;
	}
	roce_tx_end(&qp->tx, &qp->path, &k);
	qp->batch.has_ack = true;
	return false;

not_now:
	rc_resp_unsend_ack(&qp->resp);
	return false;
}

static int send_run(struct roce_qp *qp, const struct run *run, u32 *sent)
{
	return qp->local.open ? roce_local_respond(qp, run, sent) :
				send_response_run(qp, run, sent);
}

static u32 max_pkts(const struct roce_qp *qp, u32 budget)
{
	return qp->local.open ? roce_local_pkts(budget, rc_resp_pmtu(&qp->resp)) :
				roce_tx_pkts(&qp->tx, rc_resp_pmtu(&qp->resp), max(budget, 1u));
}

static bool send_responses(struct roce_qp *qp, u32 *budget)
{
	struct run run TERN_UNCLEARED;

	while (rc_resp_owes(&qp->resp)) {
		u32 sent;
		int ret;

		if (rc_resp_owes_ack_only(&qp->resp) && !qp->local.open)
			return send_ack(qp, budget);
		if (!*budget)
			return true;
		if (!rc_resp_next(&qp->resp, max_pkts(qp, *budget), &run))
			return false;
		ret = send_run(qp, &run, &sent);
		rc_resp_sent(&qp->resp, &run, sent);
		*budget -= min(*budget, qp->local.open ? roce_local_cost(run.bytes) : sent + 1);
		if (ret == -EFAULT) {
			if (!rc_resp_read_failed(&qp->resp, &run))
				continue;
			tern_count(qp->base.dev, TERN_CNT_RESP_REFUSED);
			if (rc_resp_next(&qp->resp, 1, &run)) {
				send_run(qp, &run, &sent);
				rc_resp_sent(&qp->resp, &run, sent);
			}
			roce_qp_fatal(qp, IB_EVENT_QP_ACCESS_ERR);
			return false;
		}
		if (ret == -EAGAIN)
			return false;
	}
	return false;
}

bool roce_resp_send(struct roce_qp *qp, u32 *budget)
{
	bool opened = false;
	bool more;

	if (!qp->resp_ready || qp->base.type != IB_QPT_RC || !rc_resp_owes(&qp->resp))
		return false;
	/*
	 * In ERR only the NAK that says why is still sent, after the responses due before it,
	 * or an ACK that waited.
	 */
	if (qp->base.state == IB_QPS_ERR && !rc_resp_owes_nak(&qp->resp) && !ack_hold_waits(&qp->hold))
		return false;
	if (qp->local.resp && !qp->local.open) {
		enum roce_way way = roce_local_answer_way(qp);

		if (way == ROCE_WAY_WAIT)
			return false;
		opened = way == ROCE_WAY_LOCAL;
	}
	more = send_responses(qp, budget);
	if (opened)
		roce_local_close(qp);
	return more;
}

void roce_resp_wait_no_more(struct roce_qp *qp)
{
	u32 budget = ROCE_BUDGET_SOFTIRQ;

	if (!ack_hold_waits(&qp->hold))
		return;
	ack_hold_init(&qp->hold);
	roce_resp_send(qp, &budget);
	roce_batch_send(qp);
}
