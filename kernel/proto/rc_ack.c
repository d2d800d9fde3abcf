// SPDX-License-Identifier: GPL-2.0
/*
 * What a requester hears, or does not; the contract is in rc_ack.h. rc_req.c has the ring, and
 * sends what this file goes back to.
 */
#include "rc_ack.h"
#include "rc_resend.h"
#include "rc_sqe.h"
#include "rc_timer.h"

static bool sqe_has_psn(const struct rc_sqe *s)
{
	return s->wr.op != WR_LOCAL;
}

/* ---- going back ---- */

void rc_req_unsend(struct rc_req *q, u32 psn)
{
	if (q->state != RC_REQ_ERROR)
		rc_resend_unsent(q, psn);
}

void rc_req_ask_again(struct rc_req *q, u32 psn)
{
	if (q->state == RC_REQ_ERROR)
		return;
	rc_resend_all(q, psn);
	/* What else was asked for by now comes, and says that something was lost. */
	q->recovering = true;
	q->asking_again = true;
	q->again_psn = q->psn_max;
}

/* The oldest incomplete work request fails, for a reason given by the peer or the network. */
static void fail_oldest(struct rc_req *q, enum wr_status status)
{
	if (q->una != q->head) {
		rc_sqe_complete(q, rc_sqe_at(q, q->una), status);
		q->una++;
	}
	rc_req_flush(q);
}

/* What is sent again is one more attempt. False: none is left. A repeated NAK costs none. */
static bool count_retry(struct rc_req *q, u64 now_ns)
{
	if (!q->retry_left) {
		fail_oldest(q, WR_ST_RETRY_EXC_ERR);
		return false;
	}
	q->retry_left--;
	q->recovering = true;
	rc_timer_arm(q, now_ns);
	return true;
}

/* All that is lost of one window is one sign of too much under way (RFC 5681 3.1). */
static void cut_window(struct rc_req *q)
{
	/* Of a hole each packet is counted when it goes again. */
	if (!q->resend.hole)
		cc_sent_again(&q->cc, 1);
	if (q->resend.cut)
		return;
	q->cc.reorders = q->resend.reorders;
	cc_lost(&q->cc, &q->window);
	rc_req_steer(q);
	q->resend.cut = true;
	q->resend.cut_psn = q->psn_max;
}

/*
 * The peer, or what it sent, tells that packets were lost; end_psn: as rc_resend_missing() has it.
 * False: that was known.
 */
static bool retry_lost(struct rc_req *q, u64 now_ns, u32 end_psn)
{
	if (!rc_resend_missing(q, now_ns, end_psn))
		return false;
	if (count_retry(q, now_ns))
		cut_window(q);
	return true;
}

/* psn_una has grown while packets were missing. True: the one there is missing, too. */
static bool note_lost_progress(struct rc_req *q)
{
	struct rc_resend *r = &q->resend;
	bool more_lost = (r->gap || r->learns) && rc_resend_progress(q);

	if (r->cut && !psn_before(q->psn_una, r->cut_psn))
		r->cut = false;
	if (r->behind)
		rc_resend_catch_up(q);
	if (r->nak_ahead && !psn_before(q->psn_una, r->nak_psn)) {
		r->nak_ahead = false;
		more_lost |= q->psn_una == r->nak_psn;
	}
	return more_lost;
}

static void restart_window(struct rc_req *q)
{
	cc_restart(&q->cc, &q->window);
	rc_req_steer(q);
}

/* The answer to what is timed has come. */
static void end_timing(struct rc_req *q, u64 now_ns)
{
	u64 took = now_ns > q->rtt.sent_ns ? now_ns - q->rtt.sent_ns : 0;

	/* Sooner than any before: to what was sent first, which came late. */
	if (q->rtt.again && took < q->cc.base_ns) {
		rtt_forget(&q->rtt);
		return;
	}
	/* Only a measured time shows that the wait is long enough (RFC 6298 5.7). */
	q->resend.backoff = 0;
	rtt_end(&q->rtt, now_ns);
	if (took)
		cc_measured(&q->cc, now_ns, took);
}

/* What the congestion controller hears of progress. */
static void control_rate(struct rc_req *q, u64 now_ns, u32 npkts)
{
	u32 least;

	cc_acked(&q->cc, &q->window, npkts);
	if (rtt_is_answer(&q->rtt, q->psn_una))
		end_timing(q, now_ns);
	if (psn_before(q->psn_una, q->cc.round_psn))
		return;
	least = psn_add(q->psn_una, rc_req_rtt_pkts(q));
	cc_end_round(&q->cc, &q->window, now_ns, psn_after(least, q->psn_max) ? least : q->psn_max);
	rc_req_steer(q);
}

