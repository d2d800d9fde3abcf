// SPDX-License-Identifier: GPL-2.0
/*
 * Requester of a connected QP; the contract is in rc_req.h.
 *
 * Free-running indices divide the ring into four sections:
 *
 *   tail ... una ... cur ... head
 *   done,    sent,   to     free
 *   to reap  unacked send
 *
 * Going back (NAK, timeout) only moves cur and cur_pkt towards una. A work request keeps the PSNs
 * that it got when it began.
 */
#include "rc_timer.h"

static struct rc_sqe *sqe_at(const struct rc_req *q, u32 slot)
{
	return &q->ring[slot & q->mask];
}

static bool is_reliable(const struct rc_req *q)
{
	return q->cfg.service != BTH_UC;
}

static bool sqe_has_psn(const struct rc_sqe *s)
{
	return s->wr.op != WR_LOCAL;
}

/* One after the work request's last PSN. */
static u32 sqe_end_psn(const struct rc_sqe *s)
{
	return psn_add(s->first_psn, s->npkts);
}

/* How far psn is ahead of una: up to 2^23, too far for psn_diff(). */
static u32 psns_since(u32 psn, u32 una)
{
	return (psn - una) & PSN_MASK;
}

u64 rc_rnr_timer_ns(u8 field)
{
	/* IBTA table 45, in units of 10 us; 0 is the longest */
	static const u32 ten_us[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256,
		384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
		16384, 24576, 32768, 49152,
	};

	return (u64)ten_us[field & 0x1f] * 10000;
}

u64 rc_ack_timeout_ns(u8 field)
{
	field &= 0x1f;
	return field ? 4096ull << field : 0;
}

void rc_req_init(struct rc_req *q, struct rc_sqe *ring, u32 entries, u32 first,
		 const struct rc_req_cfg *cfg)
{
	*q = (struct rc_req){
		.cfg = *cfg,
		.ring = ring,
		.mask = entries - 1,
		.head = first,
		.cur = first,
		.una = first,
		.tail = first,
		.psn_next = cfg->sq_psn & PSN_MASK,
		.psn_max = cfg->sq_psn & PSN_MASK,
		.psn_una = cfg->sq_psn & PSN_MASK,
		.retry_left = cfg->retry_cnt,
		.rnr_left = cfg->rnr_retry,
		.state = RC_REQ_READY,
	};
	rc_window_init(&q->window, cfg->window, cfg->max_window);
	pacer_init(&q->pacer, &cfg->rate, cfg->pmtu);
}

/* ---- sending ---- */

/* With a max_rd_atomic of 0 (IBTA 10.2.4.2) a request that it limits would wait for ever. */
static bool may_never_begin(const struct rc_req *q, const struct rc_sqe *s)
{
	return q->state == RC_REQ_READY && wr_has_response(&s->wr) && !q->cfg.max_rd_atomic;
}

/* May the queued work request begin now? If so, it gets its PSNs. */
static bool sqe_begin(struct rc_req *q, struct rc_sqe *s)
{
	if (q->state == RC_REQ_DRAINING)
		return false;
	if ((s->wr.flags & WR_F_FENCE) && q->rd_out)
		return false;
	if (s->wr.op == WR_LOCAL)
		return !(s->wr.flags & WR_F_WAIT_ALL) || q->una == q->cur;

	s->npkts = psn_message_pkts(s->wr.length, q->cfg.pmtu);
	/* Nothing may lie 2^23 PSNs or more ahead of the oldest unacknowledged one. */
	if (psns_since(q->psn_next, q->psn_una) + (s->wr.op == WR_READ ? s->npkts : 1) > PSN_HALF)
		return false;
	/* two requests in flight keep the responder busy, if it allows two */
	s->read_pkts = rc_window_usual(&q->window);
	if (q->cfg.max_rd_atomic > 1 && s->read_pkts > 1)
		s->read_pkts /= 2;
	s->first_psn = q->psn_next;
	q->psn_next = sqe_end_psn(s);
	s->state = RC_SQE_ACTIVE;
	return true;
}

