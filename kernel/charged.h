/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that a program causes to be allocated. It is charged to the caller's
 * cgroup. If there is none left, the caller gets ENOMEM; nothing is logged and
 * no program is killed for it. This is for tables whose size programs choose,
 * and for objects of which programs may make many. Allocations for kernel
 * consumers take the same way.
 *
 * ib_core's own part of an object is not charged. It is small beside the rest,
 * or the device's limits bound it.
 */
#ifndef TERN_CHARGED_H
#define TERN_CHARGED_H

#include <linux/gfp.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#define TERN_GFP_CHARGED (GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/*
 * A table of n zeroed elements, for kvfree(). kvcalloc() would read the last flag as a demand for
 * contiguous memory; here that is only tried.
 */
static inline void *tern_table_alloc(size_t n, size_t size)
{
	const gfp_t gfp = TERN_GFP_CHARGED | __GFP_ZERO;
	size_t bytes = array_size(n, size);
	void *table;

	if (bytes <= PAGE_SIZE)
		return kmalloc(bytes, gfp);
	table = kmalloc(bytes, (gfp & ~__GFP_RETRY_MAYFAIL) | __GFP_NORETRY);
	return table ?: __vmalloc(bytes, gfp);
}

#endif
