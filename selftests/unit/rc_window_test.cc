// SPDX-License-Identifier: GPL-2.0
// RC requester: how many packets may be under way, as acknowledges and losses come.
#include "rc_req_fixture.h"

namespace {

// One that is the requester's limit.
rc_window full_window(u32 pkts, u32 max)
{
	rc_window w;

	rc_window_init(&w, pkts, max);
	w.full = true;
	return w;
}

TEST(RcWindow, WithoutRoomToGrowItStaysAsItIs)
{
	rc_window w = full_window(64, 64);

	EXPECT_TRUE(rc_window_is_fixed(&w));
	rc_window_acked(&w, 1000);
	rc_window_step(&w);
	EXPECT_EQ(w.pkts, 64u);
}

TEST(RcWindow, GrowsByAllThatIsAcknowledgedUntilALoss)
{
	rc_window w = full_window(64, 1000);

	rc_window_acked(&w, 30);
	EXPECT_EQ(w.pkts, 94u);
	rc_window_acked(&w, 94);
	EXPECT_EQ(w.pkts, 188u);
	rc_window_acked(&w, 0xffffff);
	EXPECT_EQ(w.pkts, 1000u);
	rc_window_acked(&w, 1);
	EXPECT_EQ(w.pkts, 1000u);
}

TEST(RcWindow, MayBecomeMoreOrLessOnceItsLimitIsAnother)
{
	rc_window w = full_window(64, 1000);

	rc_window_acked(&w, 0xffffff);
	rc_window_limit(&w, 4000);
	EXPECT_EQ(w.pkts, 1000u);
	rc_window_acked(&w, 2500);
	EXPECT_EQ(w.pkts, 3500u);
	rc_window_limit(&w, 1000);
	EXPECT_EQ(w.pkts, 1000u);
	rc_window_acked(&w, 1);
	EXPECT_EQ(w.pkts, 1000u);
	rc_window_lost(&w);
	EXPECT_EQ(w.pkts, 500u);

	w = full_window(64, 64);
	rc_window_limit(&w, 1000);
	rc_window_acked(&w, 64);
	EXPECT_EQ(w.pkts, 64u);
}

TEST(RcWindow, GrowsOnlyIfItIsWhatHoldsTheRequesterUp)
{
	rc_window w;

	rc_window_init(&w, 64, 1000);
	rc_window_acked(&w, 64);
	EXPECT_EQ(w.pkts, 64u);
}

TEST(RcWindow, IsHalvedByALossAndThenGrowsInSteps)
{
	rc_window w = full_window(640, 2000);

	rc_window_step(&w); // none before a loss
	EXPECT_EQ(w.pkts, 640u);
	rc_window_lost(&w);
	EXPECT_EQ(w.pkts, 320u);
	rc_window_acked(&w, 320);
	EXPECT_EQ(w.pkts, 320u);
	rc_window_step(&w);
	EXPECT_EQ(w.pkts, 340u);
	rc_window_lost(&w);
	EXPECT_EQ(w.pkts, 170u);
	rc_window_step(&w);
	EXPECT_EQ(w.pkts, 181u);
	w.pkts = 1990;
	rc_window_step(&w);
	EXPECT_EQ(w.pkts, 2000u);
	rc_window_step(&w);
	EXPECT_EQ(w.pkts, 2000u);
}

TEST(RcWindow, NoLossMakesItSmallerThanTheLeast)
{
	rc_window w = full_window(64, 128);

	for (int i = 0; i < 10; i++)
		rc_window_lost(&w);
	EXPECT_EQ(w.pkts, static_cast<u32>(RC_WINDOW_MIN));
	w = full_window(3, 128);
	rc_window_lost(&w);
	EXPECT_EQ(w.pkts, 3u);
	rc_window_step(&w);
	EXPECT_EQ(w.pkts, 4u);
}

TEST(RcWindow, BeginsAgainWithOnePacketAfterATimeWithoutAnswer)
{
	rc_window w = full_window(640, 2000);

	rc_window_restart(&w);
	EXPECT_EQ(w.pkts, 1u);
	// Continued silence says nothing more about what the path can carry.
	rc_window_restart(&w);
	EXPECT_EQ(w.pkts, 1u);
	// By all that is acknowledged up to half of the old size, then by steps.
	rc_window_acked(&w, 1);
	EXPECT_EQ(w.pkts, 2u);
	rc_window_acked(&w, 30);
	EXPECT_EQ(w.pkts, 32u);
	rc_window_acked(&w, 32);
	EXPECT_EQ(w.pkts, 64u);
	// Even if everything sent before was only late.
	rc_window_acked(&w, 640);
	EXPECT_EQ(w.pkts, 320u);
	rc_window_step(&w);
	EXPECT_EQ(w.pkts, 340u);
}

TEST(RcWindow, ALossWhileItIsSmallMakesItNoLarger)
{
	rc_window w = full_window(640, 2000);

	rc_window_restart(&w);
	rc_window_acked(&w, 3);
	EXPECT_EQ(w.pkts, 4u);
	rc_window_lost(&w);
	EXPECT_EQ(w.pkts, 4u);
	rc_window_acked(&w, 4);
	EXPECT_EQ(w.pkts, 8u);
}

TEST(RcWindow, WhatIsUsualIsNoLessThanTheLeast)
{
	rc_window w = full_window(64, 1000);

	EXPECT_EQ(rc_window_usual(&w), 64u);
	rc_window_restart(&w);
	EXPECT_EQ(rc_window_usual(&w), static_cast<u32>(RC_WINDOW_MIN));
}

// ---- in the requester ----

class RcReqWindow : public RcReq {
protected:
	RcReqWindow()
	{
		cfg.window = 32;
		cfg.max_window = 100;
		start();
	}

