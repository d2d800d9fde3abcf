// SPDX-License-Identifier: GPL-2.0
/*
 * Fast registration. ib_map_mr_sg() fills the pending blocks of a region, or its
 * pending pieces if it was made for lists with gaps, even while it is still valid
 * for earlier ones. TERN_WR_REG_MR makes them current.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "charged.h"
#include "mem/bounds.h"
#include "mem/ctx.h"
#include "mem/fast.h"
#include "mem/keys.h"
#include "mem/region.h"

/* What is current, and what is pending. */
static bool fast_tables_alloc(struct tern_region *region, u32 n, bool gaps)
{
	if (gaps) {
		region->piece = tern_table_alloc(n, sizeof(*region->piece));
		region->pending_piece = tern_table_alloc(n, sizeof(*region->pending_piece));
		return region->piece && region->pending_piece;
	}
	region->block = tern_table_alloc(n, sizeof(*region->block));
	region->pending = tern_table_alloc(n, sizeof(*region->pending));
	return region->block && region->pending;
}

struct tern_region *tern_region_alloc_fast(struct tern_keys *keys, struct ib_pd *pd, u32 max_pages,
					   bool gaps)
{
	struct tern_region *region;

	if (!max_pages)
		return ERR_PTR(-EINVAL);

	region = tern_region_create(keys, pd, TERN_REGION_FAST);
	if (IS_ERR(region))
		return region;

	region->max_blocks = max_pages;
	if (!fast_tables_alloc(region, max_pages, gaps)) {
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

/* With gaps: an entry of the list is a piece, whatever its length and alignment. */
static int fast_set_pieces(struct tern_mr *mr, struct scatterlist *sgl, int sg_nents,
			   unsigned int *sg_offset)
{
	u32 skip = sg_offset ? *sg_offset : 0;
	struct scatterlist *sg;
	u64 end = 0;
	int i;

	if (sg_nents <= 0 || skip > sg_dma_len(sgl))
		return -EINVAL;
	mr->ibmr.iova = sg_dma_address(sgl) + skip;
	for_each_sg(sgl, sg, sg_nents, i) {
		if (mr->pending_blocks == mr->region->max_blocks)
			break;
		end += sg_dma_len(sg) - skip;
		/* The device maps for virtual DMA: a DMA address is a kernel address. */
		mr->region->pending_piece[mr->pending_blocks++] = (struct mem_piece){
			.kva = (void *)(uintptr_t)(sg_dma_address(sg) + skip),
			.end = end,
		};
		skip = 0;
	}
	mr->ibmr.length = end;
	if (sg_offset)
		*sg_offset = 0;
	return i;
}

int tern_region_map_sg(struct tern_mr *mr, struct scatterlist *sg, int sg_nents,
		       unsigned int *sg_offset)
{
	if (mr->region->kind != TERN_REGION_FAST || !is_power_of_2(mr->ibmr.page_size))
		return -EINVAL;

	mr->pending_blocks = 0;
	mr->region->fast = mr;
	if (mr->region->piece)
		return fast_set_pieces(mr, sg, sg_nents, sg_offset);
	return ib_sg_to_pages(&mr->ibmr, sg, sg_nents, sg_offset, fast_set_page);
}

static int fast_take_pieces(struct tern_region *region, const struct tern_mr *mr)
{
	if (mr->ibmr.length > mem_pieces_end(region->pending_piece, mr->pending_blocks))
		return -ERANGE;
	swap(region->piece, region->pending_piece);
	return 0;
}

/*
 * The consumer may have changed the iova since ib_map_mr_sg() (NFS does). Its low bits still tell
 * where in the first block the region begins.
 */
static int fast_take_blocks(struct tern_region *region, const struct tern_mr *mr)
{
	u32 shift = ilog2(mr->ibmr.page_size);
	u64 off = mem_block_offset(mr->ibmr.iova, shift);

	if (mem_block_count(off, mr->ibmr.length, shift) > mr->pending_blocks)
		return -ERANGE;
	swap(region->block, region->pending);
	region->block_shift = shift;
	region->block_off = off;
	return 0;
}

static int fast_make_current(struct tern_region *region, u32 new_key, u32 access)
{
	struct tern_mr *mr = region->fast;
	u64 iova;
	int err;

	if (!mr || !is_power_of_2(mr->ibmr.page_size))
		return -EINVAL;
	iova = access & IB_ZERO_BASED ? 0 : mr->ibmr.iova;
	if (mem_range_wraps(iova, mr->ibmr.length))
		return -ERANGE;
	err = region->piece ? fast_take_pieces(region, mr) : fast_take_blocks(region, mr);
	if (err)
		return err;

	region->nblocks = mr->pending_blocks;
	mr->pending_blocks = 0;
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

	/* Whether its pages are persistent memory cannot be asked for here. */
	if (access & (IB_ACCESS_ON_DEMAND | IB_ACCESS_FLUSH_PERSISTENT) ||
	    access & ~TERN_ACCESS_KNOWN)
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
