/* SPDX-License-Identifier: GPL-2.0 */
/* For tests: a flow of packets that come all at once, or at a rate, and of which each is noted. */
#ifndef TERN_NETSIM_PROBE_H
#define TERN_NETSIM_PROBE_H

#include "network.h"

namespace netsim {

struct Arrival {
	uint64_t at_ns, position; /* position: the packet's number */
	bool ce;
};

class Probe : public Flow {
public:
	/* Sends count packets of bytes, every_ns apart, into the first port of the path. */
	Probe(Network &net, const FlowCfg &c, uint32_t number, uint32_t count, uint32_t bytes,
	      uint64_t every_ns)
		: Flow(net, c, number), count_(count), bytes_(bytes), every_ns_(every_ns)
	{}

	void start() override { timer(); }
	void timer() override
	{
		do
			one();
		while (!every_ns_ && sent_ < count_);
		next_ns_ = sent_ < count_ ? net_.now_ns + every_ns_ : 0;
		net_.arm(*this);
	}
	uint64_t deadline() const override { return next_ns_; }
	void rx(Packet *p) override
	{
		got.push_back({net_.now_ns, p->position, p->ce});
		net_.pool.put(p);
	}
	uint32_t full_payload() const override { return bytes_; }
	uint32_t full_bytes() const override { return bytes_; }
	void check_end() const override {}

	std::vector<Arrival> got;

private:
	void one()
	{
		Packet *p = get(false);

		p->bytes = bytes_;
		p->position = sent_++;
		p->ect = cfg.ect;
		send(p);
	}

	uint32_t count_, bytes_, sent_ = 0;
	uint64_t every_ns_, next_ns_ = 0;
};

/* Hosts that are connected by nothing but ports in a row; all packets take them. */
class Row {
public:
	Row(const std::vector<PortCfg> &ports, uint64_t seed = 1) : net(seed)
	{
		Path path;

		for (const PortCfg &c : ports)
			path.hop[path.hops++] = net.add_port(c);
		net.route = [path](uint32_t, uint32_t, std::vector<Path> &paths) {
			paths.push_back(path);
		};
		net.end_ns = 3600000000000;
	}

	Probe &probe(uint32_t count, uint32_t bytes, uint64_t every_ns = 0, bool ect = false)
	{
		FlowCfg c;

		c.ect = ect;

		auto p = std::make_unique<Probe>(net, c, 0, count, bytes, every_ns);
		Probe &ref = *p;

		net.flows.push_back(std::move(p));
		net.at(0, EV_START, &ref);
		return ref;
	}

	Port &port(uint32_t n) { return *net.ports[n]; }

	Network net;
};

} /* namespace netsim */

#endif
