// SPDX-License-Identifier: GPL-2.0
/*
 * What a requester sends again; the contract is in rc_resend.h. Of the ring only cur and cur_pkt
 * move: back, from the end of a hole to where sending stood, and after an acknowledge that jumps to
 * what was never sent.
 */
#include "rc_resend.h"
#include "rc_sqe.h"
#include "rc_timer.h"

/* Does sending stand before this place? */
static bool is_before(const struct rc_req *q, const struct rc_place *place)
{
	return (s32)(place->slot - q->cur) > 0 ||
	       (place->slot == q->cur && place->pkt > q->cur_pkt);
}

/* Is sending before the place up to which everything was sent once? */
static bool is_behind(const struct rc_req *q)
{
	return q->resend.behind && is_before(q, &q->resend.far);
}

static void go_on_at(struct rc_req *q, const struct rc_place *place)
{
	if (!is_before(q, place))
		return;
	q->cur = place->slot;
	q->cur_pkt = place->pkt;
}

/* Where psn is, which belongs to a work request that has begun and is not complete. */
static bool find_psn(const struct rc_req *q, u32 psn, u32 *slot, u32 *pkt)
{
	u32 i;

	for (i = q->una; i != q->head; i++) {
		const struct rc_sqe *s = rc_sqe_at(q, i);

		if (s->state == RC_SQE_QUEUED || s->state == RC_SQE_FAILED)
			return false;
		if (s->state != RC_SQE_ACTIVE || !psn_before(psn, rc_sqe_end_psn(s)))
			continue;
		*slot = i;
		*pkt = psn_before(psn, s->first_psn) ? 0 : (u32)psn_diff(psn, s->first_psn);
		return true;
	}
	return false;
}

/* False if sending already stands there or before it: what is ahead of cur is not sent yet. */
static bool go_back(struct rc_req *q, u32 psn)
{
	struct rc_resend *r = &q->resend;
	u32 slot, pkt;

	if (!find_psn(q, psn, &slot, &pkt) || (s32)(slot - q->cur) > 0 ||
	    (slot == q->cur && pkt >= q->cur_pkt))
		return false;
	if (!is_behind(q)) {
		r->behind = true;
		r->far = (struct rc_place){ q->cur, q->cur_pkt };
	}
	r->resent_psn = psn;
	r->began = false;
	q->cur = slot;
	q->cur_pkt = pkt;
	q->since_ackreq = 0;
	/* The answer may be to either: a time that is too long, but at first better than none. */
	if (q->rtt.smooth_ns)
		rtt_forget(&q->rtt);
	return true;
}

bool rc_resend_all(struct rc_req *q, u32 psn)
{
	struct rc_resend *r = &q->resend;

	r->gap = RC_GAP_NONE;
	r->hole = false;
	r->learns = false;
	r->nak_ahead = false;
	r->hole_ns = 0;
	r->probe_ns = 0;
	return go_back(q, psn);
}

/* Is what was found missing sent again, or about to be? More evidence of it tells nothing. */
static bool gap_is_open(const struct rc_req *q)
{
	return q->resend.gap != RC_GAP_NONE && psn_before(q->psn_una, q->resend.end_psn);
}

/* The hole has been sent again: go on where sending stood. */
static void end_hole(struct rc_req *q)
{
	q->resend.hole = false;
	go_on_at(q, &q->resend.next);
}

/* Go back to psn, and from end_psn on to where sending stands. */
static bool send_hole(struct rc_req *q, u32 psn)
{
	struct rc_resend *r = &q->resend;

	r->learns = false;
	r->hole_ns = 0;
	r->probe_ns = 0;
	/* Acknowledges may have overtaken what was being sent again. */
	if (r->hole)
		end_hole(q);
	r->next = (struct rc_place){ q->cur, q->cur_pkt };
	r->hole = go_back(q, psn);
	return r->hole;
}

