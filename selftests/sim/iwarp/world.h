/* SPDX-License-Identifier: GPL-2.0 */
/* A simulation: endpoints, the streams between them, and when work ends. */
#ifndef TERN_SIM_IW_WORLD_H
#define TERN_SIM_IW_WORLD_H

#include "base_world.h"
#include "endpoint.h"

namespace sim {

enum EventKind : uint8_t {
	EV_DELIVER, /* bytes reach the endpoint */
	EV_SERVICE, /* the endpoint posts and sends */
};

struct WorldCfg {
	uint64_t segments = 100000;   /* work is posted until this many have arrived */
	uint64_t stall_ns = 50000000; /* longest time without progress; beyond: livelock */
	bool may_die = false;	      /* streams may end */
};

class World : public BaseWorld<Endpoint> {
public:
	World() : BaseWorld("seq") {}

	/* Endpoints 2n, the initiator, and 2n + 1 talk to each other. */
	void connect(const EndCfg &a, const EndCfg &b, const StreamCfg &ab, const StreamCfg &ba,
		     uint64_t seed);
	/* Until all work is done. Throws Failure. */
	void run();

	bool closing() const { return segments >= cfg.segments; }

	WorldCfg cfg;
	uint64_t segments = 0; /* that arrived somewhere */

private:
	void check_end();
};

} /* namespace sim */

#endif
