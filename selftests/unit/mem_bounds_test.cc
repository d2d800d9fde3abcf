// SPDX-License-Identifier: GPL-2.0
// Address range arithmetic, against 128-bit arithmetic at every edge.
#include "mem/bounds.h"

#include <iterator>

#include <gtest/gtest.h>

namespace {

using u128 = unsigned __int128;

const u64 kEdges[] = {0,
		      1,
		      2,
		      7,
		      8,
		      4095,
		      4096,
		      4097,
		      0x7fffffff,
		      0x80000000,
		      0xffffffff,
		      0x100000000,
		      0x7fffffffffffffff,
		      0x8000000000000000,
		      0xfffffffffffff000,
		      0xfffffffffffffffe,
		      0xffffffffffffffff};

TEST(MemBounds, WrapsMeansPastTheTopOfTheAddressSpace)
{
	for (u64 base : kEdges)
		for (u64 size : kEdges)
			EXPECT_EQ(mem_range_wraps(base, size), (u128)base + size > (u128)1 << 64)
				<< base << " " << size;
}

TEST(MemBounds, WithinIsExactAtEveryEdge)
{
	for (u64 base : kEdges)
		for (u64 size : kEdges)
			for (u64 va : kEdges)
				for (u64 length : kEdges) {
					bool within = va >= base &&
						      (u128)va + length <= (u128)base + size;

					EXPECT_EQ(mem_range_within(base, size, va, length), within)
						<< base << " " << size << " " << va;
				}
}

TEST(MemBounds, NothingIsWithinAnEmptyRangeButNothing)
{
	EXPECT_TRUE(mem_range_within(4096, 0, 4096, 0));
	EXPECT_FALSE(mem_range_within(4096, 0, 4096, 1));
	EXPECT_FALSE(mem_range_within(4096, 0, 4097, 0));
	EXPECT_FALSE(mem_range_within(4096, 0, 4095, 0));
}

TEST(MemBounds, LengthThatWrapsBelowTheBaseIsOutside)
{
	EXPECT_FALSE(mem_range_within(0x1000, 0x1000, 0x1800, ~0ull - 0x7ff));
	EXPECT_FALSE(mem_range_within(0x1000, 0x1000, 0xffffffffffffffff, 2));
}

TEST(MemBlocks, CountIsWhatTheBytesTouch)
{
	for (u32 shift : {12u, 16u, 21u, 30u}) {
		const u64 size = 1ull << shift;

		for (u64 off : {u64{0}, u64{1}, size / 2, size - 1, size, 5 * size + 3})
			for (u64 length : kEdges) {
				u128 first = off & (size - 1);
				u128 count = length ? ((first + length - 1) >> shift) + 1 : 0;

				EXPECT_EQ(mem_block_count(off, length, shift), (u64)count)
					<< off << " " << length << " " << shift;
			}
	}
}

TEST(MemBlocks, RunsCoverARangeWithoutCrossingABlock)
{
	const u64 length = 3 * 4096 + 17;
	u64 off = 4000;
	u64 done = 0;
	u32 runs = 0;

	while (done < length) {
		u64 run = mem_block_run(off + done, length - done, 12);

		ASSERT_GT(run, 0u);
		EXPECT_EQ(mem_block_index(off + done, 12),
			  mem_block_index(off + done + run - 1, 12));
		done += run;
		runs++;
	}
	EXPECT_EQ(done, length);
	EXPECT_EQ(runs, mem_block_count(off, length, 12));
}

TEST(MemBlocks, IndexAndOffsetSplitAnOffset)
{
	EXPECT_EQ(mem_block_index(0x12345678, 12), 0x12345u);
	EXPECT_EQ(mem_block_offset(0x12345678, 12), 0x678u);
	EXPECT_EQ(mem_block_index(~0ull, 30), ~0ull >> 30);
	EXPECT_EQ(mem_block_offset(~0ull, 30), (1u << 30) - 1);
}

/* A region that the kernel has mapped as one piece is a single block. */
TEST(MemBlocks, OneBlockHoldsEveryOffset)
{
	for (u64 off : {u64{0}, u64{4095}, u64{1} << 40, (u64{1} << 63) - 1}) {
		EXPECT_EQ(mem_block_index(off, 63), 0u);
		EXPECT_EQ(mem_block_offset(off, 63), off);
		EXPECT_EQ(mem_block_run(off, 1, 63), 1u);
	}
	EXPECT_EQ(mem_block_run(100, u64{1} << 40, 63), u64{1} << 40);
}

/* Empty pieces have no byte: the one behind them has the byte at their end. */
TEST(MemPieces, EachByteIsInThePieceThatHasIt)
{
	const u32 lengths[] = {1, 4096, 0, 0, 511, 3, 1, 70000, 0, 2};

	for (u32 n = 1; n <= std::size(lengths); n++) {
		mem_piece piece[std::size(lengths)] = {};
		u64 end = 0;

		for (u32 i = 0; i < n; i++) {
			end += lengths[i];
			piece[i].end = end;
		}
		EXPECT_EQ(mem_pieces_end(piece, n), end);
		for (u64 off = 0, i = 0; off < end; off++) {
			while (off >= piece[i].end)
				i++;
			ASSERT_EQ(mem_piece_index(piece, n, off), i) << off << " of " << end;
		}
	}
	EXPECT_EQ(mem_pieces_end(nullptr, 0), 0u);
}

} // namespace
