// SPDX-License-Identifier: GPL-2.0
#include "frame.h"

#include <cstring>

#include <sanitizer/asan_interface.h>

#include "crc32.h"

namespace sim {

PacketPool::~PacketPool()
{
	for (Packet &p : all_)
		frame_unfence(&p);
}

Packet *PacketPool::get()
{
	Packet *p;

	if (free_.empty())
		free_.push_back(&all_.emplace_back());
	p = free_.back();
	free_.pop_back();
	in_use_++;
	p->next = nullptr;
	p->number = 0;
	p->offset = 0;
	p->corrupted = false;
	p->stretch.reset();
	return p;
}

void PacketPool::put(Packet *p)
{
	p->stretch.reset();
	frame_unfence(p);
	in_use_--;
	free_.push_back(p);
}

uint8_t *frame_begin(Packet *p, struct pkt *k)
{
	return p->data + pkt_build(p->data, k);
}

void frame_end(Packet *p, const struct pkt *k)
{
	uint32_t n = (uint32_t)k->hdr_bytes + k->payload_bytes;

	for (uint32_t i = 0; i < k->pad_bytes; i++)
		p->data[n++] = 0;
	put_unaligned_le32(~crc32_fast(~0u, p->data, n), p->data + n);
	p->bytes = n + ICRC_BYTES;
}

void frame_copy(Packet *to, const Packet *from)
{
	to->at_ns = from->at_ns;
	to->number = from->number;
	to->offset = from->offset;
	to->bytes = from->bytes;
	to->corrupted = from->corrupted;
	to->stretch = from->stretch;
	if (!from->stretch)
		memcpy(to->data, from->data, from->bytes);
}

bool frame_intact(const Packet *p)
{
	uint32_t n = p->bytes - ICRC_BYTES;

	return p->bytes >= BTH_BYTES + ICRC_BYTES &&
	       get_unaligned_le32(p->data + n) == (u32)~crc32_fast(~0u, p->data, n);
}

void frame_fence(const Packet *p)
{
	ASAN_POISON_MEMORY_REGION(p->data + p->bytes, FRAME_MAX_BYTES - p->bytes);
}

void frame_unfence(const Packet *p)
{
	ASAN_UNPOISON_MEMORY_REGION(p->data, FRAME_MAX_BYTES);
}

} /* namespace sim */
