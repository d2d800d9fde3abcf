// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a ring: one zeroed area that user space may map as a whole.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "queue/ring.h"

static_assert(sizeof(struct tern_ring_hdr) == TERN_RING_HDR_BYTES);

/* More is not a queue: it keeps the rounding and the 32-bit map size sound. */
#define RING_MAX_SLOTS	(1u << 24)

struct tern_ring *tern_ring_create(u32 nslots, u32 stride)
{
	struct tern_ring *ring;
	u64 bytes;

	if (!nslots || nslots > RING_MAX_SLOTS || !stride || stride % sizeof(u64))
		return ERR_PTR(-EINVAL);

	nslots = roundup_pow_of_two(nslots);
	bytes = PAGE_ALIGN(TERN_RING_HDR_BYTES + (u64)nslots * stride);
	if (bytes > U32_MAX)
		return ERR_PTR(-EINVAL);

	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);

	ring->hdr = vmalloc_user(bytes);
	if (!ring->hdr) {
		kfree(ring);
		return ERR_PTR(-ENOMEM);
	}

	kref_init(&ring->ref);
	ring->slots = (void *)ring->hdr + TERN_RING_HDR_BYTES;
	ring->nslots = nslots;
	ring->stride = stride;
	ring->map_bytes = bytes;
	return ring;
}

static void ring_release(struct kref *ref)
{
	struct tern_ring *ring = container_of(ref, struct tern_ring, ref);

	vfree(ring->hdr);
	kfree(ring);
}

void tern_ring_get(struct tern_ring *ring)
{
	kref_get(&ring->ref);
}

void tern_ring_put(struct tern_ring *ring)
{
	if (ring)
		kref_put(&ring->ref, ring_release);
}