/* One after the last response that a request sent from cur_pkt asks for. */
static u32 asked_end(const struct rc_req *q, const struct rc_sqe *s)
{
	u32 end;

	if (s->wr.op != WR_READ)
		return 1;
	end = q->cur_pkt - q->cur_pkt % s->read_pkts + s->read_pkts;
	return end < s->npkts ? end : s->npkts;
}

/* May a READ or atomic request go out now? The responder has room for what was asked before. */
static bool may_ask(struct rc_req *q, const struct rc_sqe *s, u32 used)
{
	u32 end = asked_end(q, s);
	/* What has begun goes on, even if no other may begin. */
	u32 max = q->cfg.max_rd_atomic ? q->cfg.max_rd_atomic : 1;

	if (end > s->asked_pkts && q->rd_out >= max)
		return false;
	q->window.full = used && used + (end - q->cur_pkt) > q->window.pkts;
	return !q->window.full;
}

/* Packets until the next AckReq within a message: often enough that the window never runs dry. */
static u32 until_ackreq(const struct rc_req *q)
{
	u32 distance = (q->window.pkts + RC_REQ_ACKREQS - 1) / RC_REQ_ACKREQS;

	return q->since_ackreq < distance ? distance - q->since_ackreq : 1;
}

/* The part of a READ that cur_pkt belongs to (IBTA 9.4.4). */
static void run_asks_to_read(const struct rc_req *q, const struct rc_sqe *s, struct run *run)
{
	u64 offset = (u64)q->cur_pkt * q->cfg.pmtu;
	u64 end = (u64)asked_end(q, s) * q->cfg.pmtu;

	run->va = s->wr.va + offset;
	run->dma_bytes = (u32)((end < s->wr.length ? end : s->wr.length) - offset);
}

/* One request packet that asks for a response. */
static void run_asks(const struct rc_req *q, const struct rc_sqe *s, struct run *run)
{
	run->offset = 0;
	run->bytes = 0;
	run->first = true;
	run->last = true;
	run->ack_req = true;
	run->dma_bytes = 0;
	if (s->wr.op == WR_READ) {
		run_asks_to_read(q, s, run);
	} else if (s->wr.op == WR_FLUSH) {
		run->dma_bytes = s->wr.flush_bytes;
	} else if (s->wr.op == WR_ATOMIC_WRITE) {
		run->bytes = s->wr.length;
		run->dma_bytes = s->wr.length;
	}
}

/* The next npkts packets of a message that carries payload. */
static void run_carries(const struct rc_req *q, const struct rc_sqe *s, u32 npkts, struct run *run)
{
	u64 offset = (u64)q->cur_pkt * q->cfg.pmtu;
	u64 end = offset + (u64)npkts * q->cfg.pmtu;
	bool last = q->cur_pkt + npkts == s->npkts;

	run->offset = offset;
	run->bytes = (u32)((end < s->wr.length ? end : s->wr.length) - offset);
	run->first = q->cur_pkt == 0;
	run->last = last;
	run->dma_bytes = s->wr.length;
	/* Nothing follows soon if the pacer lets no more go. */
	run->ack_req = is_reliable(q) &&
		       (last || npkts >= until_ackreq(q) || npkts >= q->paced_pkts);
}

