// SPDX-License-Identifier: GPL-2.0
/*
 * Folding. The polynomial of CRC-32C divides
 *
 *     x^5275 + x^4508 + x^2751 + 1
 *
 * and no other polynomial of four terms and so low a degree. So a message has
 * the CRC it had when a bit is taken out of it and put in, that is XORed, 767,
 * 2524 and 5275 bits behind its place: the differences of the exponents. Done
 * to all words but the last CRC32C_FOLD_REACH this leaves zeros, which have no
 * CRC, and those last words.
 */
#include "proto/crc32c.h"

#define REACH	CRC32C_FOLD_REACH
#define CHUNK	CRC32C_FOLD_CHUNK

/* The delays in bits: this many words, and this many bits left over. */
#define WORDS_1	11
#define BITS_1	63
#define WORDS_2	39
#define BITS_2	28
#define WORDS_3	(REACH - 1)
#define BITS_3	27

static_assert(64 * WORDS_1 + BITS_1 == 5275 - 4508);
static_assert(64 * WORDS_2 + BITS_2 == 5275 - 2751);
static_assert(64 * WORDS_3 + BITS_3 == 5275);
/* The register goes into the first word, which is folded, with three more at least. */
static_assert(CRC32C_FOLD_LEAST / 8 >= REACH + 4);

/* Three words of before, in the middle of which lie the bits that are put in here. */
struct before {
	u64 w1, w2, w3;
};

/* f: words folded already, and the place of this one. */
static inline struct before before(const u64 *f)
{
	return (struct before){ f[-WORDS_1 - 1], f[-WORDS_2 - 1], f[-WORDS_3 - 1] };
}

/* The word at p with what is put in from words before; *b goes one on. */
static inline u64 put_in(const u64 *f, const u8 *p, struct before *b)
{
	struct before next = before(f + 1);
	u64 v = get_unaligned_le64(p) ^
		(next.w1 << BITS_1 | b->w1 >> (64 - BITS_1)) ^
		(next.w2 << BITS_2 | b->w2 >> (64 - BITS_2)) ^
		(next.w3 << BITS_3 | b->w3 >> (64 - BITS_3));

	*b = next;
	return v;
}

/* n words from p to f, with the register in the first. */
static void fold_words(u64 *f, const u8 *p, size_t n, u32 crc)
{
	struct before b = before(f);
	u64 *end = f + n;

	for (; end - f >= 4; f += 4, p += 32) {
		f[0] = put_in(f, p, &b) ^ crc;
		f[1] = put_in(f + 1, p + 8, &b);
		f[2] = put_in(f + 2, p + 16, &b);
		f[3] = put_in(f + 3, p + 24, &b);
		crc = 0;
	}
	for (; f != end; f++, p += 8)
		f[0] = put_in(f, p, &b);
}

u32 crc32c_fold(u32 crc, const u8 *p, size_t n, u64 *scratch, crc32c_fn table)
{
	u64 *f = scratch + REACH;
	u64 *rest = f + CHUNK + REACH;
	size_t left = n / 8;
	struct before b;
	size_t now, i;

	if (n < CRC32C_FOLD_LEAST)
		return table(crc, p, n);

	memset(scratch, 0, REACH * sizeof(u64));
	for (left -= REACH;; crc = 0) {
		now = left < CHUNK ? left : CHUNK;
		fold_words(f, p, now, crc);
		p += 8 * now;
		left -= now;
		if (!left)
			break;
		memmove(scratch, f + now - REACH, REACH * sizeof(u64));
	}

	/* Nothing is put in from the last words themselves. */
	f += now;
	memset(f, 0, REACH * sizeof(u64));
	b = before(f);
	for (i = 0; i < REACH; i++, p += 8)
		put_unaligned_le64(put_in(f + i, p, &b), &rest[i]);
	return table(table(0, (const u8 *)rest, REACH * sizeof(u64)), p, n % 8);
}
