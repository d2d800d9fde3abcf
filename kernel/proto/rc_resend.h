/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a requester sends again, for rc_req.c and rc_ack.c.
 *
 * A gap is what the peer misses, or what is missing of its responses. A hole is the part of a gap
 * that is sent again.
 *
 * A peer either drops what comes out of order, as IBTA 9.7.5.2.8 lets it, or keeps it until its
 * turn comes. It does not say which. At first it is sent everything again, from what it misses on
 * (go-back-N). If its acknowledge then jumps over packets that were not sent again, it keeps, and
 * from then on it is sent only a hole. The peer does not say how long its gap is: the first hole is
 * one packet. If a hole ends where the peer still misses something, the next one is twice as long.
 * After RC_RESEND_MISSES of these in a row one more makes it a peer that drops.
 *
 * Of READs the requester keeps the responses itself (rc_req_ahead_is_next()), and knows its gaps.
 *
 * A path may change the order of packets. So the first gap is left alone for a round trip. If it
 * closes by itself, all are, until RC_RESEND_IN_ORDER in a row have not. On a path that keeps the
 * order one gap after as many others is. (RFC 8985 6.2 has other evidence, and waits no longer.)
 * A gap of a peer that drops is never left alone.
 *
 * If what was sent again has no answer in the usual time (rc_timer_late_ns()), one packet goes
 * again to find out, at doubled distances, RC_MAX_PROBES times; then only the ACK timer helps
 * (rc_timer.h).
 * The distance stays as it is until an answer was timed: else a path that has become slower would
 * be probed for each packet, and never timed (RFC 6298 5).
 * The end of what is under way is probed for likewise. There is no probe without a timer, without
 * retries, or on a path that is not timed.
 */
#ifndef TERN_PROTO_RC_RESEND_H
#define TERN_PROTO_RC_RESEND_H

#include "rc_req.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Everything from psn on, which belongs to a work request that has begun and is not complete. False
 * if sending already stands at psn or before it.
 */
bool rc_resend_all(struct rc_req *q, u32 psn);

/*
 * psn_una is missing. end_psn == psn_una: the peer said so, and its gap is of unknown length. Else
 * responses are missing, all before end_psn. now_ns is exact. True: something is sent again, which
 * the caller counts as a retry. False: that was known, or it may come by itself until
 * rc_resend_deadline().
 */
bool rc_resend_missing(struct rc_req *q, u64 now_ns, u32 end_psn);

/* psn_una has grown. True: the peer misses what begins there, too: rc_resend_missing(). */
bool rc_resend_progress(struct rc_req *q);

/* Packets of the hole that are left to send again, from cur_pkt of s on. */
static inline u32 rc_resend_pkts(const struct rc_req *q, const struct rc_sqe *s)
{
	s32 left = psn_diff(q->resend.end_psn, psn_add(s->first_psn, q->cur_pkt));

	return left > 0 ? (u32)left : 0;
}

/* Packets from psn on never left. */
void rc_resend_unsent(struct rc_req *q, u32 psn);

/* cur has moved: forget the place up to which everything was sent once, if it is there. */
void rc_resend_catch_up(struct rc_req *q);

/*
 * There is a hole, and what goes next, from cur_pkt of s on, may be of it. used: how far ahead of
 * psn_una that is, which counts against the window. False: the hole has been sent again, and cur
 * is where sending stood.
 */
bool rc_resend_limit(struct rc_req *q, const struct rc_sqe *s, u32 *used);

/* resend.heard: does the peer have all of s, though responses before it are missing? */
bool rc_resend_was_heard(const struct rc_req *q, const struct rc_sqe *s);

/* Nothing is sent from slot on, which has failed. */
void rc_resend_stop_at(struct rc_req *q, u32 slot);

/* Packets before end_psn were sent again at now_ns, which is exact. After rc_timer_arm(). */
void rc_resend_sent(struct rc_req *q, u64 now_ns, u32 end_psn);

enum rc_resend_due {
	RC_DUE_NOTHING,
	RC_DUE_HOLE,		/* a gap that was left alone has not closed: costs a retry */
	RC_DUE_PROBE,		/* one packet, to find out: costs none */
};

/* When rc_resend_timeout() has something to do. 0: never. */
u64 rc_resend_deadline(const struct rc_req *q);
/* What is sent again now. */
enum rc_resend_due rc_resend_timeout(struct rc_req *q, u64 now_ns);

#ifdef __cplusplus
}
#endif

#endif