static void run_from_sqe(const struct rc_req *q, const struct rc_sqe *s, u32 npkts,
			 struct run *run)
{
	/* Setting each member is cheaper than clearing all. */
	run->kind = RUN_REQUEST;
	run->service = q->cfg.service;
	run->syndrome = 0;
	run->solicited = s->wr.flags & WR_F_SOLICITED;
	run->has_imm = s->wr.flags & WR_F_IMM;
	run->has_inv = s->wr.flags & WR_F_INV;
	run->op = s->wr.op;
	run->feth = s->wr.feth;
	run->slot = q->cur;
	run->dqpn = q->cfg.dqpn;
	run->pkey = q->cfg.pkey;
	run->psn = psn_add(s->first_psn, q->cur_pkt);
	run->npkts = npkts;
	run->pmtu = q->cfg.pmtu;
	run->msn = 0;
	run->va = s->wr.va;
	run->rkey = s->wr.rkey;
	run->compare = s->wr.compare;
	run->swap_add = s->wr.swap_add;
	run->atomic_orig = 0;
	run->imm = s->wr.imm;
	run->inv_rkey = s->wr.inv_rkey;
	run->srqn = s->wr.srqn;
	if (wr_has_response(&s->wr))
		run_asks(q, s, run);
	else
		run_carries(q, s, npkts, run);
}

/* The next packets of a message that carries payload; used: how far ahead of psn_una they are. */
static bool next_payload(struct rc_req *q, const struct rc_sqe *s, u32 used, u32 max_pkts,
			 struct run *run)
{
	u32 npkts = s->npkts - q->cur_pkt;

	if (is_reliable(q) && used >= q->window.pkts) {
		q->window.full = true;
		return false;
	}
	if (is_reliable(q))
		npkts = npkts < q->window.pkts - used ? npkts : q->window.pkts - used;
	npkts = npkts < max_pkts ? npkts : max_pkts;
	npkts = npkts < q->paced_pkts ? npkts : q->paced_pkts;
	/* AckReq is on a run's last packet: end the run where one is due. */
	if (is_reliable(q) && npkts > until_ackreq(q))
		npkts = until_ackreq(q);
	run_from_sqe(q, s, npkts, run);
	return true;
}

bool rc_req_next(struct rc_req *q, u64 now_ns, u32 max_pkts, struct run *run)
{
	q->window.full = false;
	if (q->state == RC_REQ_ERROR)
		return false;
	if (q->rnr_until_ns) {
		if (now_ns < q->rnr_until_ns)
			return false;
		q->rnr_until_ns = 0;
	}

	for (; q->cur != q->head; q->cur++, q->cur_pkt = 0) {
		struct rc_sqe *s = sqe_at(q, q->cur);
		s32 acked;
		u32 used;

		if (s->state == RC_SQE_DONE)
			continue;
		if (s->state == RC_SQE_FAILED)
			return false;
		if (s->state == RC_SQE_QUEUED) {
			if (may_never_begin(q, s)) {
				rc_req_fail(q, q->cur, WR_ST_LOC_QP_OP_ERR);
				return false;
			}
			if (!sqe_begin(q, s))
				return false;
		}
		if (s->wr.op == WR_LOCAL) {
			*run = (struct run){ .kind = RUN_LOCAL, .slot = q->cur };
			return true;
		}

		/* Acknowledges may overtake a retransmission. */
		acked = psn_diff(q->psn_una, psn_add(s->first_psn, q->cur_pkt));
		if (acked > 0)
			q->cur_pkt += (u32)acked;

		used = (u32)psn_diff(psn_add(s->first_psn, q->cur_pkt), q->psn_una);
		q->paced_pkts = pacer_room(&q->pacer, now_ns);
		if (!q->paced_pkts)
			return false;
		if (!wr_has_response(&s->wr))
			return next_payload(q, s, used, max_pkts, run);
		if (!may_ask(q, s, used))
			return false;
		run_from_sqe(q, s, 1, run);
		return true;
	}
	return false;
}

/* Remove DONE work requests from the unacknowledged section; a FAILED one ends the QP. */
static void advance_una(struct rc_req *q)
{
	while (q->una != q->head) {
		struct rc_sqe *s = sqe_at(q, q->una);

		if (s->state == RC_SQE_FAILED) {
			s->state = RC_SQE_DONE;
			q->una++;
			rc_req_flush(q);
			return;
		}
		if (s->state != RC_SQE_DONE)
			return;
		q->una++;
		if ((s32)(q->una - q->cur) > 0) {
			q->cur = q->una;
			q->cur_pkt = 0;
		}
	}
}

