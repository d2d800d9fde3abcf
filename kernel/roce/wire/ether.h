/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCEv1: packets as Ethernet frames, without IP. Which netdev they leave by, and their
 * way there. In an RCU section, BHs off.
 */
#ifndef TERN_ROCE_WIRE_ETHER_H
#define TERN_ROCE_WIRE_ETHER_H

struct net_device;
struct roce_path;
struct sk_buff;
struct tern_dev;

/*
 * The device of this network namespace that frames of path are for. NULL: they leave the
 * host, or the source GID is gone.
 */
struct tern_dev *roce_ether_peer_dev(struct tern_dev *dev, const struct roce_path *path);

/* The netdev that frames of path leave by: `lo`, if they are for this host. NULL: none. */
struct net_device *roce_ether_netdev(struct tern_dev *dev, const struct roce_path *path);

/*
 * One frame, its data at the GRH, to that netdev's queue. Consumes skb. What
 * dev_queue_xmit() says, -EMSGSIZE (the netdev's MTU is smaller), -ENOMEM.
 */
int roce_ether_xmit(struct tern_dev *dev, struct net_device *ndev, const struct roce_path *path,
		    struct sk_buff *skb);

#endif