	// To the first READ, or to its first request: half a window each.
	void responses(u32 n)
	{
		for (u32 i = 0; i < n; i++)
			data(i == 0	? OP_READ_RESP_FIRST :
			     i == n - 1 ? OP_READ_RESP_LAST :
					  OP_READ_RESP_MIDDLE,
			     i, 256);
	}
};

TEST_F(RcReqWindow, GrowsWhileMoreIsToBeSent)
{
	post(WR_WRITE, 256 * 1000);
	EXPECT_EQ(packets(send()), 32u);
	ack(15);
	ack(31);
	EXPECT_EQ(packets(send()), 64u);
	ack(95);
	EXPECT_EQ(packets(send()), 100u);
}

TEST_F(RcReqWindow, DoesNotGrowWithoutMoreToSend)
{
	post(WR_WRITE, 256 * 32);
	EXPECT_EQ(packets(send()), 32u);
	ack(31);
	EXPECT_EQ(q.window.pkts, 32u);
}

TEST_F(RcReqWindow, GrowsWithReads)
{
	post(WR_READ, 256 * 100); // 16 per request
	EXPECT_EQ(send().size(), 2u);
	responses(16);
	// READs are limited by max_rd_atomic, which stopped this one
	EXPECT_EQ(q.window.pkts, 32u);

	cfg.max_rd_atomic = 4;
	start();
	post(WR_READ, 256 * 100);
	EXPECT_EQ(send().size(), 2u);
	responses(16);
	EXPECT_EQ(q.window.pkts, 48u);
}

TEST_F(RcReqWindow, IsHalvedOnceByASequenceNakAndItsRepetition)
{
	post(WR_WRITE, 256 * 1000);
	send();
	ack(31);
	EXPECT_EQ(packets(send()), 64u);
	EXPECT_EQ(ack(40, AETH_NAK).event, RC_EV_SEQ_NAK);
	EXPECT_EQ(q.window.pkts, 36u); // 64 and the 8 before the lost one, by two
	ack(40, AETH_NAK);
	EXPECT_EQ(q.window.pkts, 36u);
	auto runs = send();
	EXPECT_EQ(rel(runs[0].psn), 40u);
	EXPECT_EQ(packets(runs), 36u);
	// often enough for the smaller one
	u32 asked = 0;
	for (auto &r : runs)
		asked += r.ack_req;
	EXPECT_EQ(asked, 4u);
}

TEST_F(RcReqWindow, BeginsAgainAfterATimeout)
{
	post(WR_WRITE, 256 * 1000);
	EXPECT_EQ(packets(send()), 32u);
	time_out();
	auto runs = send();
	ASSERT_EQ(packets(runs), 1u);
	EXPECT_EQ(rel(runs[0].psn), 0u);
	EXPECT_TRUE(runs[0].ack_req);
	ack(0);
	EXPECT_EQ(packets(send()), 2u);
	ack(2);
	EXPECT_EQ(packets(send()), 4u);
	ack(6);
	EXPECT_EQ(packets(send()), 8u);
	ack(14);
	EXPECT_EQ(packets(send()), 16u);
	// half of the old size: from here on by steps
	ack(30);
	EXPECT_EQ(packets(send()), 16u);
	ack(46);
	EXPECT_EQ(packets(send()), 17u);
}

// Then nothing useful comes through, and the peer has reported the gap once.
TEST_F(RcReqWindow, SurvivesAQueueThatDropsTheFirstOfSeveral)
{
	post(WR_WRITE, 256 * 40);
	u32 next = 0;
	for (int i = 0; i < 200 && next < 40; i++) {
		auto runs = send();
		ASSERT_FALSE(runs.empty());
		EXPECT_EQ(rel(runs[0].psn), next);
		if (packets(runs) == 1)
			ack(next++);
		else
			time_out();
	}
	EXPECT_EQ(next, 40u);
	EXPECT_EQ(reap().size(), 1u);
}

TEST_F(RcReqWindow, ReadsAreAskedForAgainAsTheSmallerOneAllows)
{
	cfg.max_rd_atomic = 4;
	start();
	for (int i = 0; i < 4; i++)
		post(WR_READ, 256 * 8);
	EXPECT_EQ(send().size(), 4u);
	time_out();
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(rel(runs[0].psn), 0u);
	responses(8);
	runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(rel(runs[0].psn), 8u);
}

TEST_F(RcReqWindow, AReadThatBeginsWhileItIsSmallIsNotAskedForPacketByPacket)
{
	post(WR_WRITE, 256 * 2);
	send();
	time_out();
	EXPECT_EQ(q.window.pkts, 1u);
	u32 read = post(WR_READ, 256 * 100);
	ack(1);
	send();
	EXPECT_EQ(ring[read].read_pkts, RC_WINDOW_MIN / 2u);
}

TEST_F(RcReqWindow, RnrAndTheLocalQueueAreNoLoss)
{
	post(WR_SEND, 256 * 100);
	send();
	ack(0, AETH_RNR_NAK | 1);
	EXPECT_EQ(q.window.pkts, 32u);
	now = rc_req_deadline(&q);
	rc_req_timeout(&q, now);
	send();
	rc_req_unsend(&q, psn_add(kPsn, 8));
	EXPECT_EQ(q.window.pkts, 32u);
}

} // namespace