static void sqe_complete(struct rc_req *q, struct rc_sqe *s, enum wr_status status)
{
	s->state = RC_SQE_DONE;
	s->status = (u8)status;
	q->rd_out -= s->rd_held;
	s->rd_held = 0;
}

void rc_req_sent(struct rc_req *q, u64 now_ns, const struct run *run, u32 n)
{
	struct rc_sqe *s = sqe_at(q, q->cur);
	u32 end_psn;

	if (!n || run->slot != q->cur || s->state != RC_SQE_ACTIVE)
		return;
	pacer_sent(&q->pacer, n, n < run->npkts ? n * run->pmtu : run->bytes);

	if (wr_has_response(&s->wr)) {
		u32 end = asked_end(q, s);

		if (end > s->asked_pkts) {
			s->asked_pkts = end;
			s->rd_held++;
			q->rd_out++;
		}
		q->cur_pkt = end;
		q->since_ackreq = 0;
		end_psn = psn_add(s->first_psn, end);
	} else {
		q->cur_pkt += n;
		q->since_ackreq = n == run->npkts && run->ack_req ? 0 : q->since_ackreq + n;
		end_psn = psn_add(run->psn, n);
	}
	if (psns_since(end_psn, q->psn_una) > psns_since(q->psn_max, q->psn_una))
		q->psn_max = end_psn;
	if (is_reliable(q) && !q->deadline_ns) {
		q->silent_ns = now_ns;
		rc_timer_arm(q, now_ns);
	}

	if (q->cur_pkt == s->npkts) {
		if (!is_reliable(q)) {
			/* UC: complete once handed to the network (IBTA 9.8.3) */
			q->psn_una = sqe_end_psn(s);
			sqe_complete(q, s, WR_ST_SUCCESS);
		}
		q->cur++;
		q->cur_pkt = 0;
		if (!is_reliable(q))
			advance_una(q);
	}
}

void rc_req_local_done(struct rc_req *q, u32 slot, enum wr_status status)
{
	struct rc_sqe *s = sqe_at(q, slot);

	if (slot != q->cur || s->wr.op != WR_LOCAL || s->state != RC_SQE_QUEUED)
		return;
	s->state = status == WR_ST_SUCCESS ? RC_SQE_DONE : RC_SQE_FAILED;
	s->status = (u8)status;
	if (status == WR_ST_SUCCESS) {
		q->cur++;
		q->cur_pkt = 0;
	}
	advance_una(q);
}

void rc_req_fail(struct rc_req *q, u32 slot, enum wr_status status)
{
	struct rc_sqe *s = sqe_at(q, slot);

	if ((s32)(slot - q->una) < 0 || (s32)(slot - q->head) >= 0 || s->state == RC_SQE_DONE ||
	    q->state == RC_REQ_ERROR)
		return;
	q->rd_out -= s->rd_held;
	s->rd_held = 0;
	s->state = RC_SQE_FAILED;
	s->status = (u8)status;
	/* Stop there. What was sent before it may still be retransmitted. */
	if ((s32)(q->cur - slot) > 0) {
		q->cur = slot;
		q->cur_pkt = 0;
	}
	advance_una(q);
}

/* ---- going back ---- */

/*
 * Resend from psn on; it belongs to a work request that has begun and is not complete. False if
 * sending already stands at psn or before it.
 */
static bool go_back(struct rc_req *q, u32 psn)
{
	u32 slot;

	for (slot = q->una; slot != q->head; slot++) {
		struct rc_sqe *s = sqe_at(q, slot);

		if (s->state == RC_SQE_QUEUED || s->state == RC_SQE_FAILED)
			return false;
		if (s->state != RC_SQE_ACTIVE)
			continue;
		if (psn_before(psn, sqe_end_psn(s))) {
			u32 pkts = psn_before(psn, s->first_psn) ?
					   0 : (u32)psn_diff(psn, s->first_psn);

			/* Never forward: what is ahead of cur is not sent yet. */
			if ((s32)(slot - q->cur) > 0 || (slot == q->cur && pkts >= q->cur_pkt))
				return false;
			q->cur = slot;
			q->cur_pkt = pkts;
			q->since_ackreq = 0;
			return true;
		}
	}
	return false;
}

