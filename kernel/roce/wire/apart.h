/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Batches of received packets, back into packets. A batch is a list, as build.c and
 * gro.c make them, or one UDP packet that a netdev was to cut and did not.
 */
#ifndef TERN_ROCE_WIRE_APART_H
#define TERN_ROCE_WIRE_APART_H

#include <linux/skbuff.h>
#include <linux/udp.h>

#include "roce/wire/skb.h"

/* Of the kind that build.c and gro.c make: whole packets on a list? */
static inline bool roce_skb_is_list(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST && skb_has_frag_list(skb);
}

/* Is it one UDP packet yet, which a netdev was to cut (or has put together)? See tx.c. */
static inline bool roce_skb_is_uncut(const struct sk_buff *skb)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);

	return (shinfo->gso_type & (SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST)) == SKB_GSO_UDP_L4 &&
	       shinfo->gso_size;
}

/*
 * Make a list's skb what it was before others were put on its frag_list; *rest: those,
 * for roce_skb_segment(). skb->data is at the UDP header. False: no memory.
 */
bool roce_skb_take_apart(struct sk_buff *skb, struct sk_buff **rest);
/*
 * What was the batch's becomes this packet's own; cb is the first packet's. Its data is
 * then at the UDP header. Consumes segment. NULL: no memory.
 */
static inline struct sk_buff *roce_skb_segment(struct sk_buff *segment, __be16 protocol,
					       const struct roce_skb_cb *cb)
{
	segment = skb_share_check(segment, GFP_ATOMIC | __GFP_NOWARN);
	if (unlikely(!segment))
		return NULL;
	skb_mark_not_on_list(segment);
	__skb_push(segment, sizeof(struct udphdr));
	segment->protocol = protocol;
	segment->dev = NULL;
	*roce_skb_cb(segment) = *cb;
	return segment;
}

/*
 * headers: those of an uncut skb. Make them those of the packet to be that comes behind
 * `before` others and has this many bytes behind the UDP header.
 */
void roce_skb_cut_headers(const struct sk_buff *skb, u8 *headers, u32 bytes, u32 before);

#endif
