/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 24-bit packet sequence numbers (IBTA 9.7.2): serial arithmetic modulo 2^24.
 * Two PSNs compare by their signed distance, meaningful within 2^23.
 */
#ifndef TERN_PROTO_PSN_H
#define TERN_PROTO_PSN_H

#include "deps.h"

#define PSN_MASK	0xffffffu
#define PSN_HALF	0x800000u

static inline u32 psn_add(u32 psn, u32 n)
{
	return (psn + n) & PSN_MASK;
}

/* Signed distance from b to a: positive if a is after b. */
static inline s32 psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

static inline bool psn_before(u32 a, u32 b)
{
	return psn_diff(a, b) < 0;
}

static inline bool psn_after(u32 a, u32 b)
{
	return psn_diff(a, b) > 0;
}

/* Is psn one of the n PSNs first, first + 1, ...? n at most 2^23. */
static inline bool psn_within(u32 psn, u32 first, u32 n)
{
	return ((psn - first) & PSN_MASK) < n;
}

/* PSNs that a message takes: one per packet, for a READ one per response (IBTA 9.7.2). */
static inline u32 psn_message_pkts(u32 length, u32 pmtu)
{
	/* the most frequent case, and it saves a division */
	if (length <= pmtu)
		return 1;
	return (u32)(((u64)length + pmtu - 1) / pmtu);
}

#endif
