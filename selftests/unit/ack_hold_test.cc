// SPDX-License-Identifier: GPL-2.0
// Acknowledges that wait for replies: when they begin to wait, for how long, what ends it.
#include "proto/ack_hold.h"

#include <gtest/gtest.h>

namespace {

constexpr u64 kUs = 1000;

class AckHold : public testing::Test {
protected:
	/* A message, and the reply to it reply_ns later. */
	void turn(u64 reply_ns)
	{
		ack_hold_message(&h, now);
		now += reply_ns;
		reply();
		now += 5 * kUs;
	}

	/* The time is passed only if it is needed. */
	void reply() { ack_hold_reply(&h, ack_hold_is_asked(&h) ? now : 0); }

	/* May the acknowledge of a message that comes now wait? */
	bool waits()
	{
		ack_hold_message(&h, now);
		return ack_hold_may_wait(&h, now);
	}

	struct ack_hold h = {};
	u64 now = 1000000;
};

TEST_F(AckHold, NothingWaitsAtFirst)
{
	EXPECT_FALSE(waits());
	EXPECT_EQ(ack_hold_deadline(&h), 0u);
}

TEST_F(AckHold, WaitsAfterPromptRepliesInARow)
{
	for (int i = 0; i < ACK_HOLD_PROMPT; i++) {
		EXPECT_FALSE(waits()) << i;
		now += 10 * kUs;
		reply();
	}
	EXPECT_TRUE(waits());
	EXPECT_EQ(ack_hold_deadline(&h), now + 10 * kUs * ACK_HOLD_TIMES);
	EXPECT_TRUE(ack_hold_may_wait(&h, ack_hold_deadline(&h) - 1));
}

TEST_F(AckHold, WaitIsNeverLessThanTheLeast)
{
	for (int i = 0; i < ACK_HOLD_PROMPT; i++)
		turn(100);
	EXPECT_TRUE(waits());
	EXPECT_EQ(ack_hold_deadline(&h), now + ACK_HOLD_MIN_NS);
}

TEST_F(AckHold, WaitIsNeverMoreThanTheMost)
{
	for (int i = 0; i < ACK_HOLD_PROMPT; i++)
		turn(ACK_HOLD_MAX_NS - 1);
	EXPECT_TRUE(waits());
	EXPECT_EQ(ack_hold_deadline(&h), now + ACK_HOLD_MAX_NS);
}

TEST_F(AckHold, LateRepliesAreNone)
{
	for (int i = 0; i < 2 * ACK_HOLD_PROMPT; i++)
		turn(ACK_HOLD_MAX_NS);
	EXPECT_FALSE(waits());
}

TEST_F(AckHold, AWaitInVainIsTheLast)
{
	for (int i = 0; i < ACK_HOLD_PROMPT; i++)
		turn(10 * kUs);
	ASSERT_TRUE(waits());
	EXPECT_FALSE(ack_hold_may_wait(&h, ack_hold_deadline(&h)));
	EXPECT_EQ(ack_hold_deadline(&h), 0u);
	/* The late reply counts as one, of as many as at first. */
	now += 100 * kUs;
	reply();
	EXPECT_FALSE(waits());
}

TEST_F(AckHold, ASecondMessageBeforeTheReplyEndsIt)
{
	for (int i = 0; i < ACK_HOLD_PROMPT; i++)
		turn(10 * kUs);
	ASSERT_TRUE(waits());
	now += kUs;
	EXPECT_FALSE(waits());
	EXPECT_EQ(ack_hold_deadline(&h), 0u);
}

TEST_F(AckHold, WithoutRepliesNothingIsMeasuredUntilOneComes)
{
	for (int i = 0; i < ACK_HOLD_UNANSWERED; i++) {
		EXPECT_TRUE(ack_hold_watches(&h)) << i;
		EXPECT_FALSE(waits());
	}
	EXPECT_FALSE(ack_hold_watches(&h));
	/* Messages that were not reported had a reply: how soon is unknown. */
	now += 2ull * ACK_HOLD_MAX_NS;
	reply();
	EXPECT_TRUE(ack_hold_watches(&h));
	EXPECT_EQ(h.reply_ns, 0u);
	for (int i = 0; i < ACK_HOLD_PROMPT; i++) {
		EXPECT_FALSE(ack_hold_is_for(&h)) << i;
		turn(10 * kUs);
	}
	EXPECT_TRUE(waits());
}

TEST_F(AckHold, RequestsThatAreNoRepliesDoNotCount)
{
	for (int i = 0; i < 2 * ACK_HOLD_PROMPT; i++) {
		now += kUs;
		reply();
	}
	EXPECT_FALSE(waits());
	EXPECT_EQ(h.reply_ns, 0u);
}

TEST_F(AckHold, TheLongestReplyIsSlowlyForgotten)
{
	turn(100 * kUs);
	EXPECT_EQ(h.reply_ns, 100 * kUs);
	turn(20 * kUs);
	EXPECT_EQ(h.reply_ns, 90 * kUs);
	for (int i = 0; i < 100; i++)
		turn(20 * kUs);
	EXPECT_LT(h.reply_ns, 21 * kUs);
}

TEST_F(AckHold, ACancelledWaitDoesNotCountAsOneInVain)
{
	for (int i = 0; i < ACK_HOLD_PROMPT; i++)
		turn(10 * kUs);
	ASSERT_TRUE(waits());
	EXPECT_TRUE(ack_hold_waits(&h));
	ack_hold_cancel(&h);
	EXPECT_FALSE(ack_hold_waits(&h));
	reply();
	EXPECT_TRUE(waits());
	ack_hold_init(&h);
	EXPECT_FALSE(ack_hold_waits(&h));
	EXPECT_FALSE(ack_hold_is_for(&h));
}

} // namespace