static bool open_gap(struct rc_req *q, enum rc_gap gap, u32 end_psn)
{
	struct rc_resend *r = &q->resend;

	if (psn_after(end_psn, q->psn_max))
		end_psn = q->psn_max;
	r->gap = gap;
	r->end_psn = end_psn;
	r->sent_max = q->psn_max;
	return gap_is_open(q);
}

/* How long a gap is left alone: packets of this path come late, or it is time to see. */
static u64 patience_ns(const struct rc_req *q)
{
	return q->resend.reorders || !q->resend.in_order ? q->rtt.smooth_ns : 0;
}

bool rc_resend_missing(struct rc_req *q, u64 now_ns, u32 end_psn)
{
	struct rc_resend *r = &q->resend;
	bool of_peer = end_psn == q->psn_una;
	u64 wait;

	if (gap_is_open(q))
		return false;
	if (of_peer && !r->keeps) {
		if (!rc_resend_all(q, q->psn_una))
			return false;
		/* An early acknowledge tells whether the peer keeps. */
		q->since_ackreq = q->window.pkts;
		/* Without a timer nothing would help if a hole was lost again, or its answer. */
		r->learns = q->cfg.ack_timeout.first_ns;
		r->sent_max = q->psn_max;
		return true;
	}
	if (of_peer)
		end_psn = psn_add(q->psn_una, r->pkts);
	if (!open_gap(q, of_peer ? RC_GAP_OF_PEER : RC_GAP_OF_US, end_psn))
		return false;
	wait = patience_ns(q);
	if (!wait)
		return send_hole(q, q->psn_una);
	r->hole_ns = now_ns + wait;
	return false;
}

bool rc_resend_limit(struct rc_req *q, const struct rc_sqe *s, u32 *used)
{
	u32 left = rc_resend_pkts(q, s);

	if (!left) {
		end_hole(q);
		return false;
	}
	q->most_pkts = q->most_pkts < left ? q->most_pkts : left;
	/* A probe goes again in the place of one that counts already. */
	if (q->resend.gap == RC_GAP_NONE)
		*used = 0;
	return true;
}

bool rc_resend_was_heard(const struct rc_req *q, const struct rc_sqe *s)
{
	u32 heard_psn = q->resend.heard_psn;

	return s->state == RC_SQE_ACTIVE && !wr_has_response(&s->wr) &&
	       psn_after(heard_psn, q->psn_una) &&
	       rc_psns_since(rc_sqe_end_psn(s), q->psn_una) <=
		       rc_psns_since(heard_psn, q->psn_una);
}

void rc_resend_stop_at(struct rc_req *q, u32 slot)
{
	struct rc_resend *r = &q->resend;

	if ((s32)(r->far.slot - slot) > 0)
		r->far = (struct rc_place){ slot, 0 };
	if ((s32)(r->next.slot - slot) > 0)
		r->next = (struct rc_place){ slot, 0 };
}

void rc_resend_catch_up(struct rc_req *q)
{
	if (!is_behind(q))
		q->resend.behind = false;
}

void rc_resend_unsent(struct rc_req *q, u32 psn)
{
	rc_resend_all(q, psn);
	/* Packets ahead of cur may never have left: no acknowledge can jump over them. */
	q->resend.behind = false;
}

void rc_resend_sent(struct rc_req *q, u64 now_ns, u32 end_psn)
{
	struct rc_resend *r = &q->resend;
	u64 late = rc_timer_late_ns(q);

	r->resent_psn = end_psn;
	r->began = true;
	if (!is_behind(q))
		r->behind = false;
	/* A program that asks for no timer gets none. */
	r->probe_ns = late && q->deadline_ns ? now_ns + (late << r->backoff) : 0;
}

/* ---- progress ---- */

