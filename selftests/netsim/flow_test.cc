// SPDX-License-Identifier: GPL-2.0
// The network simulator's flows: what a path lets through, whether the oracles see, and whether
// CUBIC has the rate that its RFC gives.
#include <gtest/gtest.h>

#include <cmath>

#include "rc_flow.h"
#include "tcp_flow.h"
#include "topology.h"

namespace netsim {
namespace {

constexpr uint64_t US = 1000, MS = 1000000;

PortCfg link(double gbps, uint64_t delay_ns)
{
	PortCfg c;

	c.gbps = gbps;
	c.delay_ns = delay_ns;
	return c;
}

/* Two hosts, a switch each, and a trunk. All queues are endless. */
class Pair {
public:
	explicit Pair(const PortCfg &trunk, double access_gbps = 100, uint64_t seed = 3)
		: net(seed), chain(net, 2, trunk)
	{
		for (uint32_t at : {0u, 1u}) {
			HostCfg h;

			h.at = at;
			h.nic = link(access_gbps, 0);
			h.down = link(access_gbps, 0);
			chain.hosts.add(h);
		}
	}

	FlowCfg flow(Kind kind)
	{
		FlowCfg c;

		c.kind = kind;
		c.from = 0;
		c.to = 1;
		c.pmtu = kind == Kind::TCP ? 1448 : 1024;
		return c;
	}

	void run(double seconds, double warm = 0)
	{
		net.warm_ns = (uint64_t)(warm * 1e9);
		net.end_ns = (uint64_t)(seconds * 1e9);
		net.run();
	}

	/* Payload packets a second since measuring began. */
	double rate(const Flow &f) const
	{
		return (double)(f.stats.delivered - f.stats.warm_delivered) / f.cfg.pmtu /
		       ((double)(net.end_ns - net.warm_ns) / 1e9);
	}

	Network net;
	Chain chain;
};

/* ---- RC ---- */

TEST(NetsimRc, AWindowsWorthGoesInARoundTrip)
{
	for (Kind kind : {Kind::WRITE, Kind::READ, Kind::SEND}) {
		Pair p(link(100, 50 * MS));
		Flow &f = p.net.add_flow(p.flow(kind));

		p.run(10, 5);
		EXPECT_NEAR(p.rate(f), 1024 / 0.1, 0.02 * 1024 / 0.1) << kind_name(kind);
		EXPECT_EQ(f.stats.resent, 0u);
		EXPECT_EQ(f.stats.timeouts, 0u);
	}
}

TEST(NetsimRc, AVolumeEndsOnceAndEachMessageCompletes)
{
	for (Kind kind : {Kind::WRITE, Kind::READ, Kind::SEND}) {
		PortCfg lossy = link(10, 10 * US);

		lossy.loss = LossCfg::randomly(0.01);
		Pair p(lossy);
		FlowCfg c = p.flow(kind);

		c.messages = 300;
		c.message_bytes = 10000;

		Flow &f = p.net.add_flow(c);

		p.run(1000);
		EXPECT_LT(p.net.now_ns, p.net.end_ns) << kind_name(kind);
		EXPECT_EQ(f.stats.completed, 300u);
		EXPECT_EQ(f.stats.delivered, 3000000u);
		EXPECT_GT(f.stats.resent, 0u);
		EXPECT_GT(f.stats.gaps, 0u);
	}
}

TEST(NetsimRc, GivesUpWhenNothingArrives)
{
	PortCfg dead = link(10, 10 * US);

	dead.loss.every = 1;
	Pair p(dead);
	FlowCfg c = p.flow(Kind::WRITE);

	c.messages = 10;

	Flow &f = p.net.add_flow(c);

	p.run(1000);
	EXPECT_TRUE(f.stats.failed);
	EXPECT_EQ(f.stats.timeouts, 8u); /* seven retries */
	EXPECT_EQ(f.stats.completed, 0u);
	EXPECT_LT(p.net.now_ns, 60000 * MS);
}

/* A flow of which one packet with payload is not what it was. */
class Altered : public RcFlow {
public:
	using RcFlow::RcFlow;

	void rx(Packet *p) override
	{
		if (p->k.payload_bytes && ++seen_ == 100)
			p->position += cfg.pmtu;
		RcFlow::rx(p);
	}

private:
	uint32_t seen_ = 0;
};

TEST(NetsimRc, PayloadOfAnotherPlaceIsNoticed)
{
	for (Kind kind : {Kind::WRITE, Kind::READ, Kind::SEND}) {
		Pair p(link(10, 10 * US));

		p.net.flows.push_back(std::make_unique<Altered>(p.net, p.flow(kind), 0));
		p.net.at(0, EV_START, p.net.flows[0].get());
		EXPECT_THROW(p.run(1), sim::Failure) << kind_name(kind);
	}
}

/* A flow that is told of congestion once. */
class Notified : public RcFlow {
public:
	using RcFlow::RcFlow;

	void rx(Packet *p) override
	{
		if (!stats.cnps && p->to_source) {
			p->k.opcode = BTH_CNP_OPCODE;
			p->k.op_flags = opcode_info(BTH_CNP_OPCODE)->flags;
		}
		RcFlow::rx(p);
	}
};

TEST(NetsimRc, MarksAndNotificationsAreCounted)
{
	PortCfg marks = link(1, 10 * US);

	marks.mark = {10000, 10000, 1};
	Pair p(marks);
	FlowCfg c = p.flow(Kind::WRITE);

	c.ect = true;
	p.net.flows.push_back(std::make_unique<Notified>(p.net, c, 0));
	p.net.at(0, EV_START, p.net.flows[0].get());
	p.run(0.1);
	EXPECT_EQ(p.net.flows[0]->stats.cnps, 1u);
	EXPECT_GT(p.net.flows[0]->stats.marked, 100u);
	EXPECT_LE(p.net.flows[0]->stats.marked, p.chain.trunk(0)->stats.marks);
}

TEST(NetsimGate, QpsOfAHostTakeTurns)
{
	Pair p(link(100, 10 * US), 10);

	for (uint32_t i = 0; i < 20; i++)
		p.net.add_flow(p.flow(Kind::WRITE));
	p.run(0.2, 0.02);

	std::vector<double> rates;

	for (auto &f : p.net.flows)
		rates.push_back(p.rate(*f));
	EXPECT_GT(jain(rates), 0.999);
	EXPECT_LE(p.net.hosts[0].nic->most_bytes, GATE_QUEUE_BYTES + GATE_GRANT_BYTES + 65536 * 2);
	EXPECT_GT(p.net.hosts[0].nic->most_bytes, GATE_QUEUE_BYTES / 2);
}

TEST(NetsimRun, ASeedRepeatsItself)
{
	uint64_t sent[3];

	for (int i = 0; i < 3; i++) {
		PortCfg lossy = link(10, 10 * US);

		lossy.loss = LossCfg::randomly(0.001);
		Pair p(lossy, 100, i == 2 ? 6 : 5);
		Flow &f = p.net.add_flow(p.flow(Kind::WRITE));

		p.run(0.1);
		sent[i] = f.stats.sent;
	}
	EXPECT_EQ(sent[0], sent[1]);
	EXPECT_NE(sent[0], sent[2]);
}

/* ---- TCP ---- */

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
