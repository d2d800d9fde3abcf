// SPDX-License-Identifier: GPL-2.0
// The time of a tick, over clocks of the test's own (fake/).
#include "roce/qp/tick.h"

#include <gtest/gtest.h>

namespace {

constexpr u64 kTick = 4000000;

class Tick : public testing::Test {
protected:
	tick t = {};

	Tick() { clocks = {.ns = 77 * kTick + 5, .coarse_ns = 77 * kTick}; }

	// The timekeeper comes to it a moment after jiffies.
	static void ticks(unsigned long n)
	{
		jiffies += n;
		clocks.ns += n * kTick;
	}
};

TEST_F(Tick, IsAskedForOnceATick)
{
	const u64 first = tick_ns(&t);

	EXPECT_EQ(first, clocks.ns);
	clocks.ns += kTick / 2;
	EXPECT_EQ(tick_ns(&t), first);
	EXPECT_EQ(clocks.asked, 1);
	ticks(1);
	EXPECT_EQ(tick_ns(&t), clocks.ns);
	EXPECT_EQ(clocks.asked, 2);
}

// Whoever asks right after an idle period, before the timekeeper has noticed that it is over.
TEST_F(Tick, IsNeverOlderThanTheTick)
{
	tick_ns(&t);
	ticks(250);

	const u64 woken = clocks.ns;

	EXPECT_GE(tick_ns(&t), woken);
	clocks.ns += kTick / 2;
	clocks.coarse_ns = woken;
	EXPECT_GE(tick_ns(&t), woken);
}

TEST_F(Tick, EachCpuHasItsOwn)
{
	tick other = {};

	tick_ns(&t);
	clocks.ns += kTick / 2;
	EXPECT_EQ(tick_ns(&other), clocks.ns);
	EXPECT_NE(tick_ns(&t), clocks.ns);
}

} // namespace
