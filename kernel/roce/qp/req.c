// SPDX-License-Identifier: GPL-2.0
/*
 * RC and UC requester: feeds posted WQEs to the engine, executes its runs
 * (packets and local operations), places READ data and atomic results, and
 * turns its completions into CQEs.
 */
#include "roce/exec.h"
#include "uncleared.h"

/* ---- WQEs into the engine ---- */

static const u8 rc_op_of[TERN_WR_OPCODES] = {
	[TERN_WR_RDMA_WRITE] = RC_OP_WRITE,
	[TERN_WR_RDMA_WRITE_WITH_IMM] = RC_OP_WRITE,
	[TERN_WR_SEND] = RC_OP_SEND,
	[TERN_WR_SEND_WITH_IMM] = RC_OP_SEND,
	[TERN_WR_RDMA_READ] = RC_OP_READ,
	[TERN_WR_ATOMIC_CMP_AND_SWP] = RC_OP_CMP_SWAP,
	[TERN_WR_ATOMIC_FETCH_AND_ADD] = RC_OP_FETCH_ADD,
	[TERN_WR_LOCAL_INV] = RC_OP_LOCAL,
	[TERN_WR_BIND_MW] = RC_OP_LOCAL,
	[TERN_WR_SEND_WITH_INV] = RC_OP_SEND,
	[TERN_WR_REG_MR] = RC_OP_LOCAL,
	[TERN_WR_RDMA_READ_WITH_INV] = RC_OP_LOCAL,	/* iWARP only: fails in order */
};

static void sqe_from_wqe(const struct tern_send_wqe *wqe, struct rc_sqe *s)
{
	*s = (struct rc_sqe){ .op = rc_op_of[wqe->opcode] };

	if (wqe->flags & TERN_SEND_FENCE)
		s->flags |= RC_SQE_FENCE;
	if (wqe->flags & TERN_SEND_SOLICITED)
		s->flags |= RC_SQE_SOLICITED;
	if (s->op != RC_OP_LOCAL)
		s->length = tern_wqe_bytes(wqe);

	switch (wqe->opcode) {
	case TERN_WR_SEND_WITH_IMM:
	case TERN_WR_RDMA_WRITE_WITH_IMM:
		s->flags |= RC_SQE_IMM;
		s->imm = wqe->imm;
		break;
	case TERN_WR_SEND_WITH_INV:
		s->flags |= RC_SQE_INV;
		s->inv_rkey = wqe->inv_key;
		break;
	case TERN_WR_LOCAL_INV:
		/* What is in flight may have to be sent again from the region. */
		s->flags |= RC_SQE_WAIT_ALL;
		break;
	default:
		break;
	}

	switch (s->op) {
	case RC_OP_WRITE:
	case RC_OP_READ:
		s->va = wqe->rdma.remote_addr;
		s->rkey = wqe->rdma.rkey;
		break;
	case RC_OP_CMP_SWAP:
		s->va = wqe->atomic.remote_addr;
		s->rkey = wqe->atomic.rkey;
		s->compare = wqe->atomic.compare_add;
		s->swap_add = wqe->atomic.swap;
		break;
	case RC_OP_FETCH_ADD:
		s->va = wqe->atomic.remote_addr;
		s->rkey = wqe->atomic.rkey;
		s->swap_add = wqe->atomic.compare_add;
		break;
	default:
		break;
	}
}

/*
 * What is posted goes to the engine, whose ring is as large as the queue; but no more of it than
 * one run may send.
 */
static void take_posted(struct roce_qp *qp)
{
	const struct rc_req *req = &qp->req;
	struct tern_sq *sq = &qp->base.sq;
	struct tern_send_wqe *wqe;
	struct rc_sqe s;
	u32 n = 0;
	int ret;

	while (rc_req_num_unsent(req) < ROCE_BUDGET_WQES &&
	       (ret = tern_sq_take(sq, qp->base.type, &wqe)) != 0) {
		if (ret == -EOVERFLOW) {
			roce_qp_fatal(qp, IB_EVENT_QP_FATAL);
			return;
		}
		if (ret < 0) {
			/* Fails when execute_local() comes to it. */
			wqe = tern_sq_wqe(sq, sq->head - 1);
			wqe->opcode = TERN_WR_OPCODES;
			s = (struct rc_sqe){ .op = RC_OP_LOCAL, .flags = RC_SQE_WAIT_ALL };
		} else {
			sqe_from_wqe(wqe, &s);
		}
		rc_req_post(&qp->req, &s);
		n++;
	}
	if (n)
		tern_count_add(qp->base.dev, TERN_CNT_REQ_SENT, n);
}

