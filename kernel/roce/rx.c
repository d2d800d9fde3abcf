// SPDX-License-Identifier: GPL-2.0
/*
 * Received packets: from the UDP socket to a QP. Nothing in the packet is
 * believed before its lengths and its ICRC are checked, nothing it does is
 * logged, and its payload is never linearised: it is copied once, from where
 * the NIC put it to where the application wants it. So it is with packets that
 * come as one yet, which no netdev has cut.
 *
 * Also what a QP may ask of the packet it is given.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/prefetch.h>
#include <linux/udp.h>
#include <net/dst.h>
#include <net/inet_ecn.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "icrc.h"
#include "net.h"
#include "uncleared.h"

/*
 * skb->cb while the packet is ours: what is to be known of its arrival after
 * the netdev may have gone (a packet can wait in a QP's backlog). The IP and
 * MAC headers stay where skb's offsets say; skb->protocol tells IPv6 from IPv4.
 */
struct rx_cb {
	u16 vlan_id;
	u8 sl;
	bool has_vlan;
	bool has_smac;
	bool mcast;
	u8 smac[ETH_ALEN];
};

static struct rx_cb *rx_cb(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct rx_cb) > sizeof_field(struct sk_buff, cb));
	return (struct rx_cb *)skb->cb;
}

static bool is_ipv6(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6);
}

/* Where a packet is to: GID, netdev it came in by. */
struct rx_dest {
	union ib_gid gid;
	int iif;
	bool loopback;
	bool mcast;
};

static void rx_dest(const struct sk_buff *skb, struct rx_dest *to)
{
	to->loopback = skb->dev->flags & IFF_LOOPBACK;
	if (is_ipv6(skb)) {
		memcpy(&to->gid, &ipv6_hdr(skb)->daddr, sizeof(to->gid));
		to->mcast = ipv6_addr_is_multicast(&ipv6_hdr(skb)->daddr);
		/* on `lo`: the netdev that has the address */
		to->iif = inet6_iif(skb);
	} else {
		roce_gid_from_ip4(&to->gid, ip_hdr(skb)->daddr);
		to->mcast = ipv4_is_multicast(ip_hdr(skb)->daddr);
		to->iif = skb->dev->ifindex;
	}
}

/*
 * What this host sends to itself comes by `lo`. IPv4 drops what comes by the wire with one
 * of our own addresses as its source, IPv6 does not: then a neighbour could pretend to be
 * the peer of a QP whose peer is on this host. (To a group anybody may send; own packets
 * to it come back by the netdev that they left by.)
 */
static bool pretends_to_be_us(const struct tern_dev *dev, const struct sk_buff *skb,
			      const struct rx_dest *to)
{
	const struct in6_addr *from;

	if (!is_ipv6(skb) || to->loopback || to->mcast)
		return false;
	from = &ipv6_hdr(skb)->saddr;
	/* a link-local one may be another host's on another link */
	return tern_ipv6_dev_find(dev->net, from,
				  ipv6_addr_type(from) & IPV6_ADDR_LINKLOCAL ? skb->dev : NULL);
}

/*
 * skb->data is at the UDP header. Leaves it at the BTH with the trailing bytes
 * gone and the headers linear. IP options and extension headers are refused:
 * the ICRC is defined over the fixed header only (annex A17.3.3).
 */
static __always_inline bool rx_trim(struct sk_buff *skb)
{
	u32 ip_bytes = is_ipv6(skb) ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	u32 bytes;

	if (skb_network_header_len(skb) != ip_bytes)
		return false;
	if (!pskb_may_pull(skb, sizeof(struct udphdr)))
		return false;
	bytes = ntohs(udp_hdr(skb)->len);
	if (bytes < sizeof(struct udphdr) + BTH_BYTES + ICRC_BYTES || bytes > skb->len)
		return false;
	bytes -= sizeof(struct udphdr);
	if (!pskb_may_pull(skb, sizeof(struct udphdr) + min_t(u32, bytes, PKT_HDR_MAX_BYTES)))
		return false;
	__skb_pull(skb, sizeof(struct udphdr));
	return skb->len == bytes || !pskb_trim(skb, bytes);
}

