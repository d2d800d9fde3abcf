/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A received packet in an skb: what is kept of its arrival, and what can be asked
 * of it while it is on its way into a QP or waits in one.
 */
#ifndef TERN_ROCE_WIRE_SKB_H
#define TERN_ROCE_WIRE_SKB_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/skbuff.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>

#include "proto/pkt.h"
#include "roce/wire/path.h"

struct roce_source;
struct tern_cqe;
struct tern_dev;
struct tern_sgl;
struct tern_span;

/*
 * What the QP needs from a received packet, valid only in the call: k is parsed, the
 * ICRC is right, the destination address is one of the device's. Without skb: a stretch
 * of packets, or one, straight from a QP of this host.
 */
struct roce_rx {
	struct tern_dev *dev;
	struct sk_buff *skb;		/* its data has the packet, from `at` on: BTH to ICRC */
	u32 at;
	u32 bytes;
	const u8 *headers;		/* network header, UDP if there is one, BTH */
	struct roce_source *src;	/* if there is no skb */
	struct pkt k;
	bool mcast;
	bool uncut;			/* skb has others too, and is not its to keep or free */
};

/*
 * skb->cb while the packet is ours: facts of its arrival, for when the netdev
 * may have gone (a packet can wait in a QP's backlog). The network and
 * MAC headers stay where skb's offsets say; skb->protocol tells which network's.
 */
struct roce_skb_cb {
	u32 psn;		/* in a tree of those that came before their turn */
	u16 vlan_id;
	u8 sl;
	bool has_vlan;
	bool has_smac;
	bool mcast;
	u8 smac[ETH_ALEN];
};

static inline struct roce_skb_cb *roce_skb_cb(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct roce_skb_cb) > sizeof_field(struct sk_buff, cb));
	return (struct roce_skb_cb *)skb->cb;
}

static inline bool roce_skb_is_ipv6(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6);
}

/* Is it a frame of RoCEv1, without IP and UDP? */
static inline bool roce_skb_is_frame(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IBOE);
}

static inline enum rdma_network_type roce_skb_network(const struct sk_buff *skb)
{
	if (roce_skb_is_ipv6(skb))
		return RDMA_NETWORK_IPV6;
	return roce_skb_is_frame(skb) ? RDMA_NETWORK_ROCE_V1 : RDMA_NETWORK_IPV4;
}

/* Was it marked on its way: the path has a queue that grows (RFC 3168 5)? */
static inline bool roce_skb_is_marked(const struct sk_buff *skb)
{
	switch (roce_skb_network(skb)) {
	case RDMA_NETWORK_IPV4:
		return INET_ECN_is_ce(ip_hdr(skb)->tos);
	case RDMA_NETWORK_IPV6:
		return INET_ECN_is_ce(ipv6_get_dsfield(ipv6_hdr(skb)));
	default:
		return false;	/* a GRH has no such bits */
	}
}

/*
 * Parse a detached skb, whose data is at the BTH; again when it comes from a QP's queue.
 * False cannot happen for queued ones.
 */
static inline bool roce_skb_parse(struct tern_dev *dev, struct sk_buff *skb, struct roce_rx *rx)
{
	rx->dev = dev;
	rx->skb = skb;
	rx->at = 0;
	rx->bytes = skb->len;
	rx->headers = skb_network_header(skb);
	rx->src = NULL;
	rx->mcast = roce_skb_cb(skb)->mcast;
	rx->uncut = false;
	return pkt_parse(skb->data, skb_headlen(skb), skb->len, &rx->k) == PKT_OK;
}

/* The packet as an skb of its own, for a queue of the QP's. NULL: no memory. Ends rx. */
struct sk_buff *roce_skb_keep(struct roce_rx *rx);
/* As roce_skb_keep(), but rx does not end. */
struct sk_buff *roce_skb_ref(const struct roce_rx *rx);
/* The other end of rx. Softirq, or BHs off. */
static inline void roce_skb_done(struct roce_rx *rx)
{
	if (!rx->uncut)
		napi_consume_skb(rx->skb, 1);
}

/* For roce_skb_flat(): [at, at + n) is not all in skb's head. */
const u8 *roce_skb_frag_flat(const struct sk_buff *skb, u32 at, u32 n);

/* The bytes [at, at + n) of skb's data if they are in one piece, else NULL. */
static inline const u8 *roce_skb_flat(const struct sk_buff *skb, u32 at, u32 n)
{
	if (likely(at + n <= skb_headlen(skb)))
		return skb->data + at;
	return roce_skb_frag_flat(skb, at, n);
}

/* Copy the bytes [at, at + n) of skb's data, which has them, in however many pieces. */
void roce_skb_to_span(struct sk_buff *skb, u32 at, const struct tern_span *span, u64 span_off,
		      u32 n);
int roce_skb_to_sgl(struct sk_buff *skb, u32 at, struct tern_sgl *sgl, u64 sgl_off, u32 n);

static inline void roce_skb_read(const struct sk_buff *skb, u32 at, void *dst, u32 n)
{
	WARN_ON_ONCE(skb_copy_bits(skb, at, dst, n));
}

/*
 * UD: the 40 bytes that go before the payload (IBTA 11.4.2.1: the GRH or IPv6 header;
 * IPv4: the header in the last 20, RoCEv2 annex A17.4.5.2), and the L2/L3 fields of a CQE.
 */
void roce_skb_grh(const struct roce_rx *rx, u8 grh[GRH_BYTES]);
void roce_skb_fill_cqe(const struct roce_rx *rx, struct tern_cqe *cqe);

/* Does the packet come from the peer that path points at (addresses)? */
static inline bool roce_skb_from_path(const struct sk_buff *skb, const struct roce_path *path)
{
	const struct ipv6hdr *ip6;

	if (path->network != roce_skb_network(skb))
		return false;
	if (path->network == RDMA_NETWORK_IPV4)
		return ip_hdr(skb)->saddr == path->v4.daddr && ip_hdr(skb)->daddr == path->v4.saddr;
	/* a GRH has them at the same place */
	ip6 = ipv6_hdr(skb);
	return ipv6_addr_equal(&ip6->saddr, &path->v6.daddr) &&
	       ipv6_addr_equal(&ip6->daddr, &path->v6.saddr);
}

#endif
