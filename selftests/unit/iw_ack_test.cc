// SPDX-License-Identifier: GPL-2.0
// Acknowledges of a steady iWARP stream: when they begin to wait, for how much, and what ends it.
#include "proto/iw_ack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

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

	/* An acknowledge of held bytes waited for the whole time. */
	void late_once(u32 held)
	{
		iw_ack_waits(&a, now);
		now += IW_ACK_TICKS;
		ASSERT_TRUE(iw_ack_late(&a, held, now));
		iw_ack_sent(&a);
	}

	/* Often enough that it is no accident. */
	void late(u32 held)
	{
		for (int i = 0; i < IW_ACK_LATES; i++)
			late_once(held);
	}

	/* Its sender can hardly send anything. */
	void short_of_window()
	{
		late(kPiece / 2);
		ASSERT_FALSE(iw_ack_may_wait(&a));
	}

	/* How many bytes come before acknowledges wait for more than now? */
	u64 until_more()
	{
		u32 now = a.wait;
		u64 bytes = 0;

		for (; a.wait == now && bytes < u64{1} << 34; bytes += kPiece)
			iw_ack_came(&a, kPiece);
		return bytes;
	}

	/*
	 * How often does a sender wait for the timer? It sends `bytes` bytes, has at most a window
	 * of them under way, and sends in pieces of an FPDU.
	 */
	int waits(u64 bytes, u32 window)
	{
		constexpr u32 fpdu = 16384;
		u32 under_way = 0, held = 0;
		int n = 0;

		while (bytes && n < kMany) {
			if (under_way + fpdu > window) {
				now += IW_ACK_TICKS;
				EXPECT_TRUE(iw_ack_late(&a, held, now));
				n++;
				iw_ack_sent(&a);
				under_way -= std::exchange(held, 0);
				continue;
			}
			under_way += fpdu;
			held += fpdu;
			bytes -= std::min<u64>(bytes, fpdu);
			iw_ack_came(&a, fpdu);
			if (!iw_ack_may_wait(&a) || held >= iw_ack_due_bytes(&a, 1)) {
				iw_ack_sent(&a);
				under_way -= std::exchange(held, 0);
			} else {
				iw_ack_waits(&a, now);
			}
		}
		return n;
	}

	static constexpr u32 kPiece = 65536;
	static constexpr u32 kMuch = IW_ACK_MOST / 4 * 3; /* and less than the most */
	static constexpr int kMany = 1000;
	struct iw_ack a;
	u32 now = ~0u; /* ticks, about to wrap */
};

TEST_F(IwAck, NoneWaitsBeforeTheStreamIsSteady)
{
	EXPECT_FALSE(iw_ack_may_wait(&a));
	come(IW_ACK_STEADY - 1);
	EXPECT_FALSE(iw_ack_may_wait(&a));
	come(1);
	EXPECT_TRUE(iw_ack_may_wait(&a));
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), IW_ACK_MOST);
}

TEST_F(IwAck, MoreThanIsMissingIsEnough)
{
	come(IW_ACK_STEADY - 1);
	come(kPiece);
	EXPECT_TRUE(iw_ack_may_wait(&a));
}

TEST_F(IwAck, SoManyBytesNeverWait)
{
	EXPECT_EQ(iw_ack_due_bytes(&a, 0), IW_ACK_MOST);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), IW_ACK_MOST);
	EXPECT_EQ(iw_ack_due_bytes(&a, 4), IW_ACK_MOST / 4);
	EXPECT_EQ(iw_ack_due_bytes(&a, 65536), IW_ACK_LEAST);
}

TEST_F(IwAck, ShortOfWindowAStreamsShareIsNoMore)
{
	come(IW_ACK_STEADY);
	late(kMuch);
	EXPECT_EQ(iw_ack_due_bytes(&a, 2), kMuch / 2);
	EXPECT_EQ(iw_ack_due_bytes(&a, 4), IW_ACK_MOST / 4);
}

TEST_F(IwAck, OneThatHasWaitedForTheWholeTimeIsDue)
{
	come(IW_ACK_STEADY);
	late(kPiece);
	late(kPiece);
}

TEST_F(IwAck, AfterOneThatWasSentTheNextMayWaitAsLong)
{
	come(IW_ACK_STEADY);
	iw_ack_waits(&a, 10);
	come(1);
	iw_ack_sent(&a);
	come(1);
	EXPECT_FALSE(iw_ack_late(&a, 1, 10 + IW_ACK_TICKS));
	EXPECT_EQ(iw_ack_ticks_left(&a, 10 + IW_ACK_TICKS), u32{IW_ACK_TICKS});
	iw_ack_waits(&a, 10 + IW_ACK_TICKS);
	come(1);
	EXPECT_FALSE(iw_ack_late(&a, 2, 11 + IW_ACK_TICKS));
	EXPECT_EQ(iw_ack_ticks_left(&a, 11 + IW_ACK_TICKS), IW_ACK_TICKS - 1u);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), IW_ACK_MOST);
	EXPECT_TRUE(iw_ack_late(&a, 2, 10 + 2 * IW_ACK_TICKS));
}