/* Keep of the arrival what a CQE wants, and let go of netdev, route and socket. */
static void rx_detach(struct sk_buff *skb, bool loopback, bool mcast)
{
	struct net_device *ndev = skb->dev;
	struct rx_cb *cb = rx_cb(skb);

	memset(cb, 0, sizeof(*cb));
	cb->mcast = mcast;
	if (!loopback && skb_mac_header_was_set(skb) && skb->mac_len == ETH_HLEN) {
		cb->has_smac = true;
		ether_addr_copy(cb->smac, eth_hdr(skb)->h_source);
	}
	if (is_vlan_dev(ndev)) {
		cb->has_vlan = true;
		cb->vlan_id = vlan_dev_vlan_id(ndev);
		cb->sl = skb->priority & 7;	/* the netdev's ingress map */
	} else if (skb_vlan_tag_present(skb)) {
		cb->has_vlan = true;
		cb->vlan_id = skb_vlan_tag_get_id(skb);
		cb->sl = skb_vlan_tag_get_prio(skb);
	}
	skb_dst_drop(skb);
	skb_orphan(skb);
	skb->dev = NULL;
}

static bool is_congestion_marked(const struct sk_buff *skb)
{
	u8 dsfield = is_ipv6(skb) ? ipv6_get_dsfield(ipv6_hdr(skb)) : ip_hdr(skb)->tos;

	return INET_ECN_is_ce(dsfield);
}

bool roce_rx_parse(struct tern_dev *dev, struct sk_buff *skb, struct roce_rx *rx)
{
	rx->dev = dev;
	rx->skb = skb;
	rx->at = 0;
	rx->bytes = skb->len;
	rx->headers = skb_network_header(skb);
	rx->src = NULL;
	rx->mcast = rx_cb(skb)->mcast;
	rx->uncut = false;
	return pkt_parse(skb->data, skb_headlen(skb), skb->len, &rx->k) == PKT_OK;
}

/* Everything that can be checked without a QP. False: counted. */
static bool rx_accept(const struct roce_rx *rx)
{
	struct tern_dev *dev = rx->dev;

	if (unlikely(!roce_icrc_ok(rx->skb, rx->at, rx->bytes, rx->headers, &rx->k,
				   is_ipv6(rx->skb)))) {
		tern_count(dev, TERN_CNT_RX_ICRC_ERR);
		return false;
	}
	tern_count(dev, TERN_CNT_RX_PKTS);
	tern_count_add(dev, TERN_CNT_RX_BYTES, rx->k.payload_bytes);
	if (unlikely(is_congestion_marked(rx->skb)))
		tern_count(dev, TERN_CNT_RX_CE);
	if (unlikely(rx->k.op_flags & OPF_CNP)) {
		tern_count(dev, TERN_CNT_RX_CNP);
		return false;
	}
	return true;
}

/* What a QP that takes rx in reads first: on its way while the CRC is computed. */
static void rx_prefetch(const struct roce_qp *qp, const struct roce_rx *rx)
{
	prefetch(&qp->base.run_lock);
	prefetch(&qp->base.mem);
	prefetch(&qp->path);
	prefetch(&qp->tx.batch);
	prefetch(&qp->local);
	if (rx->k.op_flags & OPF_REQUEST) {
		prefetch(&qp->resp);
		prefetch(&qp->resp.epsn);
	} else {
		prefetch(&qp->req.ring);
		prefetch(&qp->req.psn_una);
	}
}

/* To its QP, if it has one. Ends rx. */
static __always_inline void rx_deliver(struct roce_net *rn, const struct rx_dest *to,
				       struct roce_rx *rx, struct roce_rx_series *series)
{
	struct tern_qp *qp = tern_qp_lookup(rx->dev, rx->k.dqpn);

	if (likely(qp))
		rx_prefetch(to_roce_qp(qp), rx);
	if (unlikely(!rx_accept(rx)))
		goto drop;
	/* the multicast QPN goes with a multicast address, and only with that */
	if (unlikely(to->mcast != (rx->k.dqpn == QPN_MCAST))) {
		tern_count(rx->dev, TERN_CNT_RX_NO_QP);
		goto drop;
	}
	if (unlikely(to->mcast)) {
		roce_mcast_deliver(rn, &to->gid, to->iif, rx, series);
		return;
	}
	if (unlikely(!qp)) {
		tern_count(rx->dev, TERN_CNT_RX_NO_QP);
		goto drop;
	}
	roce_qp_rx(series, to_roce_qp(qp), rx);
	return;
drop:
	roce_rx_done(rx);
}

