/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one program sends to another: messages by a QP, or a TCP stream. A flow has a source host
 * and a sink host, between which payload goes; of a READ the source is the responder.
 */
#ifndef TERN_NETSIM_FLOW_H
#define TERN_NETSIM_FLOW_H

#include "packet.h"
#include "sim/rng.h"

namespace netsim {

class Network;

enum class Kind : uint8_t { WRITE, READ, SEND, TCP };

const char *kind_name(Kind kind);

struct FlowCfg {
	Kind kind = Kind::WRITE;
	uint32_t from = 0, to = 0; /* hosts: of the payload's source and sink */
	uint64_t start_ns = 0;
	uint32_t message_bytes = 65536; /* more than 0 */
	uint32_t outstanding = 64;	/* messages: another is posted when one completes */
	uint32_t messages = 0;		/* to send; 0: without end */
	uint32_t pmtu = 4096;		/* TCP: the segment's payload */
	uint8_t timeout = 14;		/* the QP's attribute: 4.096 us * 2^timeout */
	bool ect = false;		/* data may be marked */
	bool keeps = true;		/* both ends keep what comes early; else go-back-N */
	bool spray = false;		/* each packet by another path; else all by one, by hash */
	bool delayed_acks = true;	/* TCP */
};

struct FlowStats {
	uint64_t delivered = 0;	       /* bytes, in order, each counted once */
	uint64_t warm_delivered = 0;   /* of these, before measuring began */
	uint64_t sent = 0, resent = 0; /* packets with payload */
	uint64_t timeouts = 0;
	uint64_t probes = 0;
	uint64_t gaps = 0;	/* losses that the peer, or what it sent, told of */
	uint64_t marked = 0;	/* packets with CE that arrived */
	uint64_t cnps = 0;	/* that the sender got */
	uint64_t completed = 0; /* messages */
	uint64_t done_ns = 0;	/* when all were complete; 0: not yet */
	bool failed = false;	/* the QP gave up */
};

class Flow {
public:
	Flow(Network &net, const FlowCfg &cfg, uint32_t id);
	virtual ~Flow() = default;

	virtual void start() = 0;
	/* A packet has arrived; it is the flow's. */
	virtual void rx(Packet *p) = 0;
	/* 0: none. Network::arm() after each change. */
	virtual uint64_t deadline() const = 0;
	virtual void timer() = 0;
	/* Payload of a full packet, and its bytes on the wire. */
	virtual uint32_t full_payload() const = 0;
	virtual uint32_t full_bytes() const = 0;
	/* What was delivered is what was sent, as far as it is complete. */
	virtual void check_end() const = 0;
	/* Packets that have arrived, and wait for others. */
	virtual uint64_t kept() const { return 0; }

	FlowCfg cfg;
	FlowStats stats;
	uint32_t id;
	uint64_t timer_ns = 0; /* the next EV_TIMER; the network's */

protected:
	/* An empty packet; the caller sets bytes and contents. */
	Packet *get(bool to_source);
	/* By a path towards the sink, or back. */
	void send(Packet *p);
	void finish();

	Network &net_;

private:
	/* Away from the source, and towards it. */
	std::vector<Path> out_, back_;
	sim::Rng rng_;
	uint32_t hash_;
};

} /* namespace netsim */

#endif
