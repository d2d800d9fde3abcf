// SPDX-License-Identifier: GPL-2.0
/*
 * Keys: index << 8 | variant. Both are random, so known keys tell nothing about
 * others, and a stale key does not match (RFC 5040 8.1.1). An array finds the
 * regions published last without a walk through the tree. A new region takes a
 * free place there, if a few random tries find one.
 */
#include <linux/random.h>

#include "charged.h"
#include "mem/keys.h"

/* With half of the places free, all tries fail once in 256 times. */
#define THROWS			8
#define KEY_INDEX_LIMIT		XA_LIMIT(1, (1u << (32 - TERN_KEY_VARIANT_BITS)) - 1)

void tern_keys_init(struct tern_keys *keys, struct ib_device *ibdev)
{
	xa_init_flags(&keys->xa, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	spin_lock_init(&keys->bound_lock);
	keys->ibdev = ibdev;
}

void tern_keys_destroy(struct tern_keys *keys)
{
	WARN_ON(!xa_empty(&keys->xa));
	xa_destroy(&keys->xa);
}

static u32 throw_index(struct tern_keys *keys)
{
	struct tern_region __rcu **place;
	u32 index, throws = 0;

	do {
		index = get_random_u32() >> TERN_KEY_VARIANT_BITS;
		place = tern_keys_newest(keys, index);
	} while (rcu_access_pointer(*place) && ++throws < THROWS);
	return index;
}

int tern_key_reserve(struct tern_keys *keys, struct tern_region *region)
{
	u32 from = throw_index(keys);
	u32 index;
	int err;

	/* The first free index from there on, wrapping at the end. */
	err = xa_alloc_cyclic(&keys->xa, &index, NULL, KEY_INDEX_LIMIT, &from, TERN_GFP_CHARGED);
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
		/* Another region may be published there just now. */
		cmpxchg(newest, RCU_INITIALIZER(region), NULL);
	rcu_read_unlock();
}
