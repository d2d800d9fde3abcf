// SPDX-License-Identifier: GPL-2.0
/*
 * The mapping of areas (rings, device memory) into user space. An mmap entry
 * holds a reference on its area, so mmap and destroy may come in any order.
 * Pages once mapped stay with the process.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "area.h"
#include "charged.h"
#include "queue/ring.h"
#include "verbs/mmap.h"
#include "verbs/ucontext.h"

struct mmap_entry {
	struct rdma_user_mmap_entry rdma;
	struct tern_area *area;		/* NULL: reserved only, not yet mappable */
};

/* An entry of that size, without an area. */
static struct rdma_user_mmap_entry *entry_insert(struct ib_ucontext *ibuc, u64 bytes)
{
	struct mmap_entry *entry;
	int err;

	if (bytes > U32_MAX)
		return ERR_PTR(-EINVAL);
	entry = kzalloc(sizeof(*entry), TERN_GFP_CHARGED);
	if (!entry)
		return ERR_PTR(-ENOMEM);
	err = rdma_user_mmap_entry_insert(ibuc, &entry->rdma, bytes);
	if (err) {
		kfree(entry);
		return ERR_PTR(err);
	}
	return &entry->rdma;
}

struct rdma_user_mmap_entry *tern_mmap_reserve(struct ib_udata *udata, u32 nslots, u32 stride,
					       struct tern_mmap *info)
{
	struct tern_ucontext *uc = rdma_udata_to_drv_context(udata, struct tern_ucontext, ibuc);
	struct rdma_user_mmap_entry *rdma;
	u64 bytes;

	nslots = roundup_pow_of_two(nslots);
	bytes = PAGE_ALIGN(tern_ring_bytes(nslots, stride));
	rdma = entry_insert(&uc->ibuc, bytes);
	if (!IS_ERR(rdma))
		*info = (struct tern_mmap){
			.offset = rdma_user_mmap_get_offset(rdma),
			.bytes = bytes,
			.slots = nslots,
			.stride = stride,
		};
	return rdma;
}

void tern_mmap_bind(struct rdma_user_mmap_entry *rdma, struct tern_area *area)
{
	struct mmap_entry *entry = container_of(rdma, struct mmap_entry, rdma);

	WARN_ON_ONCE(area->npages != rdma->npages);
	tern_area_get(area);
	smp_store_release(&entry->area, area);
}

struct rdma_user_mmap_entry *tern_mmap_ring(struct ib_udata *udata, const struct tern_ring *ring,
					    struct tern_mmap *info)
{
	struct rdma_user_mmap_entry *rdma;

	rdma = tern_mmap_reserve(udata, ring->nslots, ring->stride, info);
	if (!IS_ERR(rdma))
		tern_mmap_bind(rdma, ring->area);
	return rdma;
}

struct rdma_user_mmap_entry *tern_mmap_area(struct ib_ucontext *ibuc, struct tern_area *area)
{
	struct rdma_user_mmap_entry *rdma = entry_insert(ibuc, tern_area_bytes(area));

	if (!IS_ERR(rdma))
		tern_mmap_bind(rdma, area);
	return rdma;
}

int tern_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma = rdma_user_mmap_entry_get(ibuc, vma);
	struct tern_area *area;
	int err = -EINVAL;

	if (!rdma)
		return -EINVAL;
	area = smp_load_acquire(&container_of(rdma, struct mmap_entry, rdma)->area);
	if (area)
		err = tern_area_mmap(area, vma);
	rdma_user_mmap_entry_put(rdma);
	return err;
}

void tern_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct mmap_entry *entry = container_of(rdma, struct mmap_entry, rdma);

	tern_area_put(entry->area);
	kfree(entry);
}
