// SPDX-License-Identifier: GPL-2.0
/*
 * Requester of a connected QP: what it sends, and its ring; the contract is in rc_req.h. What comes
 * back is rc_ack.c's.
 *
 * Free-running indices divide the ring into four sections:
 *
 *   tail ... una ... cur ... head
 *   done,    sent,   to     free
 *   to reap  unacked send
 *
 * Going back (NAK, timeout, probe) moves cur and cur_pkt towards una. At the end of a hole they
 * jump forward again (rc_resend.c). A work request keeps the PSNs that it got when it began.
 */
#include "rc_resend.h"
#include "rc_sqe.h"
#include "rc_timer.h"

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
		.resend.pkts = 1,
		.retry_left = cfg->retry_cnt,
		.rnr_left = cfg->rnr_retry,
		.state = RC_REQ_READY,
	};
	rc_window_init(&q->window, cfg->window, cfg->max_window);
	cc_init(&q->cc, &q->window, cfg->cc, cfg->cc_params, q->psn_una, cfg->pmtu);
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
	if (rc_psns_since(q->psn_next, q->psn_una) + (s->wr.op == WR_READ ? s->npkts : 1) >
	    PSN_HALF)
		return false;
	/* two requests in flight keep the responder busy, if it allows two */
	s->read_pkts = rc_window_usual(&q->window);
	if (q->cfg.max_rd_atomic > 1 && s->read_pkts > 1)
		s->read_pkts /= 2;
	s->first_psn = q->psn_next;
	q->psn_next = rc_sqe_end_psn(s);
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
	end = end < s->npkts ? end : s->npkts;
	/*
	 * Responses that are missing are asked for alone (IBTA 9.7.4.1.2). A request that the peer
	 * may not have had stays as it was.
	 */
	if (q->resend.hole && q->resend.gap == RC_GAP_OF_US) {
		u32 missing = q->cur_pkt + rc_resend_pkts(q, s);

		end = missing < end ? missing : end;
	}
	return end;
}

/* May a READ or atomic request go out now? The responder has room for what was asked before. */
static bool may_ask(struct rc_req *q, const struct rc_sqe *s, u32 used)
{
	u32 end = asked_end(q, s);
	/* What has begun goes on, even if no other may begin. */
	u32 max = q->cfg.max_rd_atomic ? q->cfg.max_rd_atomic : 1;

	q->ask_end = end;
	if (end > s->asked_pkts && q->rd_out >= max)
		return false;
	q->window.full = used && used + (end - q->cur_pkt) > q->window.pkts;
	return !q->window.full;
}

/* Packets until the next AckReq within a message: often enough that the window never runs dry. */
static u32 until_ackreq(const struct rc_req *q)
{
	u32 distance = (q->window.pkts + RC_REQ_ACKREQS - 1) / RC_REQ_ACKREQS;

	/* The first packet of all finds the path as it is without this requester. */
	if (q->psn_max == q->cfg.sq_psn && rc_req_is_timed(q))
		return 1;
	return q->since_ackreq < distance ? distance - q->since_ackreq : 1;
}

/* The part of a READ that cur_pkt belongs to (IBTA 9.4.4). */
static void run_asks_to_read(const struct rc_req *q, const struct rc_sqe *s, struct run *run)
{
	u64 offset = (u64)q->cur_pkt * q->cfg.pmtu;
	u64 end = (u64)q->ask_end * q->cfg.pmtu;

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
	/* Nothing follows soon if the pacer lets no more go, or at the end of a hole. */
	run->ack_req = rc_req_is_reliable(q) &&
		       (last || npkts >= until_ackreq(q) || npkts >= q->most_pkts);
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

	if (rc_req_is_reliable(q) && used >= q->window.pkts) {
		q->window.full = true;
		return false;
	}
	if (rc_req_is_reliable(q))
		npkts = npkts < q->window.pkts - used ? npkts : q->window.pkts - used;
	npkts = npkts < max_pkts ? npkts : max_pkts;
	npkts = npkts < q->most_pkts ? npkts : q->most_pkts;
	/* AckReq is on a run's last packet: end the run where one is due. */
	if (rc_req_is_reliable(q) && npkts > until_ackreq(q))
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

	while (q->cur != q->head) {
		struct rc_sqe *s = rc_sqe_at(q, q->cur);
		s32 acked;
		u32 used;

		if (s->state == RC_SQE_DONE || (q->resend.heard && rc_resend_was_heard(q, s))) {
			q->cur++;
			q->cur_pkt = 0;
			continue;
		}
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
		q->most_pkts = pacer_room(&q->pacer, now_ns);
		if (q->resend.hole && !rc_resend_limit(q, s, &used))
			continue;
		if (!q->most_pkts) {
			q->cc.limited |= !!q->steered_kbps;
			return false;
		}
		if (!wr_has_response(&s->wr))
			return next_payload(q, s, used, max_pkts, run);
		if (!may_ask(q, s, used))
			return false;
		run_from_sqe(q, s, 1, run);
		return true;
	}
	return false;
}

