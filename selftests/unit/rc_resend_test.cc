// SPDX-License-Identifier: GPL-2.0
// RC requester: what is sent again to a peer that drops and to one that keeps, and when.
#include "rc_req_fixture.h"

namespace {

constexpr u64 kRtt = 10000;
constexpr u8 kNak = AETH_NAK_PSN_SEQ;

// A path whose round trips are measured, and long timeouts.
class RcResend : public RcReq {
protected:
	RcResend()
	{
		cfg.retry_cnt = 7;
		cfg.max_window = 4096;
		cfg.window = 256;
		cfg.ack_timeout = {1000000000, 1000000000, 0};
		start(64);
	}

	// PSNs that are sent now, "first-last" for each run, and '!' where an answer is asked for.
	std::string sent()
	{
		std::string out;

		for (const run &r : send()) {
			u32 first = rel(r.psn), last = rel(psn_add(r.psn, r.npkts - 1));

			out += (out.empty() ? "" : " ") + std::to_string(first);
			if (r.npkts > 1)
				out += "-" + std::to_string(last);
			out += r.ack_req ? "!" : "";
		}
		return out;
	}

	// A WRITE of n packets, all sent.
	void write(u32 n)
	{
		post(WR_WRITE, 256 * n);
		send();
	}

	// The time of an answer is known.
	void measure()
	{
		write(1);
		now += kRtt;
		ack(rel(psn_add(q.psn_max, PSN_MASK)));
		base = rel(q.psn_una);
	}

	// What the peer said about n packets after base.
	void nak_at(u32 n) { ack(base + n, kNak); }
	void ack_to(u32 n) { ack(base + n - 1); }
	std::string again()
	{
		std::string out;

		for (const run &r : send()) {
			out += (out.empty() ? "" : " ") + std::to_string(rel(r.psn) - base);
			if (r.npkts > 1)
				out += "-" + std::to_string(rel(r.psn) - base + r.npkts - 1);
		}
		return out;
	}

