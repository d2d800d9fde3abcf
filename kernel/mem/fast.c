// SPDX-License-Identifier: GPL-2.0
/*
 * Fast registration. ib_map_mr_sg() fills the pending blocks of a region, even
 * while it is still valid for earlier ones. TERN_WR_REG_MR makes them current.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "charged.h"
#include "mem/bounds.h"
#include "mem/ctx.h"
#include "mem/fast.h"
#include "mem/keys.h"
#include "mem/region.h"

struct tern_region *tern_region_alloc_fast(struct tern_keys *keys, struct ib_pd *pd, u32 max_pages)
{
	struct tern_region *region;

	if (!max_pages)
		return ERR_PTR(-EINVAL);

	region = tern_region_create(keys, pd, TERN_REGION_FAST);
	if (IS_ERR(region))
		return region;

	region->max_blocks = max_pages;
	region->block = tern_table_alloc(max_pages, sizeof(*region->block));
	region->pending = tern_table_alloc(max_pages, sizeof(*region->pending));
	if (!region->block || !region->pending) {
		tern_region_abort(keys, region);
		return ERR_PTR(-ENOMEM);
	}
	tern_key_publish(keys, region);
	return region;
}

static int fast_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct tern_mr *mr = container_of(ibmr, struct tern_mr, ibmr);

	if (mr->pending_blocks == mr->region->max_blocks)
		return -ENOMEM;
	/* The device maps for virtual DMA: a DMA address is a kernel address. */
	mr->region->pending[mr->pending_blocks++] = (void *)(uintptr_t)addr;
	return 0;
}

int tern_region_map_sg(struct tern_mr *mr, struct scatterlist *sg, int sg_nents,
		       unsigned int *sg_offset)
{
	if (mr->region->kind != TERN_REGION_FAST || !is_power_of_2(mr->ibmr.page_size))
		return -EINVAL;

	mr->pending_blocks = 0;
	mr->region->fast = mr;
	return ib_sg_to_pages(&mr->ibmr, sg, sg_nents, sg_offset, fast_set_page);
}

/*
 * The consumer may have changed the iova since ib_map_mr_sg() (NFS does). Its low bits still tell
 * where in the first block the region begins.
 */
static int fast_make_current(struct tern_region *region, u32 new_key, u32 access)
{
	struct tern_mr *mr = region->fast;
	u64 off, iova;
	u32 shift;

	if (!mr || !is_power_of_2(mr->ibmr.page_size))
		return -EINVAL;

	shift = ilog2(mr->ibmr.page_size);
	off = mem_block_offset(mr->ibmr.iova, shift);
	iova = access & IB_ZERO_BASED ? 0 : mr->ibmr.iova;
	if (mem_range_wraps(iova, mr->ibmr.length) ||
	    mem_block_count(off, mr->ibmr.length, shift) > mr->pending_blocks)
		return -ERANGE;

	swap(region->block, region->pending);
	region->nblocks = mr->pending_blocks;
	mr->pending_blocks = 0;
	region->block_shift = shift;
	region->block_off = off;
	region->iova = iova;
	region->length = mr->ibmr.length;
	region->access = access;
	WRITE_ONCE(region->key, new_key);
	region->state = TERN_REGION_VALID;
	return 0;
}

static int fast_reg(const struct tern_mem_ctx *ctx, struct tern_region *region, u32 new_key,
		    u32 access)
{
	unsigned long irq;
	int err;

	if (access & IB_ACCESS_ON_DEMAND || access & ~TERN_ACCESS_KNOWN)
		return -EINVAL;
	if (access & TERN_ACCESS_ALTERS && !(access & IB_ACCESS_LOCAL_WRITE))
		return -EACCES;

	spin_lock_irqsave(&region->lock, irq);
	if (region->state != TERN_REGION_FREE)
		err = -EINVAL;
	else if (region->pd != ctx->pd)
		err = -EACCES;
	else
		err = fast_make_current(region, new_key, access);
	spin_unlock_irqrestore(&region->lock, irq);
	return err;
}

/* Kernel consumers only: compares the index of key, not the variant. */
int tern_mem_reg(const struct tern_mem_ctx *ctx, u32 key, u32 new_key, u32 access)
{
	struct tern_region *region;
	int err = -EINVAL;

	rcu_read_lock();
	region = tern_key_lookup(ctx->keys, key);
	if (region && region->kind == TERN_REGION_FAST && key >> 8 == new_key >> 8)
		err = fast_reg(ctx, region, new_key, access);
	rcu_read_unlock();
	return err;
}
