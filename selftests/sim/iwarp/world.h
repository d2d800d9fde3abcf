/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time, events and all endpoints. One World is one simulation: the same
 * configuration and seed give the same run, byte by byte.
 */
#ifndef TERN_SIM_IW_WORLD_H
#define TERN_SIM_IW_WORLD_H

#include <functional>
#include <memory>

#include "endpoint.h"
#include "event.h"

namespace sim {

enum EventKind : uint8_t {
	EV_DELIVER, /* bytes reach the endpoint */
	EV_SERVICE, /* the endpoint posts and sends */
	EV_SCRIPT,  /* the scenario's next step */
};

struct WorldCfg {
	uint64_t segments = 100000;   /* work is posted until so many have arrived */
	uint64_t stall_ns = 50000000; /* without progress for so long: livelock */
	bool may_die = false;	      /* streams may end */
};

class World {
public:
	/* Endpoints 2n, the initiator, and 2n + 1 talk to each other. */
	void connect(const EndCfg &a, const EndCfg &b, const StreamCfg &ab, const StreamCfg &ba,
		     uint64_t seed);
	/* Until all work is done. Throws Failure. */
	void run();

	void at(uint64_t at_ns, EventKind kind, uint32_t endpoint, uint64_t arg = 0)
	{
		Event e;

		e.at_ns = at_ns;
		e.order = created_++ << 16 | endpoint << 8 | kind;
		e.arg = arg;
		heap_.push(e);
	}

	/* Call f when the time has come. */
	void script(uint64_t at_ns, std::function<void()> f);

	bool closing() const { return segments >= cfg.segments; }
	void shared_result(int endpoint, uint64_t value);

	WorldCfg cfg;
	uint64_t now_ns = 0;
	Trace trace{"seq"};
	std::vector<std::unique_ptr<Endpoint>> ep;

	uint64_t segments = 0;	/* that arrived somewhere */
	uint64_t completed = 0; /* work requests with success */
	uint64_t shared_counter = 0;

private:
	void watch();
	void check_end();

	EventHeap heap_;
	uint64_t created_ = 1;
	std::vector<std::function<void()>> scripts_;
	std::vector<bool> shared_seen_;
	uint64_t shared_results_ = 0;
};

} /* namespace sim */

#endif
