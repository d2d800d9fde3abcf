// SPDX-License-Identifier: GPL-2.0
/*
 * Received packets: from the UDP socket, or as a frame of RoCEv1, to a QP. Nothing in
 * the packet is believed before its lengths and its ICRC are checked, and nothing it does
 * is logged. A batch that no netdev has cut is taken in packet by packet, each where
 * it lies. What a QP asks of its packet is in skb.c.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "core/qp.h"
#include "core/stats.h"
#include "core/trace.h"
#include "roce/wire/apart.h"
#include "roce/wire/dest.h"
#include "roce/wire/gid.h"
#include "roce/wire/icrc.h"
#include "roce/wire/mcast.h"
#include "roce/wire/net.h"
#include "roce/wire/rx.h"
#include "roce/wire/skb.h"
#include "roce/wire/upcalls.h"
#include "uncleared.h"

/*
 * The BTH is `before` bytes behind skb->data, and from there to the end of the ICRC are `bytes`.
 * Leaves skb->data at the BTH with the trailing bytes gone and the headers linear.
 */
static __always_inline bool trim_to(struct sk_buff *skb, u32 before, u32 bytes)
{
	if (bytes < BTH_BYTES + ICRC_BYTES || bytes > skb->len - before ||
	    !pskb_may_pull(skb, before + min_t(u32, bytes, PKT_HDR_MAX_BYTES)))
		return false;
	__skb_pull(skb, before);
	return skb->len == bytes || !pskb_trim(skb, bytes);
}

/*
 * skb->data is at the UDP header. IP options and extension headers are refused:
 * the ICRC is defined over the fixed header only (annex A17.3.3).
 */
static __always_inline bool trim_datagram(struct sk_buff *skb)
{
	u32 ip_bytes = roce_skb_is_ipv6(skb) ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);

	/* a length below the header's own is a large one behind it */
	return skb_network_header_len(skb) == ip_bytes &&
	       pskb_may_pull(skb, sizeof(struct udphdr)) &&
	       trim_to(skb, sizeof(struct udphdr),
		       ntohs(udp_hdr(skb)->len) - sizeof(struct udphdr));
}

static __always_inline bool trim_packet(struct sk_buff *skb)
{
	if (unlikely(roce_skb_is_frame(skb)))
		return trim_to(skb, GRH_BYTES, grh_announces(skb->data));
	return trim_datagram(skb);
}

static void note_malformed(struct tern_dev *dev)
{
	tern_count(dev, TERN_CNT_RX_MALFORMED);
	trace_tern_rx_drop(dev, 0, 0, 0, TERN_DROP_MALFORMED);
}

static void note_no_qp(const struct roce_rx *rx)
{
	tern_count(rx->dev, TERN_CNT_RX_NO_QP);
	trace_tern_rx_drop(rx->dev, rx->k.dqpn, rx->k.opcode, rx->k.psn, TERN_DROP_NO_QP);
}

static __always_inline void count_packet(struct tern_stats __percpu *stats,
					 const struct roce_rx *rx)
{
	tern_stats_add(stats, TERN_CNT_RX_PKTS, 1);
	tern_stats_add(stats, TERN_CNT_RX_BYTES, rx->k.payload_bytes);
	if (unlikely(roce_skb_is_marked(rx->skb)))
		tern_stats_add(stats, TERN_CNT_RX_CE, 1);
	if (unlikely(rx->k.op_flags & OPF_CNP))
		tern_stats_add(stats, TERN_CNT_RX_CNP, 1);
}

/* To its QP, if it has one. Ends rx. */
static __always_inline void deliver_packet(struct roce_net *rn, const struct roce_dest *to,
					   struct roce_rx *rx, struct roce_rx_series *series)
{
	struct tern_qp *qp = NULL;

	if (unlikely(!roce_icrc_ok(rx))) {
		tern_count(rx->dev, TERN_CNT_RX_ICRC_ERR);
		trace_tern_rx_drop(rx->dev, rx->k.dqpn, rx->k.opcode, rx->k.psn, TERN_DROP_ICRC);
		goto drop;
	}
	if (likely(!to->mcast))
		qp = tern_qp_lookup(rx->dev, rx->k.dqpn);
	count_packet(qp ? READ_ONCE(qp->stats) : rx->dev->stats, rx);
	/* the multicast QPN goes with a multicast address, and only with that */
	if (unlikely(to->mcast != (rx->k.dqpn == QPN_MCAST))) {
		note_no_qp(rx);
		goto drop;
	}
	if (unlikely(to->mcast)) {
		roce_mcast_deliver(rn, to, rx, series);
		return;
	}
	if (unlikely(!qp)) {
		note_no_qp(rx);
		goto drop;
	}
	roce_qp_rx(series, qp, rx);
	return;
drop:
	roce_skb_done(rx);
}

/* One packet to dev; skb->data is at the UDP header, or a frame's GRH. */
static void take_packet(struct roce_net *rn, struct tern_dev *dev, const struct roce_dest *to,
			struct sk_buff *skb, struct roce_rx_series *series)
{
	struct roce_rx rx TERN_UNCLEARED;

