/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets as bytes, from BTH to ICRC, and beside them what they really carry, which only the
 * oracles read. A pool reuses them.
 */
#ifndef TERN_SIM_FRAME_H
#define TERN_SIM_FRAME_H

#include <deque>
#include <memory>
#include <vector>

extern "C" {
#include "run.h"
}

namespace sim {

enum { FRAME_MAX_BYTES = PKT_HDR_MAX_BYTES + 4096 + 3 + ICRC_BYTES };

/* Many packets of a message, handed over in memory: no bytes on the wire, so no corruption. */
struct Stretch {
	struct pkt k;
	std::vector<uint8_t> payload;
};

struct Packet {
	Packet *next;
	uint64_t at_ns;	 /* arrival */
	uint64_t number; /* requests: of the work request */
	uint32_t offset; /* requests: of the payload in its message */
	uint32_t bytes;
	bool corrupted;
	std::shared_ptr<const Stretch> stretch; /* instead of data */
	uint8_t data[FRAME_MAX_BYTES];

	const uint8_t *payload(const struct pkt &k) const
	{
		return stretch ? stretch->payload.data() : data + k.hdr_bytes;
	}
};

class PacketPool {
public:
	~PacketPool();
	Packet *get();
	void put(Packet *p);
	size_t in_use() const { return in_use_; }

private:
	std::deque<Packet> all_;
	std::vector<Packet *> free_;
	size_t in_use_ = 0;
};

/* Write headers; returns where the k->payload_bytes bytes of payload go. */
uint8_t *frame_begin(Packet *p, struct pkt *k);
/* The payload is in place: add pad and ICRC. */
void frame_end(Packet *p, const struct pkt *k);
/* The whole run as a stretch; fill() writes the payload. */
template <class Fill> void frame_stretch(Packet *p, const struct run &run, Fill fill)
{
	auto s = std::make_shared<Stretch>();

	run_stretch(&run, &s->k);
	s->payload.resize(s->k.payload_bytes + 1); /* never without an address */
	fill(s->payload.data(), s->k.payload_bytes);
	p->bytes = BTH_BYTES;
	p->stretch = std::move(s);
}
/* Copy everything except next. */
void frame_copy(Packet *to, const Packet *from);
/* Does the ICRC match the bytes? */
bool frame_intact(const Packet *p);

/* Sanitizer builds: poison the bytes after p->bytes while the packet is on the wire. */
void frame_fence(const Packet *p);
void frame_unfence(const Packet *p);

} /* namespace sim */

#endif