/* npkts packets from the old psn_una on are acknowledged. */
static void note_progress(struct rc_req *q, u64 now_ns, u32 npkts)
{
	bool more_lost = q->resend.any && note_lost_progress(q);

	if (!rc_window_is_fixed(&q->window))
		control_rate(q, now_ns, npkts);
	rc_timer_heard(q, now_ns);
	q->retry_left = q->cfg.retry_cnt;
	q->rnr_left = q->cfg.rnr_retry;
	q->backoff = 0;
	q->resend.probes = 0;
	q->rnr_wait_ns = 0;
	if (q->asking_again && !psn_before(q->psn_una, q->again_psn))
		q->asking_again = false;
	q->recovering = q->asking_again;
	q->rnr_until_ns = 0;
	if (q->psn_una == q->psn_max)
		rc_timer_stop(q);
	else
		rc_timer_arm(q, now_ns);
	if (more_lost)
		retry_lost(q, now_ns, q->psn_una);
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
		struct rc_sqe *s = rc_sqe_at(q, q->una);

		if (!sqe_has_psn(s) || s->state != RC_SQE_ACTIVE)
			break;
		if (wr_has_response(&s->wr)) {
			intact = false;
			break;
		}
		moved = true;
		if (psn_before(psn, rc_sqe_end_psn(s))) {
			q->psn_una = psn;
			break;
		}
		q->psn_una = rc_sqe_end_psn(s);
		rc_sqe_complete(q, s, WR_ST_SUCCESS);
		rc_req_advance(q);
		if (q->state == RC_REQ_ERROR)
			return false;
	}
	if (moved)
		note_progress(q, now_ns, rc_psns_since(q->psn_una, before));
	return intact;
}

/* Everything behind the lost response says the same: go back once. */
static void go_back_for_response(struct rc_req *q, u64 now_ns)
{
	if (q->recovering)
		return;
	q->silent_ns = now_ns;
	if (rc_resend_all(q, q->psn_una) && count_retry(q, now_ns))
		cut_window(q);
}

/* What came belongs behind responses that are missing, from psn_una to k. */
static void rx_ahead(struct rc_req *q, u64 now_ns, const struct pkt *k, bool plain_ack,
		     struct rc_req_act *act)
{
	bool answers = k->op_flags & (OPF_READ | OPF_ATOMIC);
	bool gap = (k->op_flags & OPF_ACK) && k->syndrome == AETH_NAK_PSN_SEQ;
	u32 until = plain_ack ? psn_add(k->psn, 1) : k->psn;

	if (!q->cfg.ahead_pkts || !(plain_ack || answers || gap)) {
		act->event = RC_EV_IMPLIED_NAK;
		go_back_for_response(q, now_ns);
		return;
	}
	act->event = gap ? RC_EV_SEQ_NAK : RC_EV_AHEAD;
	q->silent_ns = now_ns;
	if (gap) {
		/* It is not said twice. */
		q->resend.nak_ahead = true;
		q->resend.nak_psn = k->psn;
	}
	if (!q->resend.heard || psn_after(until, q->resend.heard_psn))
		q->resend.heard_psn = until;
	q->resend.heard = true;
	if (answers && (u32)psn_diff(k->psn, q->psn_una) < q->cfg.ahead_pkts)
		act->kind = RC_REQ_KEEP;
}

