// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a region: create, kill, free; and DMA regions, which need no more
 * than that. A region is found by RCU. Each user of its memory holds a
 * reference. USER and DMA regions never change once published; the others change
 * under their lock.
 */
#include <linux/err.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "area.h"
#include "charged.h"
#include "mem/bounds.h"
#include "mem/dmabuf.h"
#include "mem/keys.h"
#include "mem/odp.h"
#include "mem/region.h"

/* A block that is longer than all memory. */
#define ONE_BLOCK_SHIFT	63

int tern_region_access_check(int access)
{
	if (access & ~TERN_ACCESS_KNOWN)
		return -EOPNOTSUPP;
	if (access & TERN_ACCESS_ALTERS && !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

bool tern_memory_is_persistent(phys_addr_t phys, size_t bytes)
{
	return region_intersects(phys, bytes, IORESOURCE_MEM, IORES_DESC_PERSISTENT_MEMORY) ==
	       REGION_INTERSECTS;
}

struct tern_region *tern_region_create(struct tern_keys *keys, struct ib_pd *pd,
				       enum tern_region_kind kind)
{
	struct tern_region *region = kzalloc(sizeof(*region), TERN_GFP_CHARGED);
	int err;

	if (!region)
		return ERR_PTR(-ENOMEM);

	refcount_set(&region->ref, 1);
	init_completion(&region->released);
	spin_lock_init(&region->lock);
	region->kind = kind;
	region->state = TERN_REGION_FREE;
	region->pd = pd;
	region->block_shift = PAGE_SHIFT;
	atomic_set(&region->bound_windows, 0);

	err = tern_key_reserve(keys, region);
	if (err) {
		kfree(region);
		return ERR_PTR(err);
	}
	return region;
}

static void region_free_memory(struct tern_region *region)
{
	kvfree(region->block);
	kvfree(region->pending);
	kvfree(region->piece);
	kvfree(region->pending_piece);
	ib_umem_release(region->umem);
	tern_odp_free(region->odp);
	tern_dmabuf_put(region->dmabuf);
	tern_area_put(region->area);
}

void tern_region_abort(struct tern_keys *keys, struct tern_region *region)
{
	tern_key_release(keys, region->key);
	region_free_memory(region);
	kfree(region);
}

int tern_region_place(struct tern_region *region, u64 iova, u64 length, int access)
{
	if (access & IB_ZERO_BASED)
		iova = 0;
	if (mem_range_wraps(iova, length))
		return -EINVAL;

	region->iova = iova;
	region->length = length;
	region->access = access;
	return 0;
}

int tern_region_map_one(struct tern_region *region, void *kva)
{
	region->block = tern_table_alloc(1, sizeof(*region->block));
	if (!region->block)
		return -ENOMEM;
	region->block[0] = kva;
	region->nblocks = 1;
	region->block_shift = ONE_BLOCK_SHIFT;
	return 0;
}

void tern_region_drain(struct tern_region *region)
{
	if (region->kind == TERN_REGION_ODP)
		tern_odp_stop(region->odp);
	tern_region_put(region);
	wait_for_completion(&region->released);
}

void tern_region_free(struct tern_region *region)
{
	region_free_memory(region);
	/* Lookups may still read it, under RCU and without a reference. */
	kfree_rcu(region, rcu);
}

int tern_region_kill(struct tern_region *region, struct tern_region *instead)
{
	unsigned long irq;
	int err = 0;

	/* Binding counts under this lock too, and only on VALID regions. */
	spin_lock_irqsave(&region->lock, irq);
	if (atomic_read(&region->bound_windows)) {
		err = -EBUSY;
	} else {
		region->state = TERN_REGION_DEAD;
		WRITE_ONCE(region->instead, instead);
	}
	spin_unlock_irqrestore(&region->lock, irq);
	return err;
}

#ifdef CONFIG_LOCKDEP
struct lockdep_map tern_span_map = STATIC_LOCKDEP_MAP_INIT("tern_span", &tern_span_map);
#endif

/* Admits no new span. Otherwise another waiter has already made it FREE. */
static bool is_shut(const struct tern_region *region)
{
	u8 state = READ_ONCE(region->state);

	return state == TERN_REGION_CLOSING || state == TERN_REGION_DEAD;
}

void tern_region_close(struct tern_region *region)
{
	unsigned long irq;

	tern_spans_waited_for();
	while (refcount_read(&region->ref) > 1 && is_shut(region))
		cpu_relax();
	/* What the spans copied is visible before the caller's next step. */
	smp_mb();
	spin_lock_irqsave(&region->lock, irq);
	if (region->state == TERN_REGION_CLOSING)
		region->state = TERN_REGION_FREE;
	spin_unlock_irqrestore(&region->lock, irq);
}

void tern_region_revoke(struct tern_region *region)
{
	unsigned long irq;
	bool valid;

	spin_lock_irqsave(&region->lock, irq);
	valid = region->state == TERN_REGION_VALID;
	if (valid)
		region->state = TERN_REGION_CLOSING;
	spin_unlock_irqrestore(&region->lock, irq);
	if (valid)
		tern_region_close(region);
}

struct tern_region *tern_region_get_dma(struct tern_keys *keys, struct ib_pd *pd, int access)
{
	struct tern_region *region = tern_region_create(keys, pd, TERN_REGION_DMA);

	if (IS_ERR(region))
		return region;

	region->access = access;
	region->length = U64_MAX;
	region->state = TERN_REGION_VALID;
	tern_key_publish(keys, region);
	return region;
}

int tern_region_destroy(struct tern_keys *keys, struct tern_region *region)
{
	int err;

	/* A revocation finds it alive, or without spans. */
	tern_dmabuf_lock(region->dmabuf);
	err = tern_region_kill(region, NULL);
	if (!err) {
		tern_key_release(keys, region->key);
		tern_region_drain(region);
	}
	tern_dmabuf_unlock(region->dmabuf);
	if (!err)
		tern_region_free(region);
	return err;
}
