/* SPDX-License-Identifier: GPL-2.0 */
/* Regions of device memory, which is an area of the kernel's. */
#ifndef TERN_MEM_DM_H
#define TERN_MEM_DM_H

#include <rdma/ib_verbs.h>

struct tern_area;
struct tern_keys;
struct tern_region;

/*
 * Publishes [offset, offset + length) of the area, which the region holds. Addresses are offsets:
 * access has IB_ZERO_BASED. May sleep. ERR_PTR.
 */
struct tern_region *tern_region_reg_dm(struct tern_keys *keys, struct ib_pd *pd,
				       struct tern_area *area, u64 offset, u64 length, int access);

#endif
