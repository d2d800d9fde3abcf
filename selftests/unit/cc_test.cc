// SPDX-License-Identifier: GPL-2.0
// Congestion controllers: what each does with rounds, losses, marks and silence. How they share a
// path is selftests/netsim's matter.
#include "proto/cc.h"
#include "proto/cnp.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

constexpr u32 kPmtu = 1024, kFirst = 64, kMax = 1000;
constexpr u64 kBase = 1000000;

// A requester that always has more to send, as its controller sees it.
class Sender {
public:
	explicit Sender(const char *name, u32 max = kMax, const cc_params *params = nullptr)
	{
		rc_window_init(&w, kFirst, max);
		cc_init(&cc, &w, cc_find(name), params, 0, kPmtu);
		if (max != kFirst)
			round(kBase, 1);
	}

	// All that the window allows comes through, in so long.
	void round(u64 rtt_ns, u32 pkts = 0, bool limited = true)
	{
		w.full = limited;
		cc_begin_timing(&cc);
		now += rtt_ns;
		cc_acked(&cc, &w, pkts ? pkts : w.pkts);
		cc_measured(&cc, now, rtt_ns);
		cc_end_round(&cc, &w, now, 0);
	}
	void rounds(u32 n, u64 rtt_ns)
	{
		while (n--)
			round(rtt_ns);
	}
	void lose()
	{
		cc_sent_again(&cc, 1);
		cc_lost(&cc, &w);
	}
	void mark() { cc_marked(&cc, &w, now); }
	void restart() { cc_restart(&cc, &w); }

	struct cc cc;
	rc_window w;
	u64 now = 1000000000;
};

std::vector<std::string> names()
{
	std::vector<std::string> all;

	for (u32 i = 0; cc_all[i]; i++)
		all.push_back(cc_all[i]->name);
	return all;
}

class EachCc : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Cc, EachCc, testing::ValuesIn(names()),
			 [](const auto &info) { return info.param; });

TEST_P(EachCc, IsFoundByItsName)
{
	ASSERT_NE(cc_find(GetParam().c_str()), nullptr);
	EXPECT_EQ(cc_find(GetParam().c_str())->name, GetParam());
	EXPECT_EQ(cc_find((GetParam() + "x").c_str()), nullptr);
}

TEST_P(EachCc, FillsAPathThatIsNeverFull)
{
	Sender s(GetParam().c_str());

	s.rounds(200, kBase);
	EXPECT_EQ(s.w.pkts, kMax);
}

TEST_P(EachCc, DoesNotGrowForARequesterThatSendsLess)
{
	Sender s(GetParam().c_str());
	u32 before = s.w.pkts;

	for (int i = 0; i < 200; i++)
		s.round(kBase, 3, false);
	EXPECT_LE(s.w.pkts, before);
	EXPECT_EQ(s.cc.kbps, 0u);
}

TEST_P(EachCc, LeavesAWindowAloneThatNeverChanges)
{
	Sender s(GetParam().c_str(), kFirst);

	s.lose();
	s.mark();
	s.restart();
	EXPECT_EQ(s.w.pkts, kFirst);
	EXPECT_EQ(s.cc.kbps, 0u);
}

TEST_P(EachCc, GoesOnAfterSilence)
{
	Sender s(GetParam().c_str());

	s.rounds(50, kBase);
	s.restart();
	EXPECT_LE(s.w.pkts, 2u);
	s.rounds(400, kBase);
	EXPECT_GT(s.w.pkts, kMax / 3);
}

