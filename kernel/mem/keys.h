/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The keys of a device, and the region of each. key = index << 8 | variant; no
 * region has index 0, to which TERN_NULL_LKEY belongs.
 */
#ifndef TERN_MEM_KEYS_H
#define TERN_MEM_KEYS_H

#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include "mem/region.h"

struct ib_device;

struct tern_keys {
	struct xarray xa;	/* index -> struct tern_region, RCU */
	/* By index modulo the array's size: the region published last. */
	struct tern_region __rcu *newest[256];
	spinlock_t bound_lock;	/* which type 2 windows are bound through which QP; IRQs off */
	struct ib_device *ibdev;
};

void tern_keys_init(struct tern_keys *keys, struct ib_device *ibdev);
void tern_keys_destroy(struct tern_keys *keys);	/* WARNs on leftovers */

/* ---- among the files of mem/ ---- */

/* Reserve a key (lookups find nothing), put the region there, take the slot back. */
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
 * Finds by index; the caller compares the whole key. Only under RCU; BHs or IRQs off are enough.
 * Use a region of a kind that changes (FAST, MAPPED, windows) only under its lock, and if its state
 * is not DEAD.
 */
static inline struct tern_region *tern_key_lookup(struct tern_keys *keys, u32 key)
{
	u32 index = key >> TERN_KEY_VARIANT_BITS;
	struct tern_region *region = rcu_dereference_check(*tern_keys_newest(keys, index),
							   rcu_read_lock_bh_held());

	return tern_key_has_index(region, index) ? region : xa_load(&keys->xa, index);
}

#endif
