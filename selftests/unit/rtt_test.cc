// SPDX-License-Identifier: GPL-2.0
// How long a path takes to answer.
#include "proto/rtt.h"

#include <gtest/gtest.h>

namespace {

class Rtt : public testing::Test {
protected:
	rtt r = {};
	u64 now = 1000000;

	void sample(u64 took)
	{
		rtt_begin(&r, 7, now);
		now += took;
		rtt_end(&r, now);
	}
};

TEST_F(Rtt, UnknownUntilTheFirstAnswer)
{
	EXPECT_EQ(rtt_late_ns(&r), 0u);
	sample(1000);
	EXPECT_EQ(r.smooth_ns, 1000u);
	EXPECT_EQ(r.var_ns, 500u);
	EXPECT_EQ(rtt_late_ns(&r), 3000u);
}

TEST_F(Rtt, SmoothsAsRfc6298)
{
	sample(1000);
	sample(1800);
	EXPECT_EQ(r.smooth_ns, 1100u);
	EXPECT_EQ(r.var_ns, 575u);
	sample(300);
	EXPECT_EQ(r.smooth_ns, 1000u);
	EXPECT_EQ(r.var_ns, 632u);
}

TEST_F(Rtt, SteadyPathHasNoVariation)
{
	for (int i = 0; i < 100; i++)
		sample(5000);
	EXPECT_EQ(r.smooth_ns, 5000u);
	EXPECT_LT(r.var_ns, 4u);
}

TEST_F(Rtt, AnswerIsWhatCoversThePacket)
{
	EXPECT_FALSE(rtt_is_answer(&r, 8));
	rtt_begin(&r, 0xffffff, now);
	EXPECT_FALSE(rtt_is_due(&r, 0x10, 16)); // one at a time
	EXPECT_FALSE(rtt_is_answer(&r, 0xffffff));
	EXPECT_TRUE(rtt_is_answer(&r, 0));
	rtt_forget(&r);
	EXPECT_FALSE(rtt_is_answer(&r, 0));
}

// A time that was not exact is none.
TEST_F(Rtt, NoTimeIsNoAnswer)
{
	sample(1000);
	sample(0);
	EXPECT_EQ(r.smooth_ns, 1000u);
	EXPECT_TRUE(rtt_is_due(&r, r.psn + 16, 16));
}

TEST_F(Rtt, OneOfSoManyPacketsIsDue)
{
	EXPECT_TRUE(rtt_is_due(&r, 7, 16));
	rtt_begin(&r, 0xfffff8, now);
	rtt_forget(&r);
	EXPECT_TRUE(rtt_is_due(&r, 0xfffff9, 16)); // no answer yet: each
	rtt_begin(&r, 0xfffff8, now);
	now += 1000;
	rtt_end(&r, now);
	EXPECT_FALSE(rtt_is_due(&r, 7, 16));
	EXPECT_TRUE(rtt_is_due(&r, 8, 16));
	EXPECT_TRUE(rtt_is_due(&r, 0xfffff9, 1));
}

} // namespace
