// SPDX-License-Identifier: GPL-2.0
// The network simulator's own parts: times in queues, marks, losses, pauses, turns, figures.
#include <gtest/gtest.h>

#include <cmath>

#include "pair.h"
#include "probe.h"

namespace netsim {
namespace {

TEST(NetsimPort, ABurstLeavesAtTheLinksRate)
{
	Row row({link(1, 5 * US)});
	Probe &p = row.probe(100, 1250); /* 10 us each */

	row.port(0).watched = true;
	row.net.run();
	ASSERT_EQ(p.got.size(), 100u);
	for (uint32_t i = 0; i < 100; i++) {
		EXPECT_EQ(p.got[i].position, i);
		EXPECT_EQ(p.got[i].at_ns, (i + 1) * 10 * US + 5 * US);
	}
	EXPECT_EQ(row.port(0).delay.n(), 100u);
	EXPECT_EQ(row.port(0).delay.max(), 990 * US);
	EXPECT_DOUBLE_EQ(row.port(0).delay.mean(), 495.0 * US);
	EXPECT_EQ(row.port(0).most_bytes, 99u * 1250);
}

TEST(NetsimPort, NoPartOfANanosecondIsLost)
{
	Row row({link(100)});
	Probe &p = row.probe(100000, 1106); /* 88.48 ns each */

	row.net.run();
	EXPECT_EQ(p.got.back().at_ns, 8848000u);
}

TEST(NetsimPort, ThePacketThatDoesNotFitTheQueueIsDropped)
{
	PortCfg c = link(1);

	c.limit_bytes = 10 * 1250;
	Row row({c});
	Probe &p = row.probe(100, 1250);

	row.net.run();
	/* One is on the link, ten wait. */
	EXPECT_EQ(p.got.size(), 11u);
	EXPECT_EQ(row.port(0).stats.tail_drops, 89u);
}

TEST(NetsimPort, APacketTimeCountsWithoutARate)
{
	PortCfg c;

	c.pkt_ns = 4000;
	Row row({c});
	Probe &p = row.probe(10, 1250);

	row.net.run();
	EXPECT_EQ(p.got.back().at_ns, 40 * US);
}

TEST(NetsimPort, JitterOfALinkKeepsTheOrder)
{
	PortCfg c = link(10, US);

	c.jitter_ns = 20000;
	Row row({c});
	Probe &p = row.probe(10000, 1250, 500);

	row.net.run();
	ASSERT_EQ(p.got.size(), 10000u);
	for (uint32_t i = 0; i < p.got.size(); i++)
		ASSERT_EQ(p.got[i].position, i);
}

TEST(NetsimPort, AShareOfPacketsOvertakes)
{
	PortCfg c = link(10, US);

	c.reorder = {0.25, 1000 * US, 0};
	Row row({c});
	Probe &p = row.probe(40000, 1250, US);
	uint32_t early = 0;

	row.net.run();
	for (const Arrival &a : p.got)
		early += a.at_ns < a.position * US + 1000 * US;
	EXPECT_NEAR(early, 10000, 400);
}

/* ---- marks ---- */

TEST(NetsimMarks, GrowFromMinToMax)
{
	const MarkCfg c = {100, 300, 0.5};

	EXPECT_EQ(mark_share(c, 99), 0);
	EXPECT_EQ(mark_share(c, 100), 0);
	EXPECT_DOUBLE_EQ(mark_share(c, 200), 0.25);
	EXPECT_EQ(mark_share(c, 300), 1);
	EXPECT_EQ(mark_share({}, 1u << 30), 0);
	EXPECT_EQ(mark_share({100, 100, 1}, 99), 0);
	EXPECT_EQ(mark_share({100, 100, 1}, 100), 1);
}

/* Each packet of a burst finds one more queued. */
PortCfg marking()
{
	PortCfg c = link(0.001);

	c.mark = {0, 1000 * 1000, 0.5};
	return c;
}

TEST(NetsimMarks, AreAsManyAsTheQueuesLengthsSay)
{
	uint64_t marks = 0, seen = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		Row row({marking()}, seed);
		Probe &p = row.probe(1000, 1000, 0, true);

		row.net.run();
		marks += row.port(0).stats.marks;
		for (const Arrival &a : p.got)
			seen += a.ce;
		EXPECT_EQ(p.got.size(), 1000u);
	}
	/* The mean of 0 to 0.5, of 20000: 5000, with a deviation of 60. */
	EXPECT_NEAR((double)marks, 4995, 240);
	EXPECT_EQ(seen, marks);
}

TEST(NetsimMarks, DropWhatIsNotEcnCapable)
{
	Row row({marking()});
	Probe &p = row.probe(1000, 1000);

	row.net.run();
	EXPECT_EQ(row.port(0).stats.marks, 0u);
	EXPECT_GT(row.port(0).stats.mark_drops, 100u);
	EXPECT_EQ(p.got.size() + row.port(0).stats.mark_drops, 1000u);
}

/* ---- losses ---- */

constexpr uint32_t TRIALS = 1000000;

TEST(NetsimLoss, AtRandomIsTheShareThatWasAskedFor)
{
	for (double share : {0.001, 0.01, 0.05}) {
		Loss loss(LossCfg::randomly(share));
		sim::Rng rng(7);
		uint32_t n = 0;

		for (uint32_t i = 0; i < TRIALS; i++)
			n += loss.hits(rng, i);
		EXPECT_NEAR(n, share * TRIALS, 5 * std::sqrt(share * TRIALS));
	}
}

TEST(NetsimLoss, InBurstsHasTheShareAndTheLength)
{
	for (double mean : {2.0, 8.0}) {
		Loss loss(LossCfg::bursts(0.01, mean));
		sim::Rng rng(7);
		uint32_t n = 0, bursts = 0;
		bool before = false;

		for (uint32_t i = 0; i < 4 * TRIALS; i++) {
			bool lost = loss.hits(rng, i);

			n += lost;
			bursts += lost && !before;
			before = lost;
		}
		EXPECT_NEAR(n, 0.01 * 4 * TRIALS, 0.05 * 0.01 * 4 * TRIALS);
		EXPECT_NEAR((double)n / bursts, mean, 0.05 * mean);
	}
}

TEST(NetsimLoss, ABurstDoesNotOutlastAPause)
{
	LossCfg c;
	sim::Rng rng(7);

	c.burst_enter = 1;
	c.burst_leave = 0;

	Loss loss(c);

	EXPECT_TRUE(loss.hits(rng, 1));
	for (uint64_t i = 2; i < 100; i++)
		EXPECT_TRUE(loss.hits(rng, i));

	c.burst_enter = 0.5;
	c.burst_leave = 1e-9;

	Loss rare(c);
	uint32_t n = 0;

	/* Each packet comes after a pause: only those are lost that begin a burst. */
	for (uint64_t i = 1; i <= 10000; i++)
		n += rare.hits(rng, i * c.burst_idle_ns);
	EXPECT_NEAR(n, 5000, 250);
}

TEST(NetsimLoss, OfEachNthIsExact)
{
	LossCfg c;

	c.every = 10;
	PortCfg port = link(10);

	port.loss = c;
	Row row({port});
	Probe &p = row.probe(1000, 1000);

	row.net.run();
	EXPECT_EQ(p.got.size(), 900u);
	EXPECT_EQ(row.port(0).stats.lost, 100u);
}

/* ---- pauses ---- */

TEST(NetsimPause, BoundsTheQueueAndLosesNothing)
{
	PortCfg fast = link(10, 2 * US), slow = link(1);

	fast.pause = {50000, 40000};
	Row row({fast, slow});
	Probe &p = row.probe(2000, 1250);

	row.net.run();
	EXPECT_EQ(p.got.size(), 2000u);
	EXPECT_GT(row.port(0).stats.pauses, 10u);
	/* What is on its way when the pause is asked for, until it has effect: twice the delay. */
	EXPECT_LE(row.port(1).most_bytes, 50000u + 1250 * (4 + 2));
	/* And the slow link is always busy. */
	EXPECT_EQ(p.got.back().at_ns, US + 2 * US + 2000 * 10 * US);
}

/* ---- figures ---- */

TEST(NetsimMeasure, QuantilesAreWithinASixteenth)
{
	Histogram h;

	for (uint64_t i = 1; i <= 100000; i++)
		h.add(i);
	EXPECT_EQ(h.max(), 100000u);
	EXPECT_DOUBLE_EQ(h.mean(), 50000.5);
	for (double share : {0.01, 0.5, 0.9, 0.99}) {
		EXPECT_GE((double)h.quantile(share), share * 100000);
		EXPECT_LE((double)h.quantile(share), share * 100000 * 17 / 16 + 1);
	}
	EXPECT_EQ(h.quantile(1), 100000u);
	EXPECT_EQ(Histogram().quantile(0.5), 0u);
}

TEST(NetsimMeasure, JainIsOneForEqualAndOneNthForOne)
{
	EXPECT_DOUBLE_EQ(jain({3, 3, 3, 3}), 1);
	EXPECT_DOUBLE_EQ(jain({3, 0, 0, 0}), 0.25);
	EXPECT_DOUBLE_EQ(jain({}), 1);
}

} /* namespace */
} /* namespace netsim */
