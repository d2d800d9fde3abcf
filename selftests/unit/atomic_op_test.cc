// SPDX-License-Identifier: GPL-2.0
// Masked atomics, compared with RFC 7306 5.1's pseudocode.
#include "proto/atomic.h"

#include <random>

#include <gtest/gtest.h>

namespace {

u64 by_the_book(const atomic_op &a, u64 old)
{
	u64 result = 0, carry = 0;

	if (a.cmp_swap)
		return (a.compare ^ old) & a.compare_mask ?
			       old :
			       (old & ~a.swap_add_mask) | (a.swap_add & a.swap_add_mask);
	for (int bit = 0; bit < 64; bit++) {
		u64 sum = carry + (old >> bit & 1) + (a.swap_add >> bit & 1);

		result |= (sum & 1) << bit;
		carry = sum >> 1 & ~(a.swap_add_mask >> bit);
	}
	return result;
}

TEST(AtomicOp, IsThatOfThePseudocode)
{
	std::mt19937_64 rng(1);

	for (int i = 0; i < 20000; i++) {
		atomic_op a;
		u64 old = rng();

		a.cmp_swap = i & 1;
		a.swap_add = rng();
		a.swap_add_mask = i & 2 ? rng() & rng() : rng();
		// Few bits, so that they often match.
		a.compare_mask = rng() & rng() & rng() & rng() & rng();
		a.compare = i & 4 ? old : rng();
		ASSERT_EQ(atomic_op_result(&a, old), by_the_book(a, old)) << i;
	}
}

TEST(AtomicOp, PlainOnesAreInfiniBands)
{
	atomic_op add = atomic_op_plain(false, 7, 3), swap = atomic_op_plain(true, 7, 3);

	EXPECT_TRUE(atomic_op_is_plain(&add) && atomic_op_is_plain(&swap));
	EXPECT_EQ(atomic_op_result(&add, ~0ull), 2u);
	EXPECT_EQ(atomic_op_result(&swap, 7), 3u);
	EXPECT_EQ(atomic_op_result(&swap, 8), 8u);

	add.swap_add_mask = 1;
	EXPECT_FALSE(atomic_op_is_plain(&add));
	swap.compare_mask--;
	EXPECT_FALSE(atomic_op_is_plain(&swap));
	swap = atomic_op_plain(true, 7, 3);
	swap.swap_add_mask--;
	EXPECT_FALSE(atomic_op_is_plain(&swap));
}

} // namespace