// Whatever comes, in whatever order.
TEST_P(EachCc, StaysWithinItsBounds)
{
	std::mt19937 rng(1);

	for (int run = 0; run < 50; run++) {
		Sender s(GetParam().c_str());

		for (int i = 0; i < 2000; i++) {
			switch (rng() % 8) {
			case 0:
				s.lose();
				break;
			case 1:
				s.mark();
				break;
			case 2:
				if (rng() % 8 == 0)
					s.restart();
				break;
			case 3:
				s.now += u64{1} << rng() % 40;
				break;
			default:
				s.round(u64{1} << rng() % 34, 1 + rng() % s.w.pkts, rng() & 1);
			}
			ASSERT_GE(s.w.pkts, 1u);
			ASSERT_LE(s.w.pkts, kMax);
			ASSERT_TRUE(!s.cc.kbps || s.cc.kbps >= CC_LEAST_KBPS) << s.cc.kbps;
			ASSERT_LE(s.cc.kbps, CC_MOST_KBPS);
		}
	}
}

// ---- what they have in common ----

TEST(Cc, TheShortestRoundTripIsForgottenAfterTwoPeriods)
{
	Sender s("aimd");

	s.round(2 * kBase);
	EXPECT_EQ(s.cc.base_ns, kBase);
	s.now += CC_BASE_NS;
	s.round(3 * kBase);
	EXPECT_EQ(s.cc.base_ns, kBase);
	s.now += CC_BASE_NS;
	s.round(4 * kBase);
	EXPECT_EQ(s.cc.base_ns, 3 * kBase);
	s.round(kBase / 2);
	EXPECT_EQ(s.cc.base_ns, kBase / 2);
}

TEST(Cc, LessThanAPacketIsOneAtARate)
{
	Sender s("hybrid");

	EXPECT_EQ(cc_set_window(&s.cc, &s.w, 256 * 3), 256u * 3);
	EXPECT_EQ(s.w.pkts, 3u);
	EXPECT_EQ(s.cc.kbps, 0u);
	EXPECT_EQ(cc_set_window(&s.cc, &s.w, 128), 128u);
	EXPECT_EQ(s.w.pkts, 1u);
	// Half a packet in a millisecond
	EXPECT_EQ(s.cc.kbps, (kPmtu + PACER_PKT_BYTES) * 8 / 2);
	EXPECT_GT(cc_set_window(&s.cc, &s.w, 1), 1u);
	EXPECT_EQ(s.cc.kbps, CC_LEAST_KBPS);
	EXPECT_EQ(cc_set_window(&s.cc, &s.w, 256 * 2 * kMax), 256 * kMax);
	EXPECT_EQ(s.w.pkts, kMax);
	EXPECT_EQ(s.cc.kbps, 0u);
}

// ---- AIMD ----

TEST(CcAimd, HalvesItsWindowForEachLossAndForNoMark)
{
	Sender s("aimd");

	s.rounds(10, kBase);
	s.mark();
	EXPECT_EQ(s.w.pkts, kMax);
	s.lose();
	EXPECT_EQ(s.w.pkts, kMax / 2);
	s.round(9 * kBase);
	EXPECT_EQ(s.w.pkts, kMax / 2 + 32);
}

// ---- hybrid ----

TEST(CcHybrid, ALossWithoutAQueueIsNone)
{
	Sender s("hybrid");

	s.rounds(10, kBase);
	s.lose(); // of slow start: it may have been too fast
	EXPECT_EQ(s.w.pkts, 700u);
	for (int i = 0; i < 50; i++) {
		s.round(kBase);
		s.lose();
	}
	EXPECT_EQ(s.w.pkts, kMax);
}

TEST(CcHybrid, ALossWithAQueueTakesThreeTenths)
{
	Sender s("hybrid");

	s.rounds(10, kBase);
	s.lose();
	s.rounds(50, 2 * kBase);
	s.lose();
	EXPECT_EQ(s.w.pkts, 700u);
	s.round(2 * kBase); // none is added in the round of a cut
	EXPECT_EQ(s.w.pkts, 700u);
	s.round(2 * kBase);
	EXPECT_GT(s.w.pkts, 700u);
}