	u32 base = 0;
};

TEST_F(RcResend, ToUnknownPeerEverythingGoesAgainAndTheFirstAsksEarly)
{
	measure();
	write(20);
	nak_at(5);
	EXPECT_EQ(sent(), std::to_string(base + 5) + "! " + std::to_string(base + 6) + "-" +
				  std::to_string(base + 19) + "!");
}

TEST_F(RcResend, AcknowledgeThatJumpsShowsThatThePeerKeeps)
{
	run r;

	measure();
	write(20);
	nak_at(5);
	// only packet 5 is sent again by now
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	ASSERT_EQ(r.npkts, 1u);
	rc_req_sent(&q, now, &r, 1);
	now += kRtt;
	q.resend.in_order = 1;
	ack_to(12);
	EXPECT_TRUE(q.resend.keeps);
	// What was sent before packet 5 went again has come before it: 12 is missing, too.
	EXPECT_EQ(again(), "12");
}

TEST_F(RcResend, AcknowledgeOfAllShowsItToo)
{
	run r;

	measure();
	write(20);
	nak_at(5);
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	rc_req_sent(&q, now, &r, 1);
	now += kRtt;
	ack_to(20);
	EXPECT_TRUE(q.resend.keeps);
	EXPECT_EQ(again(), "");
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

TEST_F(RcResend, AcknowledgeOfWhatWentAgainShowsNothing)
{
	measure();
	write(20);
	nak_at(5);
	EXPECT_EQ(again(), "5 6-19");
	now += kRtt;
	ack_to(12);
	EXPECT_FALSE(q.resend.keeps);
	ack_to(20);
	EXPECT_FALSE(q.resend.keeps);
}

// A peer that was off its CPU answers late; that says nothing about what it keeps.
TEST_F(RcResend, LateAcknowledgeAfterTimeoutShowsNothing)
{
	run r;

	measure();
	write(20);
	now = q.deadline_ns;
	EXPECT_EQ(rc_req_timeout(&q, now), RC_EV_TIMEOUT);
	ASSERT_TRUE(rc_req_next(&q, now, 1, &r));
	rc_req_sent(&q, now, &r, 1);
	ack_to(20);
	EXPECT_FALSE(q.resend.keeps);
}

class RcKeepingPeer : public RcResend {
protected:
	RcKeepingPeer()
	{
		run r;

		measure();
		write(20);
		nak_at(5);
		rc_req_next(&q, now, 64, &r);
		rc_req_sent(&q, now, &r, 1);
		now += kRtt;
		ack_to(20);
		EXPECT_TRUE(q.resend.keeps);
		reap();
		base = rel(q.psn_una);
		q.resend.in_order = 1; // no gap is left alone to see whether it closes
	}
};

TEST_F(RcKeepingPeer, IsSentOnlyWhatItMisses)
{
	write(20);
	nak_at(5);
	EXPECT_EQ(again(), "5");
	post(WR_WRITE, 256 * 3);
	EXPECT_EQ(again(), "20-22");
	now += kRtt;
	ack_to(23);
	EXPECT_EQ(reap(), (Completions{{2, 0}, {3, 0}}));
}

TEST_F(RcKeepingPeer, IsSentItBeforeWhatIsNew)
{
	write(20);
	nak_at(5);
	post(WR_WRITE, 256 * 3);
	EXPECT_EQ(again(), "5 20-22");
}

TEST_F(RcKeepingPeer, NextGapIsKnownFromItsAcknowledge)
{
	write(20);
	nak_at(5);
	EXPECT_EQ(again(), "5");
	now += kRtt;
	ack_to(9);
	EXPECT_EQ(again(), "9");
	// The same from the peer is no news.
	nak_at(9);
	EXPECT_EQ(again(), "");
	now += kRtt;
	ack_to(20);
	EXPECT_EQ(again(), "");
}

// What was sent after the hole may still be on its way.
TEST_F(RcKeepingPeer, WhatIsNewIsNotTakenForLost)
{
	write(20);
	nak_at(5);
	post(WR_WRITE, 256 * 3);
	EXPECT_EQ(again(), "5 20-22");
	now += kRtt;
	ack_to(21);
	EXPECT_EQ(again(), "");
	nak_at(21);
	EXPECT_EQ(again(), "21");
}

TEST_F(RcKeepingPeer, LongGapIsSentInGrowingParts)
{
	write(60);
	nak_at(5);
	EXPECT_EQ(again(), "5");
	now += kRtt;
	ack_to(6);
	EXPECT_EQ(again(), "6-7");
	now += kRtt;
	ack_to(8);
	EXPECT_EQ(again(), "8-11");
	now += kRtt;
	ack_to(40);
	EXPECT_EQ(again(), "40-41");
}

TEST_F(RcKeepingPeer, ThatKeepsNoMoreGetsEverything)
{
	u32 at = 5, part = 1;

	write(200);
	nak_at(5);
	again();
	for (int i = 0; i < RC_RESEND_MISSES; i++) {
		now += kRtt;
		ack_to(at += part);
		again();
		part *= 2;
	}
	EXPECT_TRUE(q.resend.keeps);
	now += kRtt;
	ack_to(at += part);
	EXPECT_FALSE(q.resend.keeps);
	nak_at(at);
	EXPECT_EQ(packets(send()), rc_req_window_pkts(&q));
}

TEST_F(RcKeepingPeer, ReadRequestThatIsMissingGoesAgainAsItWas)
{
	write(5);
	post(WR_READ, 256 * 8);
	send();
	write(5);
	nak_at(5);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].op, WR_READ);
	EXPECT_EQ(runs[0].dma_bytes, 256u * 8);
}

// ---- when ----

TEST_F(RcKeepingPeer, WhatIsLostAgainIsProbedFor)
{
	write(20);
	nak_at(5);
	again();
	u64 late = rtt_late_ns(&q.rtt);
	EXPECT_EQ(rc_req_deadline(&q), now + late);
	now += late;
	EXPECT_EQ(rc_req_timeout(&q, now), RC_EV_PROBE);
	EXPECT_EQ(again(), "5");
	EXPECT_EQ(rc_req_deadline(&q), now + 2 * late);
	EXPECT_EQ(q.retry_left, cfg.retry_cnt - 1);
}

TEST_F(RcKeepingPeer, ProbesEnd)
{
	u64 deadline;

	write(20);
	nak_at(5);
	deadline = q.deadline_ns;
	for (int i = 0; i < RC_MAX_PROBES; i++) {
		again();
		EXPECT_EQ(time_out(), RC_EV_PROBE);
	}
	again();
	if (rc_req_deadline(&q) < deadline) {
		EXPECT_EQ(time_out(), RC_EV_NONE);
	}
	EXPECT_EQ(rc_req_deadline(&q), deadline);
	EXPECT_EQ(time_out(), RC_EV_TIMEOUT);
	EXPECT_EQ(q.resend.keeps, true);
}

