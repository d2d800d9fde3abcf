// SPDX-License-Identifier: GPL-2.0
/*
 * Packets on their way out: one linear skb each, headers built here, routed by
 * a cached dst (route.c), handed to the IP stack's local output. How much of a
 * QP may be in the stack at a time is bounded by its accounting socket.
 *
 * The headers are complete before the ICRC is computed over them, and the
 * stack leaves the covered ones alone: ip_local_out() sets the total length
 * (to what it is) and the header checksum (not covered), never the IPv4
 * identification. DF is set and skb->ignore_df
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
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

#include "crc.h"
#include "icrc.h"
#include "net.h"

/* Skb memory that one QP may have in the stack: some hundred packets of 1 KiB. */
#define ROCE_TX_SNDBUF_BYTES	(1 << 20)

/*
 * What the accounting socket's sk_user_data points at. It ends with roce_tx,
 * a grace period after it; the socket may live on until the stack has freed
 * the last skb.
 */
struct roce_tx_room {
	struct rcu_head rcu;
	unsigned long waiting;		/* bit 0: call space() when there is room */
	void (*default_write_space)(struct sock *sk);
	void (*space)(void *arg);
	void *arg;
};

static bool has_room(const struct sock *sk)
{
	return sk_wmem_alloc_get(sk) <= ROCE_TX_SNDBUF_BYTES / 2;
}

/*
 * sk_write_space: an skb was freed, wherever the stack does that. The callback
 * lock lets roce_tx_uninit() wait for a space() in progress.
 */
static void tx_write_space(struct sock *sk)
{
	struct roce_tx_room *room;

	rcu_read_lock();
	room = rcu_dereference_sk_user_data(sk);
	smp_mb__after_atomic();	/* sk_wmem_alloc before waiting; see wait_for_room() */
	if (likely(!room || !test_bit(0, &room->waiting)) || !has_room(sk))
		goto out;

	read_lock_bh(&sk->sk_callback_lock);
	room = rcu_dereference_sk_user_data(sk);
	if (room && test_and_clear_bit(0, &room->waiting))
		room->space(room->arg);
	read_unlock_bh(&sk->sk_callback_lock);
out:
	rcu_read_unlock();
}

/*
 * Ask for space(). False if the room came meanwhile, or if nothing of ours is
 * in the stack whose end would bring it: it will not be called then.
 */
static bool wait_for_room(struct roce_tx *tx, int threshold)
{
	set_bit(0, &tx->room->waiting);
	smp_mb__after_atomic();	/* waiting before sk_wmem_alloc; see tx_write_space() */
	if (sk_wmem_alloc_get(tx->sock->sk) > threshold)
		return true;
	/* if it is gone, space() was called and has the word */
	return !test_and_clear_bit(0, &tx->room->waiting);
}

int roce_tx_init(struct roce_tx *tx, struct tern_dev *dev, void (*space)(void *arg), void *arg)
{
	struct sock *sk;
	int err;

	memset(tx, 0, sizeof(*tx));
	tx->dev = dev;
	tx->room = kzalloc(sizeof(*tx->room), GFP_KERNEL);
	if (!tx->room)
		return -ENOMEM;
	tx->room->space = space;
	tx->room->arg = arg;

	/* AF_INET accounts for IPv6 packets as well, and exists if IPv6 does not. */
	err = sock_create_kern(dev->net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &tx->sock);
	if (err) {
		kfree(tx->room);
		memset(tx, 0, sizeof(*tx));
		return err;
	}
	sk = tx->sock->sk;
	WRITE_ONCE(sk->sk_sndbuf, ROCE_TX_SNDBUF_BYTES);
	sk_set_txhash(sk);	/* spares the stack a flow dissection per packet */
	tx->room->default_write_space = sk->sk_write_space;
	rcu_assign_sk_user_data(sk, tx->room);
	WRITE_ONCE(sk->sk_write_space, tx_write_space);
	return 0;
}

void roce_tx_uninit(struct roce_tx *tx)
{
	struct sock *sk;

	if (!tx->sock)
		return;
	sk = tx->sock->sk;
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
	sk_dst_reset(sk);
	sock_release(tx->sock);
	tx->sock = NULL;
	kfree_rcu(tx->room, rcu);
	tx->room = NULL;
}

bool roce_tx_full(struct roce_tx *tx)
{
	if (likely(sk_wmem_alloc_get(tx->sock->sk) < ROCE_TX_SNDBUF_BYTES))
		return false;
	return wait_for_room(tx, ROCE_TX_SNDBUF_BYTES / 2);
}

