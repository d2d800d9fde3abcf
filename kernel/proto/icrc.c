// SPDX-License-Identifier: GPL-2.0
/*
 * The pseudo header of the invariant CRC: network, UDP and base transport header, with ones in
 * every field that a switch or router may change. It is processed in words. The last one, AckReq
 * and PSN, is separate: packets of one flow and size that follow each other differ only there, and
 * in IPv4's identification. A CRC is linear, so the difference of two headers' registers is the
 * register of the difference of the headers.
 */
#include "crc_entries.h"
#include "crc_slice.h"
#include "icrc.h"
#include "pkt.h"

enum {
	IPV4_BYTES	= 20,
	IPV6_BYTES	= 40,
	UDP_BYTES	= 8,
	LAST_BYTES	= 4,
	MASKED_MAX_BYTES = IPV6_BYTES + UDP_BYTES + BTH_BYTES,
};

/* The register that IPv4's identification leaves behind it if all other headers are zeros. */
static const u32 ipv4_id_entries[2][256] = {
	{ ENTRIES256(0x9570d495u, 0xf190af6bu, 0x38505897u, 0x70a0b12eu,
		     0xe141625cu, 0x19f3c2f9u, 0x33e785f2u, 0x67cf0be4u) },
	{ ENTRIES256(0xcf9e17c8u, 0x444d29d1u, 0x889a53a2u, 0xca45a105u,
		     0x4ffa444bu, 0x9ff48896u, 0xe498176du, 0x1241289bu) },
};

/* The register after the masked LRH, eight bytes of ones. */
#define AFTER_LRH	0xdebb20e3u

/* Byte i of a word in memory order. */
#define BYTE(i)		(0xffull << (8 * (i)))
/* Traffic class, flow label and hop limit. */
#define IPV6_VARIANT	(0x0full | BYTE(1) | BYTE(2) | BYTE(3) | BYTE(7))
/* In the BTH's first word: FECN, BECN, reserved. */
#define BTH_VARIANT	BYTE(4)
#define IPV4_ID		(BYTE(4) | BYTE(5))
#define IPV4_ID_SHIFT	32

/*
 * Headers as words from their start, without the last four bytes. The BTH's first word comes last,
 * and overlaps the word before it where half a word is left.
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
	/* UDP: the checksum */
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

/* The register after the headers in memo. */
static u32 crc_of_words(crc_fn crc, const struct icrc_memo *memo, const struct layout *l)
{
	u8 m[MASKED_MAX_BYTES];
	size_t i;

	for (i = 0; i < l->words; i++)
		put_unaligned_le64(memo->word[i], m + word_at(l, i));
	put_unaligned_le32(memo->last, m + l->bytes - LAST_BYTES);
	return crc(AFTER_LRH, m, l->bytes);
}

/* id: the part of the first word that may differ from memo's. */
static __always_inline u32 start_icrc(crc_fn crc, struct icrc_memo *memo, const u8 *p,
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
	reg = memo->crc ^ crc32_of_word(last ^ memo->last, 0);
	if (id) {
		first >>= IPV4_ID_SHIFT;
		reg ^= ipv4_id_entries[0][first & 0xff] ^ ipv4_id_entries[1][first >> 8];
	}
	return reg;
}

u32 icrc_start_ipv4(crc_fn crc, struct icrc_memo *memo, const u8 *headers)
{
	return start_icrc(crc, memo, headers, &ipv4_layout, IPV4_ID);
}

u32 icrc_start_ipv6(crc_fn crc, struct icrc_memo *memo, const u8 *headers)
{
	return start_icrc(crc, memo, headers, &ipv6_layout, 0);
}

u32 icrc_start_grh(crc_fn crc, struct icrc_memo *memo, const u8 *headers)
{
	return start_icrc(crc, memo, headers, &grh_layout, 0);
}
