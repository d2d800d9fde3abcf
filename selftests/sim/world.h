/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time, events and all endpoints. One World is one simulation: the same
 * configuration and seed give the same run, packet by packet.
 */
#ifndef TERN_SIM_WORLD_H
#define TERN_SIM_WORLD_H

#include <functional>
#include <memory>

#include "endpoint.h"

namespace sim {

enum EventKind : uint8_t {
	EV_WIRE,    /* the next packet in order is due at the endpoint */
	EV_ARRIVE,  /* a packet out of order reaches the endpoint */
	EV_SERVICE, /* the endpoint works through its inbox, then sends */
	EV_TIMER,   /* rc_req_deadline() may have come */
	EV_REFILL,  /* receive WQEs are posted */
	EV_SCRIPT,  /* the scenario's next step */
};

struct WorldCfg {
	uint64_t packets = 100000;     /* work is posted until so many have arrived */
	uint64_t stall_ns = 400000000; /* without progress for so long: livelock */
	bool expects_failure = false;  /* QPs may end in error */
};

class World {
public:
	/* Endpoints 2n and 2n + 1 talk to each other. */
	void connect(const QpCfg &ab, const QpCfg &ba, const WireCfg &wire, uint64_t seed);
	/* Until all work is done. Throws Failure. */
	void run();

	void at(uint64_t at_ns, EventKind kind, uint32_t endpoint, Packet *p)
	{
		Event e;

		e.at_ns = at_ns;
		e.order = order(kind, endpoint);
		e.packet = p;
		heap_.push(e);
	}

	void at(uint64_t at_ns, EventKind kind, uint32_t endpoint, uint64_t arg)
	{
		Event e;

		e.at_ns = at_ns;
		e.order = order(kind, endpoint);
		e.arg = arg;
		heap_.push(e);
	}

	/* Call f when the time has come. */
	void script(uint64_t at_ns, std::function<void()> f);

	bool closing() const { return packets >= cfg.packets; }
	bool expects_failure() const { return cfg.expects_failure; }
	void shared_result(int endpoint, uint64_t value);

	WorldCfg cfg;
	uint64_t now_ns = 0;
	Trace trace{"psn"};
	PacketPool pool;
	std::vector<std::unique_ptr<Endpoint>> ep;

	uint64_t packets = 0; /* that arrived somewhere */
	uint64_t icrc_errors = 0;
	uint64_t completed = 0; /* work requests with success */
	uint64_t shared_counter = 0;

private:
	uint64_t order(EventKind kind, uint32_t endpoint)
	{
		return created_++ << 16 | endpoint << 8 | kind;
	}
	void watch();
	void check_end();

	EventHeap heap_;
	uint64_t created_ = 1;
	std::vector<std::function<void()>> scripts_;
	std::vector<bool> shared_seen_;
	uint64_t shared_results_ = 0;
	uint64_t watched_packets_ = 0;
};

} /* namespace sim */

#endif
