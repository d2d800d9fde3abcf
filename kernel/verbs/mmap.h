/* SPDX-License-Identifier: GPL-2.0 */
/* The mapping of rings and device memory into user space. */
#ifndef TERN_VERBS_MMAP_H
#define TERN_VERBS_MMAP_H

#include <rdma/ib_verbs.h>

#include "tern-abi.h"

struct tern_area;
struct tern_ring;
struct vm_area_struct;

/* ib_device_ops.mmap, mmap_free. */
int tern_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void tern_mmap_free(struct rdma_user_mmap_entry *rdma);

/*
 * Lets the caller of a verb map ring; *info says how. ERR_PTR on error.
 * rdma_user_mmap_entry_remove() ends it; the pages stay while they are mapped.
 */
struct rdma_user_mmap_entry *tern_mmap_ring(struct ib_udata *udata, const struct tern_ring *ring,
					    struct tern_mmap *info);
/*
 * The same in two steps, for a ring that is made last (resize). First the part that can fail, then
 * the ring's area, with the nslots and stride announced.
 */
struct rdma_user_mmap_entry *tern_mmap_reserve(struct ib_udata *udata, u32 nslots, u32 stride,
					       struct tern_mmap *info);
void tern_mmap_bind(struct rdma_user_mmap_entry *rdma, struct tern_area *area);
/* Lets programs of the context map area. ERR_PTR on error. */
struct rdma_user_mmap_entry *tern_mmap_area(struct ib_ucontext *ibuc, struct tern_area *area);

#endif
