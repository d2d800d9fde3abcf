/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The time, roughly, for next to nothing: asked for once a tick, and kept. To ask the
 * kernel for its own time of the last tick takes longer than to look here. The kernel's
 * must not be kept: jiffies advance a moment before it does, so a CPU may still find it
 * as old as the machine was idle, and would believe that for a whole tick.
 */
#ifndef TERN_ROCE_QP_TICK_H
#define TERN_ROCE_QP_TICK_H

#include <linux/jiffies.h>
#include <linux/ktime.h>

/* A CPU's own. */
struct tick {
	unsigned long at;		/* jiffies; ns is 0: never asked */
	u64 ns;
};

/* A time at which jiffies were what they are now. */
static inline u64 tick_ns(struct tick *tick)
{
	unsigned long now = jiffies;

	if (unlikely(tick->at != now || !tick->ns)) {
		tick->at = now;
		tick->ns = ktime_get_ns();
	}
	return tick->ns;
}

#endif
