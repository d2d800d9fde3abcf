// SPDX-License-Identifier: GPL-2.0
/*
 * IP routes of outgoing packets, one cached per QP in its accounting socket. A
 * packet leaves by the netdev that its source GID is on, or not at all; only
 * what is for this host goes by `lo`. RoCEv1's is in ether.c.
 */
#include <net/inet_dscp.h>
#include <net/inet_ecn.h>
#include <net/ip6_fib.h>
#include <net/ip6_route.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <net/sock.h>

#include "core/device.h"
#include "proto/pkt.h"
#include "roce/wire/ether.h"
#include "roce/wire/gid.h"
#include "roce/wire/net.h"
#include "roce/wire/path.h"
#include "roce/wire/route.h"
#include "roce/wire/tx.h"

static struct dst_entry *find_route4(struct roce_tx *tx, const struct roce_path *path)
{
	struct net *net = tx->dev->net;
	struct flowi4 fl4 = {
		.saddr = path->v4.saddr,
		.daddr = path->v4.daddr,
		.fl4_sport = path->src_port,
		.fl4_dport = htons(ROCE_UDP_PORT),
		.flowi4_proto = IPPROTO_UDP,
		.flowi4_oif = path->oif,
	};
	struct net_device *ndev;
	struct rtable *rt;

	tern_flowi4_set_dscp(&fl4, inet_dsfield_to_dscp(path->tclass));
	ndev = dev_get_by_index_rcu(net, path->oif);
	if (!ndev)
		return ERR_PTR(-ENETUNREACH);
	/*
	 * An address of this host is reached by `lo`. With oif set, the lookup
	 * sees that only for the addresses of oif itself.
	 */
	if (inet_addr_type_dev_table(net, ndev, path->v4.daddr) == RTN_LOCAL)
		fl4.flowi4_oif = l3mdev_master_ifindex_rcu(ndev);

	/* refuses a source address that is not ours (any more) */
	rt = ip_route_output_flow(net, &fl4, NULL);
	return IS_ERR(rt) ? ERR_CAST(rt) : &rt->dst;
}

static struct dst_entry *find_route6(struct roce_tx *tx, const struct roce_path *path)
{
	struct flowi6 fl6 = {
		.saddr = path->v6.saddr,
		.daddr = path->v6.daddr,
		.fl6_sport = path->src_port,
		.fl6_dport = htons(ROCE_UDP_PORT),
		.flowi6_proto = IPPROTO_UDP,
		.flowlabel = ip6_make_flowinfo(path->tclass & ~INET_ECN_MASK, path->flow_label),
		.flowi6_oif = path->oif,
	};
	struct net *net = tx->dev->net;
	struct net_device *ndev;
	struct dst_entry *dst;

	ndev = dev_get_by_index_rcu(net, path->oif);
	if (!ndev)
		return ERR_PTR(-ENETUNREACH);
	/* unlike IPv4's, this lookup takes any source address */
	if (!tern_ipv6_dev_find(net, &path->v6.saddr, ndev))
		return ERR_PTR(-EADDRNOTAVAIL);

	dst = tern_ipv6_route(net, &fl6);
	if (IS_ERR(dst))
		return dst;
	/* and oif is a mere preference to it */
	if (dst->dev->ifindex != path->oif && !(dst->dev->flags & IFF_LOOPBACK) &&
	    !netif_is_l3_master(dst->dev)) {
		dst_release(dst);
		return ERR_PTR(-ENETUNREACH);
	}
	return dst;
}

static bool is_ipv6(const struct roce_path *path)
{
	return path->network == RDMA_NETWORK_IPV6;
}

static void get_addrs(const struct roce_path *path, struct in6_addr *saddr, struct in6_addr *daddr)
{
	if (is_ipv6(path)) {
		*saddr = path->v6.saddr;
		*daddr = path->v6.daddr;
	} else {
		ipv6_addr_set_v4mapped(path->v4.saddr, saddr);
		ipv6_addr_set_v4mapped(path->v4.daddr, daddr);
	}
}

/* Is the cached route for it? To one peer there may be many address handles. */
static bool is_routed(struct roce_tx *tx, const struct roce_path *path)
{
	struct in6_addr saddr, daddr;

	if (likely(tx->route.serial == path->serial))
		return true;
	get_addrs(path, &saddr, &daddr);
	if (tx->route.oif != path->oif || !ipv6_addr_equal(&tx->route.daddr, &daddr) ||
	    !ipv6_addr_equal(&tx->route.saddr, &saddr))
		return false;
	tx->route.serial = path->serial;
	return true;
}

struct dst_entry *roce_tx_route(struct roce_tx *tx, const struct roce_path *path)
{
	struct sock *sk = tx->sk;
	struct dst_entry *dst;

	dst = rcu_dereference(sk->sk_dst_cache);
	if (likely(dst && is_routed(tx, path) && dst_check(dst, tx->route.cookie)))
		return dst;

	dst = is_ipv6(path) ? find_route6(tx, path) : find_route4(tx, path);
	if (IS_ERR(dst)) {
		sk_dst_reset(sk);
		return dst;
	}
	get_addrs(path, &tx->route.saddr, &tx->route.daddr);
	tx->route.oif = path->oif;
	tx->route.serial = path->serial;
	tx->route.cookie = is_ipv6(path) ? rt6_get_cookie((struct rt6_info *)dst) : 0;
	sk_dst_set(sk, dst);
	return dst;
}

/* Are packets of this route for this host; if so, which netdev do they come in by? */
static bool is_local(struct dst_entry *dst, bool ipv6, int *iif)
{
	struct inet6_dev *idev;

	if (!ipv6) {
		*iif = dst->dev->ifindex;
		return ((struct rtable *)dst)->rt_type == RTN_LOCAL;
	}
	/* the netdev that has the address, as inet6_iif() will say */
	idev = ip6_dst_idev(dst);
	*iif = idev ? idev->dev->ifindex : dst->dev->ifindex;
	return ((struct rt6_info *)dst)->rt6i_flags & RTF_LOCAL;
}

/* RCU. */
static struct tern_dev *find_ip_peer_dev(struct roce_tx *tx, const struct roce_path *path)
{
	struct dst_entry *dst = roce_tx_route(tx, path);
	union ib_gid gid;
	int iif;

	if (IS_ERR(dst) || !is_local(dst, is_ipv6(path), &iif))
		return NULL;
	if (is_ipv6(path))
		memcpy(&gid, &path->v6.daddr, sizeof(gid));
	else
		roce_gid_from_ip4(&gid, path->v4.daddr);
	return roce_gid_find(to_roce_dev(tx->dev)->rn, &gid, IB_GID_TYPE_ROCE_UDP_ENCAP, iif,
			     dst->dev->flags & IFF_LOOPBACK);
}

struct tern_dev *roce_tx_peer_dev(struct roce_tx *tx, const struct roce_path *path)
{
	struct tern_dev *peer;

	if (!READ_ONCE(to_roce_dev(tx->dev)->local))
		return NULL;
	rcu_read_lock();
	peer = path->network == RDMA_NETWORK_ROCE_V1 ? roce_ether_peer_dev(tx->dev, path) :
						       find_ip_peer_dev(tx, path);
	if (peer && !READ_ONCE(to_roce_dev(peer)->local))
		peer = NULL;
	rcu_read_unlock();
	return peer;
}
