// SPDX-License-Identifier: GPL-2.0
#include "endpoint.h"

#include <algorithm>
#include <cstdlib>

#include "rc_ack.h"
#include "world.h"

namespace sim {

static constexpr uint32_t BUDGET_PACKETS = 64; /* per half and service */
static constexpr uint32_t PACKET_NS = 40;      /* simulated time to handle one */
static constexpr uint32_t BATCH_NS = 1500;     /* packets gather at most this long */
static constexpr uint32_t IDLE_NS = 20000;

Endpoint::Endpoint(World &world, int index, const QpCfg &cfg, const WireCfg &wire_cfg,
		   uint64_t seed)
	: req(world, index, cfg, seed), wire(world, (uint32_t)index ^ 1, wire_cfg, seed + 2),
	  world_(world), index_(index), rng_(seed + 3)
{}

void Endpoint::connect(Endpoint &peer)
{
	resp = std::make_unique<Responder>(world_, index_, peer.req.cfg, peer.req.ledger,
					   rng_.next());
	from_peer_ = &peer.wire;
}

void Endpoint::wake(uint64_t at_ns)
{
	if (wake_ns_ && wake_ns_ <= at_ns)
		return;
	wake_ns_ = at_ns;
	world_.at(at_ns, EV_SERVICE, (uint32_t)index_);
}

void Endpoint::notice()
{
	if (!wake_ns_ || wake_ns_ > world_.now_ns + BATCH_NS)
		wake(world_.now_ns + rng_.below(BATCH_NS));
}

void Endpoint::append(Packet *p)
{
	p->next = nullptr;
	*inbox_end_ = p;
	inbox_end_ = &p->next;
}

void Endpoint::pull()
{
	while (Packet *p = from_peer_->take(world_.now_ns))
		append(p);
}

void Endpoint::arrive(Packet *p)
{
	pull();
	append(p);
	notice();
}

void Endpoint::dispatch(const struct pkt &k, Packet *p)
{
	if (!(k.op_flags & OPF_REQUEST ? resp->rx(k, p) : req.rx(k, p)))
		world_.pool.put(p);
}

void Endpoint::drain_inbox()
{
	while (inbox_) {
		Packet *p = inbox_;
		uint32_t have = p->bytes;
		enum pkt_error e;
		struct pkt k;

		inbox_ = p->next;
		if (p->stretch) {
			world_.packets += p->stretch->k.npkts;
			dispatch(p->stretch->k, p);
			continue;
		}
		if (have > PKT_HDR_MAX_BYTES)
			have = PKT_HDR_MAX_BYTES;
		/* Parsed before the ICRC is checked, like hostile bytes. */
		e = pkt_parse(p->data, have, p->bytes, &k);
		world_.packets++;
		if (p->corrupted) {
			if (e == PKT_OK && frame_intact(p))
				fail(index_, "a corrupted packet passed the ICRC check");
			world_.icrc_errors++;
		} else if (e != PKT_OK || !frame_intact(p)) {
			fail(index_, "an intact packet was refused: error %d", e);
		} else {
			dispatch(k, p);
			continue;
		}
		world_.pool.put(p);
	}
	inbox_end_ = &inbox_;
}

void Endpoint::arm()
{
	uint64_t at = rc_req_deadline(&req.q), look = resp->look_ns();

	if (look && (!at || look < at))
		at = look;
	if (!at || (timer_ns_ && timer_ns_ <= at))
		return;
	timer_ns_ = at;
	world_.at(at, EV_TIMER, (uint32_t)index_);
}

void Endpoint::service()
{
	uint64_t again[2] = {}, soonest = 0;
	uint32_t n[2];

	if (wake_ns_ != world_.now_ns)
		return; /* superseded by an earlier one */
	wake_ns_ = 0;
	resp->resume();
	pull();
	drain_inbox();
	resp->resume();
	req.resume();
	if (rng_.below(4))
		req.post();
	n[0] = resp->send(wire, BUDGET_PACKETS, &again[0]);
	n[1] = req.send(wire, BUDGET_PACKETS, &again[1]);
	req.reap();
	for (int i = 0; i < 2; i++) {
		if (!again[i] && n[i] >= BUDGET_PACKETS)
			again[i] = world_.now_ns + n[i] * PACKET_NS;
		if (again[i] && (!soonest || again[i] < soonest))
			soonest = again[i];
	}
	if (!soonest && req.wants_work())
		soonest = world_.now_ns + (req.busy() ? 2 * IDLE_NS : rng_.below(IDLE_NS) + 1);
	if (soonest)
		wake(std::max(soonest, world_.now_ns + 1));
	arm();
}

void Endpoint::timer(uint64_t at_ns)
{
	if (timer_ns_ != at_ns)
		return;
	timer_ns_ = 0;
	req.timer();
	wake(world_.now_ns);
	arm();
}

} /* namespace sim */
