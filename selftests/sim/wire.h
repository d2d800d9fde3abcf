/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One direction of a link: delay, jitter and bandwidth; with given probabilities it loses,
 * duplicates, reorders or corrupts a packet. Without reordering, packets arrive in the order they
 * were sent.
 */
#ifndef TERN_SIM_WIRE_H
#define TERN_SIM_WIRE_H

#include "frame.h"
#include "rng.h"

namespace sim {

class World;

struct WireCfg {
	double loss = 0, dup = 0, reorder = 0, corrupt = 0;
	uint32_t delay_ns = 2000;
	uint32_t jitter_ns = 200;
	uint32_t reorder_ns = 6000;    /* at most this much later */
	uint32_t late_dup_ns = 400000; /* the latest arrival of a duplicate */
	uint32_t ns_per_kib = 0;       /* serialisation; 0: unlimited bandwidth */
	uint32_t queue_ns = 20000;     /* with limited bandwidth: longest backlog */
};

class Wire {
public:
	Wire(World &world, uint32_t to_endpoint, const WireCfg &cfg, uint64_t seed);

	/* 0: takes packets now; else when to try again (a local drop). */
	uint64_t busy_until(uint64_t now_ns) const;
	/* Takes ownership of the packet. */
	void send(uint64_t now_ns, Packet *p);
	/* EV_WIRE has come. */
	void due() { due_pending_ = false; }
	/* The next packet in order that has arrived, or nullptr. */
	Packet *take(uint64_t now_ns);
	void cut() { dead_ = true; }
	bool is_cut() const { return dead_; }

	uint64_t sent = 0, lost = 0, duplicated = 0, reordered = 0, corrupted = 0;

private:
	void damage(Packet *p);
	void deliver_in_order(uint64_t at_ns, Packet *p);
	void deliver_alone(uint64_t at_ns, Packet *p);

	World &world_;
	Rng rng_;
	WireCfg cfg_;
	uint32_t to_;
	uint32_t loss_, dup_, reorder_, corrupt_;
	uint64_t free_at_ns_ = 0; /* end of the serialisation of the last packet */
	uint64_t last_ns_ = 0;	  /* arrival of the last packet in order */
	bool dead_ = false;
	/* Packets in order wait here, so that the event heap stays small. */
	Packet *queue_ = nullptr, **queue_end_ = &queue_;
	bool due_pending_ = false;
};

} /* namespace sim */

#endif
