/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of one ring: header and slots in zeroed pages, charged to their
 * creator, contiguous for the kernel and for user space that maps them. It is
 * reference counted, because a mapping in the making and the owning object end
 * independently. tern-abi.h says what the words in it mean; sq.h, rq.h and cq.h
 * advance them.
 */
#ifndef TERN_QUEUE_RING_H
#define TERN_QUEUE_RING_H

#include <linux/kref.h>
#include <linux/types.h>

#include "queue/move.h"
#include "tern-abi.h"

struct page;
struct vm_area_struct;

struct tern_ring {
	struct kref ref;
	struct tern_ring_hdr *hdr;
	void *slots;
	struct page **pages;	/* of header and slots */
	u32 nslots;		/* power of two */
	u32 stride;		/* bytes */
	u32 map_bytes;		/* page-rounded */
};

/* nslots is rounded up to a power of two. May sleep. ERR_PTR(-ENOMEM/-EINVAL). */
struct tern_ring *tern_ring_create(u32 nslots, u32 stride);
void tern_ring_get(struct tern_ring *ring);
void tern_ring_put(struct tern_ring *ring);	/* NULL is fine; may sleep */

static inline void *tern_ring_slot(const struct tern_ring *ring, u32 index)
{
	return ring->slots + (size_t)(index & (ring->nslots - 1)) * ring->stride;
}

/* Maps all of the ring. The mapping has its size. */
int tern_ring_mmap(const struct tern_ring *ring, struct vm_area_struct *vma);

/* Begins a move from the old ring, whose consumer is at cons, to the new one. */
static inline void tern_ring_move_begin(struct tern_move *move, const struct tern_ring *to,
					const struct tern_ring *from, u32 cons)
{
	tern_move_begin(move, (struct tern_slots){ to->slots, to->nslots },
			(struct tern_slots){ from->slots, from->nslots }, from->stride, cons);
}

#endif
