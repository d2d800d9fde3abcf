// SPDX-License-Identifier: GPL-2.0
/*
 * Batches on their way out: routed by a cached dst (route.c), handed to the IP
 * stack's local output. build.c makes the packets. Those of RoCEv1 go to a netdev one by
 * one (ether.c): no layer below knows how to take a batch of frames apart.
 *
 * A batch goes through the stack once. Mostly it is a GSO skb whose segments are
 * whole packets on its frag_list, a linear skb each (SKB_GSO_FRAGLIST): they may be
 * of any sizes, keep their UDP headers, and need no UDP checksum. The device layer
 * takes it apart in front of a driver; veth takes it as it is, to the receiver at
 * the other end. If the netdev cuts UDP packets itself (tx-udp-segmentation), and
 * knows no such lists, a batch is what it cuts: packets of one size, the last may be
 * shorter. They leave with UDP checksums.
 *
 * DF is set and skb->ignore_df stays 0: if the packet is larger than the path's MTU,
 * the stack drops it with -EMSGSIZE, rather than sending fragments that no RDMA NIC
 * reassembles.
 *
 * Multicast takes the same way: the route (by oif) is a multicast route, and
 * since the socket has multicast loopback on, the stack gives a copy to the
 * local receivers if the netdev has joined the group (mcast.c).
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/udp.h>

#include "core/stats.h"
#include "roce/wire/build.h"
#include "roce/wire/ether.h"
#include "roce/wire/gate.h"
#include "roce/wire/path.h"
#include "roce/wire/room.h"
#include "roce/wire/route.h"
#include "roce/wire/tx.h"

/* Of one, until roce_tx_try_batch() has seen that more are treated rightly. */
u32 roce_tx_list_pkts __ro_after_init = 1;

/* Where the packets of a path go. The caller's RCU section holds it. */
struct hop {
	struct dst_entry *dst;		/* to the IP stack, by this route; or NULL: */
	struct net_device *netdev;	/* to this netdev, as frames */
};

/* What the stack said, as roce_tx_flush() says it. */
static int xmit_result(struct roce_tx *tx, int ret)
{
	switch (ret) {
	case NET_XMIT_SUCCESS:
	/*
	 * The queue took it and dropped what waited, or (RED) dropped it: a loss, as the peer will
	 * say. With a window that stays, such a queue drops most of what it is given.
	 */
	case NET_XMIT_CN:
		return 0;
	case NET_XMIT_DROP:
	case -ENOBUFS:
	case -ENOMEM:
		roce_tx_refused(tx);
		return -EAGAIN;
	default:
		return ret < 0 ? ret : -EIO;
	}
}

/* The packets on head's frag_list become its segments. */
static void make_list(struct sk_buff *head, const struct roce_tx_batch *batch)
{
	struct sk_buff *skb;

	skb_shinfo(head)->gso_type = ROCE_GSO_TYPE;
	/* of the first, by which the stack knows that the list is as it was made */
	skb_shinfo(head)->gso_size = head->len - skb_transport_offset(head) - sizeof(struct udphdr);
	skb_walk_frags(head, skb)
		head->truesize += skb->truesize;
	head->ip_summed = CHECKSUM_UNNECESSARY;
}

/*
 * The netdev cuts head, if it is more than one packet, and completes the checksum of
 * each. Of one too: GRO tells flows with checksums from those without, and would pass
 * some packets by others.
 */
static void make_cut(struct sk_buff *head, const struct roce_path *path,
		     const struct roce_tx_batch *batch)
{
	u32 udp_bytes = batch->bytes - skb_transport_offset(head);

	if (batch->npkts > 1) {
		skb_shinfo(head)->gso_type = SKB_GSO_UDP_L4;
		skb_shinfo(head)->gso_size = batch->cut_bytes;
	}
	head->ip_summed = CHECKSUM_PARTIAL;
	head->csum_start = skb_transport_header(head) - head->head;
	head->csum_offset = offsetof(struct udphdr, check);
	udp_hdr(head)->check =
		path->network == RDMA_NETWORK_IPV6 ?
			~udp_v6_check(udp_bytes, &path->v6.saddr, &path->v6.daddr, 0) :
			~udp_v4_check(udp_bytes, path->v4.saddr, path->v4.daddr, 0);
}

/* The batch's head becomes all of it. */
static void make_batch(struct sk_buff *head, const struct roce_path *path,
		       const struct roce_tx_batch *batch)
{
	if (batch->cut_bytes)
		make_cut(head, path, batch);
	else if (batch->npkts > 1)
		make_list(head, batch);
	if (batch->npkts == 1)
		return;
	skb_shinfo(head)->gso_segs = batch->npkts;
	head->data_len = batch->bytes - head->len;
	head->len = batch->bytes;
	udp_hdr(head)->len = htons(head->len - skb_transport_offset(head));
}

/* skb: one packet, or a batch of npkts. */
static int xmit_skb(struct roce_tx *tx, const struct roce_path *path, const struct hop *hop,
		    struct sk_buff *skb, u32 npkts)
{
	struct sock *sk = tx->sk;
	struct net *net = tx->dev->net;

	skb->priority = path->priority;
	skb->truesize = max(skb->truesize, npkts * ROCE_GATE_PKT_BYTES);
	skb_set_owner_w(skb, sk);
	roce_tx_charge(tx, skb->truesize);
	if (!hop->dst)
		return xmit_result(tx, roce_ether_xmit(tx->dev, hop->netdev, path, skb));
	skb_dst_set_noref(skb, hop->dst);
	return xmit_result(tx, path->network == RDMA_NETWORK_IPV6 ? ip6_local_out(net, sk, skb) :
								    ip_local_out(net, sk, skb));
}

