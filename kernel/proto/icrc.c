// SPDX-License-Identifier: GPL-2.0
/*
 * The invariant CRC's pseudo header: network, UDP and base transport header
 * with every field that a switch or router may change replaced by ones. It is
 * taken in words, the last of which, AckReq and PSN, is apart: in it, and in
 * IPv4's identification, packets of one flow and size differ that follow each
 * other. As a CRC is linear, the difference of two headers' registers is the
 * register that the difference of the headers leaves.
 */
#include "icrc.h"
#include "pkt.h"

enum {
	IPV4_BYTES	= 20,
	IPV6_BYTES	= 40,
	UDP_BYTES	= 8,
	LAST_BYTES	= 4,
	MASKED_MAX_BYTES = IPV6_BYTES + UDP_BYTES + BTH_BYTES,
};

/* CRC-32 is linear, so the eight entries for single bits give all the others. */
#define BIT_ENTRY(i, bit, entry)	((i) & (bit) ? (entry) : 0u)
#define ENTRY_OF(i, b0, b1, b2, b3, b4, b5, b6, b7)			\
	(BIT_ENTRY(i, 0x01, b0) ^ BIT_ENTRY(i, 0x02, b1) ^		\
	 BIT_ENTRY(i, 0x04, b2) ^ BIT_ENTRY(i, 0x08, b3) ^		\
	 BIT_ENTRY(i, 0x10, b4) ^ BIT_ENTRY(i, 0x20, b5) ^		\
	 BIT_ENTRY(i, 0x40, b6) ^ BIT_ENTRY(i, 0x80, b7))
#define ENTRY(i, ...)		ENTRY_OF(i, __VA_ARGS__)
#define ENTRIES4(i, ...)						\
	ENTRY(i, __VA_ARGS__), ENTRY((i) + 1, __VA_ARGS__),		\
	ENTRY((i) + 2, __VA_ARGS__), ENTRY((i) + 3, __VA_ARGS__)
#define ENTRIES16(i, ...)						\
	ENTRIES4(i, __VA_ARGS__), ENTRIES4((i) + 4, __VA_ARGS__),	\
	ENTRIES4((i) + 8, __VA_ARGS__), ENTRIES4((i) + 12, __VA_ARGS__)
#define ENTRIES64(i, ...)						\
	ENTRIES16(i, __VA_ARGS__), ENTRIES16((i) + 16, __VA_ARGS__),	\
	ENTRIES16((i) + 32, __VA_ARGS__), ENTRIES16((i) + 48, __VA_ARGS__)
#define ENTRIES256(...)							\
	ENTRIES64(0, __VA_ARGS__), ENTRIES64(64, __VA_ARGS__),		\
	ENTRIES64(128, __VA_ARGS__), ENTRIES64(192, __VA_ARGS__)

static const u32 crc32_entries[256] = {
	ENTRIES256(0x77073096u, 0xee0e612cu, 0x076dc419u, 0x0edb8832u,
		   0x1db71064u, 0x3b6e20c8u, 0x76dc4190u, 0xedb88320u)
};

/* The register that IPv4's identification leaves after the other headers if they are zeros. */
static const u32 ipv4_id_entries[2][256] = {
	{ ENTRIES256(0x9570d495u, 0xf190af6bu, 0x38505897u, 0x70a0b12eu,
		     0xe141625cu, 0x19f3c2f9u, 0x33e785f2u, 0x67cf0be4u) },
	{ ENTRIES256(0xcf9e17c8u, 0x444d29d1u, 0x889a53a2u, 0xca45a105u,
		     0x4ffa444bu, 0x9ff48896u, 0xe498176du, 0x1241289bu) },
};

u32 crc32_table(u32 crc, const u8 *p, size_t n)
{
	while (n--)
		crc = (crc >> 8) ^ crc32_entries[(crc ^ *p++) & 0xff];
	return crc;
}

/* The register that four bytes leave. */
static u32 crc32_of_word(u32 le)
{
	int i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
		le = (le >> 8) ^ crc32_entries[le & 0xff];
	return le;
}

/* The register after the masked LRH, eight bytes of ones. */
#define AFTER_LRH	0xdebb20e3u