TEST_F(RcResend, LostEndOfABurstIsProbedForByItsLastPacket)
{
	measure();
	write(20);
	ack_to(15);
	EXPECT_EQ(rc_req_deadline(&q), now + q.rtt.smooth_ns + rtt_late_ns(&q.rtt));
	EXPECT_EQ(time_out(), RC_EV_PROBE);
	EXPECT_EQ(again(), "19");
	EXPECT_EQ(q.retry_left, cfg.retry_cnt);
	now += kRtt;
	nak_at(15);
	EXPECT_EQ(again(), "15 16-19");
}

// Each answer is later than a probe at first, and what was probed for is not timed.
TEST_F(RcResend, APathThatHasBecomeSlowerIsTimedInTheEnd)
{
	measure();
	for (int i = 0; i < 20; i++) {
		u64 answer = now + 20 * kRtt;

		write(RC_RTT_PKTS);
		while (rc_req_deadline(&q) < answer) {
			EXPECT_EQ(time_out(), RC_EV_PROBE);
			send();
		}
		now = answer;
		ack(rel(psn_add(q.psn_max, PSN_MASK)));
	}
	EXPECT_GT(q.rtt.smooth_ns, 10 * kRtt);
}

TEST_F(RcResend, AnswersThatWereNeverTimedAreProbedForByAGuess)
{
	write(20);
	EXPECT_EQ(rc_req_deadline(&q), now + RC_PROBE_FIRST_NS);
	EXPECT_EQ(time_out(), RC_EV_PROBE);
	EXPECT_EQ(again(), "19");
}

// The peer may have told, and the NAK was lost: it does not tell twice.
TEST_F(RcResend, NextProbeIsTheOldestPacket)
{
	measure();
	write(20);
	ack_to(15);
	time_out();
	again();
	EXPECT_EQ(time_out(), RC_EV_PROBE);
	EXPECT_EQ(again(), "15");
	now += kRtt;
	ack_to(16);
	EXPECT_EQ(again(), "");
	EXPECT_EQ(time_out(), RC_EV_PROBE);
	EXPECT_EQ(again(), "19");
}

// Of a READ the last response is asked for. It comes ahead of the missing ones.
TEST_F(RcResend, LostResponsesAreProbedFor)
{
	cfg.ahead_pkts = 64;
	start(64);
	measure();
	q.resend.in_order = 1;
	post(WR_READ, 256 * 8);
	send();
	EXPECT_EQ(time_out(), RC_EV_PROBE);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(rel(runs[0].psn), base + 7);
	EXPECT_EQ(runs[0].dma_bytes, 256u);
	EXPECT_EQ(data(OP_READ_RESP_ONLY, base + 7, 256).kind, RC_REQ_KEEP);
	EXPECT_EQ(rc_req_missing(&q, now, true, psn_add(kPsn, base + 7)), RC_EV_IMPLIED_NAK);
	runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].dma_bytes, 256u * 7);
}

TEST_F(RcResend, TailIsGivenTheClocksError)
{
	cfg.clock_ns = 4000000;
	start(64);
	measure();
	write(20);
	ack_to(15);
	EXPECT_EQ(rc_req_deadline(&q), now + q.rtt.smooth_ns + rtt_late_ns(&q.rtt) + 8000000);
}

