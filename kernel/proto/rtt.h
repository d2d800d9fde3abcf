/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long a path and a peer take to answer: smoothed, and its variation (RFC 6298 2). One packet
 * is timed at a time, from when it is sent until what it asks for comes. One that is sent again is
 * not timed, as the answer may be to either (RFC 6298 3), except before any answer was, and if the
 * peer has said that it is missing. Then one that is new has no answer before that one has.
 *
 * Times are nanoseconds of one monotonic clock, exact ones, and never 0.
 */
#ifndef TERN_PROTO_RTT_H
#define TERN_PROTO_RTT_H

#include "psn.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rtt {
	u64 smooth_ns;		/* 0: no answer was timed yet */
	u64 var_ns;
	u64 sent_ns;		/* of the packet that is timed; 0: none is */
	u32 psn;		/* its own */
	u32 done_psn;		/* of the last that was answered */
	bool again;		/* it was sent before */
};

/* Is it time to time psn? Until an answer was timed, each; then one of `every` packets. */
static inline bool rtt_is_due(const struct rtt *r, u32 psn, u32 every)
{
	return !r->sent_ns && (!r->smooth_ns || psn_diff(psn, r->done_psn) >= (s32)every);
}

static inline void rtt_begin(struct rtt *r, u32 psn, u64 now_ns)
{
	r->psn = psn;
	r->sent_ns = now_ns;
	r->again = false;
}

/* What is timed is sent again, or does not count. */
static inline void rtt_forget(struct rtt *r)
{
	r->sent_ns = 0;
}

/* Does an answer that covers all before psn end the timing? */
static inline bool rtt_is_answer(const struct rtt *r, u32 psn)
{
	return r->sent_ns && psn_after(psn, r->psn);
}

/* The answer to what is timed has come. */
static inline void rtt_end(struct rtt *r, u64 now_ns)
{
	u64 took_ns = now_ns - r->sent_ns, off;

	/* 0: no time that was exact. */
	if (now_ns > r->sent_ns) {
		u64 old = r->smooth_ns ? r->smooth_ns : took_ns;

		off = took_ns > old ? took_ns - old : old - took_ns;
		r->var_ns = r->smooth_ns ? r->var_ns - r->var_ns / 4 + off / 4 : took_ns / 2;
		r->smooth_ns = old - old / 8 + took_ns / 8;
	}
	r->sent_ns = 0;
	r->done_psn = r->psn;
}

/* An answer that takes longer is late (RFC 6298 2.3). 0: not known. */
static inline u64 rtt_late_ns(const struct rtt *r)
{
	return r->smooth_ns ? r->smooth_ns + 4 * r->var_ns : 0;
}

#ifdef __cplusplus
}
#endif

#endif