/* Byte i of a word as it is in memory. */
#define BYTE(i)		(0xffull << (8 * (i)))
/* Traffic class, flow label and hop limit. */
#define IPV6_VARIANT	(0x0full | BYTE(1) | BYTE(2) | BYTE(3) | BYTE(7))
/* Of the BTH's first word: FECN, BECN, reserved. */
#define BTH_VARIANT	BYTE(4)
#define IPV4_ID		(BYTE(4) | BYTE(5))
#define IPV4_ID_SHIFT	32

/*
 * Headers as words from their begin on, but for the last four bytes. The BTH's first
 * word is the last one, and overlaps the one before it where there is half a word.
 */
struct layout {
	size_t bytes;
	size_t words;
	u64 ones[ICRC_WORDS];	/* variant fields */
};

static const struct layout ipv4_layout = {
	.bytes = IPV4_BYTES + UDP_BYTES + BTH_BYTES,
	.words = 5,
	/* TOS; TTL and checksum; UDP checksum */
	.ones = { BYTE(1), BYTE(0) | BYTE(2) | BYTE(3), 0, BYTE(2) | BYTE(3), BTH_VARIANT },
};

static const struct layout ipv6_layout = {
	.bytes = IPV6_BYTES + UDP_BYTES + BTH_BYTES,
	.words = 7,
	/* then, of UDP, the checksum */
	.ones = { IPV6_VARIANT, 0, 0, 0, 0, BYTE(6) | BYTE(7), BTH_VARIANT },
};

static const struct layout grh_layout = {
	.bytes = GRH_BYTES + BTH_BYTES,
	.words = 6,
	.ones = { IPV6_VARIANT, 0, 0, 0, 0, BTH_VARIANT },
};

static size_t word_at(const struct layout *l, size_t i)
{
	return i + 1 == l->words ? l->bytes - LAST_BYTES - 8 : 8 * i;
}

/* Of headers that memo has the words of. */
static u32 crc_of_words(crc_fn crc, const struct icrc_memo *memo, const struct layout *l)
{
	u8 m[MASKED_MAX_BYTES];
	size_t i;

	for (i = 0; i < l->words; i++)
		put_unaligned_le64(memo->word[i], m + word_at(l, i));
	put_unaligned_le32(memo->last, m + l->bytes - LAST_BYTES);
	return crc(AFTER_LRH, m, l->bytes);
}

/* id: what of the first word may differ from that in memo. */
static __always_inline u32 start(crc_fn crc, struct icrc_memo *memo, const u8 *p,
				 const struct layout *l, const u64 id)
{
	u32 last = get_unaligned_le32(p + l->bytes - LAST_BYTES);
	u64 first = (get_unaligned_le64(p) | l->ones[0]) ^ memo->word[0];
	u64 differ = first & ~id;
	u32 reg;
	size_t i;

#pragma GCC unroll 8
	for (i = 1; i < l->words; i++)
		differ |= (get_unaligned_le64(p + word_at(l, i)) | l->ones[i]) ^ memo->word[i];

	if (differ) {
		for (i = 0; i < l->words; i++)
			memo->word[i] = get_unaligned_le64(p + word_at(l, i)) | l->ones[i];
		memo->last = last;
		memo->crc = crc_of_words(crc, memo, l);
		return memo->crc;
	}
	reg = memo->crc ^ crc32_of_word(last ^ memo->last);
	if (id) {
		first >>= IPV4_ID_SHIFT;
		reg ^= ipv4_id_entries[0][first & 0xff] ^ ipv4_id_entries[1][first >> 8];
	}
	return reg;
}

u32 icrc_start_ipv4(crc_fn crc, struct icrc_memo *memo, const u8 *headers)
{
	return start(crc, memo, headers, &ipv4_layout, IPV4_ID);
}

u32 icrc_start_ipv6(crc_fn crc, struct icrc_memo *memo, const u8 *headers)
{
	return start(crc, memo, headers, &ipv6_layout, 0);
}

u32 icrc_start_grh(crc_fn crc, struct icrc_memo *memo, const u8 *headers)
{
	return start(crc, memo, headers, &grh_layout, 0);
}