void rc_req_unsend(struct rc_req *q, u32 psn)
{
	if (q->state != RC_REQ_ERROR)
		go_back(q, psn);
}

void rc_req_ask_again(struct rc_req *q, u32 psn)
{
	if (q->state == RC_REQ_ERROR)
		return;
	go_back(q, psn);
	/* What else was asked for by now comes, and says that something was lost. */
	q->recovering = true;
	q->asking_again = true;
	q->again_psn = q->psn_max;
}

/* The oldest incomplete work request fails, for a reason given by the peer or the network. */
static void fail_oldest(struct rc_req *q, enum wr_status status)
{
	if (q->una != q->head) {
		sqe_complete(q, sqe_at(q, q->una), status);
		q->una++;
	}
	rc_req_flush(q);
}

/*
 * One more attempt from psn on. False: none is needed, or none is left. A repeated NAK costs no
 * retry.
 */
static bool retry_from(struct rc_req *q, u64 now_ns, u32 psn)
{
	if (!go_back(q, psn))
		return false;
	if (!q->retry_left) {
		fail_oldest(q, WR_ST_RETRY_EXC_ERR);
		return false;
	}
	q->retry_left--;
	q->recovering = true;
	rc_timer_arm(q, now_ns);
	return true;
}

/* The peer, or what it sent, tells that something from psn on was lost. */
static void retry_lost(struct rc_req *q, u64 now_ns, u32 psn)
{
	q->silent_ns = now_ns;
	if (retry_from(q, now_ns, psn))
		rc_window_lost(&q->window);
}

/* npkts packets from the old psn_una on are acknowledged. */
static void note_progress(struct rc_req *q, u64 now_ns, u32 npkts)
{
	rc_window_acked(&q->window, npkts);
	rc_timer_heard(q, now_ns);
	q->retry_left = q->cfg.retry_cnt;
	q->rnr_left = q->cfg.rnr_retry;
	q->backoff = 0;
	q->rnr_wait_ns = 0;
	if (q->asking_again && !psn_before(q->psn_una, q->again_psn))
		q->asking_again = false;
	q->recovering = q->asking_again;
	q->rnr_until_ns = 0;
	if (q->psn_una == q->psn_max)
		q->deadline_ns = 0;
	else
		rc_timer_arm(q, now_ns);
}

/*
 * Everything before psn is acknowledged. False if a READ or atomic among it has no response yet:
 * the response was lost (implied NAK, IBTA 9.7.5.1.1), and nothing behind it can be acknowledged.
 */
static bool ack_until(struct rc_req *q, u64 now_ns, u32 psn)
{
	u32 before = q->psn_una;
	bool moved = false;
	bool intact = true;

	while (q->una != q->head && psn_after(psn, q->psn_una)) {
		struct rc_sqe *s = sqe_at(q, q->una);

		if (!sqe_has_psn(s) || s->state != RC_SQE_ACTIVE)
			break;
		if (wr_has_response(&s->wr)) {
			intact = false;
			break;
		}
		moved = true;
		if (psn_before(psn, sqe_end_psn(s))) {
			q->psn_una = psn;
			break;
		}
		q->psn_una = sqe_end_psn(s);
		sqe_complete(q, s, WR_ST_SUCCESS);
		advance_una(q);
		if (q->state == RC_REQ_ERROR)
			return false;
	}
	if (moved)
		note_progress(q, now_ns, psns_since(q->psn_una, before));
	return intact;
}

static void implied_nak(struct rc_req *q, u64 now_ns, struct rc_req_act *act)
{
	act->event = RC_EV_IMPLIED_NAK;
	/* Everything in flight behind the lost response says the same: go back once. */
	if (!q->recovering)
		retry_lost(q, now_ns, q->psn_una);
}

