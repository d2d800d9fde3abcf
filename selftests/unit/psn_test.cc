// SPDX-License-Identifier: GPL-2.0
// 24-bit serial arithmetic of packet sequence numbers.
#include "proto/psn.h"

#include <gtest/gtest.h>

namespace {

const u32 kEdges[] = {0, 1, 2, 0x7ffffe, 0x7fffff, 0x800000, 0x800001, 0xfffffe, 0xffffff};

TEST(Psn, AddWrapsAt24Bits)
{
	EXPECT_EQ(psn_add(0xffffff, 1), 0u);
	EXPECT_EQ(psn_add(0xfffffe, 5), 3u);
	EXPECT_EQ(psn_add(7, 0), 7u);
	EXPECT_EQ(psn_add(0x123456, 0x1000000), 0x123456u);
}

TEST(Psn, AddOfNegativeGoesBack)
{
	EXPECT_EQ(psn_add(0, static_cast<u32>(-1)), 0xffffffu);
	EXPECT_EQ(psn_add(10, static_cast<u32>(-20)), 0xfffff6u);
}

TEST(Psn, DiffIsSignedDistance)
{
	EXPECT_EQ(psn_diff(5, 3), 2);
	EXPECT_EQ(psn_diff(3, 5), -2);
	EXPECT_EQ(psn_diff(0, 0xffffff), 1);
	EXPECT_EQ(psn_diff(0xffffff, 0), -1);
	EXPECT_EQ(psn_diff(0x7fffff, 0), 0x7fffff);
	EXPECT_EQ(psn_diff(0x800000, 0), -0x800000);
}

TEST(Psn, DiffIgnoresBitsAbove24)
{
	EXPECT_EQ(psn_diff(0xab000005, 0x00000003), 2);
	EXPECT_EQ(psn_diff(0x00000003, 0xff000005), -2);
}

TEST(Psn, DiffUndoesAdd)
{
	for (u32 base : kEdges) {
		for (s32 d = -0x800000; d < 0x800000; d += 0x3fff)
			ASSERT_EQ(psn_diff(psn_add(base, static_cast<u32>(d)), base), d) << base;
		ASSERT_EQ(psn_diff(psn_add(base, 0x7fffff), base), 0x7fffff);
	}
}

TEST(Psn, ExactlyOneOfBeforeEqualAfter)
{
	for (u32 a : kEdges) {
		for (u32 b : kEdges) {
			bool before = psn_before(a, b);
			bool after = psn_after(a, b);

			EXPECT_EQ(before + after + (a == b), 1) << a << " " << b;
		}
	}
}

TEST(Psn, OrderTurnsRoundWhenSwappedExceptAtHalf)
{
	for (u32 a : kEdges) {
		for (u32 b : kEdges) {
			if (((a - b) & PSN_MASK) == PSN_HALF)
				continue;
			EXPECT_EQ(psn_before(a, b), psn_after(b, a)) << a << " " << b;
		}
	}
}

TEST(Psn, HalfWayIsBefore)
{
	EXPECT_TRUE(psn_before(PSN_HALF, 0));
	EXPECT_TRUE(psn_before(0, PSN_HALF));
}

TEST(Psn, WithinIsHalfOpen)
{
	EXPECT_TRUE(psn_within(5, 5, 1));
	EXPECT_FALSE(psn_within(6, 5, 1));
	EXPECT_FALSE(psn_within(4, 5, 1));
	EXPECT_FALSE(psn_within(5, 5, 0));
}

TEST(Psn, WithinCrossesTheWrap)
{
	EXPECT_TRUE(psn_within(0, 0xfffffe, 4));
	EXPECT_TRUE(psn_within(1, 0xfffffe, 4));
	EXPECT_FALSE(psn_within(2, 0xfffffe, 4));
	EXPECT_FALSE(psn_within(0xfffffd, 0xfffffe, 4));
}

TEST(Psn, WithinHalfTheSpace)
{
	EXPECT_TRUE(psn_within(0x7fffff, 0, PSN_HALF));
	EXPECT_FALSE(psn_within(0x800000, 0, PSN_HALF));
	EXPECT_FALSE(psn_within(0xffffff, 0, PSN_HALF));
}

} // namespace
