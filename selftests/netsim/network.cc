// SPDX-License-Identifier: GPL-2.0
#include "network.h"

#include <algorithm>
#include <cinttypes>

#include "rc_flow.h"
#include "tcp_flow.h"

namespace netsim {

using sim::fail;

Port *Network::add_port(const PortCfg &cfg)
{
	ports.push_back(std::make_unique<Port>(*this, cfg, rng.next()));
	return ports.back().get();
}

uint32_t Network::add_host(const PortCfg &cfg)
{
	Port *nic = add_port(cfg);

	gates_.push_back(std::make_unique<Gate>(*nic));
	nic->gate = gates_.back().get();
	hosts.push_back({nic, nic->gate});
	return (uint32_t)hosts.size() - 1;
}

Flow &Network::add_flow(const FlowCfg &cfg)
{
	auto id = (uint32_t)flows.size();

	if (cfg.kind == Kind::TCP)
		flows.push_back(std::make_unique<TcpFlow>(*this, cfg, id));
	else
		flows.push_back(std::make_unique<RcFlow>(*this, cfg, id));
	/* To the engines 0 is no time. */
	at(std::max<uint64_t>(cfg.start_ns, 1), EV_START, flows.back().get());
	to_finish_ += cfg.messages != 0;
	return *flows.back();
}

void Network::arm(Flow &f)
{
	uint64_t at_ns = f.deadline();

	if (!at_ns || (f.timer_ns && f.timer_ns <= at_ns))
		return;
	f.timer_ns = std::max(at_ns, now_ns);
	timers_.push({f.timer_ns, order(EV_TIMER), {.flow = &f}});
}

void Network::look_at_timer(Flow &f)
{
	uint64_t at_ns;

	if (f.timer_ns != now_ns)
		return; /* an earlier one came after it was set */
	f.timer_ns = 0;
	at_ns = f.deadline();
	if (at_ns && at_ns <= now_ns)
		f.timer();
	arm(f);
}

void Network::arrive(Packet *p)
{
	if (++p->hop < p->path->hops) {
		p->path->hop[p->hop]->enqueue(p);
		return;
	}
	arrived++;
	p->flow->rx(p);
}

void Network::begin_measuring()
{
	measuring = true;
	for (auto &f : flows)
		f->stats.warm_delivered = f->stats.delivered;
}

void Network::sample()
{
	Sample s;

	s.at_ns = now_ns;
	for (auto &f : flows)
		s.delivered.push_back(f->stats.delivered);
	for (auto &p : ports)
		if (p->watched)
			s.queued.push_back(p->queued_bytes());
	samples.push_back(std::move(s));
	at(now_ns + sample_ns, EV_SAMPLE, (Flow *)nullptr);
}

void Network::handle(const Event &e)
{
	switch (e.kind()) {
	case EV_WIRE:
		arrive(e.port->arrives());
		break;
	case EV_ALONE:
		e.packet->path->hop[e.packet->hop]->alone();
		arrive(e.packet);
		break;
	case EV_FREE:
		e.port->free();
		break;
	case EV_PAUSE:
	case EV_RESUME:
		e.port->pause(e.kind() == EV_PAUSE);
		break;
	case EV_TIMER:
		look_at_timer(*e.flow);
		break;
	case EV_START:
		e.flow->start();
		break;
	case EV_WARM:
		begin_measuring();
		break;
	case EV_SAMPLE:
		sample();
		break;
	case EV_END:
		ended_ = true;
		break;
	default:
		fail(-1, "event of kind %u", e.kind());
	}
}

/* There is EV_END at least. */
Event Network::next()
{
	return timers_.empty() || heap_.top().before(timers_.top()) ? heap_.pop() : timers_.pop();
}

void Network::run()
{
	const bool finite = to_finish_;

	if (warm_ns)
		at(warm_ns, EV_WARM, (Flow *)nullptr);
	else
		begin_measuring();
	at(end_ns, EV_END, (Flow *)nullptr);
	if (sample_ns)
		at(0, EV_SAMPLE, (Flow *)nullptr);
	while (!ended_ && !(finite && !to_finish_)) {
		Event e = next();

		now_ns = e.at_ns;
		events++;
		handle(e);
	}
	check_end();
}

/* Each packet is at a flow's end, was dropped and counted, or is somewhere. */
void Network::check_end() const
{
	uint64_t dropped = 0, held = 0, kept = 0;

	for (auto &p : ports) {
		dropped += p->stats.dropped();
		held += p->held();
	}
	for (auto &f : flows)
		kept += f->kept();
	if (held + kept != pool.in_use())
		fail(-1,
		     "%" PRIu64 " packets in queues and on links, %" PRIu64 " kept, %" PRIu64
		     " in use",
		     held, kept, pool.in_use());
	if (pool.taken() != arrived + dropped + held)
		fail(-1,
		     "%" PRIu64 " packets: %" PRIu64 " arrived, %" PRIu64 " dropped, %" PRIu64
		     " on their way",
		     pool.taken(), arrived, dropped, held);
	for (auto &f : flows)
		f->check_end();
}

} /* namespace netsim */
