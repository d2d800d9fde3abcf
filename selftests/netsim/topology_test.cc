// SPDX-License-Identifier: GPL-2.0
// The network simulator's networks: which ports a packet passes.
#include "topology.h"

#include <gtest/gtest.h>

#include "pair.h"

namespace netsim {
namespace {

TEST(NetsimNetwork, AHostsCpuIsTheBottleneckIfItIsSlow)
{
	Network net(3);
	Chain chain(net, 1, {});
	HostCfg fast, slow;

	fast.nic = fast.down = slow.nic = slow.down = link(10, US);
	slow.cpu.pkt_ns = 5000;
	chain.hosts.add(fast);
	chain.hosts.add(slow);

	FlowCfg c;

	c.to = 1;
	c.pmtu = 1024;

	Flow &f = net.add_flow(c);

	net.end_ns = 100 * MS;
	net.run();
	EXPECT_NEAR((double)f.stats.delivered / 1024, 20000, 200);
}

TEST(NetsimNetwork, APathInAChainPassesTheTrunksBetween)
{
	Network net(3);
	Chain chain(net, 3, link(10, US));
	std::vector<Path> paths;

	for (uint32_t at : {0u, 2u, 0u}) {
		HostCfg h;

		h.at = at;
		chain.hosts.add(h);
	}
	net.route(0, 1, paths);
	ASSERT_EQ(paths[0].hops, 4u);
	EXPECT_EQ(paths[0].hop[0], net.hosts[0].nic);
	EXPECT_EQ(paths[0].hop[1], chain.trunk(0));
	EXPECT_EQ(paths[0].hop[2], chain.trunk(1));
	EXPECT_EQ(paths[0].hop[3], chain.hosts.down(1));
	net.route(1, 0, paths);
	ASSERT_EQ(paths[1].hops, 4u);
	EXPECT_NE(paths[1].hop[1], chain.trunk(1)); /* the other direction */
	EXPECT_EQ(paths[1].hop[3], chain.hosts.down(0));
	net.route(0, 2, paths);
	EXPECT_EQ(paths[2].hops, 2u);
}

/* Packets with payload by each spine, of one flow between two leaves. */
std::vector<uint64_t> by_spine(bool spray)
{
	constexpr uint32_t SPINES = 4;
	Network net(3);
	LeafSpine fabric(net, 2, SPINES, link(10, US));
	std::vector<Path> paths;
	std::vector<uint64_t> n;

	for (uint32_t at : {0u, 1u, 0u}) {
		HostCfg h;

		h.at = at;
		h.nic = h.down = link(10, US);
		fabric.hosts.add(h);
	}
	net.route(0, 2, paths);
	EXPECT_EQ(paths.size(), 1u);
	EXPECT_EQ(paths[0].hops, 2u);
	paths.clear();
	net.route(0, 1, paths);
	EXPECT_EQ(paths.size(), SPINES);
	for (Path &p : paths) {
		EXPECT_EQ(p.hops, 4u);
		p.hop[1]->watched = true;
	}

	FlowCfg c;

	c.to = 1;
	c.spray = spray;
	net.add_flow(c);
	net.end_ns = 10 * MS;
	net.run();
	for (Path &p : paths)
		n.push_back(p.hop[1]->delay.n());
	return n;
}

TEST(NetsimNetwork, AFlowTakesOneSpineOrAll)
{
	uint32_t used = 0;

	for (uint64_t n : by_spine(false))
		used += n > 0;
	EXPECT_EQ(used, 1u);
	for (uint64_t n : by_spine(true))
		EXPECT_GT(n, 500u);
}

} /* namespace */
} /* namespace netsim */
