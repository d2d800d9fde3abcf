/* SPDX-License-Identifier: GPL-2.0 */
/* A simulation: endpoints, the packets between them, and when work ends. */
#ifndef TERN_SIM_WORLD_H
#define TERN_SIM_WORLD_H

#include "base_world.h"
#include "endpoint.h"

namespace sim {

enum EventKind : uint8_t {
	EV_WIRE,    /* the next packet in order is due at the endpoint */
	EV_ARRIVE,  /* a packet out of order reaches the endpoint */
	EV_SERVICE, /* the endpoint works through its inbox, then sends */
	EV_TIMER,   /* rc_req_deadline() may have come */
	EV_REFILL,  /* receive WQEs are posted */
};

struct WorldCfg {
	uint64_t packets = 100000;     /* work is posted until this many have arrived */
	uint64_t stall_ns = 400000000; /* longest time without progress; beyond: livelock */
	bool expects_failure = false;  /* QPs may end in error */
};

class World : public BaseWorld<Endpoint> {
public:
	World() : BaseWorld("psn") {}

	/* Endpoints 2n and 2n + 1 talk to each other. */
	void connect(const QpCfg &ab, const QpCfg &ba, const WireCfg &wire, uint64_t seed);
	/* Until all work is done. Throws Failure. */
	void run();

	bool closing() const { return packets >= cfg.packets; }
	bool expects_failure() const { return cfg.expects_failure; }

	WorldCfg cfg;
	PacketPool pool;

	uint64_t packets = 0; /* that arrived somewhere */
	uint64_t icrc_errors = 0;

private:
	void check_end();
};

} /* namespace sim */

#endif
