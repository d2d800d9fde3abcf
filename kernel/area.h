/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that kernel and program share: zeroed pages, charged to the program
 * that causes them, contiguous for the kernel and for each program that maps
 * them. An area is reference counted, because a mapping in the making and the
 * owning object end independently. Pages once mapped stay with the process.
 */
#ifndef TERN_AREA_H
#define TERN_AREA_H

#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/types.h>

struct tern_area {
	struct kref ref;
	void *addr;
	struct page **pages;
	u32 npages;
};

/* bytes are rounded up to pages. May sleep. ERR_PTR(-ENOMEM/-EINVAL). */
struct tern_area *tern_area_create(u64 bytes);
void tern_area_get(struct tern_area *area);
void tern_area_put(struct tern_area *area);	/* NULL is fine; may sleep */

/* Maps all of the area. The mapping has its size. */
int tern_area_mmap(const struct tern_area *area, struct vm_area_struct *vma);

static inline u64 tern_area_bytes(const struct tern_area *area)
{
	return (u64)area->npages << PAGE_SHIFT;
}

#endif