/* ---- packets ---- */

static u32 ip_bytes(const struct roce_path *path)
{
	return path->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
}

struct sk_buff *roce_tx_begin(struct roce_tx *tx, const struct roce_path *path, struct pkt *k,
			      void **payload)
{
	/* the route may lead through a VLAN on the netdev */
	u32 headroom = LL_RESERVED_SPACE(tx->dev->netdev) + VLAN_HLEN;
	u32 hdr_bytes = opcode_info(k->opcode)->hdr_bytes;
	u32 pad_bytes = -k->payload_bytes & 3;
	struct sk_buff *skb;

	headroom = ALIGN(headroom, 16);
	skb = alloc_skb(headroom + ip_bytes(path) + sizeof(struct udphdr) + hdr_bytes +
			k->payload_bytes + pad_bytes + ICRC_BYTES, GFP_ATOMIC | __GFP_NOWARN);
	if (unlikely(!skb))
		return NULL;

	skb_reserve(skb, headroom);
	skb_reset_network_header(skb);
	skb_put(skb, ip_bytes(path));
	skb_set_transport_header(skb, ip_bytes(path));
	skb_put(skb, sizeof(struct udphdr));
	pkt_build(skb_put(skb, hdr_bytes), k);
	*payload = skb_put(skb, k->payload_bytes);
	memset(skb_put(skb, pad_bytes + ICRC_BYTES), 0, pad_bytes + ICRC_BYTES);
	return skb;
}

void roce_tx_cancel(struct sk_buff *skb)
{
	consume_skb(skb);
}

static void build_ip4(struct sk_buff *skb, const struct roce_path *path, u16 id)
{
	roce_path_ip4(path, ip_hdr(skb), skb->len, id);
}

static void build_ip6(struct sk_buff *skb, const struct roce_path *path)
{
	roce_path_ip6(path, ipv6_hdr(skb), skb->len);
}

/* The UDP checksum is zero: the ICRC does better (RoCEv2 annex). */
static void build_udp(struct sk_buff *skb, const struct roce_path *path)
{
	struct udphdr *udp = udp_hdr(skb);

	udp->source = path->src_port;
	udp->dest = htons(ROCE_UDP_PORT);
	udp->len = htons(skb->len - skb_transport_offset(skb));
	udp->check = 0;
}

static void put_icrc(struct sk_buff *skb, bool ipv6)
{
	u8 *bth = skb_transport_header(skb) + sizeof(struct udphdr);
	u8 *end = skb_tail_pointer(skb) - ICRC_BYTES;
	u32 crc;

	crc = roce_icrc_start(skb, bth, ipv6);
	crc = tern_crc32(crc, bth + BTH_BYTES, end - bth - BTH_BYTES);
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
		wait_for_room(tx, 0);
		return -EAGAIN;
	default:
		return ret < 0 ? ret : -EIO;
	}
}

int roce_tx_end(struct roce_tx *tx, const struct roce_path *path, struct sk_buff *skb,
		const struct pkt *k)
{
	struct sock *sk = tx->sock->sk;
	struct net *net = tx->dev->net;
	struct dst_entry *dst;
	int ret;

	if (unlikely(roce_tx_full(tx))) {
		ret = -EAGAIN;
		goto drop;
	}
	if (path->ipv6)
		build_ip6(skb, path);
	else
		build_ip4(skb, path, tx->ip_id++);
	build_udp(skb, path);
	put_icrc(skb, path->ipv6);

	rcu_read_lock();
	dst = roce_tx_route(tx, path);
	if (IS_ERR(dst)) {
		rcu_read_unlock();
		ret = PTR_ERR(dst);
		goto drop;
	}
	skb_dst_set_noref(skb, dst);
	/* the VLAN priority comes from it, by the netdev's egress map */
	skb->priority = path->sl ?: rt_tos2priority(path->tclass);
	skb_set_owner_w(skb, sk);
	ret = path->ipv6 ? ip6_local_out(net, sk, skb) : ip_local_out(net, sk, skb);
	rcu_read_unlock();

	ret = xmit_result(tx, ret);
	if (likely(!ret)) {
		tern_count(tx->dev, TERN_CNT_TX_PKTS);
		tern_count_add(tx->dev, TERN_CNT_TX_BYTES, k->payload_bytes);
	} else {
		tern_count(tx->dev, TERN_CNT_TX_DROPPED);
	}
	return ret;

drop:
	kfree_skb(skb);
	tern_count(tx->dev, TERN_CNT_TX_DROPPED);
	return ret;
}
