/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCE invariant CRC (IBTA 7.8.1 and RoCEv2 annex A17.3.3): CRC-32 over the packet from the network
 * header to the end of the pad, with ones in variant fields, seeded by a masked LRH of eight 0xff
 * bytes. The caller supplies the CRC function (table, PCLMUL, ...), so no choice is made here.
 *
 * The polynomial arithmetic is that of zlib's crc32 without the final inversion. Values here are
 * the running register (the kernel's "crc32_le" convention).
 */
#ifndef TERN_PROTO_ICRC_H
#define TERN_PROTO_ICRC_H

#include "crc_fold.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ICRC_WORDS	7

/*
 * The headers that a register was computed for; zeroed: none. A caller with several packets of one
 * flow and size keeps one, and gets the other registers at the cost of the differing fields only.
 * It is valid for any packet of one format.
 */
struct icrc_memo {
	u64 word[ICRC_WORDS];
	u32 last;
	u32 crc;
};

/*
 * The register after the masked LRH and the headers, which are contiguous: network header (IPv4: 20
 * bytes, without options; IPv6: 40), UDP header, BTH. The caller feeds what follows the BTH, up to
 * the end of the pad; icrc_finish() of the register is the ICRC.
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
