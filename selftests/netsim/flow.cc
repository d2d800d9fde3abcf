// SPDX-License-Identifier: GPL-2.0
#include "flow.h"

#include "network.h"

namespace netsim {

const char *kind_name(Kind kind)
{
	static const char *const names[] = {"WRITE", "READ", "SEND", "TCP"};

	return names[(size_t)kind];
}

Flow::Flow(Network &net, const FlowCfg &c, uint32_t number)
	: cfg(c), id(number), net_(net), rng_(net.rng.next()), hash_((uint32_t)rng_.next())
{
	net.route(cfg.from, cfg.to, out_);
	net.route(cfg.to, cfg.from, back_);
}

Packet *Flow::get(bool to_source)
{
	Packet *p = net_.pool.get();

	p->flow = this;
	p->to_source = to_source;
	return p;
}

void Flow::send(Packet *p)
{
	const std::vector<Path> &paths = p->to_source ? back_ : out_;
	size_t way = 0;

	if (paths.size() > 1)
		way = cfg.spray ? rng_.below((uint32_t)paths.size()) : hash_ % paths.size();
	p->path = &paths[way];
	p->path->hop[0]->enqueue(p);
}

void Flow::finish()
{
	stats.done_ns = net_.now_ns;
	if (cfg.messages)
		net_.done();
}

} /* namespace netsim */
