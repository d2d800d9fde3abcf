// SPDX-License-Identifier: GPL-2.0
/*
 * User memory: pins it, cuts it into the largest contiguous blocks, and changes
 * a registration by replacing it.
 */
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "charged.h"
#include "mem/bounds.h"
#include "mem/keys.h"
#include "mem/odp.h"
#include "mem/region.h"
#include "mem/user.h"

/* From a page to 1 GiB: no page is larger. */
#define USER_BLOCK_MAX_SHIFT	30

static int user_fill_blocks(struct tern_region *region, struct ib_umem *umem, unsigned long pgsz)
{
	struct ib_block_iter iter;
	size_t nblocks = ib_umem_num_dma_blocks(umem, pgsz);
	size_t n = 0;

	if (nblocks > U32_MAX)
		return -EINVAL;
	region->block = tern_table_alloc(nblocks, sizeof(*region->block));
	if (!region->block)
		return -ENOMEM;

	/* The device maps for virtual DMA: a DMA address is a kernel address. */
	rdma_umem_for_each_dma_block(umem, &iter, pgsz) {
		if (WARN_ON_ONCE(n == nblocks))
			return -EINVAL;
		region->block[n++] = (void *)(uintptr_t)rdma_block_iter_dma_address(&iter);
	}
	if (WARN_ON_ONCE(n != nblocks))
		return -EINVAL;
	region->nblocks = nblocks;
	return 0;
}

/*
 * May the pinned pages be registered so? Only persistent memory can promise what FLUSH_PERSISTENT
 * does.
 */
static int user_pages_suit(struct ib_umem *umem, int access)
{
	struct scatterlist *sg;
	unsigned int i;

	if (!(access & IB_ACCESS_FLUSH_PERSISTENT))
		return 0;
	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i)
		if (!tern_memory_is_persistent(sg_phys(sg), sg->length))
			return -EINVAL;
	return 0;
}

/*
 * Pins length bytes at start. Blocks are laid out along the first byte's kernel address, not along
 * the iova, which may have any alignment.
 */
