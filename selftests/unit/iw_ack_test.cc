// SPDX-License-Identifier: GPL-2.0
// Acknowledges of a steady iWARP stream: when they begin to wait, and what a pause makes of it.
#include "proto/iw_ack.h"

#include <gtest/gtest.h>

namespace {

class IwAck : public testing::Test {
protected:
	IwAck() { iw_ack_init(&a); }

	void come(u64 bytes)
	{
		for (; bytes > kPiece; bytes -= kPiece)
			iw_ack_came(&a, kPiece);
		iw_ack_came(&a, static_cast<u32>(bytes));
	}

	/* An acknowledge waits, and nothing comes. */
	void pause()
	{
		iw_ack_waits(&a);
		ASSERT_EQ(iw_ack_timer(&a), IW_ACK_PAUSE);
	}

	/* How many bytes come before acknowledges wait? */
	u64 prompt()
	{
		u64 bytes = 0;

		for (; !iw_ack_may_wait(&a); bytes += kPiece)
			iw_ack_came(&a, kPiece);
		return bytes;
	}

	static constexpr u32 kPiece = 65536;
	struct iw_ack a;
};

TEST_F(IwAck, NoneWaitsBeforeTheStreamIsSteady)
{
	EXPECT_FALSE(iw_ack_may_wait(&a));
	come(IW_ACK_STEADY - 1);
	EXPECT_FALSE(iw_ack_may_wait(&a));
	come(1);
	EXPECT_TRUE(iw_ack_may_wait(&a));
}

TEST_F(IwAck, MoreThanIsMissingIsEnough)
{
	come(IW_ACK_STEADY - 1);
	come(kPiece);
	EXPECT_TRUE(iw_ack_may_wait(&a));
}

TEST_F(IwAck, AsLongAsBytesComeTheyWait)
{
	come(IW_ACK_STEADY);
	for (int i = 0; i < 100; i++) {
		iw_ack_waits(&a);
		come(1);
		ASSERT_NE(iw_ack_timer(&a), IW_ACK_PAUSE);
		ASSERT_TRUE(iw_ack_may_wait(&a));
	}
}

TEST_F(IwAck, OneThatHasWaitedForTheWholeTimeIsDue)
{
	come(IW_ACK_STEADY);
	iw_ack_waits(&a);
	come(1);
	EXPECT_EQ(iw_ack_timer(&a), IW_ACK_DUE);
	iw_ack_sent(&a);
	iw_ack_waits(&a);
	come(1);
	EXPECT_EQ(iw_ack_timer(&a), IW_ACK_DUE);
}

TEST_F(IwAck, AfterOneThatWasSentTheNextMayWaitAsLong)
{
	come(IW_ACK_STEADY);
	iw_ack_waits(&a);
	come(1);
	iw_ack_sent(&a);
	come(1);
	EXPECT_EQ(iw_ack_timer(&a), IW_ACK_AGAIN);
	iw_ack_waits(&a);
	come(1);
	EXPECT_EQ(iw_ack_timer(&a), IW_ACK_DUE);
}

TEST_F(IwAck, APauseIsOneWhateverWasSent)
{
	come(IW_ACK_STEADY);
	iw_ack_waits(&a);
	iw_ack_sent(&a);
	EXPECT_EQ(iw_ack_timer(&a), IW_ACK_PAUSE);
	EXPECT_FALSE(iw_ack_may_wait(&a));
}

TEST_F(IwAck, WhatCameBeforeTheTimerDoesNotCount)
{
	come(IW_ACK_STEADY + 1000);
	pause();
	EXPECT_FALSE(iw_ack_may_wait(&a));
}

TEST_F(IwAck, EachPauseDoublesWhatHasToCome)
{
	EXPECT_EQ(prompt(), IW_ACK_STEADY);
	for (u64 bytes = IW_ACK_STEADY; bytes <= IW_ACK_STEADY * 8; bytes *= 2) {
		pause();
		EXPECT_EQ(prompt(), bytes);
	}
}

TEST_F(IwAck, AfterManyPausesStillSomeTime)
{
	for (int i = 0; i < 300; i++)
		pause();
	EXPECT_EQ(prompt(), u64{IW_ACK_STEADY} << IW_ACK_MOST_PAUSES);
}

TEST_F(IwAck, ACountThatGoesRoundIsNoPause)
{
	a.came = ~0u;
	iw_ack_waits(&a);
	come(1);
	EXPECT_NE(iw_ack_timer(&a), IW_ACK_PAUSE);
}

} // namespace