TEST(CcHybrid, ManyLossesCountWithoutAQueue)
{
	Sender s("hybrid");

	s.rounds(10, kBase);
	for (int i = 0; i < 50; i++) {
		cc_sent_again(&s.cc, s.w.pkts / 14);
		s.round(kBase);
		cc_lost(&s.cc, &s.w);
	}
	EXPECT_LT(s.w.pkts, 100u);
	EXPECT_GE(s.w.pkts, static_cast<u32>(RC_WINDOW_MIN) * 7 / 10);
	// In a crowd it falls further.
	for (int i = 0; i < 50; i++) {
		cc_sent_again(&s.cc, s.w.pkts / 5 + 1);
		s.round(kBase);
		s.lose();
	}
	EXPECT_EQ(s.w.pkts, 1u);
	EXPECT_GT(s.cc.kbps, 0u);
}

TEST(CcHybrid, MarksTakeMoreTheMoreRoundsHaveThem)
{
	Sender always("hybrid"), seldom("hybrid");

	for (int i = 0; i < 100; i++) {
		always.round(kBase);
		always.mark();
		always.mark(); // of the same round
		seldom.round(kBase);
		if (i % 20 == 19)
			seldom.mark();
	}
	EXPECT_LE(always.w.pkts, 2u);
	EXPECT_GT(seldom.w.pkts, kMax / 2);
}

// ---- DCQCN ----

class CcDcqcn : public testing::Test {
protected:
	cc_params p = cc_default_params;
	Sender s{"dcqcn", kMax, &p};

	// The rate of a window in a round trip.
	u32 rate(u32 pkts) const { return cc_kbps(u64{pkts} * (kPmtu + PACER_PKT_BYTES), kBase); }
	// The next acknowledge comes; its time may be an older one.
	void wait(u64 ns)
	{
		s.now += ns;
		s.w.full = true;
		cc_end_round(&s.cc, &s.w, s.now, 0);
	}
};

TEST_F(CcDcqcn, TheFirstCnpHalvesWhatIsDelivered)
{
	s.rounds(10, kBase);
	EXPECT_EQ(s.cc.kbps, 0u);
	s.mark();
	EXPECT_NEAR(s.cc.kbps, rate(kMax) / 2, 2);
}

TEST_F(CcDcqcn, FastRecoveryHalvesTheDistanceToTheTarget)
{
	s.rounds(10, kBase);
	s.mark();
	wait(p.dcqcn_rate_ns);
	EXPECT_NEAR(s.cc.kbps, rate(kMax) * 3.0 / 4, 10);
	wait(p.dcqcn_rate_ns);
	EXPECT_NEAR(s.cc.kbps, rate(kMax) * 7.0 / 8, 10);
	wait(3 * p.dcqcn_rate_ns);
	EXPECT_NEAR(s.cc.kbps, rate(kMax) * 63.0 / 64, 10);
	// Then the target rises, too.
	wait(p.dcqcn_rate_ns);
	EXPECT_NEAR(s.cc.kbps, (rate(kMax) * 63.0 / 64 + rate(kMax) + p.dcqcn_ai_kbps) / 2, 10);
}

TEST_F(CcDcqcn, AlphaFallsWithTimeAndTheNextCutIsSmaller)
{
	u32 before;

	s.rounds(10, kBase);
	s.mark();
	for (int i = 0; i < 400; i++)
		wait(p.dcqcn_alpha_ns);
	before = s.cc.kbps;
	ASSERT_GT(before, 0u);
	s.mark();
	// (255/256)^400 = 0.21
	EXPECT_NEAR(s.cc.kbps, before * (1 - 0.21 / 2), before * 0.01);
}

TEST_F(CcDcqcn, AnOlderTimeIsNoLongTime)
{
	u32 before;

	s.rounds(10, kBase);
	s.mark();
	before = s.cc.kbps;
	s.now -= 4000000;
	wait(0);
	EXPECT_EQ(s.cc.kbps, before);
}

