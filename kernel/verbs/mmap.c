// SPDX-License-Identifier: GPL-2.0
/*
 * The mapping of rings into user space. An mmap entry holds a reference on its
 * ring, so mmap and destroy may come in any order. Pages once mapped stay with
 * the process.
 */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "charged.h"
#include "queue/ring.h"
#include "verbs/mmap.h"
#include "verbs/ucontext.h"

struct mmap_entry {
	struct rdma_user_mmap_entry rdma;
	struct tern_ring *ring;		/* NULL: reserved only, not yet mappable */
};

struct rdma_user_mmap_entry *tern_mmap_reserve(struct ib_udata *udata, u32 nslots, u32 stride,
					       struct tern_mmap *info)
{
	struct tern_ucontext *uc = rdma_udata_to_drv_context(udata, struct tern_ucontext, ibuc);
	struct mmap_entry *entry;
	u64 bytes;
	int err;

	nslots = roundup_pow_of_two(nslots);
	bytes = PAGE_ALIGN(TERN_RING_HDR_BYTES + (u64)nslots * stride);
	if (bytes > U32_MAX)
		return ERR_PTR(-EINVAL);

	entry = kzalloc(sizeof(*entry), TERN_GFP_CHARGED);
	if (!entry)
		return ERR_PTR(-ENOMEM);
	err = rdma_user_mmap_entry_insert(&uc->ibuc, &entry->rdma, bytes);
	if (err) {
		kfree(entry);
		return ERR_PTR(err);
	}

	*info = (struct tern_mmap){
		.offset = rdma_user_mmap_get_offset(&entry->rdma),
		.bytes = bytes,
		.slots = nslots,
		.stride = stride,
	};
	return &entry->rdma;
}

void tern_mmap_bind(struct rdma_user_mmap_entry *rdma, struct tern_ring *ring)
{
	struct mmap_entry *entry = container_of(rdma, struct mmap_entry, rdma);

	WARN_ON_ONCE(ring->map_bytes != rdma->npages * PAGE_SIZE);
	tern_ring_get(ring);
	smp_store_release(&entry->ring, ring);
}

struct rdma_user_mmap_entry *tern_mmap_add(struct ib_udata *udata, struct tern_ring *ring,
					   struct tern_mmap *info)
{
	struct rdma_user_mmap_entry *rdma;

	rdma = tern_mmap_reserve(udata, ring->nslots, ring->stride, info);
	if (!IS_ERR(rdma))
		tern_mmap_bind(rdma, ring);
	return rdma;
}

int tern_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma = rdma_user_mmap_entry_get(ibuc, vma);
	struct tern_ring *ring;
	int err = -EINVAL;

	if (!rdma)
		return -EINVAL;
	ring = smp_load_acquire(&container_of(rdma, struct mmap_entry, rdma)->ring);
	if (ring)
		err = tern_ring_mmap(ring, vma);
	rdma_user_mmap_entry_put(rdma);
	return err;
}

void tern_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct mmap_entry *entry = container_of(rdma, struct mmap_entry, rdma);

	tern_ring_put(entry->ring);
	kfree(entry);
}
