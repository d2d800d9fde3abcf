/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simulation: time, events, ports, hosts and flows. The same network and seed give the same run,
 * event by event.
 */
#ifndef TERN_NETSIM_NETWORK_H
#define TERN_NETSIM_NETWORK_H

#include <functional>
#include <memory>

#include "flow.h"
#include "gate.h"
#include "sim/heap.h"
#include "sim/trace.h"

extern "C" {
#include "cc.h"
}

namespace netsim {

enum EventKind : uint8_t {
	EV_WIRE,   /* the next packet in order arrives at the end of a port's link */
	EV_ALONE,  /* a packet arrives that is not in order */
	EV_FREE,   /* a port's link is free for the next packet */
	EV_PAUSE,  /* a port is told to stop, */
	EV_RESUME, /* and to go on */
	EV_TIMER,  /* a flow's deadline may have come */
	EV_START,  /* a flow begins */
	EV_WARM,   /* measuring begins */
	EV_SAMPLE, /* a row of the time series */
	EV_END,
};

struct Event {
	uint64_t at_ns;
	uint64_t order; /* creation number << 8 | kind */
	union {
		Port *port;
		Packet *packet;
		Flow *flow;
	};

	uint8_t kind() const { return order & 0xff; }
	bool before(const Event &o) const
	{
		return at_ns != o.at_ns ? at_ns < o.at_ns : order < o.order;
	}
};

struct Host {
	Port *nic;
	Gate *gate;
};

/* One moment of the time series. */
struct Sample {
	uint64_t at_ns;
	std::vector<uint64_t> delivered; /* bytes of each flow since the beginning */
	std::vector<uint32_t> queued;	 /* bytes in each watched port */
};

class Network {
public:
	explicit Network(uint64_t seed) : rng(seed) {}

	Port *add_port(const PortCfg &cfg);
	/* Returns its number. */
	uint32_t add_host(const PortCfg &nic);
	/* Between two hosts of the network, whose ports are there. */
	Flow &add_flow(const FlowCfg &cfg);

	/* Until end_ns, or until all flows of fixed volume are done. Throws sim::Failure. */
	void run();

	void at(uint64_t at_ns, EventKind kind, Port *p)
	{
		heap_.push({at_ns, order(kind), {.port = p}});
	}
	void at(uint64_t at_ns, EventKind kind, Packet *p)
	{
		heap_.push({at_ns, order(kind), {.packet = p}});
	}
	void at(uint64_t at_ns, EventKind kind, Flow *f)
	{
		heap_.push({at_ns, order(kind), {.flow = f}});
	}
	/* Let the flow's timer() be called at its deadline(). */
	void arm(Flow &f);
	/* A flow of fixed volume has it all, or has failed. */
	void done() { to_finish_--; }

	uint64_t now_ns = 0;
	uint64_t warm_ns = 0, end_ns = 0; /* measured in between */
	uint64_t sample_ns = 0;		  /* 0: no time series */
	bool measuring = false;
	sim::Rng rng;
	PacketPool pool;
	sim::Trace trace{"psn"};
	std::vector<std::unique_ptr<Port>> ports;
	std::vector<Host> hosts;
	std::vector<std::unique_ptr<Flow>> flows;
	std::vector<Sample> samples;
	uint64_t arrived = 0; /* packets at a flow's end */
	uint64_t events = 0;
	/* Of all QPs; nullptr: the default. Before run(). */
	const struct cc_ops *control = nullptr;
	/* All paths from one host to another. */
	std::function<void(uint32_t from, uint32_t to, std::vector<Path> &paths)> route;

private:
	uint64_t order(EventKind kind) { return created_++ << 8 | kind; }
	Event next();
	void handle(const Event &e);
	void arrive(Packet *p);
	void look_at_timer(Flow &f);
	void begin_measuring();
	void sample();
	void check_end() const;

	/* Most timers never expire, or late: apart, they do not make the other heap deep. */
	sim::Heap<Event> heap_, timers_;
	std::vector<std::unique_ptr<Gate>> gates_;
	uint64_t created_ = 1;
	uint32_t to_finish_ = 0; /* flows of fixed volume that are not done */
	bool ended_ = false;
};

} /* namespace netsim */

#endif
