/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ICRC of skbs. Which header fields count, and in which order, is in proto/icrc.c.
 */
#ifndef TERN_ROCE_ICRC_H
#define TERN_ROCE_ICRC_H

#include <linux/skbuff.h>

#include "proto/icrc.h"
#include "proto/pkt.h"

/* Register over the masked headers: network header (no IP options), UDP, BTH. */
u32 roce_icrc_start(const u8 *headers, bool ipv6, struct icrc_memo *memo);

/*
 * Is the ICRC right that ends the packet, whose headers are in k? Its BTH is in skb's data at
 * `at`, the ICRC ends `bytes` further on; headers: network header, UDP, BTH. BHs off.
 */
bool roce_icrc_ok(struct sk_buff *skb, u32 at, u32 bytes, const u8 *headers, const struct pkt *k,
		  bool ipv6);

/* For roce_skb_flat(): [at, at + n) is not all in skb's head. */
const u8 *roce_skb_frag_flat(const struct sk_buff *skb, u32 at, u32 n);

/* The bytes [at, at + n) of skb's data if they are one stretch, else NULL. */
static inline const u8 *roce_skb_flat(const struct sk_buff *skb, u32 at, u32 n)
{
	if (likely(at + n <= skb_headlen(skb)))
		return skb->data + at;
	return roce_skb_frag_flat(skb, at, n);
}

#endif
