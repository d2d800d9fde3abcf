// SPDX-License-Identifier: GPL-2.0
/*
 * What a requester hears, or does not; the contract is in rc_ack.h. rc_req.c has the ring, and
 * sends what this file goes back to.
 */
#include "rc_ack.h"
#include "rc_sqe.h"
#include "rc_timer.h"

static bool sqe_has_psn(const struct rc_sqe *s)
{
	return s->wr.op != WR_LOCAL;
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
		struct rc_sqe *s = rc_sqe_at(q, slot);

		if (s->state == RC_SQE_QUEUED || s->state == RC_SQE_FAILED)
			return false;
		if (s->state != RC_SQE_ACTIVE)
			continue;
		if (psn_before(psn, rc_sqe_end_psn(s))) {
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
		rc_sqe_complete(q, rc_sqe_at(q, q->una), status);
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
}


/* ---- silence ---- */

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
	const struct rc_sqe *s = rc_sqe_at(q, q->cur);

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