/* ---- receiving ---- */

static void rx_bad_response(struct rc_req *q, struct rc_req_act *act)
{
	act->event = RC_EV_BAD_RESP;
	fail_oldest(q, WR_ST_BAD_RESP_ERR);
}

static void rx_read_response(struct rc_req *q, u64 now_ns, const struct pkt *k,
			     struct rc_req_act *act)
{
	struct rc_sqe *s = sqe_at(q, q->una);
	u32 pkt, left, end;
	bool ends;

	if (q->una == q->head || s->state != RC_SQE_ACTIVE ||
	    (s->wr.op != WR_READ && !wr_is_placement(&s->wr))) {
		/* A response where an ACK or an atomic's result belongs. */
		rx_bad_response(q, act);
		return;
	}
	/* psn == psn_una here, and psn_una lies within s */
	pkt = (u32)psn_diff(k->psn, s->first_psn);
	left = s->wr.op == WR_READ ? s->wr.length - pkt * q->cfg.pmtu : 0;
	end = pkt + k->npkts;
	ends = end == s->npkts || end % s->read_pkts == 0;
	/*
	 * FIRST/MIDDLE and LAST/ONLY depend on where the responder (re)started. A response belongs
	 * to one request and does not reach beyond its end.
	 */
	if (end > s->npkts || pkt / s->read_pkts != (end - 1) / s->read_pkts ||
	    ends != !!(k->op_flags & OPF_LAST) ||
	    k->payload_bytes != (end == s->npkts ? left : k->npkts * q->cfg.pmtu)) {
		rx_bad_response(q, act);
		return;
	}
	act->kind = RC_REQ_PLACE;
	act->slot = q->una;
	act->offset = pkt * q->cfg.pmtu;
	act->bytes = k->payload_bytes;
	act->npkts = k->npkts;
}

/* The status for each NAK code; the first is the sequence NAK. */
static const u8 nak_status[] = {
	[AETH_NAK_INVALID_REQ - AETH_NAK] = WR_ST_REM_INV_REQ_ERR,
	[AETH_NAK_REM_ACCESS - AETH_NAK] = WR_ST_REM_ACCESS_ERR,
	[AETH_NAK_REM_OP - AETH_NAK] = WR_ST_REM_OP_ERR,
};

/* Ignore reserved types and codes (IBTA table 58). Only an ACK comes with data. */
static bool syndrome_is_known(const struct pkt *k)
{
	switch (k->syndrome & AETH_TYPE_MASK) {
	case AETH_ACK:
		return true;
	case AETH_RNR_NAK:
		return k->op_flags & OPF_ACK;
	case AETH_NAK:
		return (k->op_flags & OPF_ACK) &&
		       (k->syndrome & AETH_VALUE_MASK) < ARRAY_SIZE(nak_status);
	default:
		return false;
	}
}

static void rx_nak(struct rc_req *q, u64 now_ns, const struct pkt *k, struct rc_req_act *act)
{
	u8 code = k->syndrome & AETH_VALUE_MASK;

	if (code == 0) {
		act->event = RC_EV_SEQ_NAK;
		retry_lost(q, now_ns, k->psn);
		return;
	}
	act->event = RC_EV_REMOTE_ERR;
	fail_oldest(q, (enum wr_status)nak_status[code]);
}