static void begin_timing(struct rc_req *q, u32 psn, u64 now_ns)
{
	rtt_begin(&q->rtt, psn, now_ns);
	cc_begin_timing(&q->cc);
}

static void sent_again(struct rc_req *q, u64 now_ns, const struct run *run, u32 end_psn, u32 n)
{
	/* All that goes again to a peer that drops was not lost, nor was a probe. */
	if (q->resend.hole && q->resend.gap != RC_GAP_NONE)
		cc_sent_again(&q->cc, n);
	/* The peer has said that it has not come, and packets of this path do not come late. */
	if ((q->resend.gap == RC_GAP_OF_PEER || q->resend.learns) && !q->resend.probes &&
	    !q->resend.reorders && run->psn == q->psn_una && rc_req_is_timed(q)) {
		begin_timing(q, run->psn, now_ns);
		q->rtt.again = true;
	}
	rc_resend_sent(q, now_ns, end_psn);
}

void rc_req_sent(struct rc_req *q, u64 now_ns, const struct run *run, u32 n)
{
	struct rc_sqe *s = rc_sqe_at(q, q->cur);
	bool resent = rc_req_is_resent(q, run);
	u32 end_psn;

	if (!n || run->slot != q->cur || s->state != RC_SQE_ACTIVE)
		return;
	pacer_sent(&q->pacer, n, n < run->npkts ? n * run->pmtu : run->bytes);

	if (wr_has_response(&s->wr)) {
		u32 end = q->ask_end;

		if (end > s->asked_pkts) {
			s->asked_pkts = end;
			s->rd_held++;
			q->rd_out++;
		}
		if (end != s->npkts && end % s->read_pkts)
			s->cut = true;
		q->cur_pkt = end;
		q->since_ackreq = 0;
		end_psn = psn_add(s->first_psn, end);
	} else {
		q->cur_pkt += n;
		q->since_ackreq = n == run->npkts && run->ack_req ? 0 : q->since_ackreq + n;
		end_psn = psn_add(run->psn, n);
	}
	if (rc_psns_since(end_psn, q->psn_una) > rc_psns_since(q->psn_max, q->psn_una))
		q->psn_max = end_psn;
	if (rc_req_is_reliable(q) && !q->deadline_ns) {
		q->silent_ns = now_ns;
		rc_timer_arm(q, now_ns);
	}
	if (resent)
		sent_again(q, now_ns, run, end_psn, n);
	else if (n == run->npkts && rc_req_begins_timing(q, run))
		begin_timing(q, psn_add(run->psn, n - 1), now_ns);

	if (q->cur_pkt == s->npkts) {
		if (!rc_req_is_reliable(q)) {
			/* UC: complete once handed to the network (IBTA 9.8.3) */
			q->psn_una = rc_sqe_end_psn(s);
			rc_sqe_complete(q, s, WR_ST_SUCCESS);
		}
		q->cur++;
		q->cur_pkt = 0;
		if (!rc_req_is_reliable(q))
			rc_req_advance(q);
	}
}

void rc_req_local_done(struct rc_req *q, u32 slot, enum wr_status status)
{
	struct rc_sqe *s = rc_sqe_at(q, slot);

	if (slot != q->cur || s->wr.op != WR_LOCAL || s->state != RC_SQE_QUEUED)
		return;
	s->state = status == WR_ST_SUCCESS ? RC_SQE_DONE : RC_SQE_FAILED;
	s->status = (u8)status;
	if (status == WR_ST_SUCCESS) {
		q->cur++;
		q->cur_pkt = 0;
	}
	rc_req_advance(q);
}

void rc_req_fail(struct rc_req *q, u32 slot, enum wr_status status)
{
	struct rc_sqe *s = rc_sqe_at(q, slot);

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
	rc_resend_stop_at(q, slot);
	rc_req_advance(q);
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
	WRITE_ONCE(q->steered_kbps, 0);
	rc_req_steer(q);
}

void rc_req_set_window(struct rc_req *q, const struct rc_window *window)
{
	q->window = *window;
	q->cc.round_psn = q->psn_una;
	q->rtt.done_psn = q->psn_una;
	rc_req_steer(q);
}

/* ---- completion, state ---- */

bool rc_req_reap(struct rc_req *q, u32 *slot, enum wr_status *status)
{
	struct rc_sqe *s;

	if (q->tail == q->head)
		return false;
	s = rc_sqe_at(q, q->tail);
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
	return q->una == q->head || rc_sqe_at(q, q->una)->state == RC_SQE_QUEUED;
}
