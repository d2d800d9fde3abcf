// SPDX-License-Identifier: GPL-2.0
#include "topology.h"

namespace netsim {

uint32_t Hosts::add(const HostCfg &cfg)
{
	uint32_t n = net_.add_host(cfg.nic);

	host_.push_back({net_.add_port(cfg.down), cfg.cpu.pkt_ns ? net_.add_port(cfg.cpu) : nullptr,
			 cfg.at});
	return n;
}

void Hosts::end(Path &p, uint32_t to) const
{
	add_hop(p, host_[to].down);
	if (host_[to].cpu)
		add_hop(p, host_[to].cpu);
}

Chain::Chain(Network &net, uint32_t switches, const PortCfg &trunk) : hosts(net)
{
	for (uint32_t i = 0; i + 1 < switches; i++) {
		right_.push_back(net.add_port(trunk));
		left_.push_back(net.add_port(trunk));
	}
	net.route = [this](uint32_t from, uint32_t to, std::vector<Path> &paths) {
		Path p;

		hosts.begin(p, from);
		for (uint32_t s = hosts.at(from); s < hosts.at(to); s++)
			Hosts::add_hop(p, right_[s]);
		for (uint32_t s = hosts.at(from); s > hosts.at(to); s--)
			Hosts::add_hop(p, left_[s - 1]);
		hosts.end(p, to);
		paths.push_back(p);
	};
}

LeafSpine::LeafSpine(Network &net, uint32_t leaves, uint32_t spines, const PortCfg &link)
	: hosts(net), up_(leaves), down_(leaves)
{
	for (uint32_t l = 0; l < leaves; l++) {
		for (uint32_t s = 0; s < spines; s++) {
			up_[l].push_back(net.add_port(link));
			down_[l].push_back(net.add_port(link));
		}
	}
	net.route = [this, spines](uint32_t from, uint32_t to, std::vector<Path> &paths) {
		const uint32_t a = hosts.at(from), b = hosts.at(to);

		for (uint32_t s = 0; s < (a == b ? 1 : spines); s++) {
			Path p;

			hosts.begin(p, from);
			if (a != b) {
				Hosts::add_hop(p, up_[a][s]);
				Hosts::add_hop(p, down_[b][s]);
			}
			hosts.end(p, to);
			paths.push_back(p);
		}
	};
}

} /* namespace netsim */
