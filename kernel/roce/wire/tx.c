// SPDX-License-Identifier: GPL-2.0
/*
 * Packets on their way out: headers built here, routed by a cached dst (route.c),
 * handed to the IP stack's local output. How much of a QP may be in the stack at a
 * time is bounded by its accounting socket.
 *
 * A batch goes through the stack once. Mostly it is a GSO skb whose segments are
 * whole packets on its frag_list, a linear skb each (SKB_GSO_FRAGLIST): they may be
 * of any sizes, keep their UDP headers, and need no UDP checksum. The device layer
 * takes it apart in front of a driver; veth takes it as it is, to the receiver at
 * the other end. If the netdev cuts UDP packets itself (tx-udp-segmentation), and
 * knows no such lists, a batch is what it cuts: packets of one size, the last may be
 * shorter, one behind the other on pages, from BTH to ICRC. They leave with UDP
 * checksums.
 *
 * The headers are complete before the ICRC is computed over them, and the
 * stack leaves the covered ones as they are, or makes them so again when it or the
 * netdev takes a batch apart: lengths to what they are, IPv4 identifications counting
 * upwards from the first one's. DF is set and skb->ignore_df
 * stays 0: if the packet is larger than the path's MTU, the stack drops it
 * with -EMSGSIZE, rather than sending fragments that no RDMA NIC reassembles.
 *
 * Multicast takes the same way: the route (by oif) is a multicast route, and
 * since the socket has multicast loopback on, the stack gives a copy to the
 * local receivers if the netdev has joined the group (mcast.c).
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <linux/if_vlan.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/udp.h>

#include "charged.h"
#include "crc.h"
#include "roce/wire/icrc.h"
#include "mem/page.h"
#include "roce/wire/net.h"

/* Of one, until roce_tx_try_batch() has seen that more are treated rightly. */
u32 roce_tx_list_pkts __ro_after_init = 1;

/* What a QP waits for. */
enum tx_waits {
	WAITS_FOR_END,		/* of any skb */
	WAITS_FOR_ROOM,		/* for a turn's worth below the QP's own limit */
};

#define TX_ROOM_BYTES	(ROCE_GATE_QUEUE_BYTES - ROCE_GATE_TURN_BYTES)

/*
 * What the accounting socket's sk_user_data points at. It ends with roce_tx,
 * a grace period after it; the socket may live on until the stack has freed
 * the last skb.
 */
struct roce_tx_room {
	struct rcu_head rcu;
	struct roce_turn turn;
	unsigned long waits;		/* when to call space(): bits of enum tx_waits */
	void (*default_write_space)(struct sock *sk);
};

/*
 * sk_write_space: an skb was freed, wherever the stack does that, but for the 1 that
 * sock_wfree() takes off later. The callback lock lets roce_tx_uninit() wait for a
 * space() in progress.
 */
static void tx_write_space(struct sock *sk)
{
	struct roce_tx_room *room;

	rcu_read_lock();
	room = rcu_dereference_sk_user_data(sk);
	if (unlikely(!room))
		goto out;
	smp_mb__after_atomic();	/* sk_wmem_alloc before waits; see wait_for() */
	roce_turn_freed(&room->turn, sk);
	if (likely(!READ_ONCE(room->waits)))
		goto out;

	read_lock_bh(&sk->sk_callback_lock);
	room = rcu_dereference_sk_user_data(sk);
	if (room && (test_and_clear_bit(WAITS_FOR_END, &room->waits) ||
		     (sk_wmem_alloc_get(sk) <= TX_ROOM_BYTES &&
		      test_and_clear_bit(WAITS_FOR_ROOM, &room->waits))))
		room->turn.space(room->turn.arg);
	read_unlock_bh(&sk->sk_callback_lock);
out:
	rcu_read_unlock();
}

/*
 * Ask for space() when that comes, by the end of an skb of ours. False: it has come, or there
 * is no skb to end. Those on their end, of which each counts 1 yet, have told of it.
 */
static bool wait_for(struct roce_tx *tx, enum tx_waits what)
{
	int enough = what == WAITS_FOR_ROOM ? TX_ROOM_BYTES : ROCE_GATE_ENDS_BYTES;

	set_bit(what, &tx->room->waits);
	smp_mb__after_atomic();	/* waits before sk_wmem_alloc; see tx_write_space() */
	if (sk_wmem_alloc_get(tx->sk) > enough)
		return true;
	clear_bit(what, &tx->room->waits);
	return false;
}

