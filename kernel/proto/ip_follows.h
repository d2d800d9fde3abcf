/* SPDX-License-Identifier: GPL-2.0 */
/*
 * May a packet join a batch behind others of its flow, so that the batch's IP header stands for
 * that of each? The caller compares what a flow has in common (addresses, IPv6's flow label).
 * Everything else must be equal except length and header checksum, as in the kernel's GRO, and IPv4
 * identifications must count up, because the ICRC covers them. Headers without options or extension
 * headers.
 */
#ifndef TERN_PROTO_IP_FOLLOWS_H
#define TERN_PROTO_IP_FOLLOWS_H

#include "deps.h"

enum {
	IP4_TOS		= 1,
	IP4_ID		= 4,
	IP4_FRAGMENT	= 6,	/* DF, MF and offset */
	IP4_TTL		= 8,
	IP4_PROTOCOL	= 9,
	IP6_CLASS	= 0,	/* version, traffic class, flow label */
	IP6_NEXT	= 6,
	IP6_HOPS	= 7,
};

/* first: the batch's IPv4 header; next: that of a packet with `before` packets before it. */
static inline bool ip4_follows(const u8 *first, const u8 *next, u32 before)
{
	return first[0] == next[0] && first[IP4_TOS] == next[IP4_TOS] &&
	       get_unaligned_be16(first + IP4_FRAGMENT) ==
		       get_unaligned_be16(next + IP4_FRAGMENT) &&
	       first[IP4_TTL] == next[IP4_TTL] && first[IP4_PROTOCOL] == next[IP4_PROTOCOL] &&
	       (u16)(get_unaligned_be16(first + IP4_ID) + before) ==
		       get_unaligned_be16(next + IP4_ID);
}

static inline bool ip6_follows(const u8 *first, const u8 *next)
{
	return get_unaligned_be32(first + IP6_CLASS) == get_unaligned_be32(next + IP6_CLASS) &&
	       first[IP6_NEXT] == next[IP6_NEXT] && first[IP6_HOPS] == next[IP6_HOPS];
}

#endif
