/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of mem/ share and nobody else uses: key slots, the life of a
 * struct tern_region, and the wait for spans.
 */
#ifndef TERN_MEM_REGION_H
#define TERN_MEM_REGION_H

#include <linux/instruction_pointer.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>

#include "mem/mem.h"

#define TERN_ACCESS_REMOTE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
				 IB_ACCESS_REMOTE_ATOMIC)
/* Rights that change memory from afar, and so need IB_ACCESS_LOCAL_WRITE behind them. */
#define TERN_ACCESS_ALTERS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)
/* What a region may be registered with; the optional range is hints. */
#define TERN_ACCESS_KNOWN	(IB_ACCESS_LOCAL_WRITE | TERN_ACCESS_REMOTE | IB_ACCESS_MW_BIND | \
				 IB_ZERO_BASED | IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

static inline bool tern_region_is_window(const struct tern_region *region)
{
	return region->kind == TERN_REGION_MW1 || region->kind == TERN_REGION_MW2;
}

/* keys.c: reserve a key (lookups find nothing), put the region there, take the slot back. */
int tern_key_reserve(struct tern_keys *keys, struct tern_region *region);
void tern_key_publish(struct tern_keys *keys, struct tern_region *region);
void tern_key_release(struct tern_keys *keys, u32 key);

#define TERN_KEY_VARIANT_BITS	8

static inline struct tern_region __rcu **tern_keys_newest(struct tern_keys *keys, u32 index)
{
	return &keys->newest[index % ARRAY_SIZE(keys->newest)];
}

static inline bool tern_key_has_index(const struct tern_region *region, u32 index)
{
	/* The variant may change meanwhile. */
	return region && READ_ONCE(region->key) >> TERN_KEY_VARIANT_BITS == index;
}

/*
 * By index: the caller compares the whole key. Under RCU only, for which BHs or
 * IRQs off are enough; what is done to a FAST region or a window is done under
 * its lock, state not DEAD.
 */
static inline struct tern_region *tern_key_lookup(struct tern_keys *keys, u32 key)
{
	u32 index = key >> TERN_KEY_VARIANT_BITS;
	struct tern_region *region = rcu_dereference_check(*tern_keys_newest(keys, index),
							   rcu_read_lock_bh_held());

	return tern_key_has_index(region, index) ? region : xa_load(&keys->xa, index);
}

/* region.c: a region of a reserved key, FREE and not yet published. ERR_PTR(-ENOMEM/-EBUSY). */
struct tern_region *tern_region_create(struct tern_keys *keys, struct ib_pd *pd,
				       enum tern_region_kind kind);
/* Undoes create of a region that was never published. */
void tern_region_abort(struct tern_keys *keys, struct tern_region *region);
/* After unpublishing: drop the owner's reference and sleep until the last span is gone. */
void tern_region_drain(struct tern_region *region);
/* After draining: free the memory, and the region a grace period later. */
void tern_region_free(struct tern_region *region);
/*
 * FREE or VALID to DEAD; -EBUSY if windows are bound. instead: the region that replaces it, or
 * NULL. Those who found the dead one by its key go on with that.
 */
int tern_region_kill(struct tern_region *region, struct tern_region *instead);

/*
 * What spans must not do (mem.h), as lockdep sees it: to hold one is to have a lock that is only
 * ever tried, and that many have; to wait for the last is to take it alone.
 */
#ifdef CONFIG_LOCKDEP
extern struct lockdep_map tern_span_map;
#endif

static __always_inline void tern_span_held(void)
{
	lock_acquire(&tern_span_map, 0, 1, 2, 1, NULL, _THIS_IP_);
}

static __always_inline void tern_span_left(void)
{
	lock_release(&tern_span_map, _THIS_IP_);
}

static __always_inline void tern_spans_waited_for(void)
{
	unsigned long irq;

	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	/* Who waits holds nothing, so an interrupt meanwhile may wait too: as if there were none. */
	local_irq_save(irq);
	lock_acquire(&tern_span_map, 0, 0, 0, 1, NULL, _THIS_IP_);
	lock_release(&tern_span_map, _THIS_IP_);
	local_irq_restore(irq);
}

/*
 * From CLOSING to FREE: spin until no span of the region is left, however long. No new span
 * comes meanwhile. The holder of a span waits for nothing, so this does not take long.
 */
void tern_region_close(struct tern_region *region);

static inline void tern_region_put(struct tern_region *region)
{
	if (refcount_dec_and_test(&region->ref))
		complete(&region->released);
}

/*
 * window.c: end a window's binding, under its lock, leaving it in state (not VALID). The
 * MR returned (or NULL) stays bound until nobody uses the window's spans.
 */
struct tern_region *tern_window_unbind_locked(struct tern_keys *keys, struct tern_region *window,
					      enum tern_region_state state);
/* The spans are gone. mr may be NULL. */
static inline void tern_window_drop_mr(struct tern_region *mr)
{
	if (mr)
		atomic_dec(&mr->bound_windows);
}

#endif
