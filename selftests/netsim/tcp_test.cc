// SPDX-License-Identifier: GPL-2.0
// The network simulator's TCP: has CUBIC the rate that its RFC gives?
#include "tcp_flow.h"

#include <gtest/gtest.h>

#include <cmath>

#include "pair.h"

namespace netsim {
namespace {

/* RFC 9438 5.1 and 5.2: segments in the mean window, if each 1/p-th is lost. */
double cubic_window(double p, double rtt_s)
{
	double cubic = 1.054 * std::pow(rtt_s / p, 0.75);
	double reno = std::sqrt(1.5 / p);

	return std::max(cubic, reno);
}

TEST(NetsimTcp, CubicHasTheWindowOfItsRfc)
{
	static const struct {
		double rtt_s;
		uint32_t every;
	} points[] = {{0.1, 100},   {0.1, 1000},   {0.1, 10000},
		      {0.01, 1000}, {0.01, 10000}, {0.01, 50000}};

	for (auto &point : points) {
		PortCfg trunk = link(10, (uint64_t)(point.rtt_s * 1e9 / 2));

		trunk.loss.every = point.every;
		Pair p(trunk);
		FlowCfg c = p.flow(Kind::TCP);
		double expected = cubic_window(1.0 / point.every, point.rtt_s);

		c.delayed_acks = false;

		Flow &f = p.net.add_flow(c);

		p.run(point.rtt_s * 6000, point.rtt_s * 1000);
		EXPECT_NEAR(p.rate(f) * point.rtt_s, expected, 0.2 * expected)
			<< "each " << point.every << "th is lost, " << point.rtt_s << " s";
		EXPECT_EQ(f.stats.timeouts, 0u);
	}
}

TEST(NetsimTcp, FillsAPathWithoutLoss)
{
	for (bool delayed : {false, true}) {
		Pair p(link(1, 5 * MS));
		FlowCfg c = p.flow(Kind::TCP);

		c.delayed_acks = delayed;

		Flow &f = p.net.add_flow(c);

		p.run(5, 1);
		EXPECT_NEAR(p.rate(f) * f.full_bytes() * 8, 1e9, 1e7);
		EXPECT_EQ(f.stats.resent, 0u);
	}
}

TEST(NetsimTcp, SendsAgainWhatIsLostAndNoMore)
{
	for (double share : {0.001, 0.01}) {
		PortCfg lossy = link(1, MS);

		lossy.loss = LossCfg::randomly(share);
		Pair p(lossy);
		FlowCfg c = p.flow(Kind::TCP);

		c.messages = 2000;

		Flow &f = p.net.add_flow(c);

		p.run(1000);
		EXPECT_LT(p.net.now_ns, p.net.end_ns);
		EXPECT_GE(f.stats.delivered, 2000u * 65536);
		/* Without time-outs, which send more than is lost. */
		EXPECT_NEAR((double)f.stats.resent / (double)f.stats.sent, share, 0.3 * share);
	}
}

TEST(NetsimTcp, TimesOutWhenNothingComesBack)
{
	PortCfg dead = link(1, MS);

	dead.loss.every = 1;
	Pair p(dead);
	Flow &f = p.net.add_flow(p.flow(Kind::TCP));

	p.run(20);
	/* After 1, 3, 7 and 15 s. */
	EXPECT_EQ(f.stats.timeouts, 4u);
	EXPECT_EQ(f.stats.delivered, 0u);
}

TEST(NetsimTcp, TheReceiverTellsOfGaps)
{
	TcpReceiver r;
	Segment ack = {};

	EXPECT_TRUE(r.take(0));
	EXPECT_FALSE(r.take(2));
	EXPECT_FALSE(r.take(4));
	EXPECT_FALSE(r.take(3));
	r.fill(ack);
	EXPECT_EQ(ack.ack, 1u);
	ASSERT_EQ(ack.blocks, 1u);
	EXPECT_EQ(ack.sack[0].first, 2u);
	EXPECT_EQ(ack.sack[0].end, 5u);
	EXPECT_FALSE(r.take(9));
	EXPECT_FALSE(r.take(7));
	r.fill(ack);
	ASSERT_EQ(ack.blocks, 3u);
	EXPECT_EQ(ack.sack[0].first, 7u);
	EXPECT_EQ(ack.sack[1].first, 9u);
	EXPECT_EQ(ack.sack[2].first, 2u);
	EXPECT_FALSE(r.take(1));
	EXPECT_EQ(r.next(), 5u);
	EXPECT_FALSE(r.take(3));
	EXPECT_FALSE(r.take(5));
	EXPECT_EQ(r.next(), 6u);
	EXPECT_FALSE(r.take(6));
	EXPECT_EQ(r.next(), 8u);
	EXPECT_FALSE(r.take(8));
	EXPECT_EQ(r.next(), 10u);
	EXPECT_TRUE(r.take(10));
}

} /* namespace */
} /* namespace netsim */
