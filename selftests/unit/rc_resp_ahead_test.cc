// SPDX-License-Identifier: GPL-2.0
// RC responder: requests that come out of order are kept.
#include "rc_resp_fixture.h"

#include <algorithm>
#include <cstring>

namespace {

class RcRespAhead : public RcResp {
protected:
	RcRespAhead()
	{
		cfg.ahead_pkts = 64;
		start();
	}

	bool is_next(u32 psn) { return rc_resp_ahead_is_next(&r, psn_add(kPsn, psn)); }
};

TEST_F(RcRespAhead, IsKeptAndToldOfOnce)
{
	rx(OP_SEND_ONLY, 0, 10);
	answers();
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 10).kind, RC_ACT_KEEP);
	EXPECT_EQ(act.event, RC_EV_OUT_OF_SEQ);
	EXPECT_EQ(rx(OP_SEND_ONLY, 3, 10).kind, RC_ACT_KEEP);
	EXPECT_EQ(answers(), (Words{"nak60 1"}));
	EXPECT_FALSE(is_next(2));
}

TEST_F(RcRespAhead, IsTakenInItsTurn)
{
	rx(OP_SEND_ONLY, 1, 10);
	rx(OP_SEND_ONLY, 2, 10);
	answers();
	EXPECT_EQ(rx(OP_SEND_ONLY, 0, 10, false).kind, RC_ACT_RECV);
	EXPECT_TRUE(is_next(1));
	EXPECT_EQ(rx(OP_SEND_ONLY, 1, 10).kind, RC_ACT_RECV);
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 10).kind, RC_ACT_RECV);
	EXPECT_EQ(answers(), (Words{"ack 2"}));
}

// The requester may wait for that: the missing packet may only have been late.
TEST_F(RcRespAhead, GapThatClosesIsAcknowledgedUnasked)
{
	rx(OP_SEND_ONLY, 1, 10, false);
	answers();
	rx(OP_SEND_ONLY, 0, 10, false);
	rx(OP_SEND_ONLY, 1, 10, false);
	EXPECT_EQ(answers(), (Words{"ack 1"}));
	rx(OP_SEND_ONLY, 2, 10, false);
	EXPECT_EQ(answers(), Words{});
}

TEST_F(RcRespAhead, NextGapIsToldOfWhenSomethingComesBehindIt)
{
	rx(OP_SEND_ONLY, 1, 10);
	rx(OP_SEND_ONLY, 3, 10);
	answers();
	rx(OP_SEND_ONLY, 0, 10);
	rx(OP_SEND_ONLY, 1, 10);
	EXPECT_FALSE(is_next(3));
	EXPECT_EQ(answers(), (Words{"ack 1"}));
	EXPECT_EQ(rx(OP_SEND_ONLY, 4, 10).kind, RC_ACT_KEEP);
	EXPECT_EQ(answers(), (Words{"nak60 2"}));
}

TEST_F(RcRespAhead, CopiesAreDuplicates)
{
	rx(OP_SEND_ONLY, 1, 10);
	rx(OP_SEND_ONLY, 0, 10);
	rx(OP_SEND_ONLY, 1, 10);
	answers();
	EXPECT_TRUE(is_next(1));
	EXPECT_EQ(rx(OP_SEND_ONLY, 1, 10).event, RC_EV_DUPLICATE);
	EXPECT_EQ(r.msn, 2u);
}

TEST_F(RcRespAhead, TooFarAheadIsLost)
{
	cfg.ahead_pkts = 3;
	start();
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 10).kind, RC_ACT_KEEP);
	EXPECT_EQ(rx(OP_SEND_ONLY, 3, 10).kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_SEND_ONLY, 0x7fffff, 10).kind, RC_ACT_NONE);
}

TEST_F(RcRespAhead, ReadIsKeptAndAnsweredInItsTurn)
{
	EXPECT_EQ(read(1, 256).kind, RC_ACT_KEEP);
	EXPECT_EQ(executed, 0);
	EXPECT_EQ(answers(), (Words{"nak60 0"}));
	rx(OP_SEND_ONLY, 0, 10, false);
	read(1, 256);
	EXPECT_EQ(executed, 1);
	EXPECT_EQ(answers(), (Words{"read 1 ONLY"}));
}

