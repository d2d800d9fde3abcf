/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A packet without its bytes: what an engine needs to judge it, how long it is on the wire, where
 * it goes, and which bytes of its flow it carries. Only the oracles look at the last.
 */
#ifndef TERN_NETSIM_PACKET_H
#define TERN_NETSIM_PACKET_H

#include <cstdint>
#include <deque>
#include <vector>

extern "C" {
#include "pkt.h"
}

namespace netsim {

class Flow;
class Port;

constexpr uint32_t MAX_HOPS = 8;
constexpr uint32_t ETHERNET_BYTES = 38; /* header, FCS, preamble and gap */
constexpr uint32_t ETHERNET_MIN = 84;	/* of a frame, preamble and gap included */
constexpr uint32_t IP_BYTES = 20;
constexpr uint32_t UDP_BYTES = 8;

/* The ports that a packet passes, the sender's first. */
struct Path {
	uint32_t hops = 0;
	Port *hop[MAX_HOPS];
};

/* Segments [first, end). */
struct Block {
	uint32_t first, end;
};

/* A TCP segment, or an ACK. Segments are numbered from 0, not by bytes. */
struct Segment {
	uint32_t number; /* of the data */
	uint32_t ack;	 /* all before it are received */
	uint32_t blocks; /* used of: */
	Block sack[3];
};

struct Packet {
	Packet *next;
	uint64_t at_ns; /* queued since; on the wire: when it arrives */
	Flow *flow;
	const Path *path;
	uint32_t hop;
	uint32_t bytes;	   /* on the wire, ETHERNET_BYTES included */
	uint64_t position; /* of its first byte of payload, since the flow began */
	bool to_source;	   /* of the flow */
	bool ect, ce;
	union {
		struct pkt k;
		Segment tcp;
	};

	/* The port that it came by; nullptr: it is at its host's NIC. */
	Port *from() const { return hop ? path->hop[hop - 1] : nullptr; }
};

class PacketPool {
public:
	/* Only the members before the union are set. */
	Packet *get()
	{
		Packet *p;

		if (free_.empty()) {
			p = &all_.emplace_back();
		} else {
			p = free_.back();
			free_.pop_back();
		}
		in_use_++;
		taken_++;
		p->next = nullptr;
		p->at_ns = 0;
		p->hop = 0;
		p->ect = false;
		p->ce = false;
		return p;
	}

	void put(Packet *p)
	{
		in_use_--;
		free_.push_back(p);
	}

	uint64_t in_use() const { return in_use_; }
	uint64_t taken() const { return taken_; }

private:
	std::deque<Packet> all_;
	std::vector<Packet *> free_;
	uint64_t in_use_ = 0, taken_ = 0;
};

/* Packets in order. */
class PacketQueue {
public:
	bool empty() const { return !first_; }
	Packet *front() const { return first_; }
	uint32_t count() const { return count_; }

	void push(Packet *p)
	{
		p->next = nullptr;
		*end_ = p;
		end_ = &p->next;
		count_++;
	}

	Packet *pop()
	{
		Packet *p = first_;

		first_ = p->next;
		if (!first_)
			end_ = &first_;
		count_--;
		return p;
	}

private:
	Packet *first_ = nullptr, **end_ = &first_;
	uint32_t count_ = 0;
};

} /* namespace netsim */

#endif