TEST_F(CcDcqcn, BytesCountAsWellAsTime)
{
	p.dcqcn_rate_ns = 0xffffffff;
	p.dcqcn_rate_bytes = kMax * (kPmtu + PACER_PKT_BYTES);
	s.rounds(10, kBase);
	s.mark();
	s.round(kBase, kMax);
	EXPECT_NEAR(s.cc.kbps, rate(kMax) * 3.0 / 4, 10);
}

TEST_F(CcDcqcn, ARateThatIsNoLimitEnds)
{
	s.rounds(10, kBase);
	s.mark();
	for (int i = 0; i < 100; i++)
		s.round(kBase, 10, false);
	EXPECT_EQ(s.cc.kbps, 0u);
}

TEST_F(CcDcqcn, AFloodOfCnpsEndsAtTheLeastRate)
{
	s.rounds(10, kBase);
	for (int i = 0; i < 100000; i++)
		s.mark();
	EXPECT_EQ(s.cc.kbps, CC_LEAST_KBPS);
	s.rounds(10, kBase);
	EXPECT_GT(s.cc.kbps, 100 * CC_LEAST_KBPS);
}

// ---- delay ----

TEST(CcDelay, ALongRoundTripMakesItSmallerAndALossAloneDoesNot)
{
	Sender s("delay");

	s.rounds(20, kBase);
	s.lose();
	EXPECT_EQ(s.w.pkts, kMax);
	s.round(4 * kBase);
	EXPECT_LT(s.w.pkts, kMax * 6 / 10);
	EXPECT_GE(s.w.pkts, kMax / 2);
	s.rounds(20, 4 * kBase);
	EXPECT_EQ(s.w.pkts, 1u);
	EXPECT_NE(s.cc.kbps, 0u);
	s.rounds(20, kBase);
	EXPECT_EQ(s.cc.kbps, 0u);
}

TEST(CcDelay, OnePacketMoreForARoundTripBelowTheTarget)
{
	Sender s("delay");
	u32 before;

	s.rounds(20, kBase);
	s.round(4 * kBase);
	before = s.w.pkts;
	s.rounds(5, kBase);
	EXPECT_EQ(s.w.pkts, before + 5);
}

// ---- BBR ----

TEST(CcBbr, FollowsTheRateOfTheBottleneck)
{
	Sender s("bbr");

	// 100 packets in a base round trip, whatever the window
	for (int i = 0; i < 100; i++) {
		u32 pkts = s.w.pkts;

		s.round(pkts <= 100 ? kBase : kBase * pkts / 100, pkts);
		s.lose();
	}
	EXPECT_NEAR(s.w.pkts, 200, 4);
	EXPECT_NEAR(s.cc.kbps, 100.0 * (kPmtu + PACER_PKT_BYTES) * 8, 0.27 * 100 * kPmtu * 8);
}

// ---- CNPs ----

TEST(Cnp, OneAtOnceAndThenOneInAnInterval)
{
	cnp c = {};
	u64 now = 1;

	EXPECT_TRUE(cnp_is_due(&c, now));
	EXPECT_FALSE(cnp_is_due(&c, now));
	EXPECT_FALSE(cnp_is_due(&c, now + CNP_INTERVAL_NS - 1));
	EXPECT_TRUE(cnp_is_due(&c, now + CNP_INTERVAL_NS));
	EXPECT_FALSE(cnp_is_due(&c, now + CNP_INTERVAL_NS + 1));
}

TEST(Cnp, HasTheOpcodeAndTheBitOfTheAnnex)
{
	pkt k = {};

	cnp_fill(&k, 0x123456, 0xffff);
	EXPECT_EQ(k.opcode, 0x81);
	EXPECT_TRUE(k.becn);
	EXPECT_FALSE(k.ack_req);
	EXPECT_EQ(k.dqpn, 0x123456u);
	EXPECT_TRUE(k.op_flags & OPF_CNP);
}

} // namespace
