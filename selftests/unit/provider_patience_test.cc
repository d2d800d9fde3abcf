// SPDX-License-Identifier: GPL-2.0
// When pollers yield and wait where there is one CPU: only who spins, and not at once.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "patience.h"
#include "tern-abi.h"

using tern::Patience;
using tern::Signals;

namespace {

class Poller : public ::testing::Test {
protected:
	/* Polls in vain, each gap_ns after the one before, for time_ns; the sum of its waits. */
	uint64_t spin(uint64_t gap_ns, uint64_t time_ns)
	{
		const uint64_t end = now + time_ns;
		uint64_t sum = 0;

		if (answers)
			found_at_post = found;
		while (now < end) {
			const Patience::Advice advice = patience.empty(
				now += gap_ns, found, found_at_post, under_way, to_come);

			if (advice.what == Patience::Do::yield) {
				yields++;
				patience.yielded(yield_takes);
				now += yield_takes;
			}
			if (advice.what != Patience::Do::wait)
				continue;
			waits++;
			last = advice.wait_ns;
			last_cqes = advice.cqes;
			now += last;
			sum += last;
		}
		return sum;
	}

	/* As soon as it is seen to spin, and for as long as may be. */
	void waits_at_once()
	{
		EXPECT_EQ(spin(100, Patience::kPolls * 100), 0u);
		EXPECT_EQ(spin(100, 100), Patience::kMostNs);
		EXPECT_EQ(spin(100, (Patience::kPollsAgain + 1) * 100), Patience::kMostNs);
	}

	static constexpr uint64_t kLong = Patience::kSpinNs * 12 / 10;

	Patience patience;
	uint64_t now = 1000000000;
	uint64_t last = 0;
	uint32_t last_cqes = 0;
	uint64_t yield_takes = 1000;
	uint32_t found = 0;
	uint32_t found_at_post = 0;
	bool answers = true; /* each completion, with a post */
	uint32_t under_way = 1;
	uint32_t to_come = 1;
	int waits = 0;
	int yields = 0;
};

TEST_F(Poller, DoesNotWaitAtFirst)
{
	EXPECT_EQ(spin(100, Patience::kSpinNs - 1000), 0u);
	EXPECT_NE(spin(100, 10000), 0u);
}

TEST_F(Poller, NeverWaitsMoreThanHalfOfWhatItHasGoneWithout)
{
	const uint64_t begun = now;

	while (now - begun < 100000000) {
		const uint64_t without = now - begun;

		last = 0;
		spin(100, 1000);
		EXPECT_LE(last, std::max(Patience::kLeastNs, (without + 2000) / 2));
	}
}

TEST_F(Poller, WaitsAQuarterAtOnceOfWhatItWentWithoutLately)
{
	EXPECT_NE(spin(100, kLong), 0u);
	found++;
	waits = 0;
	spin(100, Patience::kShortSpinNs + 1000);
	EXPECT_EQ(waits, 1);
	EXPECT_NEAR(static_cast<double>(last), 3500000, 100000);
}

TEST_F(Poller, SpendsMostOfALongTimeInFewWaits)
{
	EXPECT_GT(spin(200, 300000000), 285000000u);
	EXPECT_EQ(last, Patience::kMostNs);
	EXPECT_LT(waits, 100);
}

TEST_F(Poller, ThatFindsSomethingBeginsAnew)
{
	EXPECT_NE(spin(100, kLong), 0u);
	found++;
	EXPECT_EQ(spin(100, Patience::kShortSpinNs - 1000), 0u);
	EXPECT_NE(spin(100, 10000), 0u);
}

TEST_F(Poller, SpinsNoLongerForOneLookThatWasShort)
{
	EXPECT_NE(spin(100, 2 * kLong), 0u);
	found++;
	EXPECT_EQ(spin(100, Patience::kShortSpinNs / 2), 0u);
	found++;
	EXPECT_NE(spin(100, Patience::kShortSpinNs + 10000), 0u);
}

TEST_F(Poller, SpinsLongAgainAfterSomeLooksThatWereShort)
{
	EXPECT_NE(spin(100, kLong), 0u);
	for (int i = 0; i < 8; i++) {
		found++;
		EXPECT_EQ(spin(100, Patience::kShortSpinNs / 2), 0u);
	}
	found++;
	EXPECT_EQ(spin(100, Patience::kSpinNs - 1000), 0u);
}

TEST_F(Poller, ThatFindsSomethingNowAndThenNeverWaits)
{
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(spin(100, Patience::kSpinNs / 2), 0u);
		found++;
	}
}

