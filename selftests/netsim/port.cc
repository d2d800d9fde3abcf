// SPDX-License-Identifier: GPL-2.0
#include "port.h"

#include <cmath>

#include "gate.h"
#include "network.h"

namespace netsim {

Port::Port(Network &net, const PortCfg &c, uint64_t seed)
	: cfg(c), net_(net), rng_(seed), loss_(c.loss),
	  overtakes_(sim::Rng::chance(c.reorder.share)),
	  ps_per_byte_(c.gbps > 0 ? (uint64_t)std::llround(8000 / c.gbps) : 0)
{}

bool Port::admit(Packet *p)
{
	double share;

	if (cfg.limit_bytes && queued_bytes_ + p->bytes > cfg.limit_bytes) {
		stats.tail_drops++;
		return false;
	}
	share = mark_share(cfg.mark, queued_bytes_);
	if (share <= 0 || !rng_.hit(sim::Rng::chance(share)))
		return true;
	if (!p->ect) {
		stats.mark_drops++;
		return false;
	}
	p->ce = true;
	stats.marks++;
	return true;
}

void Port::enqueue(Packet *p)
{
	if (!admit(p)) {
		net_.pool.put(p);
		return;
	}
	p->at_ns = net_.now_ns;
	if (queue_.empty() && !paused_ && free_ns_ <= net_.now_ns) {
		transmit(p);
		return;
	}
	queue_.push(p);
	queued_bytes_ += p->bytes;
	most_bytes = std::max(most_bytes, queued_bytes_);
	if (Port *from = p->from())
		from->queued(p->bytes);
	look_later();
}

void Port::look_later()
{
	if (paused_ || look_ns_)
		return;
	look_ns_ = std::max(free_ns_, net_.now_ns);
	net_.at(look_ns_, EV_FREE, this);
}

void Port::free()
{
	Packet *p;

	look_ns_ = 0;
	if (paused_)
		return;
	p = queue_.pop();
	queued_bytes_ -= p->bytes;
	if (Port *from = p->from())
		from->unqueued(p->bytes);
	transmit(p);
	if (!queue_.empty())
		look_later();
	if (gate)
		gate->serve();
}

void Port::transmit(Packet *p)
{
	uint64_t ps = p->bytes * ps_per_byte_ + cfg.pkt_ns * 1000ull + rest_ps_;

	if (watched && net_.measuring)
		delay.add(net_.now_ns - p->at_ns);
	if (cfg.pkt_jitter_ns)
		ps += rng_.below(cfg.pkt_jitter_ns) * 1000ull;
	free_ns_ = net_.now_ns + ps / 1000;
	rest_ps_ = ps % 1000;
	if (loss_.hits(rng_, net_.now_ns)) {
		stats.lost++;
		net_.pool.put(p);
		return;
	}
	deliver(p, free_ns_ + cfg.delay_ns);
}

void Port::deliver(Packet *p, uint64_t at_ns)
{
	const ReorderCfg &r = cfg.reorder;

	if (r.extra_ns || r.jitter_ns) {
		if (!rng_.hit(overtakes_))
			at_ns += r.extra_ns + (r.jitter_ns ? rng_.below((uint32_t)r.jitter_ns) : 0);
		alone_++;
		net_.at(at_ns, EV_ALONE, p);
		return;
	}
	if (cfg.jitter_ns)
		at_ns += rng_.below(cfg.jitter_ns);
	last_ns_ = std::max(last_ns_, at_ns);
	p->at_ns = last_ns_;
	if (wire_.empty())
		net_.at(last_ns_, EV_WIRE, this);
	wire_.push(p);
}

Packet *Port::arrives()
{
	Packet *p = wire_.pop();

	if (!wire_.empty())
		net_.at(wire_.front()->at_ns, EV_WIRE, this);
	return p;
}

/* ---- pauses: what came by this link is queued at its end ---- */

void Port::queued(uint32_t bytes)
{
	ahead_bytes_ += bytes;
	if (!cfg.pause.pause_bytes || asked_ || ahead_bytes_ <= cfg.pause.pause_bytes)
		return;
	asked_ = true;
	stats.pauses++;
	net_.at(net_.now_ns + cfg.delay_ns, EV_PAUSE, this);
}

void Port::unqueued(uint32_t bytes)
{
	ahead_bytes_ -= bytes;
	if (!asked_ || ahead_bytes_ > cfg.pause.resume_bytes)
		return;
	asked_ = false;
	net_.at(net_.now_ns + cfg.delay_ns, EV_RESUME, this);
}

void Port::pause(bool on)
{
	paused_ = on;
	if (!on && !queue_.empty())
		look_later();
}

} /* namespace netsim */