static int user_map(struct tern_region *region, struct ib_device *ibdev, u64 start, u64 length,
		    int access)
{
	struct ib_umem *umem;
	unsigned long pgsz;
	u64 layout;
	int err;

	if (!length)
		return 0;
	if ((unsigned long)start != start || (size_t)length != length)
		return -EINVAL;

	umem = ib_umem_get_va(ibdev, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	err = user_pages_suit(umem, access);
	if (err)
		goto release;

	layout = sg_dma_address(umem->sgt_append.sgt.sgl) + ib_umem_offset(umem);
	layout &= BIT_ULL(USER_BLOCK_MAX_SHIFT) - 1;
	pgsz = ib_umem_find_best_pgsz(umem, GENMASK(USER_BLOCK_MAX_SHIFT, PAGE_SHIFT), layout);
	if (!pgsz) {
		err = -EINVAL;
		goto release;
	}

	err = user_fill_blocks(region, umem, pgsz);
	if (err)
		goto free_blocks;

	region->block_shift = ilog2(pgsz);
	region->block_off = mem_block_offset(layout, region->block_shift);
	region->umem = umem;
	return 0;

free_blocks:
	kvfree(region->block);
	region->block = NULL;
release:
	ib_umem_release(umem);
	return err;
}

/*
 * On demand: what is there now does not matter, nor whether it is persistent, which a FLUSH finds
 * out (odp.h). All of the address space is an implicit region.
 */
static int user_attach(struct tern_region *region, u64 start, u64 length,
		       struct workqueue_struct *wq)
{
	if (mem_range_wraps(start, length))
		return -EINVAL;
	region->block_off = start;
	return tern_odp_attach(region, wq);
}

struct tern_region *tern_region_reg_user(struct tern_keys *keys, struct ib_pd *pd, u64 start,
					 u64 length, u64 iova, int access,
					 struct workqueue_struct *wq)
{
	struct tern_region *region;
	int err;

	err = tern_region_access_check(access);
	if (err)
		return ERR_PTR(err);

	region = tern_region_create(keys, pd, access & IB_ACCESS_ON_DEMAND ? TERN_REGION_ODP :
									   TERN_REGION_USER);
	if (IS_ERR(region))
		return region;

	err = tern_region_place(region, iova, length, access);
	if (!err)
		err = region->kind == TERN_REGION_ODP ?
			      user_attach(region, start, length, wq) :
			      user_map(region, keys->ibdev, start, length, access);
	if (err) {
		tern_region_abort(keys, region);
		return ERR_PTR(err);
	}

	region->state = TERN_REGION_VALID;
	tern_key_publish(keys, region);
	return region;
}

/* The replacement's memory: pinned anew, or to be inherited (*pinned is false). */
static int rereg_map(struct tern_region *new, struct ib_device *ibdev, const struct tern_mr *mr,
		     int flags, u64 start, u64 length, u64 iova, bool *pinned)
{
	const struct tern_region *old = mr->region;
	const struct ib_umem *umem = old->umem;
	int err;

	*pinned = true;
	if (flags & IB_MR_REREG_TRANS) {
		err = tern_region_place(new, iova, length, new->access);
		return err ?: user_map(new, ibdev, start, length, new->access);
	}

	/*
	 * ib_mr keeps the requested iova, in case ZERO_BASED is added or removed with the access.
	 */
	err = tern_region_place(new, mr->ibmr.iova, old->length, new->access);
	if (err)
		return err;

	/* Pages pinned for reading are not those that writes must go to (copy on write). */
	if (umem && !umem->writable && ib_access_writable(new->access)) {
		if (umem->owning_mm != current->mm)
			return -EINVAL;
		return user_map(new, ibdev, umem->address, umem->length, new->access);
	}

	err = umem ? user_pages_suit(old->umem, new->access) : 0;
	if (err)
		return err;
	*pinned = false;
	new->block_shift = old->block_shift;
	new->block_off = old->block_off;
	new->nblocks = old->nblocks;
	new->block = old->block;
	return 0;
}

int tern_region_rereg_user(struct tern_keys *keys, struct tern_mr *mr, int flags, u64 start,
			   u64 length, u64 iova, int access, struct ib_pd *pd)
{
	struct tern_region *old = mr->region;
	struct tern_region *new;
	bool pinned;
	u32 own_key;
	int err;

	if (old->kind == TERN_REGION_ODP || flags & ~IB_MR_REREG_SUPPORTED)
		return -EOPNOTSUPP;
	if (old->kind != TERN_REGION_USER)
		return -EINVAL;
	if (flags & IB_MR_REREG_ACCESS) {
		err = tern_region_access_check(access);
		if (err)
			return err;
	}

	/* It takes the old region's key; its own is given back. */
	new = tern_region_create(keys, flags & IB_MR_REREG_PD ? pd : old->pd, TERN_REGION_USER);
	if (IS_ERR(new))
		return PTR_ERR(new);
	new->access = flags & IB_MR_REREG_ACCESS ? access : old->access;

	err = rereg_map(new, keys->ibdev, mr, flags, start, length, iova, &pinned);
	if (err)
		goto abort;
	own_key = new->key;
	new->key = old->key;
	new->state = TERN_REGION_VALID;
	/* From here on lookups get the new region: first by way of the old one, then by the key. */
	err = tern_region_kill(old, new);
	if (err)
		goto disinherit;
	tern_key_release(keys, own_key);
	tern_key_publish(keys, new);
	WRITE_ONCE(mr->region, new);

	tern_region_drain(old);
	if (!pinned) {
		new->umem = old->umem;
		old->umem = NULL;
		old->block = NULL;
	}
	tern_region_free(old);
	return 0;

disinherit:
	new->key = own_key;
	if (!pinned)
		new->block = NULL;
abort:
	tern_region_abort(keys, new);
	return err;
}
