/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an atomic operation does to eight bytes (RFC 7306 5.1): InfiniBand's two, and the same with
 * masks.
 */
#ifndef TERN_PROTO_ATOMIC_H
#define TERN_PROTO_ATOMIC_H

#include "deps.h"

/*
 * A swap replaces the bits set in swap_add_mask if the bits set in compare_mask are equal; plain:
 * both are all ones. In an add, no carry leaves a bit set in swap_add_mask; plain: that is 0.
 */
struct atomic_op {
	bool cmp_swap;
	u64 compare;
	u64 compare_mask;
	u64 swap_add;
	u64 swap_add_mask;
};

static inline struct atomic_op atomic_op_plain(bool cmp_swap, u64 compare, u64 swap_add)
{
	struct atomic_op a;

	a.cmp_swap = cmp_swap;
	a.compare = compare;
	a.compare_mask = ~0ull;
	a.swap_add = swap_add;
	a.swap_add_mask = cmp_swap ? ~0ull : 0;
	return a;
}

/* Does the CPU have one instruction for it? */
static inline bool atomic_op_is_plain(const struct atomic_op *a)
{
	return a->cmp_swap ? !~a->compare_mask && !~a->swap_add_mask : !a->swap_add_mask;
}

static inline u64 atomic_op_result(const struct atomic_op *a, u64 old)
{
	u64 mask = a->swap_add_mask;

	if (a->cmp_swap) {
		if ((old ^ a->compare) & a->compare_mask)
			return old;
		return (old & ~mask) | (a->swap_add & mask);
	}
	/* Without the last bit of each field nothing carries out of it; then add that bit. */
	return ((old & ~mask) + (a->swap_add & ~mask)) ^ ((old ^ a->swap_add) & mask);
}

#endif