static void rx_rnr_nak(struct rc_req *q, u64 now_ns, const struct pkt *k, struct rc_req_act *act)
{
	u64 wait, longer;

	if (now_ns < q->rnr_until_ns) {
		/* A duplicate of the NAK or of the request: one wait, one retry. */
		act->event = RC_EV_DUPLICATE;
		return;
	}
	act->event = RC_EV_RNR_NAK;
	if (q->cfg.rnr_retry != 7) {
		if (!q->rnr_left) {
			fail_oldest(q, WR_ST_RNR_RETRY_EXC_ERR);
			return;
		}
		q->rnr_left--;
	}
	if (q->rnr_wait_ns)
		rc_window_restart(&q->window);
	wait = rc_rnr_timer_ns(k->syndrome & AETH_VALUE_MASK);
	longer = 2 * q->rnr_wait_ns;
	if (longer > RC_REQ_RNR_BACKOFF_NS)
		longer = RC_REQ_RNR_BACKOFF_NS;
	q->rnr_wait_ns = wait < longer ? longer : wait;
	q->rnr_until_ns = now_ns + q->rnr_wait_ns;
	q->pacer.until_ns = 0;
	q->deadline_ns = 0;
	go_back(q, k->psn);
}

void rc_req_rx(struct rc_req *q, u64 now_ns, const struct pkt *k, struct rc_req_act *act)
{
	u8 type = k->syndrome & AETH_TYPE_MASK;
	bool plain_ack = (k->op_flags & OPF_ACK) && type == AETH_ACK;
	u32 until = plain_ack ? psn_add(k->psn, 1) : k->psn;

	*act = (struct rc_req_act){ .kind = RC_REQ_DONE, .event = RC_EV_NONE };
	if (q->state == RC_REQ_ERROR)
		return;
	if (psn_diff(k->psn, q->psn_una) < 0) {
		act->event = RC_EV_DUPLICATE;
		return;
	}
	if (psn_diff(k->psn, q->psn_max) >= 0 || !syndrome_is_known(k)) {
		act->event = RC_EV_GHOST;
		return;
	}

	/*
	 * An acknowledge of any kind covers all requests before its PSN; an ACK covers that one,
	 * too. If it covers a READ or an atomic, the answer was lost.
	 */
	if (!ack_until(q, now_ns, until)) {
		if (q->state != RC_REQ_ERROR)
			implied_nak(q, now_ns, act);
		return;
	}
	if (q->state == RC_REQ_ERROR || plain_ack)
		return;

	if (k->op_flags & OPF_READ) {
		rx_read_response(q, now_ns, k, act);
		return;
	}
	if (k->op_flags & OPF_ATOMIC) {
		struct rc_sqe *s = sqe_at(q, q->una);

		if (q->una == q->head || s->state != RC_SQE_ACTIVE ||
		    (s->wr.op != WR_CMP_SWAP && s->wr.op != WR_FETCH_ADD)) {
			rx_bad_response(q, act);
			return;
		}
		act->kind = RC_REQ_PLACE_ATOMIC;
		act->slot = q->una;
		act->bytes = 8;
		act->npkts = 1;
		act->value = k->atomic_orig;
		return;
	}
	if (type == AETH_RNR_NAK)
		rx_rnr_nak(q, now_ns, k, act);
	else
		rx_nak(q, now_ns, k, act);
}

void rc_req_placed(struct rc_req *q, u64 now_ns, const struct rc_req_act *act)
{
	struct rc_sqe *s = sqe_at(q, act->slot);

	if (act->slot != q->una || s->state != RC_SQE_ACTIVE || q->state == RC_REQ_ERROR)
		return;
	q->psn_una = psn_add(q->psn_una, act->npkts);
	if (q->psn_una == sqe_end_psn(s)) {
		sqe_complete(q, s, WR_ST_SUCCESS);
		advance_una(q);
	} else if (((q->psn_una - s->first_psn) & PSN_MASK) % s->read_pkts == 0 && s->rd_held) {
		s->rd_held--;
		q->rd_out--;
	}
	note_progress(q, now_ns, act->npkts);
}

/* ---- attributes that change ---- */

void rc_req_set_retries(struct rc_req *q, u8 retry_cnt, u8 rnr_retry)
{
	q->cfg.retry_cnt = retry_cnt;
	q->cfg.rnr_retry = rnr_retry;
	q->retry_left = retry_cnt;
	q->rnr_left = rnr_retry;
}

