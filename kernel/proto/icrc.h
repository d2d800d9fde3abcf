/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCE invariant CRC (IBTA 7.8.1 and RoCEv2 annex A17.3.3): CRC-32 over the
 * packet from the network header to the end of the pad, variant fields as
 * ones, seeded by a masked LRH of eight 0xff bytes. The caller brings the CRC
 * primitive (table, PCLMUL, ...), so that the engine stays free of policy.
 *
 * The polynomial arithmetic is zlib's crc32 without final inversion; values
 * here are the running register ("crc32_le" convention of the kernel).
 */
#ifndef TERN_PROTO_ICRC_H
#define TERN_PROTO_ICRC_H

#include "crc_fold.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ICRC_WORDS	7

/*
 * The headers that a register was computed for; zeroed: none. Whoever has
 * packets of one flow and size in a row keeps one for them, and is given the
 * others' registers for the price of what they differ in. It is good for any
 * packet of one format.
 */
struct icrc_memo {
	u64 word[ICRC_WORDS];
	u32 last;
	u32 crc;
};

/*
 * Register after the masked LRH and headers, which lie one behind the other:
 * network header (IPv4: 20 bytes, without options; IPv6: 40), UDP header, BTH.
 * What follows BTH, up to and including the pad, is fed by the caller; the ICRC
 * is then icrc_finish() of the register.
 */
u32 icrc_start_ipv4(crc_fn crc, struct icrc_memo *memo, const u8 *headers);
u32 icrc_start_ipv6(crc_fn crc, struct icrc_memo *memo, const u8 *headers);
/* RoCEv1: GRH of 40 bytes, no UDP header. */
u32 icrc_start_grh(crc_fn crc, struct icrc_memo *memo, const u8 *headers);

/* The ICRC field as a value to be stored little-endian (put_unaligned_le32). */
static inline u32 icrc_finish(u32 crc)
{
	return ~crc;
}

#ifdef __cplusplus
}
#endif

#endif
