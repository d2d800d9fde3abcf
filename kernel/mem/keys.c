// SPDX-License-Identifier: GPL-2.0
/*
 * Keys: index << 8 | variant. Indices are handed out cyclically from a random
 * start and variants at random, so that a stale key hits nothing for long. For
 * the same reason the newest indices all differ at their ends: those regions
 * are found in an array, without a walk through the tree.
 */
#include <linux/random.h>

#include "mem/region.h"

#define KEY_VARIANT_BITS	8
#define KEY_INDEX_LIMIT		XA_LIMIT(1, (1u << (32 - KEY_VARIANT_BITS)) - 1)

void tern_keys_init(struct tern_keys *keys, struct ib_device *ibdev)
{
	xa_init_flags(&keys->xa, XA_FLAGS_ALLOC1);
	keys->next = get_random_u32() >> KEY_VARIANT_BITS;
	atomic_set(&keys->bound_mw2, 0);
	keys->ibdev = ibdev;
}

void tern_keys_destroy(struct tern_keys *keys)
{
	WARN_ON(!xa_empty(&keys->xa));
	xa_destroy(&keys->xa);
}

int tern_key_reserve(struct tern_keys *keys, struct tern_region *region)
{
	u32 index;
	int err;

	err = xa_alloc_cyclic(&keys->xa, &index, NULL, KEY_INDEX_LIMIT, &keys->next,
			      GFP_KERNEL_ACCOUNT);
	if (err < 0)
		return err;
	region->key = index << KEY_VARIANT_BITS | (get_random_u32() & 0xff);
	return 0;
}

static struct tern_region __rcu **newest_of(struct tern_keys *keys, u32 index)
{
	return &keys->newest[index % ARRAY_SIZE(keys->newest)];
}

static bool has_index(const struct tern_region *region, u32 index)
{
	/* The variant may change meanwhile. */
	return region && READ_ONCE(region->key) >> KEY_VARIANT_BITS == index;
}

/* The slot exists, so storing allocates nothing and cannot fail. */
void tern_key_publish(struct tern_keys *keys, struct tern_region *region)
{
	u32 index = region->key >> KEY_VARIANT_BITS;

	WARN_ON(xa_is_err(xa_store(&keys->xa, index, region, GFP_KERNEL)));
	rcu_assign_pointer(*newest_of(keys, index), region);
}

void tern_key_release(struct tern_keys *keys, u32 key)
{
	u32 index = key >> KEY_VARIANT_BITS;
	struct tern_region __rcu **newest = newest_of(keys, index);
	struct tern_region *region;

	xa_erase(&keys->xa, index);
	rcu_read_lock();
	region = rcu_dereference(*newest);
	if (has_index(region, index))
		/* Another's may be published there just now. */
		cmpxchg(newest, RCU_INITIALIZER(region), NULL);
	rcu_read_unlock();
}

struct tern_region *tern_key_lookup(struct tern_keys *keys, u32 key)
{
	u32 index = key >> KEY_VARIANT_BITS;
	struct tern_region *region = rcu_dereference(*newest_of(keys, index));

	return has_index(region, index) ? region : xa_load(&keys->xa, index);
}