/* ---- executing runs ---- */

/* Where a request's payload comes from. */
struct payload {
	struct roce_qp *qp;
	struct tern_send_wqe *wqe;
	bool in_pieces;		/* read more than once, so by sgl */
	struct tern_sgl sgl;
};

static void payload_begin(struct payload *p, struct roce_qp *qp, const struct run *run)
{
	p->qp = qp;
	p->wqe = tern_sq_wqe(&qp->base.sq, run->slot);
	p->in_pieces = run->npkts > 1 && !(p->wqe->flags & TERN_SEND_INLINE);
	if (p->in_pieces)
		tern_sgl_begin(&p->sgl, &qp->base.mem, tern_wqe_sge(p->wqe), p->wqe->num_sge, 0);
}

static void payload_end(struct payload *p)
{
	if (p->in_pieces)
		tern_sgl_end(&p->sgl);
}

static int payload_read(struct payload *p, u64 off, void *dst, u32 n)
{
	if (p->in_pieces)
		return tern_sgl_read(&p->sgl, off, dst, n);
	if (!(p->wqe->flags & TERN_SEND_INLINE))
		return tern_sges_read(&p->qp->base.mem, tern_wqe_sge(p->wqe), p->wqe->num_sge,
				      off, dst, n);
	memcpy(dst, (u8 *)tern_wqe_inline(p->wqe) + off, n);
	return 0;
}

/*
 * Batch the packets of a request run; *sent of them, 0: as many as fit; -EFAULT: the
 * WQE's memory refuses; -EAGAIN: none now.
 */
static int send_request_run(struct roce_qp *qp, const struct run *run, u32 *sent)
{
	struct payload payload TERN_UNCLEARED;
	struct pkt k TERN_UNCLEARED;
	int ret = 0;
	u32 i;

	payload_begin(&payload, qp, run);
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
		if (k.payload_bytes &&
		    payload_read(&payload, run->offset + (u64)i * run->pmtu, dst,
				 k.payload_bytes)) {
			roce_tx_cancel(&qp->tx);
			ret = -EFAULT;
			break;
		}
		roce_tx_end(&qp->tx, &qp->path, &k);
	}
	payload_end(&payload);
	*sent = i;
	return ret;
}

static bool may_send(const struct roce_qp *qp)
{
	return qp->req_ready && (qp->base.state == IB_QPS_RTS || qp->base.state == IB_QPS_SQD);
}

static bool send_requests(struct roce_qp *qp, u32 *budget)
{
	struct tern_sq *sq = &qp->base.sq;
	struct rc_req *req = &qp->req;
	bool blocked = false;
	struct run run TERN_UNCLEARED;

	if (!may_send(qp) || (!rc_req_has_unsent(req) && tern_sq_is_idle(sq)))
		return false;
	tern_sq_draining(sq, true);
	for (;;) {
		u32 sent, max_pkts;
		enum roce_way way;
		int ret;

		if (tern_sq_pending(sq))
			take_posted(qp);
		if (!may_send(qp))
			return false;
		if (!*budget && rc_req_has_unsent(req))
			return true;	/* draining stays on: the work queue goes on */
		max_pkts = qp->local.req ? roce_local_pkts(*budget, rc_req_pmtu(req)) :
					   roce_tx_pkts(&qp->tx, rc_req_pmtu(req), *budget);
		if (!rc_req_has_unsent(req) ||
		    !rc_req_next(req, rc_req_waits_rnr(req) ? roce_now(qp) : 0, max_pkts, &run)) {
			if (roce_local_settle(qp, budget) && rc_req_has_unsent(req))
				continue;
			/* The peer's own work need not wait until ours is complete. */
			roce_local_let_go(qp);
			/* Nothing new will be looked at before the peer or a timer wakes us. */
			blocked = rc_req_has_unsent(req);
			if (blocked)
				break;
			tern_sq_draining(sq, false);
			if (!tern_sq_pending(sq))
				break;
			tern_sq_draining(sq, true);
			continue;
		}
		if (run.kind == RUN_LOCAL) {
			rc_req_local_done(req, run.slot,
					  /* the values of enum ib_wc_status are rc_status' */
					  (enum rc_status)tern_qp_execute_local(
						  &qp->base, tern_sq_wqe(sq, run.slot)));
			--*budget;
			continue;
		}
		way = roce_local_way(qp, &run);
		if (way == ROCE_WAY_CHANGED)
			continue;
		if (way == ROCE_WAY_WAIT)
			break;
		if (way == ROCE_WAY_LOCAL) {
			ret = roce_local_request(qp, &run, budget);
			if (ret == -EAGAIN)
				break;
			if (ret)
				rc_req_fail(req, run.slot, RC_ST_LOC_PROT_ERR);
			continue;
		}
		if (!roce_batch_room(qp, &run))
			return false;
		if (roce_tx_full(&qp->tx, run.bytes))
			return false;
		ret = send_request_run(qp, &run, &sent);
		if (rc_req_is_resent(req, &run))
			tern_count_add(qp->base.dev, TERN_CNT_RETRANS_PKTS, sent);
		if (qp->base.type == IB_QPT_UC) {
			/* complete once it is sent, so it must be */
			if (!roce_batch_send(qp))
				return false;
		} else if (sent && !qp->batch.has_requests) {
			qp->batch.has_requests = true;
			qp->batch.psn = run.psn;
			ack_hold_reply(&qp->hold, ack_hold_is_asked(&qp->hold) ? roce_now(qp) : 0);
		}
		rc_req_sent(req, roce_ack_timer_from(qp), &run, sent);
		*budget -= min(*budget, sent + 1);
		if (ret == -EFAULT) {
			rc_req_fail(req, run.slot, RC_ST_LOC_PROT_ERR);
			continue;
		}
		if (ret == -EAGAIN)
			break;
	}
	return false;
}

