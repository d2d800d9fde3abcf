/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's clocks, as a test sets them. */
#ifndef TERN_UNIT_FAKE_KTIME_H
#define TERN_UNIT_FAKE_KTIME_H

#include "proto/deps.h"

#define unlikely(x) (x)

struct FakeClocks {
	u64 ns = 1;	   // what it is
	u64 coarse_ns = 1; // at the last tick that the timekeeper knows of
	int asked = 0;
};

inline FakeClocks clocks;

inline u64 ktime_get_ns()
{
	clocks.asked++;
	return clocks.ns;
}

inline u64 ktime_get_coarse_ns()
{
	clocks.asked++;
	return clocks.coarse_ns;
}

#endif