TEST_F(Poller, ThatMostlyDoesSomethingElseNeverWaits)
{
	for (int i = 0; i < 100; i++) {
		EXPECT_EQ(spin(100, Patience::kSpinNs / 2), 0u);
		found++;
		now += 10 * Patience::kSpinNs;
	}
}

TEST_F(Poller, HeldUpNowAndThenNeverWaits)
{
	for (int i = 0; i < 300; i++) {
		spin(100, i % 10 ? Patience::kSpinNs / 20 : Patience::kSpinNs - 1000);
		found++;
	}
	EXPECT_EQ(waits, 0);
}

TEST_F(Poller, YieldsMoreSeldomTheLongerItGoesWithout)
{
	spin(100, Patience::kYieldNs - 1000);
	EXPECT_EQ(yields, 0);
	spin(100, 2000);
	EXPECT_EQ(yields, 1);
	spin(100, Patience::kSpinNs - Patience::kYieldNs - 2000);
	EXPECT_GE(yields, 6);
	EXPECT_LE(yields, 9);
	EXPECT_EQ(waits, 0);
}

TEST_F(Poller, WhoIsAloneYieldsLaterAndLater)
{
	for (uint32_t i = 0; i < 2 * Patience::kMostAlone; i++) {
		spin(100, Patience::kYieldNs + Patience::kMostAlone * Patience::kYieldNs / 2);
		found++;
	}
	yields = 0;
	spin(100, 900000);
	EXPECT_EQ(yields, 0);
	spin(100, 200000);
	EXPECT_EQ(yields, 1);
}

TEST_F(Poller, WhoIsNotAloneAnyMoreSoonYieldsAsAtFirst)
{
	for (uint32_t i = 0; i < 2 * Patience::kMostAlone; i++) {
		spin(100, Patience::kYieldNs + Patience::kMostAlone * Patience::kYieldNs / 2);
		found++;
	}
	const uint64_t begun = now;

	yields = 0;
	yield_takes = Patience::kYieldNs;
	for (int i = 0; i < 8; i++) {
		found++;
		while (yields <= i)
			spin(100, 100);
	}
	EXPECT_LT(now - begun, 4000000u);
	found++;
	spin(100, Patience::kYieldNs + 1000);
	EXPECT_EQ(yields, 9);
}

TEST_F(Poller, WaitsSoonWhileItYieldsForLong)
{
	yield_takes = Patience::kAwayNs + 1;
	spin(100, Patience::kYieldNs + 1000);
	EXPECT_EQ(waits, 0);
	spin(100, 2 * Patience::kAwayNs);
	EXPECT_EQ(yields, 2);
	EXPECT_NE(waits, 0);
	yield_takes = 1000;
	for (uint32_t i = 1; i < Patience::kCrowded; i++) {
		found++;
		EXPECT_NE(spin(100, Patience::kShortSpinNs + 1000), 0u);
	}
	EXPECT_EQ(yields, 2);
	found++;
	EXPECT_EQ(spin(100, Patience::kSpinNs / 2), 0u);
	EXPECT_NE(yields, 2);
}

TEST_F(Poller, YieldsForLongNowAndThenAndSpinsOn)
{
	for (int i = 0; i < 100; i++) {
		yield_takes = i % 2 ? 1000 : 2 * Patience::kAwayNs;
		EXPECT_EQ(spin(100, 2 * Patience::kYieldNs), 0u);
		found++;
	}
	EXPECT_EQ(yields, 100);
}

TEST_F(Poller, WithMuchUnderWayWaitsLongAtOnce)
{
	spin(100, Patience::kSpinNs / 2);
	found++;
	under_way = Patience::kBulk - 1;
	EXPECT_EQ(spin(100, Patience::kSpinNs / 2), 0u);
	found++;
	under_way = Patience::kBulk;
	waits_at_once();
}

TEST_F(Poller, WithMuchUnderWayThatCompletesSoonNeverWaits)
{
	under_way = 1000;
	for (int i = 0; i < 1000; i++) {
		EXPECT_EQ(spin(100, Patience::kBulkGapNs - 1000), 0u);
		found++;
	}
}