enum rc_event rc_req_missing(struct rc_req *q, u64 now_ns, bool kept, u32 psn)
{
	if (!q->resend.heard || q->state == RC_REQ_ERROR)
		return RC_EV_NONE;
	if (!psn_after(q->resend.heard_psn, q->psn_una)) {
		q->resend.heard = false;
		return RC_EV_NONE;
	}
	/* Else all that is missing is asked for already, as soon as its pages are there. */
	if (q->asking_again || !retry_lost(q, now_ns, kept ? psn : q->resend.heard_psn))
		return RC_EV_NONE;
	return RC_EV_IMPLIED_NAK;
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
	struct rc_sqe *s = rc_sqe_at(q, q->una);
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
	 * to one request and does not reach beyond its end, which may be where a gap ended.
	 */
	if (end > s->npkts || pkt / s->read_pkts != (end - 1) / s->read_pkts ||
	    (ends != !!(k->op_flags & OPF_LAST) && (ends || !s->cut)) ||
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
		q->silent_ns = now_ns;
		retry_lost(q, now_ns, q->psn_una);
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
		restart_window(q);
	wait = rc_rnr_timer_ns(k->syndrome & AETH_VALUE_MASK);
	longer = 2 * q->rnr_wait_ns;
	if (longer > RC_REQ_RNR_BACKOFF_NS)
		longer = RC_REQ_RNR_BACKOFF_NS;
	q->rnr_wait_ns = wait < longer ? longer : wait;
	q->rnr_until_ns = now_ns + q->rnr_wait_ns;
	q->pacer.until_ns = 0;
	rc_timer_stop(q);
	rc_resend_all(q, k->psn);
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
	if (psn_after(until, q->psn_una) && !ack_until(q, now_ns, until)) {
		if (q->state != RC_REQ_ERROR)
			rx_ahead(q, now_ns, k, plain_ack, act);
		return;
	}
	if (q->state == RC_REQ_ERROR || plain_ack)
		return;

	if (k->op_flags & OPF_READ) {
		rx_read_response(q, now_ns, k, act);
		return;
	}
	if (k->op_flags & OPF_ATOMIC) {
		struct rc_sqe *s = rc_sqe_at(q, q->una);

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
	struct rc_sqe *s = rc_sqe_at(q, act->slot);

	if (act->slot != q->una || s->state != RC_SQE_ACTIVE || q->state == RC_REQ_ERROR)
		return;
	q->psn_una = psn_add(q->psn_una, act->npkts);
	if (q->psn_una == rc_sqe_end_psn(s)) {
		rc_sqe_complete(q, s, WR_ST_SUCCESS);
		rc_req_advance(q);
	} else if (((q->psn_una - s->first_psn) & PSN_MASK) % s->read_pkts == 0 && s->rd_held) {
		s->rd_held--;
		q->rd_out--;
	}
	note_progress(q, now_ns, act->npkts);
	if (q->resend.heard && q->state != RC_REQ_ERROR)
		ack_until(q, now_ns, q->resend.heard_psn);
}

/* ---- silence ---- */

/* 0: never. */
static u64 earlier_of(u64 a_ns, u64 b_ns)
{
	return a_ns && (!b_ns || a_ns < b_ns) ? a_ns : b_ns;
}

u64 rc_req_deadline(const struct rc_req *q)
{
	if (q->state == RC_REQ_ERROR)
		return 0;
	if (q->rnr_until_ns)
		return q->rnr_until_ns;
	return earlier_of(earlier_of(q->pacer.until_ns, rc_resend_deadline(q)), q->deadline_ns);
}

/* Does the pacer hold back what would be sent again, from the oldest packet on? */
static bool is_held_back(const struct rc_req *q)
{
	const struct rc_sqe *s = rc_sqe_at(q, q->cur);

	return q->pacer.until_ns && q->cur != q->head && s->state == RC_SQE_ACTIVE &&
	       psn_add(s->first_psn, q->cur_pkt) == q->psn_una;
}

/* Nothing was acknowledged for as long as the program lets the peer be silent. */
static enum rc_event ack_timeout(struct rc_req *q, u64 now_ns)
{
	q->deadline_ns = 0;
	if (q->psn_una == q->psn_max) {
		rc_timer_stop(q);
		return RC_EV_NONE;
	}
	if (is_held_back(q)) {
		rc_timer_arm(q, q->pacer.until_ns);
		return RC_EV_NONE;
	}
	if (q->backoff < RC_REQ_MAX_BACKOFF)
		q->backoff++;
	if (rc_resend_all(q, q->psn_una) && count_retry(q, now_ns)) {
		restart_window(q);
		q->resend.cut = true;
		q->resend.cut_psn = q->psn_max;
	}
	if (q->state != RC_REQ_ERROR && !q->deadline_ns)
		rc_timer_arm(q, now_ns);	/* went back before, and could not send since */
	return RC_EV_TIMEOUT;
}

void rc_req_cnp(struct rc_req *q, u64 now_ns)
{
	if (q->state == RC_REQ_ERROR)
		return;
	cc_marked(&q->cc, &q->window, now_ns);
	rc_req_steer(q);
}

enum rc_event rc_req_timeout(struct rc_req *q, u64 now_ns)
{
	if (q->state == RC_REQ_ERROR || now_ns < q->rnr_until_ns)
		return RC_EV_NONE;
	/* rc_req_next() resumes by itself */
	q->rnr_until_ns = 0;
	if (now_ns >= q->pacer.until_ns)
		q->pacer.until_ns = 0;
	if (q->deadline_ns && now_ns >= q->deadline_ns)
		return ack_timeout(q, now_ns);
	switch (rc_resend_timeout(q, now_ns)) {
	case RC_DUE_HOLE:
		if (count_retry(q, now_ns))
			cut_window(q);
		return q->resend.gap == RC_GAP_OF_US ? RC_EV_IMPLIED_NAK : RC_EV_HOLE;
	case RC_DUE_PROBE:
		/* Of a single packet nothing else tells that it was lost. */
		if (psn_add(q->psn_una, 1) == q->psn_max)
			cut_window(q);
		return RC_EV_PROBE;
	default:
		return RC_EV_NONE;
	}
}
