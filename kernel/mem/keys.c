// SPDX-License-Identifier: GPL-2.0
/*
 * Keys: index << 8 | variant. Indices are handed out cyclically from a random
 * start and variants at random, so that a stale key hits nothing for long. For
 * the same reason the newest indices all differ at their ends: those regions
 * are found in an array, without a walk through the tree.
 */
#include <linux/random.h>

#include "charged.h"
#include "mem/region.h"

#define KEY_INDEX_LIMIT		XA_LIMIT(1, (1u << (32 - TERN_KEY_VARIANT_BITS)) - 1)

void tern_keys_init(struct tern_keys *keys, struct ib_device *ibdev)
{
	xa_init_flags(&keys->xa, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	keys->next = get_random_u32() >> TERN_KEY_VARIANT_BITS;
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
			      TERN_GFP_CHARGED);
	if (err < 0)
		return err;
	region->key = index << TERN_KEY_VARIANT_BITS | (get_random_u32() & 0xff);
	return 0;
}

/* The slot exists, so storing allocates nothing and cannot fail. */
void tern_key_publish(struct tern_keys *keys, struct tern_region *region)
{
	u32 index = region->key >> TERN_KEY_VARIANT_BITS;

	WARN_ON(xa_is_err(xa_store(&keys->xa, index, region, GFP_KERNEL)));
	rcu_assign_pointer(*tern_keys_newest(keys, index), region);
}

void tern_key_release(struct tern_keys *keys, u32 key)
{
	u32 index = key >> TERN_KEY_VARIANT_BITS;
	struct tern_region __rcu **newest = tern_keys_newest(keys, index);
	struct tern_region *region;

	xa_erase(&keys->xa, index);
	rcu_read_lock();
	region = rcu_dereference(*newest);
	if (tern_key_has_index(region, index))
		/* Another's may be published there just now. */
		cmpxchg(newest, RCU_INITIALIZER(region), NULL);
	rcu_read_unlock();
}