void rc_req_set_ack_timeout(struct rc_req *q, u64 now_ns, const struct rc_ack_timeout *timeout)
{
	q->cfg.ack_timeout = *timeout;
	q->backoff = 0;
	if (q->state != RC_REQ_ERROR && !q->rnr_until_ns && q->psn_una != q->psn_max)
		rc_timer_arm(q, now_ns);
}

void rc_req_set_rate(struct rc_req *q, const struct pacer_rate *rate)
{
	q->cfg.rate = *rate;
	pacer_init(&q->pacer, rate, q->cfg.pmtu);
}

/* ---- time, completion, state ---- */

u64 rc_req_deadline(const struct rc_req *q)
{
	u64 until_ns = q->pacer.until_ns;

	if (q->state == RC_REQ_ERROR)
		return 0;
	if (q->rnr_until_ns)
		return q->rnr_until_ns;
	return until_ns && (!q->deadline_ns || until_ns < q->deadline_ns) ? until_ns :
									    q->deadline_ns;
}

/* Does the pacer hold back what would be sent again, from the oldest packet on? */
static bool is_held_back(const struct rc_req *q)
{
	const struct rc_sqe *s = &q->ring[q->cur & q->mask];

	return q->pacer.until_ns && q->cur != q->head && s->state == RC_SQE_ACTIVE &&
	       psn_add(s->first_psn, q->cur_pkt) == q->psn_una;
}

enum rc_event rc_req_timeout(struct rc_req *q, u64 now_ns)
{
	if (q->state == RC_REQ_ERROR)
		return RC_EV_NONE;
	if (q->rnr_until_ns) {
		/* rc_req_next() resumes by itself */
		if (now_ns >= q->rnr_until_ns)
			q->rnr_until_ns = 0;
		return RC_EV_NONE;
	}
	if (now_ns >= q->pacer.until_ns)
		q->pacer.until_ns = 0;
	if (!q->deadline_ns || now_ns < q->deadline_ns)
		return RC_EV_NONE;
	q->deadline_ns = 0;
	if (q->psn_una == q->psn_max)
		return RC_EV_NONE;
	if (is_held_back(q)) {
		rc_timer_arm(q, q->pacer.until_ns);
		return RC_EV_NONE;
	}
	if (q->backoff < RC_REQ_MAX_BACKOFF)
		q->backoff++;
	if (retry_from(q, now_ns, q->psn_una))
		rc_window_restart(&q->window);
	if (q->state != RC_REQ_ERROR && !q->deadline_ns)
		rc_timer_arm(q, now_ns);	/* went back before, and could not send since */
	return RC_EV_TIMEOUT;
}

bool rc_req_reap(struct rc_req *q, u32 *slot, enum wr_status *status)
{
	struct rc_sqe *s;

	if (q->tail == q->head)
		return false;
	s = sqe_at(q, q->tail);
	if (q->state != RC_REQ_ERROR && (q->tail == q->una || s->state != RC_SQE_DONE))
		return false;
	*slot = q->tail;
	/* Local operations behind a failed request may be executed: they are flushed, too. */
	*status = (s32)(q->tail - q->una) < 0 ? (enum wr_status)s->status : WR_ST_WR_FLUSH_ERR;
	q->tail++;
	if ((s32)(q->tail - q->una) > 0)
		q->una = q->tail;
	if ((s32)(q->tail - q->cur) > 0) {
		q->cur = q->tail;
		q->cur_pkt = 0;
	}
	return true;
}

void rc_req_flush(struct rc_req *q)
{
	q->state = RC_REQ_ERROR;
	q->deadline_ns = 0;
	q->rnr_until_ns = 0;
	q->rd_out = 0;
}

void rc_req_drain(struct rc_req *q, bool on)
{
	if (q->state != RC_REQ_ERROR)
		q->state = on ? RC_REQ_DRAINING : RC_REQ_READY;
}

bool rc_req_is_drained(const struct rc_req *q)
{
	return q->una == q->head || q->ring[q->una & q->mask].state == RC_SQE_QUEUED;
}