/* The gap has closed. Did it so by itself? Then packets of this path come late. */
static bool closed_by_itself(struct rc_req *q)
{
	struct rc_resend *r = &q->resend;

	if (r->hole_ns) {
		r->hole_ns = 0;
		r->in_order = 0;
		r->reorders = true;
		return true;
	}
	if (++r->in_order >= RC_RESEND_IN_ORDER) {
		r->in_order = 0;
		r->reorders = false;
	}
	return false;
}

/* What the peer misses next begins at psn_una: how much of it is sent again? */
static void size_next(struct rc_req *q)
{
	struct rc_resend *r = &q->resend;

	if (q->psn_una != r->end_psn) {
		r->misses = 0;
		r->pkts -= r->pkts / 2;
		return;
	}
	if (++r->misses > RC_RESEND_MISSES) {
		r->keeps = false;
		r->misses = 0;
		r->pkts = 1;
	} else {
		r->pkts *= 2;
	}
}

static bool una_has_response(const struct rc_req *q)
{
	const struct rc_sqe *s = rc_sqe_at(q, q->una);

	return q->una == q->head || s->state != RC_SQE_ACTIVE || wr_has_response(&s->wr);
}

bool rc_resend_progress(struct rc_req *q)
{
	struct rc_resend *r = &q->resend;
	enum rc_gap gap = r->gap;

	if (r->learns) {
		r->learns = psn_before(r->resent_psn, r->sent_max);
		/* If nothing was sent again yet, the missing packet alone was only late. */
		if (psn_diff(q->psn_una, r->resent_psn) <= (r->began ? 0 : 1))
			return false;
		r->learns = false;
		r->keeps = true;
		r->misses = 0;
		r->pkts = 1;
		r->hole = false;
		if (is_behind(q))
			go_on_at(q, &r->far);
		r->behind = false;
	} else {
		if (gap == RC_GAP_NONE || psn_before(q->psn_una, r->end_psn))
			return false;
		r->gap = RC_GAP_NONE;
		if (closed_by_itself(q) || gap == RC_GAP_OF_US)
			return false;
		if (psn_before(q->psn_una, r->sent_max))
			size_next(q);
	}
	/* What was sent before the hole was sent again has come before it, or is lost. */
	return psn_before(q->psn_una, r->sent_max) && !una_has_response(q);
}

/* ---- time ---- */

u64 rc_resend_deadline(const struct rc_req *q)
{
	return q->resend.hole_ns ? q->resend.hole_ns : q->resend.probe_ns;
}

/*
 * No answer says that anything is missing, or that what was sent again has come. If the newest
 * packet comes without the one before it, the peer says so, or its answer does. A peer that has
 * said so does not say it twice: if that was lost, only the oldest packet helps.
 */
static bool send_probe(struct rc_req *q)
{
	struct rc_resend *r = &q->resend;
	bool newest = !(r->probes++ & 1) && !is_behind(q);
	u32 psn = q->psn_una;

	if (r->backoff < RC_MAX_PROBES)
		r->backoff++;
	if (!gap_is_open(q)) {
		if (newest)
			psn = psn_add(q->psn_max, PSN_MASK);
		r->end_psn = psn_add(psn, 1);
	}
	return send_hole(q, psn);
}

enum rc_resend_due rc_resend_timeout(struct rc_req *q, u64 now_ns)
{
	struct rc_resend *r = &q->resend;

	if (r->hole_ns)
		return now_ns >= r->hole_ns && send_hole(q, q->psn_una) ? RC_DUE_HOLE :
									    RC_DUE_NOTHING;
	if (!r->probe_ns || now_ns < r->probe_ns)
		return RC_DUE_NOTHING;
	r->probe_ns = 0;
	/* With no retries the program wants to know of each loss. */
	if (!q->retry_left || q->psn_una == q->psn_max || r->probes >= RC_MAX_PROBES)
		return RC_DUE_NOTHING;
	return send_probe(q) ? RC_DUE_PROBE : RC_DUE_NOTHING;
}
