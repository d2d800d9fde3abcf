// SPDX-License-Identifier: GPL-2.0
/*
 * Folding. The polynomial of CRC-32C divides
 *
 *     x^407 + x^289 + x^279 + x^215 + x^161 + x^151 + x^97 + x^87 + x^64 + 1
 *
 * So a message has the CRC it had when a bit is taken out of it and put in, that is
 * XORed, 118, 128, 192, ... and 407 bits behind its place: the differences of the
 * exponents to the first. Done to all words but the last seven this leaves zeros,
 * which have no CRC, and those seven. No delay is less than a word, so each word is
 * folded whole, and what is to be folded in is at hand in registers.
 *
 * A delay of 64 q + r bits puts in the word q before, shifted, and the rest of the
 * word before that. What counts is how few shifts and XORs a word takes, and those
 * whose r is the same are shifted together: of these nine delays four are of whole
 * words, three have r 54, two r 23. And with e(k) for w(k) ^ w(k+1), the word k
 * before and the one before that, they are, by r,
 *
 *      0:  w(2) ^ w(3) ^ w(4) ^ w(5)  =  e(2) ^ e(4)
 *     23:  w(5) ^ w(6)                =  e(5)
 *     54:  w(1) ^ w(3) ^ w(4)         =  w(1) ^ e(3)
 *
 * where e(2) is e(3) a word later, and so on: 12 operations a word. (The shortest one of
 * six terms has five delays only, but each with an r of its own, and takes 20.)
 *
 * That of CRC-32 divides x^311 + x^183 + x^155 + x^82 + x^64 + x^18 + 1, with delays by r
 *
 *      0:  w(2)
 *     28:  w(2)
 *     37:  w(3) ^ w(4)
 *     55:  w(3) ^ w(4)
 *
 * which takes 14 operations, and keeps five words.
 */
#include "proto/crc_fold.h"

#define MOST_KEPT	7
#define MOST_AT_ONCE	6

/* The register goes into a word that is looked up or folded, not into one that is kept. */
static_assert(CRC_FOLD_LEAST / 8 >= MOST_KEPT + MOST_AT_ONCE);

/* Of the words before the one that is next, the nearest is 1. */
struct words_before {
	u64 w1, w2, w3, w4;
	u64 e1, e2, e3, e4, e5, e6;
	u64 shifted;		/* for the word before: what of e or w is shifted anew for each */
};

/* Of two words in a row, far first, the 64 bits that end so many before near does. */
static __always_inline u64 bits_across(u64 near, u64 far, unsigned int bits)
{
	return near << bits | far >> (64 - bits);
}

static __always_inline u64 put_in_crc32(u64 word, struct words_before *b)
{
	u64 near = b->w3 ^ b->w4;

	word ^= b->w2 ^ bits_across(b->w2, b->w3, 28) ^ bits_across(near, b->shifted, 37) ^
		bits_across(near, b->shifted, 55);
	b->shifted = near;
	return word;
}

static __always_inline void shift_in_crc32(u64 word, struct words_before *b)
{
	b->w4 = b->w3;
	b->w3 = b->w2;
	b->w2 = b->w1;
	b->w1 = word;
}

static __always_inline u64 put_in_crc32c(u64 word, struct words_before *b)
{
	u64 near = b->w1 ^ b->e3;

	word ^= b->e2 ^ b->e4 ^ bits_across(b->e5, b->e6, 23) ^ bits_across(near, b->shifted, 54);
	b->shifted = near;
	return word;
}

static __always_inline void shift_in_crc32c(u64 word, struct words_before *b)
{
	b->e6 = b->e5;
	b->e5 = b->e4;
	b->e4 = b->e3;
	b->e3 = b->e2;
	b->e2 = b->e1;
	b->e1 = word ^ b->w1;
	b->w1 = word;
}

static __always_inline u64 take_word(const u8 **p)
{
	u64 word = get_unaligned_le64(*p);

	*p += 8;
	return word;
}

/* What a stretch is folded by. */
struct folding {
	u64 (*put_in)(u64 word, struct words_before *b);	/* a word with what is put in there */
	void (*shift_in)(u64 word, struct words_before *b);	/* then it is the one before */
	size_t at_once;		/* so many words: as many as are in line, so that none is moved */
	size_t kept;		/* words that the longest delay reaches over */
};

static __always_inline void fold_word(const struct folding *f, struct words_before *b, const u8 **p,
				      u64 reg)
{
	f->shift_in(f->put_in(take_word(p) ^ reg, b), b);
}

static __always_inline u32 fold_words(u32 crc, const u8 *p, size_t n, crc_fn table,
				      const struct folding f)
{
	struct words_before b = { 0 };
	u8 rest[8 * MOST_KEPT];
	size_t folded, i;
	u64 reg;

	if (n < CRC_FOLD_LEAST)
		return table(crc, p, n);

	folded = n / 8 - f.kept;
	i = folded % f.at_once;
	reg = table(crc, p, 8 * i);
	p += 8 * i;
	for (i = folded / f.at_once; i; i--) {
		fold_word(&f, &b, &p, reg);
		fold_word(&f, &b, &p, 0);
		fold_word(&f, &b, &p, 0);
		fold_word(&f, &b, &p, 0);
		if (f.at_once == MOST_AT_ONCE) {
			fold_word(&f, &b, &p, 0);
			fold_word(&f, &b, &p, 0);
		}
		reg = 0;
	}
	/* Nothing is put in there of one another. */
	for (i = 0; i < f.kept; i++) {
		put_unaligned_le64(f.put_in(take_word(&p), &b), rest + 8 * i);
		f.shift_in(0, &b);
	}
	return table(table(0, rest, 8 * f.kept), p, n % 8);
}

static const struct folding crc32_folding = { put_in_crc32, shift_in_crc32, 4, 5 };
static const struct folding crc32c_folding = {
	put_in_crc32c, shift_in_crc32c, MOST_AT_ONCE, MOST_KEPT
};

u32 crc32_fold(u32 crc, const u8 *p, size_t n, crc_fn table)
{
	return fold_words(crc, p, n, table, crc32_folding);
}

u32 crc32c_fold(u32 crc, const u8 *p, size_t n, crc_fn table)
{
	return fold_words(crc, p, n, table, crc32c_folding);
}
