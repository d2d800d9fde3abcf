/* SPDX-License-Identifier: GPL-2.0 */
/* For tests: two hosts with a link between them. */
#ifndef TERN_NETSIM_PAIR_H
#define TERN_NETSIM_PAIR_H

#include "topology.h"

namespace netsim {

constexpr uint64_t US = 1000, MS = 1000000;

inline PortCfg link(double gbps, uint64_t delay_ns = 0)
{
	PortCfg c;

	c.gbps = gbps;
	c.delay_ns = delay_ns;
	return c;
}

/* A switch for each, and a trunk between these. All queues are endless. */
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

} /* namespace netsim */

#endif