/*
 * The packets of a list, each by itself, up to one that the local queue refuses. Frames go so, and
 * what has a packet that is too long for the route: the stack is to say so of that packet alone.
 * (Of a packet to be cut it finds out.)
 */
static int xmit_each(struct roce_tx *tx, const struct roce_path *path, const struct hop *hop,
		     struct sk_buff *head)
{
	struct sk_buff *skb = skb_shinfo(head)->frag_list;
	int ret;

	skb_shinfo(head)->frag_list = NULL;
	ret = xmit_skb(tx, path, hop, head, 1);
	while (skb && ret != -EAGAIN) {
		struct sk_buff *next = skb->next;

		skb_mark_not_on_list(skb);
		__skb_push(skb, -skb_network_offset(skb));
		ret = xmit_skb(tx, path, hop, skb, 1) ?: ret;
		skb = next;
	}
	kfree_skb_list(skb);
	return ret;
}

/* Does dst's netdev cut packets? */
static void note_netdev(struct roce_tx *tx, struct dst_entry *dst)
{
	const struct net_device *ndev = dst->dev;
	netdev_features_t features = READ_ONCE(ndev->features);

	tx->cut_max_bytes = 0;
	/* a list goes to a netdev that knows it with less work, and IPsec would cut itself */
	if (!(features & NETIF_F_GSO_UDP_L4) || features & NETIF_F_GSO_FRAGLIST ||
	    dst_xfrm(dst) || READ_ONCE(ndev->gso_max_size) <= MAX_HEADER)
		return;
	tx->cut_max_bytes = min_t(u32, READ_ONCE(ndev->gso_max_size), U16_MAX) - MAX_HEADER;
	tx->cut_max_pkts = min_t(u32, READ_ONCE(ndev->gso_max_segs), ROCE_TX_BATCH_PKTS);
}

/* 0, or why there is none. RCU. */
static int find_hop(struct roce_tx *tx, const struct roce_path *path, struct hop *hop)
{
	struct dst_entry *dst;

	memset(hop, 0, sizeof(*hop));
	if (path->network == RDMA_NETWORK_ROCE_V1) {
		tx->cut_max_bytes = 0;
		hop->netdev = roce_ether_netdev(tx->dev, path);
		return hop->netdev ? 0 : -ENETUNREACH;
	}
	dst = roce_tx_route(tx, path);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	note_netdev(tx, dst);
	hop->dst = dst;
	return 0;
}

void roce_tx_new_path(struct roce_tx *tx, const struct roce_path *path)
{
	struct hop hop;

	sk_dst_reset(tx->sk);
	rcu_read_lock();
	find_hop(tx, path, &hop);
	rcu_read_unlock();
}

int roce_tx_flush(struct roce_tx *tx, const struct roce_path *path)
{
	struct roce_tx_batch batch = tx->batch;
	struct hop hop;
	int ret;

	if (!batch.head)
		return 0;
	memset(&tx->batch, 0, sizeof(tx->batch));

	rcu_read_lock();
	ret = find_hop(tx, path, &hop);
	if (ret) {
		kfree_skb(batch.head);
	} else if (batch.tail && (!hop.dst || unlikely(batch.max_bytes > dst_mtu(hop.dst)))) {
		ret = xmit_each(tx, path, &hop, batch.head);
	} else {
		make_batch(batch.head, path, &batch);
		ret = xmit_skb(tx, path, &hop, batch.head, batch.npkts);
	}
	rcu_read_unlock();

	if (likely(!ret)) {
		if (unlikely(tx->refusals))
			roce_tx_accepted(tx);
		tern_qp_count_add(tx->qp, TERN_CNT_TX_PKTS, batch.npkts);
		tern_qp_count_add(tx->qp, TERN_CNT_TX_BYTES, batch.payload_bytes);
	} else {
		tern_qp_count_add(tx->qp, TERN_CNT_TX_DROPPED, batch.npkts);
	}
	return ret;
}

/* ---- may the stack be given batches? ---- */

/*
 * Kernels before 6.1.162, 6.6.122, 6.12.67 take the size of the segments off
 * the first skb when they take a batch apart, though its owner was charged for
 * all of it. This is tried, as distributions mend such things under old numbers.
 */
bool roce_tx_try_batch(void)
{
	struct sk_buff *head = alloc_skb(64, GFP_KERNEL);
	struct sk_buff *segment = alloc_skb(64, GFP_KERNEL);
	unsigned int truesize;
	struct sk_buff *list;

	if (!head || !segment) {
		kfree_skb(head);
		kfree_skb(segment);
		return false;
	}
	skb_put_zero(head, 32);
	skb_reset_mac_header(head);
	skb_reset_network_header(head);
	skb_reset_transport_header(head);
	skb_put_zero(segment, 32);
	skb_reset_network_header(segment);
	skb_reset_transport_header(segment);

	skb_shinfo(head)->gso_type = ROCE_GSO_TYPE;
	skb_shinfo(head)->frag_list = segment;
	head->data_len = segment->len;
	head->len += segment->len;
	head->truesize += segment->truesize;
	truesize = head->truesize;

	list = skb_segment_list(head, NETIF_F_SG, 0);
	if (!IS_ERR(list) && head->truesize == truesize)
		roce_tx_list_pkts = ROCE_TX_BATCH_PKTS;
	if (!IS_ERR(list))
		kfree_skb_list(list);
	kfree_skb(head);
	return roce_tx_list_pkts > 1;
}
