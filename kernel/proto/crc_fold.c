// SPDX-License-Identifier: GPL-2.0
/*
 * Folding. The polynomial of CRC-32C divides
 *
 *     x^209 + x^144 + x^54 + x^39 + x^14 + 1
 *
 * So a message has the CRC it had when a bit is taken out of it and put in,
 * that is XORed, 65, 155, 170, 195 and 209 bits behind its place: the
 * differences of the exponents to the first. Done to all words but the last
 * four this leaves zeros, which have no CRC, and those four. No delay is less
 * than a word, so each word is folded whole, and none more than four, so the
 * words to fold in are at hand in registers.
 *
 * That of CRC-32 divides
 *
 *     x^300 + x^155 + x^117 + x^89 + 1
 *
 * with delays of 145, 183, 211 and 300 bits: five words.
 *
 * Of all multiples with six terms or fewer whose delays are of 64 bits and more
 * the first ends first, and the second next to first: that would have a term
 * more, and also reach over five words.
 */
#include "proto/crc_fold.h"

#define MOST_KEPT	5

/* The register goes into a word that is folded: the first of those that are kept. */
static_assert(CRC_FOLD_LEAST / 8 >= 2 * MOST_KEPT);

/* The words that are folded into one, the nearest first. */
struct before {
	u64 w1, w2, w3, w4, w5;
};

/* A word, and what is put in there of those before it. */
typedef u64 (*put_in_fn)(u64 word, const struct before *b);

/* Of two words in a row, far first, the 64 bits that end so many before near does. */
static __always_inline u64 across(u64 near, u64 far, unsigned int bits)
{
	return near << bits | far >> (64 - bits);
}

static __always_inline u64 put_in_crc32(u64 word, const struct before *b)
{
	return word ^ across(b->w4, b->w5, 300 - 256) ^ across(b->w3, b->w4, 211 - 192) ^
	       across(b->w2, b->w3, 183 - 128) ^ across(b->w2, b->w3, 145 - 128);
}

static __always_inline u64 put_in_crc32c(u64 word, const struct before *b)
{
	return word ^ across(b->w2, b->w3, 155 - 128) ^ across(b->w2, b->w3, 170 - 128) ^
	       across(b->w3, b->w4, 195 - 192) ^ across(b->w3, b->w4, 209 - 192) ^
	       across(b->w1, b->w2, 65 - 64);	/* last, for it is the last to be known */
}

/* The next word, to be folded or, at the end, nothing. */
static __always_inline void shift_in(struct before *b, u64 word)
{
	b->w5 = b->w4;
	b->w4 = b->w3;
	b->w3 = b->w2;
	b->w2 = b->w1;
	b->w1 = word;
}

static __always_inline void fold_word(struct before *b, const u8 *p, u64 crc, put_in_fn put_in)
{
	shift_in(b, put_in(get_unaligned_le64(p) ^ crc, b));
}

/* kept: how many words the longest delay reaches over, four or five. */
static __always_inline u32 fold(u32 crc, const u8 *p, size_t n, crc_fn table, put_in_fn put_in,
				const size_t kept)
{
	struct before b = { 0 };
	u64 rest[MOST_KEPT];
	u64 reg = crc;
	size_t i;

	if (n < CRC_FOLD_LEAST)
		return table(crc, p, n);

	/* By so many that no word is moved to be the one before. */
	for (i = n / 8 - kept; i >= kept; i -= kept, p += 8 * kept) {
		fold_word(&b, p, reg, put_in);
		fold_word(&b, p + 8, 0, put_in);
		fold_word(&b, p + 16, 0, put_in);
		fold_word(&b, p + 24, 0, put_in);
		if (kept == MOST_KEPT)
			fold_word(&b, p + 32, 0, put_in);
		reg = 0;
	}
	for (; i; i--, p += 8)
		fold_word(&b, p, 0, put_in);
	for (i = 0; i < kept; i++, p += 8) {
		put_unaligned_le64(put_in(get_unaligned_le64(p), &b), &rest[i]);
		shift_in(&b, 0);
	}
	return table(table(0, (const u8 *)rest, 8 * kept), p, n % 8);
}

u32 crc32_fold(u32 crc, const u8 *p, size_t n, crc_fn table)
{
	return fold(crc, p, n, table, put_in_crc32, 5);
}

u32 crc32c_fold(u32 crc, const u8 *p, size_t n, crc_fn table)
{
	return fold(crc, p, n, table, put_in_crc32c, 4);
}