/* One packet to dev; skb->data is at the UDP header. */
static void rx_packet(struct roce_net *rn, struct tern_dev *dev, const struct rx_dest *to,
		      struct sk_buff *skb, struct roce_rx_series *series)
{
	struct roce_rx rx TERN_UNCLEARED;

	if (unlikely(!rx_trim(skb) || !roce_rx_parse(dev, skb, &rx))) {
		tern_count(dev, TERN_CNT_RX_MALFORMED);
		kfree_skb(skb);
		return;
	}
	rx_deliver(rn, to, &rx, series);
}

/* ---- batches ---- */

/* Of the kind that tx.c and gro.c make: whole packets on a list? */
static bool is_list(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST && skb_has_frag_list(skb);
}

/*
 * Make skb what it was before others were put on its frag_list; *rest: those.
 * False: no memory.
 */
static bool take_apart(struct sk_buff *skb, struct sk_buff **rest)
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
	if (is_ipv6(skb))
		ipv6_hdr(skb)->payload_len = htons(skb->len);
	else
		ip_hdr(skb)->tot_len = htons(skb->len - skb_network_offset(skb));
	return true;
}

/* What was the batch's becomes this packet's own. NULL: no memory. */
static struct sk_buff *rx_segment(struct sk_buff *segment, __be16 protocol, const struct rx_cb *cb)
{
	segment = skb_share_check(segment, GFP_ATOMIC | __GFP_NOWARN);
	if (unlikely(!segment))
		return NULL;
	skb_mark_not_on_list(segment);
	__skb_push(segment, sizeof(struct udphdr));
	segment->protocol = protocol;
	segment->dev = NULL;
	*rx_cb(segment) = *cb;
	return segment;
}

/* Is it one UDP packet yet, which a netdev was to cut (or has put together)? See tx.c. */
static bool is_uncut(const struct sk_buff *skb)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);

	return (shinfo->gso_type & (SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST)) == SKB_GSO_UDP_L4 &&
	       shinfo->gso_size;
}

/* The headers of a packet to be, which follows upon `before` others and has so many bytes. */
static void cut_headers(const struct sk_buff *skb, u8 *headers, u32 bytes, u32 before)
{
	struct udphdr *udp = (struct udphdr *)(headers + skb_network_header_len(skb));

	udp->len = htons(sizeof(*udp) + bytes);
	if (is_ipv6(skb)) {
		((struct ipv6hdr *)headers)->payload_len = udp->len;
	} else {
		struct iphdr *ip = (struct iphdr *)headers;

		ip->id = htons(ntohs(ip_hdr(skb)->id) + before);
		ip->tot_len = htons(sizeof(*ip) + sizeof(*udp) + bytes);
	}
}

/* Each of the packets where it is. skb->data is at the UDP header. Frees skb. */
static void rx_uncut(struct roce_net *rn, struct tern_dev *dev, const struct rx_dest *to,
		     struct sk_buff *skb, struct roce_rx_series *series)
{
	u8 headers[sizeof(struct ipv6hdr) + sizeof(struct udphdr) + PKT_HDR_MAX_BYTES] __aligned(8);
	u32 net_bytes = skb_network_header_len(skb) + sizeof(struct udphdr);
	u32 size = skb_shinfo(skb)->gso_size;
	struct roce_rx rx TERN_UNCLEARED;
	u32 at, have, npkts = 0;

	/* not all kernels bound their number */
	if (size < BTH_BYTES + ICRC_BYTES || !rx_trim(skb) ||
	    DIV_ROUND_UP(skb->len, size) > UDP_MAX_SEGMENTS) {
		tern_count(dev, TERN_CNT_RX_MALFORMED);
		kfree_skb(skb);
		return;
	}
	memcpy(headers, skb_network_header(skb), net_bytes);
	for (at = 0; at < skb->len; at += rx.bytes) {
		rx.dev = dev;
		rx.skb = skb;
		rx.at = at;
		rx.bytes = min(size, skb->len - at);
		rx.headers = headers;
		rx.src = NULL;
		rx.mcast = to->mcast;
		rx.uncut = true;
		have = min_t(u32, rx.bytes, PKT_HDR_MAX_BYTES);
		cut_headers(skb, headers, rx.bytes, npkts++);
		if (unlikely(skb_copy_bits(skb, at, headers + net_bytes, have) ||
			     pkt_parse(headers + net_bytes, have, rx.bytes, &rx.k) != PKT_OK))
			tern_count(dev, TERN_CNT_RX_MALFORMED);
		else
			rx_deliver(rn, to, &rx, series);
	}
	consume_skb(skb);
}

