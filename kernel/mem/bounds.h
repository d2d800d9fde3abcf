/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of address ranges, of blocks and of pieces. It does not overflow
 * for any input. No other file of the driver adds an address to a length.
 *
 * Pure: also built into the unit tests.
 */
#ifndef TERN_MEM_BOUNDS_H
#define TERN_MEM_BOUNDS_H

#include "proto/deps.h"

/* Does [base, base + size) run past 2^64? Ending exactly there is allowed. */
static inline bool mem_range_wraps(u64 base, u64 size)
{
	return size && base > ~(u64)0 - (size - 1);
}

/* Is [va, va + length) within [base, base + size)? */
static inline bool mem_range_within(u64 base, u64 size, u64 va, u64 length)
{
	return va >= base && length <= size && va - base <= size - length;
}

/*
 * The number of blocks of 1 << shift bytes that length bytes touch, from off into the first block.
 */
static inline u64 mem_block_count(u64 off, u64 length, u32 shift)
{
	u64 mask = ((u64)1 << shift) - 1;
	u64 last;

	if (!length)
		return 0;
	off &= mask;
	last = length - 1;
	return (last >> shift) + (((last & mask) + off) >> shift) + 1;
}

static inline u64 mem_block_index(u64 off, u32 shift)
{
	return off >> shift;
}

static inline u64 mem_block_offset(u64 off, u32 shift)
{
	return off & (((u64)1 << shift) - 1);
}

/* Bytes from off to the end of its block, at most left. */
static inline u64 mem_block_run(u64 off, u64 left, u32 shift)
{
	u64 run = ((u64)1 << shift) - mem_block_offset(off, shift);

	return run < left ? run : left;
}

/*
 * Memory of any length and alignment. Pieces of an array follow each other without a gap in
 * offsets.
 */
struct mem_piece {
	void *kva;
	u64 end;		/* offset of the byte behind it */
};

static inline u64 mem_pieces_end(const struct mem_piece *piece, u32 n)
{
	return n ? piece[n - 1].end : 0;
}

/* The piece of n that has byte off. There is one: off < mem_pieces_end(). */
static inline u32 mem_piece_index(const struct mem_piece *piece, u32 n, u64 off)
{
	u32 low = 0, high = n - 1;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (piece[middle].end > off)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

#endif
