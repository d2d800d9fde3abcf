/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How memory is taken that a program causes to be taken: it is charged to the cgroup of
 * who calls; and if there is none, he gets ENOMEM, while nothing is said in the log and no
 * program is killed for it. This is for tables whose size programs choose, and for objects
 * of which they make as many as they like. Those of kernel consumers come the same way.
 *
 * What ib_core takes for an object itself is not charged. It is small beside what is, or
 * the limits of the device bound it.
 */
#ifndef TERN_CHARGED_H
#define TERN_CHARGED_H

#include <linux/gfp.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#define TERN_GFP_CHARGED (GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/*
 * A table of n zeroed elements, for kvfree(). kvcalloc() would take the last flag for a
 * wish to have it in one piece at any price; that is only tried.
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
