/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many packets a requester may have under way. What a path carries in the time that an
 * acknowledge takes is not known, so it is tried out, as in TCP (RFC 5681). Below its threshold the
 * window grows by all that is acknowledged while it is the limit. Everything else is decided by the
 * congestion controller (cc.h); what most of them do after a loss and a timeout is here, too.
 */
#ifndef TERN_PROTO_RC_WINDOW_H
#define TERN_PROTO_RC_WINDOW_H

#include "deps.h"
#include "tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rc_window {
	u32 pkts;		/* now */
	u32 min;
	u32 max;
	u32 threshold;		/* from here on it grows by steps; 2^32 - 1: no loss yet */
	bool full;		/* it is what stops the requester */
};

/* Begin with pkts packets and grow to max at most. If max is not above pkts, it never changes. */
static inline void rc_window_init(struct rc_window *w, u32 pkts, u32 max)
{
	w->pkts = pkts;
	w->min = max > pkts && pkts > RC_WINDOW_MIN ? RC_WINDOW_MIN : pkts;
	w->max = max > pkts ? max : pkts;
	w->threshold = (u32)-1;
	w->full = false;
}

static inline bool rc_window_is_fixed(const struct rc_window *w)
{
	return w->min == w->max;
}

/* Change the limit of growth; not below the first size. No effect on one that never changes. */
static inline void rc_window_limit(struct rc_window *w, u32 max)
{
	if (rc_window_is_fixed(w))
		return;
	w->max = max;
	if (w->pkts > max)
		w->pkts = max;
}

static inline void rc_window_acked(struct rc_window *w, u32 pkts)
{
	u32 most = w->threshold < w->max ? w->threshold : w->max;

	if (!w->full || w->pkts >= most)
		return;
	w->pkts = pkts < most - w->pkts ? w->pkts + pkts : most;
}

/* A window of packets has come through above the threshold (RFC 5681 3.1). */
static inline void rc_window_step(struct rc_window *w)
{
	u32 step = (w->pkts + RC_WINDOW_STEPS - 1) / RC_WINDOW_STEPS;

	if (w->pkts < w->threshold || w->pkts >= w->max)
		return;
	w->pkts = step < w->max - w->pkts ? w->pkts + step : w->max;
}

static inline void rc_window_lost(struct rc_window *w)
{
	w->threshold = w->pkts / 2 > w->min ? w->pkts / 2 : w->min;
	if (w->pkts > w->threshold)
		w->pkts = w->threshold;
}

/*
 * Nothing came back for too long (RFC 5681 3.1): continue with one packet, grow by all that is
 * acknowledged, as at the beginning, to half of the old size. A queue that drops packets which
 * stayed too long drops the first of several, and a peer reports a gap only once, so it could use
 * none of the others. Such a queue keeps its last packet (RFC 8289 4.2).
 */
static inline void rc_window_restart(struct rc_window *w)
{
	if (w->pkts > 1)
		rc_window_lost(w);
	w->pkts = 1;
}

/* Its size, or what it restarts towards. */
static inline u32 rc_window_usual(const struct rc_window *w)
{
	return w->pkts > w->min ? w->pkts : w->min;
}

#ifdef __cplusplus
}
#endif

#endif