// What is malformed is refused in its turn, not before.
TEST_F(RcRespAhead, IsJudgedInItsTurn)
{
	EXPECT_EQ(rx(OP_SEND_MIDDLE, 1, 1).kind, RC_ACT_KEEP);
	answers();
	rx(OP_SEND_ONLY, 0, 10);
	EXPECT_EQ(rx(OP_SEND_MIDDLE, 1, 1).kind, RC_ACT_FATAL);
}

TEST_F(RcRespAhead, NothingIsKeptInError)
{
	rx(OP_SEND_MIDDLE, 0, 1);
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 10).kind, RC_ACT_NONE);
}

// The peer that waits by itself for a receive is not told that it has closed a gap.
TEST_F(RcRespAhead, RequestAfterAnRnrNakClosesNoGap)
{
	pkt k = packet(OP_SEND_ONLY, 0, 10, false);

	judge(k);
	rc_resp_fail(&r, &k, RC_FAIL_RNR);
	EXPECT_EQ(answers(), (Words{"nak25 0"}));
	rx(k);
	EXPECT_EQ(answers(), Words{});
}

TEST_F(RcRespAhead, WithoutRoomItDropsAsBefore)
{
	cfg.ahead_pkts = 0;
	start();
	EXPECT_EQ(rx(OP_SEND_ONLY, 1, 10).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), (Words{"nak60 0"}));
	rx(OP_SEND_ONLY, 0, 10, false);
	EXPECT_EQ(answers(), Words{});
}

// ---- READs that are asked for again in part, while they are answered ----

class RcRespPart : public RcRespAhead {
protected:
	// A READ of 8 packets, of which n are sent.
	void begin(u32 n)
	{
		run run;

		read(0, 8 * kPmtu);
		ASSERT_TRUE(rc_resp_next(&r, n, &run));
		rc_resp_sent(&r, &run, n);
	}
	void ask(u32 psn, u32 n) { read(psn, n * kPmtu, kVa + psn * kPmtu); }
};

TEST_F(RcRespPart, RestGoesOnBehindThePart)
{
	begin(5);
	ask(2, 1);
	EXPECT_EQ(answers(),
		  (Words{"read 2 ONLY", "read 5 FIRST", "read 6 MIDDLE", "read 7 LAST"}));
	EXPECT_EQ(executed, 1);
	ask(2, 1);
	EXPECT_EQ(answers(), (Words{"read 2 ONLY"}));
}

TEST_F(RcRespPart, WhatIsStillToComeIsNotSentTwice)
{
	begin(3);
	ask(4, 2);
	EXPECT_EQ(answers(), (Words{"read 3 MIDDLE", "read 4 MIDDLE", "read 5 MIDDLE",
				    "read 6 MIDDLE", "read 7 LAST"}));
}

TEST_F(RcRespPart, SecondPartLosesNothing)
{
	begin(5);
	ask(1, 2);
	ask(0, 1);
	auto sent = answers();
	EXPECT_EQ(sent.front(), "read 0 ONLY");
	for (const char *want : {"read 1", "read 2", "read 5", "read 6", "read 7 LAST"})
		EXPECT_TRUE(std::any_of(sent.begin(), sent.end(), [&](const std::string &one) {
			return one.compare(0, strlen(want), want) == 0;
		})) << want;
	EXPECT_FALSE(rc_resp_owes(&r));
}

TEST_F(RcRespPart, MemoryThatIsGoneMeanwhileIsStillAnError)
{
	run run;

	begin(5);
	ask(2, 1);
	ASSERT_TRUE(rc_resp_next(&r, 8, &run));
	EXPECT_TRUE(rc_resp_read_failed(&r, &run));
	EXPECT_EQ(answers(), (Words{"nak62 2"}));
}

} // namespace
