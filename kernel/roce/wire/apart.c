// SPDX-License-Identifier: GPL-2.0
/*
 * Batches of received packets, back into packets.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "roce/wire/apart.h"
#include "roce/wire/skb.h"

bool roce_skb_take_apart(struct sk_buff *skb, struct sk_buff **rest)
{
	u32 bytes = 0, truesize = 0;
	struct sk_buff *segment;

	/* a sniffer may have a clone, with the list */
	if (skb_unclone(skb, GFP_ATOMIC | __GFP_NOWARN))
		return false;
	skb_walk_frags(skb, segment) {
		bytes += segment->len;
		truesize += segment->truesize;
	}
	*rest = skb_shinfo(skb)->frag_list;
	skb_shinfo(skb)->frag_list = NULL;
	skb_gso_reset(skb);
	skb->data_len -= bytes;
	skb->len -= bytes;
	skb->truesize -= truesize;

	/* skb->data is at the UDP header; the lengths are covered by the ICRC */
	udp_hdr(skb)->len = htons(skb->len);
	if (roce_skb_is_ipv6(skb))
		ipv6_hdr(skb)->payload_len = htons(skb->len);
	else
		ip_hdr(skb)->tot_len = htons(skb->len - skb_network_offset(skb));
	return true;
}

void roce_skb_cut_headers(const struct sk_buff *skb, u8 *headers, u32 bytes, u32 before)
{
	struct udphdr *udp = (struct udphdr *)(headers + skb_network_header_len(skb));

	udp->len = htons(sizeof(*udp) + bytes);
	if (roce_skb_is_ipv6(skb)) {
		((struct ipv6hdr *)headers)->payload_len = udp->len;
	} else {
		struct iphdr *ip = (struct iphdr *)headers;

		ip->id = htons(ntohs(ip_hdr(skb)->id) + before);
		ip->tot_len = htons(sizeof(*ip) + sizeof(*udp) + bytes);
	}
}
