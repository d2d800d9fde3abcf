/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many packets a requester may have under way. What a path carries in the time that an
 * acknowledge takes is not known, so it is tried out, as in TCP (RFC 5681). The window grows by all
 * that is acknowledged while it is the limit. Each loss halves it; from then on it grows by a
 * sixteenth of itself for each window of packets that comes through. After a timeout without any
 * answer it restarts with one packet.
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
	u32 acked;		/* packets since the last step */
	bool full;		/* it is what stops the requester */
};

/* Begin with pkts packets and grow to max at most. If max is not above pkts, it never changes. */
static inline void rc_window_init(struct rc_window *w, u32 pkts, u32 max)
{
	w->pkts = pkts;
	w->min = max > pkts && pkts > RC_WINDOW_MIN ? RC_WINDOW_MIN : pkts;
	w->max = max > pkts ? max : pkts;
	w->threshold = (u32)-1;
	w->acked = 0;
	w->full = false;
}

/* Change the limit of growth; not below the first size. No effect on one that never changes. */
static inline void rc_window_limit(struct rc_window *w, u32 max)
{
	if (w->min == w->max)
		return;
	w->max = max;
	if (w->pkts > max)
		w->pkts = max;
}

static inline void rc_window_acked(struct rc_window *w, u32 pkts)
{
	u32 most = w->max;

	if (!w->full || w->pkts >= w->max)
		return;
	if (w->pkts >= w->threshold) {
		w->acked += pkts;
		if (w->acked < w->pkts)
			return;
		w->acked = 0;
		pkts = (w->pkts + RC_WINDOW_STEPS - 1) / RC_WINDOW_STEPS;
	} else if (w->threshold < most) {
		most = w->threshold;
	}
	w->pkts = pkts < most - w->pkts ? w->pkts + pkts : most;
}

static inline void rc_window_lost(struct rc_window *w)
{
	if (w->min == w->max)
		return;
	w->threshold = w->pkts / 2 > w->min ? w->pkts / 2 : w->min;
	if (w->pkts > w->threshold)
		w->pkts = w->threshold;
	w->acked = 0;
}

/*
 * Nothing came back for too long (RFC 5681 3.1): continue with one packet, grow by all that is
 * acknowledged, as at the beginning, to half of the old size. A queue that drops packets which
 * stayed too long drops the first of several, and a peer reports a gap only once, so it could use
 * none of the others. Such a queue keeps its last packet (RFC 8289 4.2).
 */
static inline void rc_window_restart(struct rc_window *w)
{
	if (w->min == w->max)
		return;
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
