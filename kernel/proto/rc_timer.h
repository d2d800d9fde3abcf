/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long a requester waits for its peer before it sends again, for rc_req.c and rc_ack.c. It
 * depends on the program's setting, on how soon the peer answers, and on the limit of silence
 * (rc_req.h).
 */
#ifndef TERN_PROTO_RC_TIMER_H
#define TERN_PROTO_RC_TIMER_H

#include "rc_req.h"

/* Some times are as old as a tick (roce_tick_ns()). */
static inline u64 rc_timer_since(u64 then_ns, u64 now_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* The first wait for a peer whose answers have been timed. */
static inline u64 rc_timer_known_wait(const struct rc_req *q)
{
	const struct rc_ack_timeout *t = &q->cfg.ack_timeout;
	u64 wait = t->least_ns + RC_REQ_PEER_OFF_NS + RC_REQ_ANSWER_TIMES * q->answer_ns;

	return q->answer_ns && t->least_ns && wait < t->first_ns ? wait : t->first_ns;
}

/* Nothing is under way, or the peer has said when to go on. */
static inline void rc_timer_stop(struct rc_req *q)
{
	q->deadline_ns = 0;
	q->resend.probe_ns = 0;
	q->resend.hole_ns = 0;
}

/* When an answer is late; while no round trip was timed, a guess. 0: never. */
static inline u64 rc_timer_late_ns(const struct rc_req *q)
{
	u64 late = rtt_late_ns(&q->rtt);

	return late || !rc_req_is_timed(q) ? late : RC_PROBE_FIRST_NS;
}

/*
 * The last packets of a burst may be lost, and nothing tells of it (RFC 8985 7). An answer may be
 * late by two ticks, as both ends of the wait are times of cfg.clock_ns. While there is a gap,
 * rc_resend_sent() sets the time.
 */
static inline void rc_timer_arm_probe(struct rc_req *q, u64 now_ns)
{
	u64 wait;

	if (!rc_req_is_timed(q) || q->resend.gap)
		return;
	wait = q->rtt.smooth_ns + rc_timer_late_ns(q) + 2 * q->cfg.clock_ns;
	q->resend.probe_ns = now_ns + (wait << q->resend.backoff);
}

static inline void rc_timer_arm(struct rc_req *q, u64 now_ns)
{
	const struct rc_ack_timeout *t = &q->cfg.ack_timeout;
	u64 wait = rc_timer_known_wait(q) << q->backoff;

	if (wait && t->all_ns) {
		u64 past = rc_timer_since(q->silent_ns, now_ns);
		u64 share = past < t->all_ns ? (t->all_ns - past) / (q->retry_left + 1u) : 0;

		if (share < t->least_ns)
			share = t->least_ns;
		if (wait > share)
			wait = share;
	}
	q->armed_ns = now_ns;
	q->deadline_ns = wait ? now_ns + wait : 0;
	if (wait)
		rc_timer_arm_probe(q, now_ns);
}

/* Something came from the peer. */
static inline void rc_timer_heard(struct rc_req *q, u64 now_ns)
{
	u64 took = rc_timer_since(q->armed_ns, now_ns);

	q->silent_ns = now_ns;
	/* After a retransmission the answer may belong to the first transmission. */
	if (!q->deadline_ns || q->backoff || q->recovering)
		return;
	if (took > q->answer_ns)
		q->answer_ns = took;
	else
		q->answer_ns -= (q->answer_ns - took) / RC_REQ_ANSWER_FADE;
	if (!q->answer_ns)
		q->answer_ns = 1;
}

#endif
