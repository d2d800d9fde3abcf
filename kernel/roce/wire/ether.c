// SPDX-License-Identifier: GPL-2.0
/*
 * RoCEv1: packets as Ethernet frames, without IP (IBTA annex A16). A frame leaves by the
 * netdev that its source GID is on, to the MAC in the address vector, which ib_core has
 * resolved. Nothing routes it: the destination is on the same Ethernet.
 *
 * What is for a GID of this host goes by `lo`, as with IP, and a copy of what is for a
 * group comes back by the netdev that it leaves by, if the group has members here.
 */
#include <linux/etherdevice.h>
#include <linux/netdevice.h>

#include "core/device.h"
#include "roce/wire/ether.h"
#include "roce/wire/gid.h"
#include "roce/wire/mcast.h"
#include "roce/wire/net.h"
#include "roce/wire/path.h"

static const union ib_gid *sgid_of(const struct roce_path *path)
{
	return (const union ib_gid *)&path->v6.saddr;
}

static const union ib_gid *dgid_of(const struct roce_path *path)
{
	return (const union ib_gid *)&path->v6.daddr;
}

/* NULL: it is down, or path's source GID is gone. */
static struct net_device *source_netdev(struct tern_dev *dev, const struct roce_path *path)
{
	struct net_device *ndev;

	if (!roce_gid_is_there(dev, sgid_of(path), IB_GID_TYPE_ROCE, path->oif))
		return NULL;
	ndev = dev_get_by_index_rcu(dev->net, path->oif);
	return ndev && READ_ONCE(ndev->flags) & IFF_UP ? ndev : NULL;
}

/* The device that has the destination GID. A link-local one is on the path's netdev. */
static struct tern_dev *destination_dev(struct tern_dev *dev, const struct roce_path *path)
{
	return roce_gid_find(to_roce_dev(dev)->rn, dgid_of(path), IB_GID_TYPE_ROCE, path->oif,
			     false);
}

struct tern_dev *roce_ether_peer_dev(struct tern_dev *dev, const struct roce_path *path)
{
	return source_netdev(dev, path) ? destination_dev(dev, path) : NULL;
}

struct net_device *roce_ether_netdev(struct tern_dev *dev, const struct roce_path *path)
{
	struct net_device *ndev = source_netdev(dev, path), *lo = dev->net->loopback_dev;

	if (!ndev || !destination_dev(dev, path))
		return ndev;
	return READ_ONCE(lo->flags) & IFF_UP ? lo : NULL;
}

/* skb is complete, for a group. As dev_loopback_xmit(), which wants a route. */
static void loop_copy(struct sk_buff *skb)
{
	struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);

	if (!copy)
		return;
	skb_reset_mac_header(copy);
	__skb_pull(copy, skb_network_offset(copy));
	copy->pkt_type = PACKET_LOOPBACK;
	netif_rx(copy);
}

int roce_ether_xmit(struct tern_dev *dev, struct net_device *ndev, const struct roce_path *path,
		    struct sk_buff *skb)
{
	/* as IP packets on `lo` have it */
	const u8 *dmac = ndev->flags & IFF_LOOPBACK ? ndev->dev_addr : path->dmac;
	int err = -EMSGSIZE;

	if (skb->len > READ_ONCE(ndev->mtu))
		goto drop;
	skb->dev = ndev;
	skb->protocol = htons(ETH_P_IBOE);
	err = skb_cow_head(skb, LL_RESERVED_SPACE(ndev));
	if (err)
		goto drop;
	if (dev_hard_header(skb, ndev, ETH_P_IBOE, dmac, NULL, skb->len) < 0) {
		err = -EINVAL;
		goto drop;
	}
	if (is_multicast_ether_addr(dmac) &&
	    roce_mcast_find(to_roce_dev(dev)->rn, dgid_of(path), ndev->ifindex))
		loop_copy(skb);
	return dev_queue_xmit(skb);

drop:
	kfree_skb(skb);
	return err;
}
