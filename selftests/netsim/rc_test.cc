// SPDX-License-Identifier: GPL-2.0
// The network simulator's RC flows: what a path lets through, and whether the oracles see.
#include "rc_flow.h"

#include <gtest/gtest.h>

#include "pair.h"

namespace netsim {
namespace {

TEST(NetsimRc, AWindowsWorthGoesInARoundTrip)
{
	for (Kind kind : {Kind::WRITE, Kind::READ, Kind::SEND}) {
		Pair p(link(100, 50 * MS));
		Flow &f = p.net.add_flow(p.flow(kind));

		p.run(10, 5);
		EXPECT_NEAR(p.rate(f), 1024 / 0.1, 0.02 * 1024 / 0.1) << kind_name(kind);
		/* Probes, before the first answer; one of a READ is for all its responses. */
		EXPECT_LE(f.stats.resent, 128u);
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

/* From 20 KiB on all is marked; the path is one of 100 us. */
void run_marked(Pair &p, Flow &f, const char *control)
{
	p.net.control = cc_find(control);
	p.run(1, 0.1);
	EXPECT_EQ(f.stats.failed, false) << control;
}

TEST(NetsimRc, MarksAreAnsweredByCnpsAndKeepTheQueueShort)
{
	PortCfg marks = link(1, 50 * US);

	marks.mark = {20 << 10, 20 << 10, 1};
	for (const char *control : {"aimd", "hybrid", "dcqcn"}) {
		Pair p(marks);
		FlowCfg c = p.flow(Kind::WRITE);
		bool takes = cc_find(control)->marks;

		c.ect = takes;

		Flow &f = p.net.add_flow(c);

		run_marked(p, f, control);
		EXPECT_EQ(f.stats.cnps > 0, takes) << control;
		/* One in 50 us at most. */
		EXPECT_LE(f.stats.cnps, 20000u) << control;
		EXPECT_LE(f.stats.cnps, f.stats.marked) << control;
		EXPECT_LE(f.stats.marked, p.chain.trunk(0)->stats.marks) << control;
		/* Behind the first window's queue answers are late, and probed for. */
		if (takes) {
			EXPECT_LE(f.stats.resent, 2u) << control;
		}
	}
}

TEST(NetsimRc, MarkedResponsesTellTheRequesterWithoutCnps)
{
	PortCfg marks = link(1, 50 * US);

	marks.mark = {20 << 10, 20 << 10, 1};

	Pair p(marks);
	FlowCfg c = p.flow(Kind::READ);

	c.ect = true;

	Flow &f = p.net.add_flow(c);

	run_marked(p, f, "hybrid");
	EXPECT_GT(f.stats.marked, 0u);
	EXPECT_EQ(f.stats.cnps, 0u);
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

} /* namespace */
} /* namespace netsim */