/* What came through the stack at a time: a packet or a batch of them. */
static void rx_all(struct roce_net *rn, struct sk_buff *skb)
{
	struct roce_rx_series series = {};
	struct sk_buff *next = NULL;
	__be16 protocol = skb->protocol;
	struct tern_dev *dev;
	struct rx_dest to;
	struct rx_cb cb TERN_UNCLEARED;

	rx_dest(skb, &to);
	dev = unlikely(to.mcast) ? roce_mcast_find(rn, &to.gid, to.iif) :
				   roce_gid_find(rn, &to.gid, to.iif, to.loopback);
	/* an address that is no GID, or of a port that was switched off */
	if (unlikely(!dev) || unlikely(!(READ_ONCE(dev->netdev->flags) & IFF_UP))) {
		kfree_skb(skb);
		return;
	}
	if (unlikely(pretends_to_be_us(dev, skb, &to))) {
		tern_count_add(dev, TERN_CNT_RX_BAD_PATH, max_t(u32, skb_shinfo(skb)->gso_segs, 1));
		kfree_skb(skb);
		return;
	}
	if (skb_is_gso(skb) && !is_uncut(skb) && unlikely(!is_list(skb) || !take_apart(skb, &next))) {
		tern_count(dev, TERN_CNT_RX_MALFORMED);
		kfree_skb(skb);
		return;
	}
	rx_detach(skb, to.loopback, to.mcast);
	if (skb_is_gso(skb)) {
		rx_uncut(rn, dev, &to, skb, &series);
		goto end;
	}
	/* for those that come after it */
	if (next)
		cb = *rx_cb(skb);
	while (skb) {
		struct sk_buff *segment = next;

		rx_packet(rn, dev, &to, skb, &series);
		if (!segment)
			break;
		next = segment->next;
		skb = rx_segment(segment, protocol, &cb);
	}
	/* no memory */
	kfree_skb_list(skb ? NULL : next);
end:
	roce_rx_series_end(&series);
}

int roce_rx_udp(struct sock *sk, struct sk_buff *skb)
{
	struct roce_net *rn;

	rcu_read_lock();
	rn = rcu_dereference_sk_user_data(sk);
	if (likely(rn))
		rx_all(rn, skb);
	else
		kfree_skb(skb);
	rcu_read_unlock();
	return 0;
}

/* ---- what a QP asks of its packet ---- */

/* A copy of one of several, as roce_rx_parse() takes it. */
static struct sk_buff *copy_of(const struct roce_rx *rx)
{
	u32 net_bytes = skb_network_header_len(rx->skb) + sizeof(struct udphdr);
	struct sk_buff *skb = alloc_skb(net_bytes + rx->bytes, GFP_ATOMIC | __GFP_NOWARN);

