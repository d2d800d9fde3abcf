// SPDX-License-Identifier: GPL-2.0
/* Memory of a ring: a header and slots in one area. */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "area.h"
#include "charged.h"
#include "queue/ring.h"

static_assert(sizeof(struct tern_ring_hdr) == TERN_RING_HDR_BYTES);

/* A sane limit. It keeps the rounding from overflow. */
#define RING_MAX_SLOTS	(1u << 24)

struct tern_ring *tern_ring_create(u32 nslots, u32 stride)
{
	struct tern_ring *ring;
	struct tern_area *area;

	if (!nslots || nslots > RING_MAX_SLOTS || !stride || stride % sizeof(u64))
		return ERR_PTR(-EINVAL);
	nslots = roundup_pow_of_two(nslots);
	area = tern_area_create(tern_ring_bytes(nslots, stride));
	if (IS_ERR(area))
		return ERR_CAST(area);
	ring = kzalloc(sizeof(*ring), TERN_GFP_CHARGED);
	if (!ring) {
		tern_area_put(area);
		return ERR_PTR(-ENOMEM);
	}

	ring->area = area;
	ring->hdr = area->addr;
	ring->slots = area->addr + TERN_RING_HDR_BYTES;
	ring->nslots = nslots;
	ring->stride = stride;
	return ring;
}

void tern_ring_destroy(struct tern_ring *ring)
{
	if (!ring)
		return;
	tern_area_put(ring->area);
	kfree(ring);
}
