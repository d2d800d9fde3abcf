// SPDX-License-Identifier: GPL-2.0
/* Regions of device memory. Its life and its mapping into programs are in verbs/dm.c. */
#include <linux/err.h>

#include "area.h"
#include "mem/bounds.h"
#include "mem/dm.h"
#include "mem/keys.h"
#include "mem/region.h"

struct tern_region *tern_region_reg_dm(struct tern_keys *keys, struct ib_pd *pd,
				       struct tern_area *area, u64 offset, u64 length, int access)
{
	struct tern_region *region;
	int err;

	err = tern_region_access_check(access);
	if (err)
		return ERR_PTR(err);
	if (!mem_range_within(0, tern_area_bytes(area), offset, length))
		return ERR_PTR(-EINVAL);
	region = tern_region_create(keys, pd, TERN_REGION_MAPPED);
	if (IS_ERR(region))
		return region;

	tern_area_get(area);
	region->area = area;
	err = tern_region_place(region, 0, length, access) ?:
	      tern_region_map_one(region, area->addr + offset);
	if (err) {
		tern_region_abort(keys, region);
		return ERR_PTR(err);
	}
	region->state = TERN_REGION_VALID;
	tern_key_publish(keys, region);
	return region;
}
