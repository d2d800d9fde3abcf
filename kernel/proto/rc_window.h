/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many packets a requester may have under way. What a path carries in the time
 * that an acknowledge takes is not known beforehand, so it is tried, as TCP does
 * (RFC 5681): the window grows by all that is acknowledged as long as it is what
 * holds the requester up; each loss halves it, and from then on it grows by a
 * sixteenth of itself for each window of packets that comes through. After a time
 * without any answer it begins again with one packet.
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
	u32 acked;		/* packets, since the last step */
	bool full;		/* it is what holds the requester up */
};

/* Begins with so many packets, may become max; always the same if that is no more. */
static inline void rc_window_init(struct rc_window *w, u32 pkts, u32 max)
{
	w->pkts = pkts;
	w->min = max > pkts && pkts > RC_WINDOW_MIN ? RC_WINDOW_MIN : pkts;
	w->max = max > pkts ? max : pkts;
	w->threshold = (u32)-1;
	w->acked = 0;
	w->full = false;
}

/* What it may become from now on, no less than it began with. Not for one that stays the same. */
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
 * Nothing came back for too long (RFC 5681 3.1): one packet, then by all that is
 * acknowledged, as at the beginning, to half of what it was. A queue that drops what
 * stayed too long takes the first of several, so that a peer, which says only once
 * what it misses, would see nothing of use in any of them; the last one in the queue
 * it spares (RFC 8289 4.2).
 */
static inline void rc_window_restart(struct rc_window *w)
{
	if (w->min == w->max)
		return;
	if (w->pkts > 1)
		rc_window_lost(w);
	w->pkts = 1;
}

/* What it has if it is not about to begin again. */
static inline u32 rc_window_usual(const struct rc_window *w)
{
	return w->pkts > w->min ? w->pkts : w->min;
}

#ifdef __cplusplus
}
#endif

#endif
