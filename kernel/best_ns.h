/* SPDX-License-Identifier: GPL-2.0 */
/* How long a function takes on this machine, to choose among several that do the same. */
#ifndef TERN_BEST_NS_H
#define TERN_BEST_NS_H

#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/preempt.h>

#define TERN_BEST_ROUNDS	8
#define TERN_BEST_CALLS		16	/* per round: some clocks advance by hundreds of ns */

/* ns of the best of TERN_BEST_ROUNDS: disturbances only lengthen a round. Process context. */
static inline u64 tern_best_ns(void (*once)(void *arg), void *arg)
{
	u64 best = U64_MAX;
	int i, calls;

	for (i = 0; i < TERN_BEST_ROUNDS; i++) {
		u64 began;

		preempt_disable();
		began = ktime_get_ns();
		for (calls = 0; calls < TERN_BEST_CALLS; calls++)
			once(arg);
		best = min(best, ktime_get_ns() - began);
		preempt_enable();
	}
	return best;
}

#endif
