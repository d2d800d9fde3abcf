// SPDX-License-Identifier: GPL-2.0
/*
 * Generic receive offload: packets of a flow that a driver hands up together go
 * through the stack together, the later ones on the first one's frag_list, as
 * build.c makes them; apart.c takes them apart. They may differ in all that is behind
 * the UDP header. Of the IP headers a filter sees the first one alone.
 *
 * Should the stack send such a batch on after all, as a bridge would, it numbers
 * the IPv4 identifications anew, which the ICRC covers: so only packets whose
 * numbers follow upon each other are put together, and only for addresses of ours.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/gro.h>

#include "proto/ip_follows.h"
#include "roce/wire/gid.h"
#include "roce/wire/gro.h"
#include "roce/wire/net.h"
#include "roce/wire/tx.h"

/* As many as a driver hands up at a time. */
#define ROCE_GRO_PKTS	64

/* Of the packets that come by this socket: none takes both, see socket.c. */
static bool is_ipv6(const struct sock *sk)
{
	return sk->sk_family == AF_INET6;
}

/*
 * Where in skb, and in what is held of its flow, the IP header is, without options or
 * extension headers. (Which of GRO's own offsets tells it, before the UDP header is
 * behind, is not the same in all kernels.)
 */
static u32 ip_at(const struct sock *sk, const struct sk_buff *skb)
{
	u32 bytes = is_ipv6(sk) ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);

	return skb_gro_offset(skb) - sizeof(struct udphdr) - bytes;
}

/* skb's, or NULL. */
static const void *ip_of(const struct sock *sk, struct sk_buff *skb)
{
	return skb_gro_header(skb, skb_gro_offset(skb), ip_at(sk, skb));
}

/* ip: skb's header, or NULL. */
static bool is_for_us(const struct sock *sk, const struct sk_buff *skb, const void *ip)
{
	const struct roce_net *rn = rcu_dereference_sk_user_data(sk);
	union ib_gid gid;

	if (!rn || !ip)
		return false;
	if (is_ipv6(sk)) {
		const struct ipv6hdr *ip6 = ip;

		if (ip6->nexthdr != IPPROTO_UDP)
			return false;
		memcpy(&gid, &ip6->daddr, sizeof(gid));
	} else {
		roce_gid_from_ip4(&gid, ((const struct iphdr *)ip)->daddr);
	}
	return roce_gid_find(rn, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP, skb->dev->ifindex, false);
}

/* Does what is said of p's packets, by the first one's IP header, hold for skb too? */
static bool may_follow(const struct sock *sk, const struct sk_buff *p, struct sk_buff *skb)
{
	const u8 *held = p->data + ip_at(sk, skb);
	const u8 *ip = ip_of(sk, skb);

	if (!ip)
		return false;
	return is_ipv6(sk) ? ip6_follows(held, ip) :
			     ip4_follows(held, ip, NAPI_GRO_CB(p)->count);
}

/* p: the first of the batch; skb: its offset is behind the UDP header. */
static void append_packet(struct sk_buff *p, struct sk_buff *skb)
{
	skb_pull(skb, skb_gro_offset(skb));
	/* a transmitter on the same host is charged for what they were, no more and no less */
	skb_orphan(p);
	skb_orphan(skb);

	if (NAPI_GRO_CB(p)->last == p)
		skb_shinfo(p)->frag_list = skb;
	else
		NAPI_GRO_CB(p)->last->next = skb;
	NAPI_GRO_CB(p)->last = skb;
	NAPI_GRO_CB(p)->count++;
	p->data_len += skb->len;
	p->len += skb->len;
	p->truesize += skb->truesize;
	skb_shinfo(p)->flags |= skb_shinfo(skb)->flags & SKBFL_SHARED_FRAG;
	NAPI_GRO_CB(skb)->same_flow = 1;
}

/*
 * The sender's netdev was to cut skb and has not, as it is one between virtual
 * machines. The stack would do it in front of the socket, except for what tunnels carry.
 */
static void let_pass_uncut(const struct sock *sk, struct sk_buff *skb)
{
	if (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4 && !skb_cloned(skb) &&
	    is_for_us(sk, skb, ip_of(sk, skb)))
		skb_shinfo(skb)->gso_type |= SKB_GSO_UDP_TUNNEL;
}

/* The packet held, or batch, that skb is of the flow of. */
static struct sk_buff *find_held(struct list_head *head)
{
	struct sk_buff *p;

	list_for_each_entry(p, head, list)
		if (NAPI_GRO_CB(p)->same_flow)
			return p;
	return NULL;
}

struct sk_buff *roce_gro_receive(struct sock *sk, struct list_head *head, struct sk_buff *skb)
{
	struct sk_buff *p;

	/* a tag goes with its packet */
	if (skb->protocol != htons(ETH_P_IP) && skb->protocol != htons(ETH_P_IPV6))
		NAPI_GRO_CB(skb)->flush = 1;
	/* and several in one can be no segment of a list */
	if (skb_is_gso(skb)) {
		let_pass_uncut(sk, skb);
		NAPI_GRO_CB(skb)->flush = 1;
	}
	p = find_held(head);
	if (!p)
		return NULL;
	if (NAPI_GRO_CB(skb)->flush || !may_follow(sk, p, skb) ||
	    p->len + skb_gro_len(skb) > U16_MAX - sizeof(struct ipv6hdr) ||
	    !pskb_may_pull(skb, skb_gro_offset(skb)) ||
	    (NAPI_GRO_CB(p)->count == 1 && !is_for_us(sk, p, p->data + ip_at(sk, skb))))
		return p;
	append_packet(p, skb);
	return NAPI_GRO_CB(p)->count < ROCE_GRO_PKTS ? NULL : p;
}

int roce_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff)
{
	skb_shinfo(skb)->gso_type = ROCE_GSO_TYPE;
	skb_shinfo(skb)->gso_segs = NAPI_GRO_CB(skb)->count;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	/* the stack made it the batch's, and would send it on in the first packet */
	((struct udphdr *)(skb->data + nhoff) - 1)->check = 0;
	/* nothing is inside of which headers would be known */
	skb->encapsulation = 0;
	return 0;
}
