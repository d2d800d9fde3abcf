// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a region: create, kill, free; and DMA regions, which need no more
 * than that. A region is found by RCU. Each user of its memory holds a
 * reference. USER and DMA regions never change once published; FAST regions and
 * windows change under their lock.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "charged.h"
#include "mem/keys.h"
#include "mem/odp.h"
#include "mem/region.h"

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
	ib_umem_release(region->umem);
	tern_odp_free(region->odp);
}

void tern_region_abort(struct tern_keys *keys, struct tern_region *region)
{
	tern_key_release(keys, region->key);
	region_free_memory(region);
	kfree(region);
}

void tern_region_drain(struct tern_region *region)
{
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
	int err = tern_region_kill(region, NULL);

	if (err)
		return err;
	tern_key_release(keys, region->key);
	tern_region_drain(region);
	tern_region_free(region);
	return 0;
}
