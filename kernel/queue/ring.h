/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of one ring: header and slots in an area, which programs may map. The
 * ring belongs to its queue; a mapping holds the area. tern-abi.h says what the
 * words in it mean; sq.h, rq.h and cq.h advance them.
 */
#ifndef TERN_QUEUE_RING_H
#define TERN_QUEUE_RING_H

#include <linux/types.h>

#include "queue/move.h"
#include "tern-abi.h"

struct tern_area;

struct tern_ring {
	struct tern_area *area;
	struct tern_ring_hdr *hdr;
	void *slots;
	u32 nslots;		/* power of two */
	u32 stride;		/* bytes */
};

/* nslots is rounded up to a power of two. May sleep. ERR_PTR(-ENOMEM/-EINVAL). */
struct tern_ring *tern_ring_create(u32 nslots, u32 stride);
void tern_ring_destroy(struct tern_ring *ring);	/* NULL is fine; may sleep */

/* Of the area. */
static inline u64 tern_ring_bytes(u32 nslots, u32 stride)
{
	return TERN_RING_HDR_BYTES + (u64)nslots * stride;
}

static inline void *tern_ring_slot(const struct tern_ring *ring, u32 index)
{
	return ring->slots + (size_t)(index & (ring->nslots - 1)) * ring->stride;
}

/* Begins a move from the old ring, whose consumer is at cons, to the new one. */
static inline void tern_ring_move_begin(struct tern_move *move, const struct tern_ring *to,
					const struct tern_ring *from, u32 cons)
{
	tern_move_begin(move, (struct tern_slots){ to->slots, to->nslots },
			(struct tern_slots){ from->slots, from->nslots }, from->stride, cons);
}

#endif