bool roce_req_send(struct roce_qp *qp, u32 *budget)
{
	bool more = send_requests(qp, budget);

	roce_local_settle(qp, budget);
	roce_local_close(qp);
	return more;
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
	[RC_EV_REMOTE_ERR] = TERN_CNT_REQ_REMOTE_ERR,
	[RC_EV_BAD_RESP] = TERN_CNT_REQ_REMOTE_ERR,
};

static void count_event(struct roce_qp *qp, enum rc_event event)
{
	if (event != RC_EV_NONE && event < ARRAY_SIZE(event_counter))
		tern_count(qp->base.dev, event_counter[event]);
}

static int place(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_req_act *act)
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
	struct rc_req_act act;
	u64 now;

	if (!may_send(qp) || qp->base.type != IB_QPT_RC) {
		tern_count(qp->base.dev, TERN_CNT_RX_BAD_PATH);
		return;
	}
	now = (rx->k.syndrome & AETH_TYPE_MASK) == AETH_RNR_NAK ? roce_now(qp) :
								 roce_ack_timer_from(qp);
	rc_req_rx(&qp->req, now, &rx->k, &act);
	count_event(qp, act.event);
	if (act.kind == RC_REQ_DONE)
		return;
	if (place(qp, rx, &act))
		rc_req_fail(&qp->req, act.slot, RC_ST_LOC_PROT_ERR);
	else
		rc_req_placed(&qp->req, now, &act);
}

void roce_req_timer(struct roce_qp *qp)
{
	if (!qp->req_ready || !may_send(qp))
		return;
	/* It may be another since. */
	rc_req_set_peer_timeout(&qp->req, roce_peer_timeout_ns(qp));
	count_event(qp, rc_req_timeout(&qp->req, roce_now(qp)));
}

bool roce_req_reap(struct roce_qp *qp)
{
	u32 left = ROCE_BUDGET_WQES;
	enum rc_status status;
	u32 slot;

	if (!qp->req_ready)
		return false;
	while (left && rc_req_reap(&qp->req, &slot, &status)) {
		/* enum rc_status has the values of enum ib_wc_status */
		roce_complete_send(qp, slot, (enum ib_wc_status)status);
		if (status == RC_ST_RETRY_EXC_ERR)
			tern_count(qp->base.dev, TERN_CNT_RETRY_EXCEEDED);
		else if (status == RC_ST_RNR_RETRY_EXC_ERR)
			tern_count(qp->base.dev, TERN_CNT_RNR_EXCEEDED);
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
	return !left;
}

void roce_check_drained(struct roce_qp *qp)
{
	if (qp->base.state != IB_QPS_SQD || !qp->base.attr.sq_draining)
		return;
	/* A UD WQE is begun and complete at once. */
	if (roce_is_connected(qp) && !rc_req_is_drained(&qp->req))
		return;
	qp->base.attr.sq_draining = 0;
	if (qp->base.attr.en_sqd_async_notify)
		tern_qp_event(&qp->base, IB_EVENT_SQ_DRAINED);
}
