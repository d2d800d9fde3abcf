// SPDX-License-Identifier: GPL-2.0
/*
 * Keys: index << 8 | variant. Indices are handed out cyclically from a random
 * start and variants at random, so that a stale key hits nothing for long.
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

/* The slot exists, so storing allocates nothing and cannot fail. */
void tern_key_publish(struct tern_keys *keys, struct tern_region *region)
{
	WARN_ON(xa_is_err(xa_store(&keys->xa, region->key >> KEY_VARIANT_BITS, region,
				   GFP_KERNEL)));
}

void tern_key_release(struct tern_keys *keys, u32 key)
{
	xa_erase(&keys->xa, key >> KEY_VARIANT_BITS);
}

struct tern_region *tern_key_lookup(const struct tern_keys *keys, u32 key)
{
	return xa_load((struct xarray *)&keys->xa, key >> KEY_VARIANT_BITS);
}