	if (!skb)
		return NULL;
	skb->protocol = rx->skb->protocol;
	*rx_cb(skb) = *rx_cb(rx->skb);
	skb_reset_network_header(skb);
	skb_put_data(skb, rx->headers, net_bytes);
	__skb_pull(skb, net_bytes);
	if (skb_copy_bits(rx->skb, rx->at, skb_put(skb, rx->bytes), rx->bytes)) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

struct sk_buff *roce_rx_keep(struct roce_rx *rx)
{
	return rx->uncut ? copy_of(rx) : rx->skb;
}

struct sk_buff *roce_rx_ref(const struct roce_rx *rx)
{
	return rx->uncut ? copy_of(rx) : skb_get(rx->skb);
}

void roce_rx_done(struct roce_rx *rx)
{
	if (!rx->uncut)
		napi_consume_skb(rx->skb, 1);
}

/* Where payload byte off is in the skb; false if [off, off + n) is not all payload. */
static bool rx_range(const struct roce_rx *rx, u32 off, u32 n, u32 *at)
{
	*at = rx->at + rx->k.hdr_bytes + off;
	return off <= rx->k.payload_bytes && n <= rx->k.payload_bytes - off;
}

int roce_rx_to_span(const struct roce_rx *rx, u32 off, const struct tern_span *span, u64 span_off,
		    u32 n)
{
	struct skb_seq_state seq;
	u32 at, len, done = 0;
	const u8 *p;

	if (WARN_ON_ONCE(!rx_range(rx, off, n, &at)))
		return -EINVAL;
	if (!rx->skb)
		return roce_source_to_span(rx->src, off, span, span_off, n);
	p = roce_skb_flat(rx->skb, at, n);
	if (likely(p)) {
		tern_span_write(span, span_off, p, n);
		return 0;
	}
	skb_prepare_seq_read(rx->skb, at, at + n, &seq);
	while ((len = skb_seq_read(done, &p, &seq))) {
		len = min(len, n - done);
		tern_span_write(span, span_off + done, p, len);
		done += len;
	}
	return 0;
}

int roce_rx_to_sgl(const struct roce_rx *rx, u32 off, struct tern_sgl *sgl, u64 sgl_off, u32 n)
{
	struct skb_seq_state seq;
	u32 at, len, done = 0;
	const u8 *p;
	int err;

	if (WARN_ON_ONCE(!rx_range(rx, off, n, &at)))
		return -EINVAL;
	if (!rx->skb)
		return roce_source_to_sgl(rx->src, off, sgl, sgl_off, n);
	p = roce_skb_flat(rx->skb, at, n);
	if (likely(p))
		return tern_sgl_write(sgl, sgl_off, p, n);

	skb_prepare_seq_read(rx->skb, at, at + n, &seq);
	while ((len = skb_seq_read(done, &p, &seq))) {
		len = min(len, n - done);
		err = tern_sgl_write(sgl, sgl_off + done, p, len);
		if (err) {
			skb_abort_seq_read(&seq);
			return err;
		}
		done += len;
	}
	return 0;
}

void roce_rx_grh(const struct roce_rx *rx, u8 grh[GRH_BYTES])
{
	BUILD_BUG_ON(sizeof(struct ipv6hdr) != GRH_BYTES);
	if (!rx->skb) {
		roce_source_grh(rx->src, &rx->k, grh);
		return;
	}
	if (is_ipv6(rx->skb)) {
		memcpy(grh, rx->headers, GRH_BYTES);
	} else {
		memset(grh, 0, GRH_BYTES - sizeof(struct iphdr));
		memcpy(grh + GRH_BYTES - sizeof(struct iphdr), rx->headers, sizeof(struct iphdr));
	}
}

void roce_rx_fill_cqe(const struct roce_rx *rx, struct tern_cqe *cqe)
{
	const struct rx_cb *cb;

	if (!rx->skb) {
		roce_source_fill_cqe(rx->src, &rx->k, cqe);
		return;
	}
	cb = rx_cb(rx->skb);
	cqe->wc_flags |= TERN_WC_GRH | TERN_WC_WITH_NETWORK_HDR;
	cqe->network_hdr_type = is_ipv6(rx->skb) ? RDMA_NETWORK_IPV6 : RDMA_NETWORK_IPV4;
	cqe->pkey_index = 0;
	cqe->sl = cb->sl;
	if (rx->k.op_flags & OPF_DETH)
		cqe->src_qp = rx->k.sqpn;
	if (cb->has_vlan) {
		cqe->wc_flags |= TERN_WC_WITH_VLAN;
		cqe->vlan_id = cb->vlan_id;
	}
	if (cb->has_smac) {
		cqe->wc_flags |= TERN_WC_WITH_SMAC;
		ether_addr_copy(cqe->smac, cb->smac);
	}
}

bool roce_rx_from_path(const struct roce_rx *rx, const struct roce_path *path)
{
	if (!rx->skb)
		return roce_source_from_path(rx->src, path);
	if (path->ipv6 != is_ipv6(rx->skb))
		return false;
	if (path->ipv6) {
		const struct ipv6hdr *ip = ipv6_hdr(rx->skb);

		return ipv6_addr_equal(&ip->saddr, &path->v6.daddr) &&
		       ipv6_addr_equal(&ip->daddr, &path->v6.saddr);
	}
	return ip_hdr(rx->skb)->saddr == path->v4.daddr && ip_hdr(rx->skb)->daddr == path->v4.saddr;
}