	if (unlikely(!trim_packet(skb) || !roce_skb_parse(dev, skb, &rx))) {
		note_malformed(dev);
		kfree_skb(skb);
		return;
	}
	deliver_packet(rn, to, &rx, series);
}

/* Each of the packets where it is. skb->data is at the UDP header. Frees skb. */
static void take_uncut(struct roce_net *rn, struct tern_dev *dev, const struct roce_dest *to,
		       struct sk_buff *skb, struct roce_rx_series *series)
{
	u8 headers[sizeof(struct ipv6hdr) + sizeof(struct udphdr) + PKT_HDR_MAX_BYTES] __aligned(8);
	u32 net_bytes = skb_network_header_len(skb) + sizeof(struct udphdr);
	u32 size = skb_shinfo(skb)->gso_size;
	struct roce_rx rx TERN_UNCLEARED;
	u32 at, have, npkts = 0;

	/* not all kernels bound their number */
	if (size < BTH_BYTES + ICRC_BYTES || !trim_packet(skb) ||
	    DIV_ROUND_UP(skb->len, size) > UDP_MAX_SEGMENTS) {
		note_malformed(dev);
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
		roce_skb_cut_headers(skb, headers, rx.bytes, npkts++);
		if (unlikely(skb_copy_bits(skb, at, headers + net_bytes, have) ||
			     pkt_parse(headers + net_bytes, have, rx.bytes, &rx.k) != PKT_OK))
			note_malformed(dev);
		else
			deliver_packet(rn, to, &rx, series);
	}
	consume_skb(skb);
}

/* Keep of the arrival what a CQE wants, and let go of netdev, route and socket. */
static void detach_skb(struct sk_buff *skb, const struct roce_dest *to)
{
	struct net_device *ndev = skb->dev;
	struct roce_skb_cb *cb = roce_skb_cb(skb);

	memset(cb, 0, sizeof(*cb));
	cb->mcast = to->mcast;
	if (!to->loopback && skb_mac_header_was_set(skb) && skb->mac_len == ETH_HLEN) {
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

/* False: skb is neither a packet nor a batch. *next: those behind the first of a list. */
static bool take_list_apart(struct sk_buff *skb, struct sk_buff **next)
{
	if (!skb_is_gso(skb))
		return true;
	if (roce_skb_is_frame(skb))
		return false;
	return roce_skb_is_uncut(skb) ||
	       (roce_skb_is_list(skb) && roce_skb_take_apart(skb, next));
}

/* What came through the stack at a time: a packet or a batch of them. */
static void take_all(struct roce_net *rn, struct sk_buff *skb)
{
	struct roce_rx_series series = {};
	struct sk_buff *next = NULL;
	__be16 protocol = skb->protocol;
	struct tern_dev *dev;
	struct roce_dest to;
	struct roce_skb_cb cb TERN_UNCLEARED;

	roce_dest_read(skb, &to);
	dev = unlikely(to.mcast) ? roce_mcast_find(rn, &to.gid, to.iif) :
				   roce_gid_find(rn, &to.gid, to.type, to.iif, to.loopback);
	/* an address that is no GID, or of a port that was switched off */
	if (unlikely(!dev) || unlikely(!(READ_ONCE(dev->netdev->flags) & IFF_UP))) {
		kfree_skb(skb);
		return;
	}
	if (to.may_deceive && unlikely(roce_dest_is_deceived(rn, dev, skb, &to))) {
		tern_count_add(dev, TERN_CNT_RX_BAD_PATH, max_t(u32, skb_shinfo(skb)->gso_segs, 1));
		trace_tern_rx_drop(dev, 0, 0, 0, TERN_DROP_OWN_ADDRESS);
		kfree_skb(skb);
		return;
	}
	if (unlikely(!take_list_apart(skb, &next))) {
		note_malformed(dev);
		kfree_skb(skb);
		return;
	}
	detach_skb(skb, &to);
	if (skb_is_gso(skb)) {
		take_uncut(rn, dev, &to, skb, &series);
		goto end;
	}
	/* for those that come after it */
	if (next)
		cb = *roce_skb_cb(skb);
	while (skb) {
		struct sk_buff *segment = next;

		take_packet(rn, dev, &to, skb, &series);
		if (!segment)
			break;
		next = segment->next;
		skb = roce_skb_segment(segment, protocol, &cb);
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
		take_all(rn, skb);
	else
		kfree_skb(skb);
	rcu_read_unlock();
	return 0;
}

void roce_rx_frame(struct roce_net *rn, struct sk_buff *skb)
{
	skb = skb_share_check(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return;
	if (!pskb_may_pull(skb, GRH_BYTES) || !roce_dest_is_here(skb)) {
		kfree_skb(skb);
		return;
	}
	rcu_read_lock();
	take_all(rn, skb);
	rcu_read_unlock();
}