TEST_F(IwAck, OneIsLateOnceOnly)
{
	come(IW_ACK_STEADY);
	late(1 << 19);
	EXPECT_FALSE(iw_ack_late(&a, 1 << 19, now));
	EXPECT_FALSE(iw_ack_late(&a, 1 << 19, now + IW_ACK_TICKS));
}

TEST_F(IwAck, WhatComesDoesNotMakeOneWaitLonger)
{
	come(IW_ACK_STEADY);
	iw_ack_waits(&a, 10);
	come(1);
	iw_ack_waits(&a, 10 + IW_ACK_TICKS);
	EXPECT_TRUE(iw_ack_late(&a, 2, 10 + IW_ACK_TICKS));
}

TEST_F(IwAck, EachSetbackDoublesWhatHasToCome)
{
	EXPECT_EQ(until_more(), IW_ACK_STEADY);
	for (u64 bytes = IW_ACK_STEADY; bytes <= IW_ACK_STEADY * 8; bytes *= 2) {
		short_of_window();
		EXPECT_EQ(until_more(), bytes);
	}
}

TEST_F(IwAck, AfterManySetbacksStillSomeTime)
{
	for (int i = 0; i < 300; i++)
		short_of_window();
	EXPECT_EQ(until_more(), u64{IW_ACK_STEADY} << IW_ACK_MOST_SETBACKS);
}

TEST_F(IwAck, OneThatWasLateMakesTheNextOfHalfAsMuch)
{
	come(IW_ACK_STEADY);
	late(kMuch);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), kMuch / 2);
	late(kMuch / 2);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), kMuch / 4);
	late(2 * IW_ACK_LEAST);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), IW_ACK_LEAST);
}

TEST_F(IwAck, OneThatIsLateByAccidentChangesNothing)
{
	come(IW_ACK_STEADY);
	for (int i = 0; i < 100; i++) {
		for (int n = 1; n < IW_ACK_LATES; n++) {
			come(kMuch);
			late_once(kMuch);
		}
		come(IW_ACK_LATES_APART);
	}
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), IW_ACK_MOST);
}

TEST_F(IwAck, TheFirstLateOneEndsATrial)
{
	come(IW_ACK_STEADY);
	late(kMuch);
	EXPECT_EQ(until_more(), IW_ACK_STEADY);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), kMuch);
	late_once(kMuch / 16 * 17);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), kMuch / 32 * 17);
	EXPECT_EQ(until_more(), IW_ACK_STEADY * 2);
}

TEST_F(IwAck, ALateOneForOtherBytesDoesNotEndIt)
{
	come(IW_ACK_STEADY);
	late(kMuch);
	until_more();
	late_once(kMuch / 2);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), kMuch);
}

TEST_F(IwAck, LateOnesOfAnyNumberOfBytesAreAccidents)
{
	come(IW_ACK_STEADY);
	for (int i = 0; i < 100; i++) {
		late_once(kMuch / 4);
		late_once(kMuch / 2);
		late_once(kMuch);
	}
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), IW_ACK_MOST);
}

TEST_F(IwAck, ATrialThatWentWellIsForgotten)
{
	come(IW_ACK_STEADY);
	late(2 * IW_ACK_LEAST);
	while (iw_ack_due_bytes(&a, 1) < IW_ACK_MOST)
		until_more();
	come(IW_ACK_STEADY * 2);
	late_once(kMuch / 4 * 3);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), IW_ACK_MOST);
}

TEST_F(IwAck, ForLittleTheyDoNotWait)
{
	come(IW_ACK_STEADY);
	late(2 * IW_ACK_LEAST - 1);
	EXPECT_FALSE(iw_ack_may_wait(&a));
}

TEST_F(IwAck, AndThenForTwiceAsMuchUpToTheMost)
{
	u64 bytes = IW_ACK_STEADY;

	come(bytes);
	late(kMuch);
	EXPECT_EQ(until_more(), bytes);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), kMuch);
	EXPECT_EQ(until_more(), bytes * 2);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), IW_ACK_MOST);
	come(u64{1} << 33);
	EXPECT_EQ(iw_ack_due_bytes(&a, 1), IW_ACK_MOST);
}

TEST_F(IwAck, ShortOfWindowASenderHardlyEverWaits)
{
	/* the timer is 2 ms or more: half a minute if it fired for each window of 128 KiB */
	for (u32 window : {16384u, 32768u, 65536u, 81920u, 131072u, 262144u, 1000000u}) {
		iw_ack_init(&a);
		EXPECT_LE(waits(u64{2} << 30, window), 12 + IW_ACK_LATES) << window;
	}
}

TEST_F(IwAck, ASenderThatIsNowAndThenShortOfWindowHardlyEverWaits)
{
	u64 bytes = 0;
	int n = 0;

	come(IW_ACK_STEADY);
	for (; bytes < u64{1} << 30; bytes += 1 << 20) {
		come(1 << 20);
		if (iw_ack_due_bytes(&a, 1) < IW_ACK_MOST)
			continue;
		late_once(kMuch);
		n++;
	}
	EXPECT_LE(n, 12 + IW_ACK_LATES);
}

TEST_F(IwAck, WithWindowEnoughASenderNeverWaits)
{
	EXPECT_EQ(waits(u64{2} << 30, IW_ACK_MOST + 16384), 0);
}

} // namespace
