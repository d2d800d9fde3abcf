// SPDX-License-Identifier: GPL-2.0
/*
 * Folding. The polynomial of CRC-32C divides
 *
 *     x^407 + x^289 + x^279 + x^215 + x^161 + x^151 + x^97 + x^87 + x^64 + 1
 *
 * So the CRC of a message does not change when a bit is removed and XORed into the places 118, 128,
 * 192, ... and 407 bits behind it: the differences of the exponents to the first. Doing this to all
 * words except the last seven leaves zeros, which do not change the CRC, and those seven. No delay
 * is shorter than a word, so each word is folded whole, and everything needed is in registers.
 *
 * A delay of 64 q + r bits puts the bits into the word q later, shifted, and the rest into the word
 * after that. The cost is shifts and XORs per word, and delays with the same r are shifted
 * together: of these nine delays four are whole words, three have r 54, two have r 23. With e(k)
 * for w(k) ^ w(k+1), the word k before and the one before that, they are, by r,
 *
 *      0:  w(2) ^ w(3) ^ w(4) ^ w(5)  =  e(2) ^ e(4)
 *     23:  w(5) ^ w(6)                =  e(5)
 *     54:  w(1) ^ w(3) ^ w(4)         =  w(1) ^ e(3)
 *
 * where e(2) is e(3) a word later, and so on: 12 operations a word. (The shortest polynomial, of
 * six terms, has only five delays, but each has its own r, and takes 20.)
 *
 * The polynomial of CRC-32 divides x^311 + x^183 + x^155 + x^82 + x^64 + x^18 + 1, with delays by r
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

/* The words before the next one; w1 is the nearest. */
struct history {
	u64 w1, w2, w3, w4;
	u64 e1, e2, e3, e4, e5, e6;
	u64 shifted;		/* of the previous word: the part of e or w that is shifted */
};

/* Of two consecutive words, far first, the 64 bits that end `bits` before near ends. */
static __always_inline u64 bits_across(u64 near, u64 far, unsigned int bits)
{
	return near << bits | far >> (64 - bits);
}

static __always_inline u64 put_in_crc32(u64 word, struct history *b)
{
	u64 near = b->w3 ^ b->w4;

	word ^= b->w2 ^ bits_across(b->w2, b->w3, 28) ^ bits_across(near, b->shifted, 37) ^
		bits_across(near, b->shifted, 55);
	b->shifted = near;
	return word;
}

static __always_inline void shift_in_crc32(u64 word, struct history *b)
{
	b->w4 = b->w3;
	b->w3 = b->w2;
	b->w2 = b->w1;
	b->w1 = word;
}

static __always_inline u64 put_in_crc32c(u64 word, struct history *b)
{
	u64 near = b->w1 ^ b->e3;

	word ^= b->e2 ^ b->e4 ^ bits_across(b->e5, b->e6, 23) ^ bits_across(near, b->shifted, 54);
	b->shifted = near;
	return word;
}

static __always_inline void shift_in_crc32c(u64 word, struct history *b)
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

/* How a polynomial is folded. */
struct folding {
	u64 (*put_in)(u64 word, struct history *b);	/* returns word with all folded in */
	void (*shift_in)(u64 word, struct history *b);	/* it becomes the word before */
	size_t at_once;		/* words per round: the history's length, so that nothing moves */
	size_t kept;		/* words that the longest delay spans */
};

static __always_inline void fold_word(const struct folding *f, struct history *b, const u8 **p,
				      u64 reg)
{
	f->shift_in(f->put_in(take_word(p) ^ reg, b), b);
}

static __always_inline u32 fold_words(u32 crc, const u8 *p, size_t n, crc_fn table,
				      const struct folding f)
{
	struct history b = { 0 };
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
	/* These are not folded into one another. */
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