TEST_F(RcResend, NoProbeWithoutTimer)
{
	cfg.ack_timeout = {};
	start(64);
	measure();
	write(20);
	EXPECT_EQ(rc_req_deadline(&q), 0u);
	nak_at(5);
	again();
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(RcResend, NoProbeWithoutRetries)
{
	cfg.retry_cnt = 0;
	start(64);
	measure();
	write(20);
	while (rc_req_deadline(&q) < q.deadline_ns)
		EXPECT_EQ(time_out(), RC_EV_NONE);
	EXPECT_EQ(again(), "");
	EXPECT_EQ(time_out(), RC_EV_TIMEOUT);
	EXPECT_EQ(reap().back().second, WR_ST_RETRY_EXC_ERR);
}

TEST_F(RcResend, NoProbeOfAPathThatIsNotMeasured)
{
	cfg.max_window = 0;
	start(64);
	measure();
	write(20);
	EXPECT_EQ(rc_req_deadline(&q), q.deadline_ns);
}

// RFC 6298 3. Before any answer was timed, a time that is too long is a beginning.
// What the peer has said to miss is timed when it goes again: the answer is to that one.
TEST_F(RcResend, WhatIsSentAgainIsTimedIfThePeerMissesIt)
{
	write(20);
	ack(5, kNak);
	send();
	now += 3 * kRtt;
	ack(19);
	EXPECT_EQ(q.rtt.smooth_ns, 3 * kRtt);
	base = 20;
	write(20);
	nak_at(5);
	again();
	now += 11 * kRtt;
	ack_to(20);
	EXPECT_EQ(q.rtt.smooth_ns, 4 * kRtt);
}

TEST_F(RcResend, OnlyAWholeRunIsTimed)
{
	run r;

	post(WR_WRITE, 256 * 4);
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	EXPECT_TRUE(rc_req_times_run(&q, &r));
	rc_req_sent(&q, now, &r, 2);
	EXPECT_FALSE(q.rtt.sent_ns);
}

// The way within a host, after one by the network.
TEST_F(RcResend, NoProbeWithinAHost)
{
	measure();
	set_window(1 << 22);
	write(20);
	EXPECT_EQ(rc_req_deadline(&q), q.deadline_ns);
}

TEST_F(RcResend, ProbeGoesThoughTheWindowIsSmallerByNow)
{
	measure();
	write(200);
	rc_req_limit_window(&q, 32);
	EXPECT_EQ(time_out(), RC_EV_PROBE);
	EXPECT_EQ(again(), "199");
}

// What was acknowledged since sending went back is no place to go back from.
TEST_F(RcResend, AcknowledgeThatOvertakesEndsGoingBack)
{
	measure();
	write(20);
	rc_req_unsend(&q, psn_add(kPsn, base + 10));
	ack_to(20);
	EXPECT_FALSE(q.resend.behind);
}

// Nothing was sent again yet: the packet was only late, and the peer drops the others.
TEST_F(RcResend, LatePacketShowsNothing)
{
	measure();
	write(20);
	nak_at(5);
	ack_to(6);
	EXPECT_FALSE(q.resend.keeps);
	EXPECT_EQ(again(), "6 7-19");
}

// Those that overtook it were not dropped.
TEST_F(RcResend, LatePacketAndThoseBeforeItShowThatThePeerKeeps)
{
	measure();
	write(20);
	nak_at(5);
	ack_to(8);
	EXPECT_TRUE(q.resend.keeps);
}

// If the end of a hole was lost, or its answer, only a timer would help.
TEST_F(RcResend, WithoutTimerAPeerIsNotSeenToKeep)
{
	run r;

	cfg.ack_timeout = {};
	start(64);
	measure();
	write(10);
	post(WR_READ, 256 * 4);
	send();
	write(6);
	nak_at(5);
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	rc_req_sent(&q, now, &r, r.npkts);
	ack_to(10);
	EXPECT_FALSE(q.resend.keeps);
	EXPECT_GT(packets(send()), 0u);
}

TEST_F(RcKeepingPeer, EndOfAHoleAsksForAnAnswer)
{
	write(20);
	nak_at(5);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_TRUE(runs[0].ack_req);
}

TEST_F(RcKeepingPeer, ReadThatMayBeOnItsWayIsNotTakenForLost)
{
	write(10);
	post(WR_READ, 256 * 2);
	send();
	nak_at(5);
	EXPECT_EQ(again(), "5");
	now += kRtt;
	ack_to(10);
	EXPECT_EQ(again(), "");
}

TEST_F(RcKeepingPeer, RetriesThatAreUsedUpEndTheQp)
{
	cfg.retry_cnt = 0;
	rc_req_set_retries(&q, 0, 7);
	write(20);
	nak_at(5);
	EXPECT_EQ(reap().back().second, WR_ST_RETRY_EXC_ERR);
}

// ---- order ----

class RcLatePackets : public RcResend {
protected:
	// A peer that keeps, and a gap that is due to be left alone.
	RcLatePackets()
	{
		measure();
		q.resend.keeps = true;
		start_gap();
	}

	void start_gap()
	{
		base = rel(q.psn_una);
		write(10);
		now += kRtt;
		nak_at(5);
	}
};

TEST_F(RcLatePackets, FirstGapIsLeftAloneForARoundTrip)
{
	u32 window = rc_req_window_pkts(&q);

	EXPECT_EQ(again(), "");
	EXPECT_EQ(rc_req_deadline(&q), now + kRtt);
	EXPECT_EQ(q.retry_left, cfg.retry_cnt);
	EXPECT_EQ(rc_req_window_pkts(&q), window);
	EXPECT_EQ(time_out(), RC_EV_HOLE);
	EXPECT_EQ(again(), "5");
	EXPECT_EQ(q.retry_left, cfg.retry_cnt - 1);
	EXPECT_EQ(rc_req_window_pkts(&q), window / 2);
}

TEST_F(RcLatePackets, ThoseThatFollowAreNot)
{
	for (int i = 0; i < RC_RESEND_IN_ORDER; i++) {
		if (i)
			EXPECT_EQ(again(), "5") << i;
		else
			time_out(), again();
		now += kRtt;
		ack_to(10);
		reap();
		start_gap();
	}
	EXPECT_EQ(again(), "");
	EXPECT_EQ(q.resend.hole_ns, now + kRtt);
}

TEST_F(RcLatePackets, GapThatClosesGivesTheNextOnesTime)
{
	u32 window = rc_req_window_pkts(&q);

	now += kRtt / 4;
	ack_to(10);
	EXPECT_EQ(again(), "");
	for (int i = 0; i < 3; i++) {
		start_gap();
		EXPECT_EQ(again(), "");
		EXPECT_EQ(q.resend.hole_ns, now + q.rtt.smooth_ns);
		now += kRtt / 4;
		ack_to(10);
		reap();
	}
	EXPECT_GE(rc_req_window_pkts(&q), window);
	EXPECT_EQ(q.retry_left, cfg.retry_cnt);
}

TEST_F(RcLatePackets, WhatIsMissedIsSentAfterThat)
{
	now += kRtt / 4;
	ack_to(10);
	start_gap();
	EXPECT_EQ(time_out(), RC_EV_HOLE);
	EXPECT_EQ(again(), "5");
}

TEST_F(RcLatePackets, PathThatKeepsTheOrderAgainIsForgotten)
{
	now += kRtt / 4;
	ack_to(10);
	reap();
	for (int i = 0; i < RC_RESEND_IN_ORDER; i++) {
		EXPECT_TRUE(q.resend.reorders);
		start_gap();
		EXPECT_EQ(time_out(), RC_EV_HOLE);
		EXPECT_EQ(again(), "5");
		now += kRtt;
		ack_to(10);
		reap();
	}
	EXPECT_FALSE(q.resend.reorders);
}

// ---- how much is under way ----

TEST_F(RcKeepingPeer, LossesOfOneWindowCutItOnce)
{
	write(40);
	u32 window = rc_req_window_pkts(&q);
	nak_at(5);
	again();
	EXPECT_EQ(rc_req_window_pkts(&q), window / 2);
	now += kRtt;
	ack_to(9);
	EXPECT_EQ(again(), "9");
	EXPECT_EQ(rc_req_window_pkts(&q), window / 2);
	now += kRtt;
	ack_to(40);
	base = rel(q.psn_una);
	write(40);
	nak_at(5);
	EXPECT_EQ(rc_req_window_pkts(&q), window / 4);
}

TEST_F(RcResend, NakAfterATimeoutDoesNotCutAgain)
{
	u32 threshold;

	measure();
	write(20);
	now = q.deadline_ns;
	EXPECT_EQ(rc_req_timeout(&q, now), RC_EV_TIMEOUT);
	send(1);
	threshold = q.window.threshold;
	ack_to(1);
	send();
	nak_at(1);
	EXPECT_EQ(q.window.threshold, threshold);
}

// ---- what ends ----

TEST_F(RcKeepingPeer, FailedRequestIsNotPassedBy)
{
	write(10);
	u32 bad = post(WR_WRITE, 256 * 10);
	send();
	write(10);
	nak_at(5);
	rc_req_fail(&q, bad, WR_ST_LOC_PROT_ERR);
	again();
	EXPECT_EQ(again(), "");
	now += kRtt;
	ack_to(10);
	EXPECT_EQ(reap(),
		  (Completions{{2, 0}, {bad, WR_ST_LOC_PROT_ERR}, {bad + 1, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcKeepingPeer, LocalDropSendsAllOfThatAgain)
{
	write(20);
	rc_req_unsend(&q, psn_add(kPsn, base + 4));
	EXPECT_EQ(again(), "4-19");
	now += kRtt;
	ack_to(20);
	EXPECT_EQ(reap(), (Completions{{2, 0}}));
}

} // namespace