TEST_F(Poller, WhoOnlyReceivesWaitsLongAtOnce)
{
	answers = false;
	for (uint32_t i = 0; i < Patience::kOneWay; i++) {
		EXPECT_EQ(spin(100, Patience::kSpinNs / 2), 0u);
		found++;
	}
	waits_at_once();
}

TEST_F(Poller, InABulkTransferWaitsForSeveral)
{
	constexpr uint32_t one_in = Patience::kOneIn;
	constexpr uint32_t most = Patience::kMostCqes;
	const uint32_t wanted[][2] = {{0, 1},
				      {2 * one_in - 1, 1},
				      {2 * one_in, 2},
				      {most * one_in, most},
				      {1000 * one_in, most}};

	spin(100, Patience::kSpinNs / 2);
	under_way = 1000;
	for (const auto &[coming, cqes] : wanted) {
		found++;
		to_come = coming;
		last_cqes = 0;
		spin(100, Patience::kShortSpinNs);
		EXPECT_EQ(last_cqes, cqes) << coming << " to come";
	}
	static_assert(most <= TERN_CQ_WAIT_CQES >> 16);
}

TEST_F(Poller, ElseWaitsForOne)
{
	under_way = Patience::kBulk - 1;
	to_come = 1000;
	EXPECT_NE(spin(100, kLong), 0u);
	EXPECT_EQ(last_cqes, 1u);
}

TEST_F(Poller, WithMuchUnderWayButOtherWorkNeverWaits)
{
	spin(100, Patience::kSpinNs / 2);
	found++;
	under_way = Patience::kBulk;
	EXPECT_EQ(spin(Patience::kQuickNs + 1, 100000000), 0u);
}

TEST_F(Poller, WhoAnswersNowAndThenSpinsOn)
{
	for (uint32_t i = 1; i < 8 * Patience::kOneWay; i++) {
		answers = i % (Patience::kOneWay / 2) == 0;
		EXPECT_EQ(spin(100, Patience::kSpinNs / 2), 0u);
		found++;
	}
}

TEST_F(Poller, WhoOnlyReceivesButInQuickSuccessionNeverWaits)
{
	answers = false;
	for (uint32_t i = 0; i < 4 * Patience::kOneWay; i++) {
		EXPECT_EQ(spin(100, Patience::kBulkGapNs - 1000), 0u);
		found++;
	}
}

TEST_F(Poller, WithOtherWorkBetweenPollsNeverWaits)
{
	EXPECT_EQ(spin(Patience::kQuickNs + 1, 100000000), 0u);
	EXPECT_EQ(yields, 0);
}

TEST_F(Poller, InterruptedNowAndThenStillSpins)
{
	uint64_t sum = 0;

	for (int i = 0; i < 1000; i++) {
		sum += spin(100, 20000);
		now += 50000;
	}
	EXPECT_NE(sum, 0u);
}

/* ---- Signals ---- */

/* A post for each letter: s with a completion, u without. */
void posted(Signals *signals, const std::string &kinds)
{
	for (char kind : kinds)
		signals->posted(kind == 's');
}

TEST(SignalsTest, EachHasOne)
{
	Signals signals;

	posted(&signals, "sss");
	EXPECT_EQ(signals.among(0), 0u);
	EXPECT_EQ(signals.among(7), 7u);
}

TEST(SignalsTest, OneInSoManyHasOne)
{
	Signals signals;

	posted(&signals, "uuusuuus");
	EXPECT_EQ(signals.among(3), 0u);
	EXPECT_EQ(signals.among(128), 32u);
	posted(&signals, "uu");
	EXPECT_EQ(signals.among(128), 32u);
}

TEST(SignalsTest, WhatHasNoneYetCounts)
{
	Signals signals;

	EXPECT_EQ(signals.among(5), 5u);
	posted(&signals, "s" + std::string(16, 'u'));
	EXPECT_EQ(signals.among(128), 8u);
}

TEST(SignalsTest, TheLongestRunCountsForAWhile)
{
	Signals signals;

	posted(&signals, std::string(15, 'u') + "s");
	posted(&signals, "s");
	EXPECT_EQ(signals.among(120), 10u);
	posted(&signals, std::string(20, 's'));
	EXPECT_EQ(signals.among(120), 120u);
}

} // namespace
