// SPDX-License-Identifier: GPL-2.0
#include "wire.h"

#include <algorithm>
#include <cstring>

#include "world.h"

namespace sim {

Wire::Wire(World &world, uint32_t to_endpoint, const WireCfg &cfg, uint64_t seed)
	: world_(world), rng_(seed), cfg_(cfg), to_(to_endpoint), loss_(Rng::chance(cfg.loss)),
	  dup_(Rng::chance(cfg.dup)), reorder_(Rng::chance(cfg.reorder)),
	  corrupt_(Rng::chance(cfg.corrupt))
{}

uint64_t Wire::busy_until(uint64_t now_ns) const
{
	return free_at_ns_ > now_ns + cfg_.queue_ns ? free_at_ns_ - cfg_.queue_ns : 0;
}

/* Flip one to four bits or cut off the end; the copy must differ. */
void Wire::damage(Packet *p)
{
	if (p->stretch)
		return;
	if (rng_.one_in(8)) {
		p->bytes = rng_.below(p->bytes);
	} else {
		uint32_t flips = rng_.range(1, 4), seen = 0, first = 0;

		for (uint32_t i = 0; i < flips; i++) {
			uint32_t bit = rng_.below(p->bytes * 8);

			/* The same bit twice would undo the damage. */
			if (seen && bit == first)
				continue;
			if (!seen++)
				first = bit;
			p->data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		}
		if (seen > 2) /* three flips may still cancel in pairs but the first stays */
			seen = 2;
	}
	p->corrupted = true;
	corrupted++;
}

void Wire::deliver_in_order(uint64_t at_ns, Packet *p)
{
	frame_fence(p);
	p->at_ns = at_ns;
	p->next = nullptr;
	*queue_end_ = p;
	queue_end_ = &p->next;
	if (!due_pending_) {
		due_pending_ = true;
		world_.at(queue_->at_ns, EV_WIRE, to_);
	}
}

void Wire::deliver_alone(uint64_t at_ns, Packet *p)
{
	frame_fence(p);
	world_.at(at_ns, EV_ARRIVE, to_, p);
}

Packet *Wire::take(uint64_t now_ns)
{
	Packet *p = queue_;

	if (!p)
		return nullptr;
	if (p->at_ns > now_ns) {
		if (!due_pending_) {
			due_pending_ = true;
			world_.at(p->at_ns, EV_WIRE, to_);
		}
		return nullptr;
	}
	queue_ = p->next;
	if (!queue_)
		queue_end_ = &queue_;
	return p;
}

void Wire::send(uint64_t now_ns, Packet *p)
{
	uint64_t at, start = std::max(now_ns, free_at_ns_);
	uint64_t chances = rng_.next();

	sent++;
	if (cfg_.ns_per_kib)
		start += (uint64_t)p->bytes * cfg_.ns_per_kib / 1024 + 1;
	free_at_ns_ = start;
	if (dead_ || (uint32_t)chances < loss_) {
		lost++;
		world_.pool.put(p);
		return;
	}
	at = start + cfg_.delay_ns;
	if (cfg_.jitter_ns)
		at += rng_.below(cfg_.jitter_ns);
	if ((uint32_t)(chances >> 32) < dup_) {
		Packet *copy = world_.pool.get();
		uint64_t later = rng_.one_in(16) ? rng_.below(cfg_.late_dup_ns) :
						   rng_.below(cfg_.reorder_ns);

		frame_copy(copy, p);
		duplicated++;
		if (rng_.hit(corrupt_))
			damage(copy);
		deliver_alone(at + later, copy);
	}
	if (rng_.hit(corrupt_))
		damage(p);
	if (rng_.hit(reorder_)) {
		reordered++;
		deliver_alone(at + rng_.below(cfg_.reorder_ns), p);
	} else {
		last_ns_ = std::max(at, last_ns_);
		deliver_in_order(last_ns_, p);
	}
}

} /* namespace sim */
