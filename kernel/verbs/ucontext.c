// SPDX-License-Identifier: GPL-2.0
/*
 * User contexts, and the mapping of rings into user space. An mmap entry holds
 * a reference on its ring, so mmap against destroy is safe in any order: pages
 * once mapped are the process's own to keep.
 */
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#define UVERBS_MODULE_NAME tern
#include <rdma/uverbs_named_ioctl.h>

#include "charged.h"
#include "verbs/verbs.h"

static_assert(TERN_ATTR_QUERY_CONTEXT_RESP == 1u << UVERBS_ID_NS_SHIFT);

#define TERN_FEATURES (TERN_FEATURE_NO_SYSCALL_ARM | TERN_FEATURE_ELISION | \
		       TERN_FEATURE_DOORBELL_FILE)
/* As long as the answer was before it had a doorbell file. */
#define SHORTEST_RESP offsetof(struct tern_alloc_ucontext_resp, doorbell_fd)

struct mmap_entry {
	struct rdma_user_mmap_entry rdma;
	struct tern_ring *ring;		/* NULL: reserved only, not yet mappable */
};

/*
 * The context's doorbell file, and a number for it in the caller's table, not
 * given out yet. Below 0: the context does without.
 */
static int doorbell_open(struct tern_ucontext *uc)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct file *file;

	if (fd < 0)
		return fd;
	file = tern_doorbell_file(to_tern_dev(uc->ibuc.device));
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	uc->doorbell = file;
	return fd;
}

static void doorbell_close(struct tern_ucontext *uc)
{
	if (uc->doorbell)
		fput(uc->doorbell);
	uc->doorbell = NULL;
}

int tern_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct tern_ucontext *uc = container_of(ibuc, struct tern_ucontext, ibuc);
	struct tern_alloc_ucontext_resp resp = {};
	struct tern_alloc_ucontext_req req;
	int err;

	if (udata->inlen < sizeof(req) || udata->outlen < SHORTEST_RESP)
		return -EINVAL;
	if (udata->inlen > sizeof(req) &&
	    !ib_is_udata_cleared(udata, sizeof(req), udata->inlen - sizeof(req)))
		return -EINVAL;
	err = ib_copy_from_udata(&req, udata, sizeof(req));
	if (err)
		return err;

	/* Unknown bits are a newer provider's, which reads from the answer what it may use. */
	resp.features = req.features & TERN_FEATURES;
	resp.max_inline = TERN_MAX_INLINE;
	resp.max_sge = TERN_MAX_SGE;
	resp.doorbell_fd = -1;
	if (resp.features & TERN_FEATURE_DOORBELL_FILE && udata->outlen >= sizeof(resp))
		resp.doorbell_fd = doorbell_open(uc);
	if (resp.doorbell_fd < 0)
		resp.features &= ~(u64)TERN_FEATURE_DOORBELL_FILE;

	err = ib_copy_to_udata(udata, &resp, min(udata->outlen, sizeof(resp)));
	if (err) {
		if (resp.doorbell_fd >= 0)
			put_unused_fd(resp.doorbell_fd);
		doorbell_close(uc);
		return err;
	}
	if (resp.doorbell_fd >= 0)
		fd_install(resp.doorbell_fd, get_file(uc->doorbell));
	return 0;
}

/* The process that asks may be another than the one whose context it is. */
int tern_query_ucontext(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs)
{
	struct tern_ucontext *uc = container_of(ibuc, struct tern_ucontext, ibuc);
	struct tern_alloc_ucontext_resp resp = {
		.features = TERN_FEATURES & ~(u64)TERN_FEATURE_DOORBELL_FILE,
		.max_inline = TERN_MAX_INLINE,
		.max_sge = TERN_MAX_SGE,
		.doorbell_fd = -1,
	};
	int err;

	if (!uverbs_attr_is_valid(attrs, TERN_ATTR_QUERY_CONTEXT_RESP))
		return 0;
	if (uc->doorbell)
		resp.doorbell_fd = get_unused_fd_flags(O_CLOEXEC);
	if (resp.doorbell_fd >= 0)
		resp.features |= TERN_FEATURE_DOORBELL_FILE;
	err = uverbs_copy_to(attrs, TERN_ATTR_QUERY_CONTEXT_RESP, &resp, sizeof(resp));
	if (err) {
		if (resp.doorbell_fd >= 0)
			put_unused_fd(resp.doorbell_fd);
		return err;
	}
	if (resp.doorbell_fd >= 0)
		fd_install(resp.doorbell_fd, get_file(uc->doorbell));
	return 0;
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(tern_query_context, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(TERN_ATTR_QUERY_CONTEXT_RESP,
						 UVERBS_ATTR_STRUCT(struct tern_alloc_ucontext_resp,
								    reserved),
						 UA_OPTIONAL));

const struct uapi_definition tern_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &tern_query_context),
	{},
};

void tern_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	doorbell_close(container_of(ibuc, struct tern_ucontext, ibuc));
}

/* The device goes away under an application: its objects are destroyed, its mappings stay. */
void tern_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

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
