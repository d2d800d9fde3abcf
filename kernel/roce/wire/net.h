/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the packet I/O files of roce/ share among themselves: the state of a
 * network namespace (sockets, tables that a received packet is looked up in)
 * and of a device. QP execution does not include this.
 *
 * Lifetime. A namespace's state lives from pernet init to pernet exit; every
 * device in it is stopped before that (link/ unregisters its links from a
 * pernet operation registered after ours, so it runs first on exit). Readers
 * hold the RCU lock: they come in through a socket's sk_user_data, which is
 * NULL before the socket goes, and find devices in the two tables, out of
 * which roce_dev_stop() sees them gone before it waits for readers.
 */
#ifndef TERN_ROCE_NET_H
#define TERN_ROCE_NET_H

#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/rhashtable-types.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "roce/wire/gate.h"
#include "roce/roce.h"

#define ROCE_GID_HASH_BITS	7
/* So many addresses have a socket of their own. */
#define ROCE_NET_ADDRESSES	16

struct roce_net {
	struct mutex lock;		/* sockets, addresses, links, dying */
	struct socket *sock4;
	struct socket *sock6;		/* NULL: no IPv6 in this kernel or namespace */
	unsigned int addresses;		/* with a socket of their own */
	unsigned int links;		/* devices started */
	bool dying;

	spinlock_t table_lock;		/* writers of the next; readers: RCU */
	struct hlist_head gids[1 << ROCE_GID_HASH_BITS];	/* struct roce_gid */
	struct rhltable groups;		/* struct roce_group, by address */
};

/* tern_dev.transport_data */
struct roce_dev {
	struct tern_dev *dev;
	struct roce_net *rn;
	struct hlist_head gids;		/* its entries of rn->gids, RCU, under rn->table_lock */
	bool local;			/* switch: may traffic within the host go without packets? */

	struct roce_gate gate;

	struct mutex mcast_lock;	/* the rest */
	unsigned int num_groups;
	struct socket *mcast_sock6;	/* holds the MLD memberships; made at the first join */
};

static inline struct roce_dev *to_roce_dev(struct tern_dev *dev)
{
	return dev->transport_data;
}

/* An IP address as a GID; IPv4 becomes ::ffff:a.b.c.d (RoCEv2 annex). */
static inline void roce_gid_from_ip4(union ib_gid *gid, __be32 addr)
{
	/* By halves, as it is compared: of two smaller stores a CPU cannot make one load at once. */
	gid->global.subnet_prefix = 0;
	gid->global.interface_id = cpu_to_be64(0xffffull << 32 | be32_to_cpu(addr));
}

static inline bool roce_gid_is_ip4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid);
}

static inline __be32 roce_gid_ip4(const union ib_gid *gid)
{
	return ((const struct in6_addr *)gid)->s6_addr32[3];
}

/* ---- gid.c ---- */

/*
 * The device that a packet to gid is for. iif: the netdev it came in by;
 * loopback: that is `lo`. Under RCU. NULL: none.
 */
struct tern_dev *roce_gid_find(const struct roce_net *rn, const union ib_gid *gid, int iif,
			       bool loopback);
/* Is ifindex the device's netdev, or that of one of its GIDs (VLAN, bond)? Under RCU. */
bool roce_gid_on_netdev(struct tern_dev *dev, int ifindex);

/* ---- net.c ---- */

/* A socket for packets to gid alone, which is not link-local; NULL: none. For roce_address_close(). */
struct socket *roce_address_open(struct net *net, struct roce_net *rn, const union ib_gid *gid);
void roce_address_close(struct roce_net *rn, struct socket *sock);

/* ---- path.c ---- */

/* The IP header of a packet of so many bytes, header included; IPv4's checksum is 0. */
void roce_path_ip4(const struct roce_path *path, struct iphdr *ip, u16 bytes, u16 id);
void roce_path_ip6(const struct roce_path *path, struct ipv6hdr *ip, u16 bytes);

/* ---- source.c: what rx.c's functions of the same names do for what has no skb ---- */
int roce_source_to_span(struct roce_source *src, u32 off, const struct tern_span *span,
			u64 span_off, u32 n);
int roce_source_to_sgl(struct roce_source *src, u32 off, struct tern_sgl *sgl, u64 sgl_off, u32 n);
void roce_source_grh(const struct roce_source *src, const struct pkt *k, u8 grh[GRH_BYTES]);
void roce_source_fill_cqe(const struct roce_source *src, const struct pkt *k,
			  struct tern_cqe *cqe);
bool roce_source_from_path(const struct roce_source *src, const struct roce_path *path);

/* ---- route.c ---- */

/*
 * The route to path, or an ERR_PTR; held by tx's socket, so good in the
 * caller's RCU section. A QP with one peer looks it up once, a UD QP whenever
 * it turns to another peer. By the owner of the run lock.
 */
struct dst_entry *roce_tx_route(struct roce_tx *tx, const struct roce_path *path);

/* ---- mcast.c ---- */
int roce_mcast_net_init(struct roce_net *rn);
void roce_mcast_net_uninit(struct roce_net *rn);
void roce_mcast_dev_init(struct roce_dev *rd);
void roce_mcast_dev_uninit(struct roce_dev *rd);
/* A device with members in the group, for accounting what comes next. Under RCU. */
struct tern_dev *roce_mcast_find(struct roce_net *rn, const union ib_gid *mgid, int iif);
/* Give rx to every attached QP; consumes rx->skb. Under RCU, BHs off. */
void roce_mcast_deliver(struct roce_net *rn, const union ib_gid *mgid, int iif,
			struct roce_rx *rx, struct roce_rx_series *series);

/* ---- gro.c ---- */
struct sk_buff *roce_gro_receive(struct sock *sk, struct list_head *head, struct sk_buff *skb);
int roce_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff);

/* ---- rx.c ---- */

/* encap_rcv of the UDP sockets; sk_user_data is the struct roce_net. */
int roce_rx_udp(struct sock *sk, struct sk_buff *skb);

#endif
