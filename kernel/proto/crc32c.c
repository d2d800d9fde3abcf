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
 * Of all multiples with six terms or fewer whose delays begin at 64 bits this
 * one ends first. With four terms the least delays are 767, 2524 and 5275.
 */
#include "proto/crc32c.h"

/* The register goes into a word that is folded: the first of four. */
static_assert(CRC32C_FOLD_LEAST / 8 >= 4 + 4);

/* The words that are folded into one, the nearest first. */
struct before {
	u64 w1, w2, w3, w4;
};

/* Of two words in a row, far first, the 64 bits that end so many before near does. */
static inline u64 across(u64 near, u64 far, unsigned int bits)
{
	return near << bits | far >> (64 - bits);
}

static inline u64 put_in(u64 word, const struct before *b)
{
	return word ^ across(b->w2, b->w3, 155 - 128) ^ across(b->w2, b->w3, 170 - 128) ^
	       across(b->w3, b->w4, 195 - 192) ^ across(b->w3, b->w4, 209 - 192) ^
	       across(b->w1, b->w2, 65 - 64);	/* last, for it is the last to be known */
}

/* The next word, to be folded or, at the end, nothing. */
static inline void shift_in(struct before *b, u64 word)
{
	b->w4 = b->w3;
	b->w3 = b->w2;
	b->w2 = b->w1;
	b->w1 = word;
}

static inline void fold_word(struct before *b, const u8 *p, u64 crc)
{
	shift_in(b, put_in(get_unaligned_le64(p) ^ crc, b));
}

u32 crc32c_fold(u32 crc, const u8 *p, size_t n, crc32c_fn table)
{
	struct before b = { 0 };
	u64 reg = crc;
	u64 rest[4];
	size_t i;

	if (n < CRC32C_FOLD_LEAST)
		return table(crc, p, n);

	/* By fours, so that no word is moved to be the one before. */
	for (i = n / 8 - 4; i >= 4; i -= 4, p += 32) {
		fold_word(&b, p, reg);
		fold_word(&b, p + 8, 0);
		fold_word(&b, p + 16, 0);
		fold_word(&b, p + 24, 0);
		reg = 0;
	}
	for (; i; i--, p += 8)
		fold_word(&b, p, 0);
	for (i = 0; i < 4; i++, p += 8) {
		put_unaligned_le64(put_in(get_unaligned_le64(p), &b), &rest[i]);
		shift_in(&b, 0);
	}
	return table(table(0, (const u8 *)rest, sizeof(rest)), p, n % 8);
}
