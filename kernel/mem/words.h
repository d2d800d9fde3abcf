/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copying by plain loads and stores, the store that ends a copy, and the case in which a CPU's
 * string moves are slow.
 *
 * Pure: also built into the unit tests.
 */
#ifndef TERN_MEM_WORDS_H
#define TERN_MEM_WORDS_H

#include "proto/deps.h"

#pragma pack(push, 1)
struct mem_word {
	u64 v;		/* of any alignment */
};
#pragma pack(pop)

/* Copies n bytes that do not overlap, from the first to the last. */
static inline void mem_copy_words(void *dst, const void *src, size_t n)
{
	struct mem_word *to = (struct mem_word *)dst;
	const struct mem_word *from = (const struct mem_word *)src;
	size_t i;

	for (; n >= 4 * sizeof(*to); n -= 4 * sizeof(*to), to += 4, from += 4) {
		const u64 w0 = from[0].v, w1 = from[1].v, w2 = from[2].v, w3 = from[3].v;

		WRITE_ONCE(to[0].v, w0);
		WRITE_ONCE(to[1].v, w1);
		WRITE_ONCE(to[2].v, w2);
		WRITE_ONCE(to[3].v, w3);
	}
	for (; n >= sizeof(*to); n -= sizeof(*to), to++, from++)
		WRITE_ONCE(to->v, from->v);
	for (i = 0; i < n; i++)
		WRITE_ONCE(((u8 *)to)[i], ((const u8 *)from)[i]);
}

/* The same by aligned stores: others never see a part of one. */
static inline void mem_copy_in_order(void *dst, const void *src, size_t n)
{
	size_t i, head = -(uintptr_t)dst % sizeof(struct mem_word);

	if (head > n)
		head = n;
	for (i = 0; i < head; i++)
		WRITE_ONCE(((u8 *)dst)[i], ((const u8 *)src)[i]);
	mem_copy_words((u8 *)dst + head, (const u8 *)src + head, n - head);
}

/* How many bytes the longest aligned store has that ends at dst + n, within dst: 1, 2, 4 or 8. */
static inline size_t mem_last_store(const void *dst, size_t n)
{
	uintptr_t end = (uintptr_t)dst + n;
	size_t bytes = sizeof(u64);

	while (bytes > n || end % bytes)
		bytes /= 2;
	return bytes;
}

/* Copies as many bytes as mem_last_store() says, by one store. */
static inline void mem_store_last(void *dst, const void *src, size_t bytes)
{
	u64 v8;
	u32 v4;
	u16 v2;

	switch (bytes) {
	case sizeof(v8):
		memcpy(&v8, src, sizeof(v8));
		WRITE_ONCE(*(u64 *)dst, v8);
		break;
	case sizeof(v4):
		memcpy(&v4, src, sizeof(v4));
		WRITE_ONCE(*(u32 *)dst, v4);
		break;
	case sizeof(v2):
		memcpy(&v2, src, sizeof(v2));
		WRITE_ONCE(*(u16 *)dst, v2);
		break;
	default:
		WRITE_ONCE(*(u8 *)dst, *(const u8 *)src);
		break;
	}
}

/*
 * AMD's Zen 3 and 4 take thirty times as long for a string move if the destination's offset in its
 * page exceeds the source's by up to MEM_COPY_CLOSE bytes: the address bits by which loads are
 * first compared with stores are then the same. An FPDU's payload is 16 bytes further into a page
 * than that of an aligned buffer.
 */
#define MEM_COPY_CLOSE	31
#define MEM_COPY_PAGE	4096

static inline bool mem_copy_is_close(const void *dst, const void *src)
{
	size_t ahead = ((uintptr_t)dst - (uintptr_t)src) % MEM_COPY_PAGE;

	return ahead && ahead <= MEM_COPY_CLOSE;
}

#endif
