// SPDX-License-Identifier: GPL-2.0
// Pauses of pollers where there is one CPU: only who spins, and not at once.
#include <gtest/gtest.h>

#include "patience.h"

using tern::Patience;

namespace {

class Poller : public ::testing::Test {
protected:
	/* Polls in vain, each gap_ns after the one before, for time_ns; the pauses' sum. */
	uint64_t spin(uint64_t gap_ns, uint64_t time_ns)
	{
		const uint64_t end = now + time_ns;
		uint64_t sum = 0;

		while (now < end) {
			const uint32_t pause = patience.empty(now += gap_ns, found);

			if (pause)
				last = pause;
			now += pause;
			sum += pause;
		}
		return sum;
	}

	Patience patience;
	uint64_t now = 1000000000;
	uint32_t found = 0;
	uint32_t last = 0;
};

TEST_F(Poller, IsNotPausedAtFirst)
{
	EXPECT_EQ(spin(100, Patience::kSpinNs - 1000), 0u);
	EXPECT_NE(spin(100, 10000), 0u);
	EXPECT_EQ(last, Patience::kFirstNs);
}

TEST_F(Poller, SpendsMostOfALongWaitInPauses)
{
	EXPECT_GT(spin(200, 100000000), 90000000u);
	EXPECT_EQ(last, Patience::kLongestNs);
}

TEST_F(Poller, ThatFindsSomethingBeginsAnew)
{
	EXPECT_NE(spin(100, 5000000), 0u);
	found++;
	EXPECT_EQ(spin(100, Patience::kSpinNs - 1000), 0u);
	EXPECT_NE(spin(100, 10000), 0u);
	EXPECT_EQ(last, Patience::kFirstNs);
}

TEST_F(Poller, ThatFindsSomethingNowAndThenIsNeverPaused)
{
	for (int i = 0; i < 1000; i++) {
		EXPECT_EQ(spin(100, Patience::kSpinNs / 2), 0u);
		found++;
	}
}

TEST_F(Poller, WithOtherWorkBetweenPollsIsNeverPaused)
{
	EXPECT_EQ(spin(Patience::kQuickNs + 1, 100000000), 0u);
}

TEST_F(Poller, InterruptedNowAndThenStillSpins)
{
	uint64_t sum = 0;

	for (int i = 0; i < 100; i++) {
		sum += spin(100, 20000);
		now += 50000;
	}
	EXPECT_NE(sum, 0u);
}

} // namespace
