/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The clocks and sched_yield() of this program, to be told by a test: while a
 * FakeClock lives, its thread's CLOCK_MONOTONIC moves only when that is read or
 * when the thread yields. Other threads and clocks are as ever.
 */
#ifndef FAKE_CLOCK_H
#define FAKE_CLOCK_H

#include <cstdint>

class FakeClock {
public:
	FakeClock();
	~FakeClock();
	FakeClock(const FakeClock &) = delete;
	FakeClock &operator=(const FakeClock &) = delete;

	uint64_t now_ns = 1000000000;
	uint64_t read_takes_ns = 1000; /* each reading is so much later than the last */
	uint64_t yield_takes_ns = 1000;
	unsigned yields = 0;
};

#endif
