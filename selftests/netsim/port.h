/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue and the link behind it, in one direction: rate, delay, tail drop, marks, losses,
 * overtaking and pauses (IEEE 802.1Qbb, one class). A host's CPU is a port as well, with a time for
 * each packet.
 */
#ifndef TERN_NETSIM_PORT_H
#define TERN_NETSIM_PORT_H

#include "chance.h"
#include "measure.h"
#include "packet.h"

namespace netsim {

class Gate;
class Network;

/*
 * Of the switch at the end of a link: when what came by it and is queued there exceeds pause_bytes,
 * the link's sender is told to stop, and at resume_bytes to go on. Pauses take the link's delay,
 * and no room on the link back.
 */
struct PauseCfg {
	uint32_t pause_bytes = 0, resume_bytes = 0; /* 0: no pauses */
};

struct PortCfg {
	double gbps = 0;	    /* 0: only pkt_ns counts */
	uint64_t delay_ns = 0;	    /* of the link, */
	uint32_t jitter_ns = 0;	    /* and up to this more; packets stay in order */
	uint32_t limit_bytes = 0;   /* of the queue; 0: none */
	uint32_t pkt_ns = 0;	    /* that each packet takes besides, */
	uint32_t pkt_jitter_ns = 0; /* and up to this more */
	LossCfg loss;
	MarkCfg mark;
	ReorderCfg reorder;
	PauseCfg pause;
};

struct PortStats {
	uint64_t tail_drops = 0;
	uint64_t mark_drops = 0; /* instead of a mark */
	uint64_t marks = 0;
	uint64_t lost = 0; /* on the link */
	uint64_t pauses = 0;

	uint64_t dropped() const { return tail_drops + mark_drops + lost; }
};

class Port {
public:
	Port(Network &net, const PortCfg &cfg, uint64_t seed);

	void enqueue(Packet *p);
	/* EV_FREE: the link may be free. */
	void free();
	/* EV_WIRE: the next packet in order arrives. */
	Packet *arrives();
	/* EV_ALONE: a packet that overtakes or is late arrives. */
	void alone() { alone_--; }
	/* EV_PAUSE, EV_RESUME. */
	void pause(bool on);

	uint32_t queued_bytes() const { return queued_bytes_; }
	/* Packets in the queue and on the link. */
	uint64_t held() const { return queue_.count() + wire_.count() + alone_; }

	PortCfg cfg;
	PortStats stats;
	Histogram delay;	 /* in the queue, while measuring, if watched */
	uint32_t most_bytes = 0; /* queued, since the beginning */
	bool watched = false;
	Gate *gate = nullptr; /* of the host whose NIC this is */

private:
	bool admit(Packet *p);
	void transmit(Packet *p);
	void deliver(Packet *p, uint64_t at_ns);
	void look_later();
	void queued(uint32_t bytes);
	void unqueued(uint32_t bytes);

	Network &net_;
	sim::Rng rng_;
	Loss loss_;
	uint32_t overtakes_;
	uint64_t ps_per_byte_;
	uint64_t rest_ps_ = 0; /* of a nanosecond */
	uint64_t free_ns_ = 0; /* end of the transmission of the last packet */
	uint64_t last_ns_ = 0; /* arrival of the last packet in order */
	uint64_t look_ns_ = 0; /* the next EV_FREE; 0: none */
	uint32_t queued_bytes_ = 0;
	PacketQueue queue_, wire_;
	uint64_t alone_ = 0;
	/* At the end of the link: what came by it and is queued there. */
	uint64_t ahead_bytes_ = 0;
	bool asked_ = false;  /* to pause, by the other end */
	bool paused_ = false; /* that has arrived here */
};

} /* namespace netsim */

#endif