int roce_tx_init(struct roce_tx *tx, struct tern_dev *dev, void (*space)(void *arg), void *arg)
{
	struct socket *sock;
	struct sock *sk;
	int err;

	memset(tx, 0, sizeof(*tx));
	tx->dev = dev;
	tx->room = kzalloc(sizeof(*tx->room), TERN_GFP_CHARGED);
	if (!tx->room)
		return -ENOMEM;

	/* AF_INET accounts for IPv6 packets as well, and exists if IPv6 does not. */
	err = sock_create_kern(dev->net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (err) {
		kfree(tx->room);
		memset(tx, 0, sizeof(*tx));
		return err;
	}
	roce_turn_init(&tx->room->turn, &to_roce_dev(dev)->gate, space, arg);
	sk = sock->sk;
	sk_set_txhash(sk);	/* spares the stack a flow dissection per packet */
	tx->room->default_write_space = sk->sk_write_space;
	rcu_assign_sk_user_data(sk, tx->room);
	WRITE_ONCE(sk->sk_write_space, tx_write_space);
	tx->sk = sk;
	return 0;
}

void roce_tx_uninit(struct roce_tx *tx)
{
	struct sock *sk = tx->sk;

	if (!sk)
		return;
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	/*
	 * Skbs may outlive us and the module. Accepted race: whoever has read
	 * the old pointer calls into the module yet. roce_net_exit() waits a
	 * grace period, which is short of proof only for a preemptible caller
	 * that stays preempted between that read and its call all the while.
	 */
	WRITE_ONCE(sk->sk_write_space, tx->room->default_write_space);
	write_unlock_bh(&sk->sk_callback_lock);
	roce_turn_uninit(&tx->room->turn);
	sk_dst_reset(sk);
	sock_release(sk->sk_socket);
	tx->sk = NULL;
	kfree_rcu(tx->room, rcu);
	tx->room = NULL;
}

/*
 * A little of a slow QP's, in one batch. What is batched already is about to be sent, and its end
 * to be told.
 */
static bool has_a_slow_ones_share(struct roce_tx *tx, u32 bytes)
{
	if (wait_for(tx, WAITS_FOR_END))
		return true;
	if (!tx->batch.head || tx->batch.payload_bytes + bytes <= ROCE_GATE_SLOW_BYTES)
		return false;
	set_bit(WAITS_FOR_END, &tx->room->waits);
	return true;
}

bool roce_tx_full(struct roce_tx *tx, u32 bytes)
{
	if (unlikely(roce_turn_is_slow(&tx->room->turn)) && has_a_slow_ones_share(tx, bytes))
		return true;
	/* All of it goes by one queue. */
	if (unlikely(sk_wmem_alloc_get(tx->sk) >= ROCE_GATE_QUEUE_BYTES) &&
	    wait_for(tx, WAITS_FOR_ROOM))
		return true;
	return roce_turn_waits(&tx->room->turn, bytes);
}

u32 roce_tx_pkts(const struct roce_tx *tx, u32 pmtu, u32 budget)
{
	if (likely(!roce_turn_is_slow(&tx->room->turn)))
		return budget;
	return min(budget, max(ROCE_GATE_SLOW_BYTES / pmtu, 1u));
}

void roce_tx_end_turn(struct roce_tx *tx)
{
	roce_turn_end(&tx->room->turn);
}

/* ---- packets ---- */

static u32 ip_bytes(const struct roce_path *path)
{
	return path->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
}

/* For so many bytes, network header first; the rest of a piece of a page that was used before. */
static struct sk_buff *alloc_packet(const struct roce_tx *tx, u32 bytes)
{
	/* the route may lead through a VLAN on the netdev */
	u32 headroom = ALIGN(LL_RESERVED_SPACE(tx->dev->netdev) + VLAN_HLEN, 16);
	u32 size = SKB_DATA_ALIGN(headroom + bytes) +
		   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	void *piece = tern_page_piece(size);
	struct sk_buff *skb;

	if (unlikely(!piece))
		return NULL;
	skb = napi_build_skb(piece, size);
	if (unlikely(!skb)) {
		put_page(virt_to_head_page(piece));
		return NULL;
	}
	skb_reserve(skb, headroom);
	return skb;
}

/* From BTH to ICRC. */
static u32 udp_payload_bytes(const struct pkt *k)
{
	return opcode_info(k->opcode)->hdr_bytes + ALIGN(k->payload_bytes, 4) + ICRC_BYTES;
}

bool roce_tx_cut_fits(const struct roce_tx *tx, const struct pkt *k)
{
	const struct roce_tx_batch *batch = &tx->batch;
	u32 bytes = udp_payload_bytes(k);

	return batch->npkts < tx->cut_max_pkts && batch->bytes + bytes <= tx->cut_max_bytes &&
	       bytes <= batch->cut_bytes && !batch->cut_ended &&
	       skb_shinfo(batch->head)->nr_frags < MAX_SKB_FRAGS;
}

void *roce_tx_begin(struct roce_tx *tx, const struct roce_path *path, struct pkt *k)
{
	u32 net_bytes = ip_bytes(path) + sizeof(struct udphdr);
	struct roce_tx_open *open = &tx->open;

	open->bytes = udp_payload_bytes(k);
	if (tx->batch.cut_bytes) {
		open->skb = NULL;
		open->at = tern_page_more(tx->batch.end, open->bytes);
		if (unlikely(!open->at))
			return NULL;
	} else {
		open->skb = alloc_packet(tx, net_bytes + open->bytes);
		if (unlikely(!open->skb))
			return NULL;
		skb_reset_network_header(open->skb);
		skb_set_transport_header(open->skb, ip_bytes(path));
		open->at = skb_put(open->skb, net_bytes + open->bytes) + net_bytes;
	}
	pkt_build(open->at, k);
	/* the pad; the rest of its word is payload that is still to come, if there is one */
	if (k->payload_bytes & 3)
		put_unaligned(0, (u32 *)(open->at + open->bytes - ICRC_BYTES) - 1);
	return open->at + opcode_info(k->opcode)->hdr_bytes;
}

void roce_tx_cancel(struct roce_tx *tx)
{
	struct roce_tx_open *open = &tx->open;

	if (open->skb)
		consume_skb(open->skb);
	else if (open->at != tx->batch.end)
		put_page(virt_to_head_page(open->at));
}

/*
 * The network header and UDP's of a packet with so many bytes behind them. The UDP
 * checksum is zero: the ICRC does better (RoCEv2 annex).
 */
static __always_inline void build_headers(struct roce_tx *tx, const struct roce_path *path,
					  u8 *headers, u32 bytes)
{
	struct udphdr *udp = (struct udphdr *)(headers + ip_bytes(path));

	bytes += sizeof(*udp);
	udp->source = path->src_port;
	udp->dest = htons(ROCE_UDP_PORT);
	udp->len = htons(bytes);
	udp->check = 0;
	bytes += ip_bytes(path);
	if (path->ipv6)
		roce_path_ip6(path, (struct ipv6hdr *)headers, bytes);
	else
		roce_path_ip4(path, (struct iphdr *)headers, bytes, tx->ip_id++);
}

/* headers: network header, UDP, BTH. The ICRC goes to the end of [at, at + bytes), BTH first. */
static __always_inline void put_icrc(struct roce_tx *tx, const struct roce_path *path,
				     const struct pkt *k, const u8 *headers)
{
	struct icrc_memo *memo = &tx->icrc[opcode_info(k->opcode)->flags & OPF_REQUEST ? 1 : 0];
	u8 *end = tx->open.at + tx->open.bytes - ICRC_BYTES;
	u8 *after_bth = tx->open.at + BTH_BYTES;
	u32 crc;

	crc = roce_icrc_start(headers, path->ipv6, memo);
	crc = tern_crc32(crc, after_bth, end - after_bth);
	put_unaligned_le32(icrc_finish(crc), end);
}

/* What the stack said, as roce_tx_end() says it. */
static int xmit_result(struct roce_tx *tx, int ret)
{
	switch (ret) {
	case NET_XMIT_SUCCESS:
	case NET_XMIT_CN:	/* sent; the queue asks for less */
		return 0;
	case NET_XMIT_DROP:
	case -ENOBUFS:
	case -ENOMEM:
		/* the end of any packet of ours in the stack is as good a moment as any */
		wait_for(tx, WAITS_FOR_END);
		return -EAGAIN;
	default:
		return ret < 0 ? ret : -EIO;
	}
}

/* The first of a batch, or one more of a list. */
static void end_skb(struct roce_tx *tx, const struct roce_path *path, const struct pkt *k)
{
	struct roce_tx_batch *batch = &tx->batch;
	struct sk_buff *skb = tx->open.skb;

	build_headers(tx, path, skb_network_header(skb), tx->open.bytes);
	put_icrc(tx, path, k, skb_network_header(skb));

	batch->max_bytes = max(batch->max_bytes, skb->len);
	if (!batch->head) {
		batch->head = skb;
		batch->bytes = skb->len;
		if (tx->cut_max_bytes)
			batch->cut_bytes = tx->open.bytes;
		return;
	}
	/* A segment's data begins behind its headers, wherever the stack meets one. */
	__skb_pull(skb, skb_transport_offset(skb) + sizeof(struct udphdr));
	batch->bytes += skb->len;
	if (batch->tail)
		batch->tail->next = skb;
	else
		skb_shinfo(batch->head)->frag_list = skb;
	batch->tail = skb;
}

/* One more that the netdev is to cut off: it gives it the headers that it has here. */
static void end_cut(struct roce_tx *tx, const struct roce_path *path, const struct pkt *k)
{
	u8 headers[sizeof(struct ipv6hdr) + sizeof(struct udphdr) + BTH_BYTES] __aligned(8);
	struct roce_tx_batch *batch = &tx->batch;
	struct skb_shared_info *shinfo = skb_shinfo(batch->head);
	const struct roce_tx_open *open = &tx->open;

	build_headers(tx, path, headers, open->bytes);
	memcpy(headers + ip_bytes(path) + sizeof(struct udphdr), open->at, BTH_BYTES);
	put_icrc(tx, path, k, headers);

	if (open->at == batch->end)
		skb_frag_size_add(&shinfo->frags[shinfo->nr_frags - 1], open->bytes);
	else
		skb_fill_page_desc(batch->head, shinfo->nr_frags, virt_to_head_page(open->at),
				   open->at - page_address(virt_to_head_page(open->at)),
				   open->bytes);
	batch->head->truesize += open->bytes;
	batch->end = open->at + open->bytes;
	batch->bytes += open->bytes;
	batch->cut_ended = open->bytes < batch->cut_bytes;
}

void roce_tx_end(struct roce_tx *tx, const struct roce_path *path, const struct pkt *k)
{
	if (tx->open.skb)
		end_skb(tx, path, k);
	else
		end_cut(tx, path, k);
	tx->batch.payload_bytes += k->payload_bytes;
	tx->batch.npkts++;
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
		path->ipv6 ? ~udp_v6_check(udp_bytes, &path->v6.saddr, &path->v6.daddr, 0) :
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

/* skb: one packet, or a batch of npkts. The route is held by the caller's RCU section. */
static int xmit(struct roce_tx *tx, const struct roce_path *path, struct dst_entry *dst,
		struct sk_buff *skb, u32 npkts)
{
	struct sock *sk = tx->sk;
	struct net *net = tx->dev->net;

	skb_dst_set_noref(skb, dst);
	skb->priority = path->priority;
	skb->truesize = max(skb->truesize, npkts * ROCE_GATE_PKT_BYTES);
	skb_set_owner_w(skb, sk);
	roce_turn_sends(&tx->room->turn, sk, skb->truesize);
	return xmit_result(tx, path->ipv6 ? ip6_local_out(net, sk, skb) :
					    ip_local_out(net, sk, skb));
}

/*
 * The path has no room for the largest packet of a list: the stack is to say so of
 * each. (Of a packet to be cut it finds out.)
 */
static int xmit_each(struct roce_tx *tx, const struct roce_path *path, struct dst_entry *dst,
		     struct sk_buff *head)
{
	struct sk_buff *skb = skb_shinfo(head)->frag_list;
	int ret;

	skb_shinfo(head)->frag_list = NULL;
	ret = xmit(tx, path, dst, head, 1);
	while (skb) {
		struct sk_buff *next = skb->next;

		skb_mark_not_on_list(skb);
		__skb_push(skb, -skb_network_offset(skb));
		ret = xmit(tx, path, dst, skb, 1) ?: ret;
		skb = next;
	}
	return ret;
}

/* Does dst's netdev cut packets? */
static void look_at_netdev(struct roce_tx *tx, struct dst_entry *dst)
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

void roce_tx_new_path(struct roce_tx *tx, const struct roce_path *path)
{
	struct dst_entry *dst;

	sk_dst_reset(tx->sk);
	rcu_read_lock();
	dst = roce_tx_route(tx, path);
	if (!IS_ERR(dst))
		look_at_netdev(tx, dst);
	rcu_read_unlock();
}

int roce_tx_flush(struct roce_tx *tx, const struct roce_path *path)
{
	struct roce_tx_batch batch = tx->batch;
	struct dst_entry *dst;
	int ret;

	if (!batch.head)
		return 0;
	memset(&tx->batch, 0, sizeof(tx->batch));

	rcu_read_lock();
	dst = roce_tx_route(tx, path);
	if (IS_ERR(dst)) {
		kfree_skb(batch.head);
		ret = PTR_ERR(dst);
	} else {
		look_at_netdev(tx, dst);
		if (batch.tail && unlikely(batch.max_bytes > dst_mtu(dst))) {
			ret = xmit_each(tx, path, dst, batch.head);
		} else {
			make_batch(batch.head, path, &batch);
			ret = xmit(tx, path, dst, batch.head, batch.npkts);
		}
	}
	rcu_read_unlock();

	if (likely(!ret)) {
		tern_count_add(tx->dev, TERN_CNT_TX_PKTS, batch.npkts);
		tern_count_add(tx->dev, TERN_CNT_TX_BYTES, batch.payload_bytes);
	} else {
		tern_count_add(tx->dev, TERN_CNT_TX_DROPPED, batch.npkts);
	}
	return ret;
}

/* ---- may the stack be given batches? ---- */

/*
 * Kernels before 6.1.162, 6.6.122, 6.12.67 take the size of the segments off
 * the first skb when they take a batch apart, though its owner was charged for
 * all of it. Tried, as distributions mend such things under old numbers.
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
