/* SPDX-License-Identifier: GPL-2.0 */
/* The number of objects of a kind, and its limit. */
#ifndef TERN_CORE_QUOTA_H
#define TERN_CORE_QUOTA_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/types.h>

/* Counts that many more, of which the device has max: 0 or -ENOMEM. Undone by atomic_sub(). */
static inline int tern_count_many_in(atomic_t *n, u32 more, u32 max)
{
	if ((u32)atomic_add_return(more, n) <= max)
		return 0;
	atomic_sub(more, n);
	return -ENOMEM;
}

/* Counts one more. Undone by atomic_dec(). */
static inline int tern_count_in(atomic_t *n, u32 max)
{
	return tern_count_many_in(n, 1, max);
}

#endif
