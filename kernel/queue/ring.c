// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a ring: pages that the kernel sees as one area, and that user space
 * may map as a whole.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "charged.h"
#include "queue/ring.h"

static_assert(sizeof(struct tern_ring_hdr) == TERN_RING_HDR_BYTES);

/* A sane limit. It keeps the rounding and the 32-bit map size from overflow. */
#define RING_MAX_SLOTS	(1u << 24)

static void free_pages_of(struct page **pages, u32 n)
{
	while (n)
		__free_page(pages[--n]);
	kvfree(pages);
}

/* As vmalloc_user(), but charged. */
static bool area_alloc(struct tern_ring *ring)
{
	u32 npages = ring->map_bytes >> PAGE_SHIFT;
	struct page **pages = tern_table_alloc(npages, sizeof(*pages));
	u32 n;

	if (!pages)
		return false;
	for (n = 0; n < npages; n++) {
		if (fatal_signal_pending(current))
			goto free;
		pages[n] = alloc_page(TERN_GFP_CHARGED | __GFP_ZERO);
		if (!pages[n])
			goto free;
		cond_resched();
	}
	ring->hdr = vmap(pages, npages, VM_MAP | VM_USERMAP, PAGE_KERNEL);
	if (!ring->hdr)
		goto free;
	ring->pages = pages;
	return true;
free:
	free_pages_of(pages, n);
	return false;
}

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

	ring = kzalloc(sizeof(*ring), TERN_GFP_CHARGED);
	if (!ring)
		return ERR_PTR(-ENOMEM);

	kref_init(&ring->ref);
	ring->nslots = nslots;
	ring->stride = stride;
	ring->map_bytes = bytes;
	if (!area_alloc(ring)) {
		kfree(ring);
		return ERR_PTR(-ENOMEM);
	}
	ring->slots = (void *)ring->hdr + TERN_RING_HDR_BYTES;
	return ring;
}

static void ring_release(struct kref *ref)
{
	struct tern_ring *ring = container_of(ref, struct tern_ring, ref);

	vunmap(ring->hdr);
	free_pages_of(ring->pages, ring->map_bytes >> PAGE_SHIFT);
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

int tern_ring_mmap(const struct tern_ring *ring, struct vm_area_struct *vma)
{
	return remap_vmalloc_range(vma, ring->hdr, 0);
}
