/* SPDX-License-Identifier: GPL-2.0 */
/* Fast registration, by kernel consumers. */
#ifndef TERN_MEM_FAST_H
#define TERN_MEM_FAST_H

#include <rdma/ib_verbs.h>

struct scatterlist;
struct tern_keys;
struct tern_mem_ctx;
struct tern_mr;
struct tern_region;

/*
 * Room for max_pages, or with gaps for as many pieces of any length and alignment. May sleep.
 * ERR_PTR.
 */
struct tern_region *tern_region_alloc_fast(struct tern_keys *keys, struct ib_pd *pd, u32 max_pages,
					   bool gaps);

/* ib_device_ops.map_mr_sg for FAST regions. */
int tern_region_map_sg(struct tern_mr *mr, struct scatterlist *sg, int sg_nents,
		       unsigned int *sg_offset);

/* TERN_WR_REG_MR: 0 or -EINVAL/-EACCES/-ERANGE. Any context up to softirq. */
int tern_mem_reg(const struct tern_mem_ctx *ctx, u32 key, u32 new_key, u32 access);

#endif
