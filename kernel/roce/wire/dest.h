/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a received packet is to. Softirq; skb has not been detached from its netdev yet.
 */
#ifndef TERN_ROCE_WIRE_DEST_H
#define TERN_ROCE_WIRE_DEST_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct roce_net;
struct sk_buff;
struct tern_dev;

/* GID, netdev that the packet came in by. */
struct roce_dest {
	union ib_gid gid;
	enum ib_gid_type type;
	int iif;
	bool loopback;		/* that is `lo` */
	bool mcast;
	bool may_deceive;	/* its source has to be looked at */
	bool own_mcast;		/* the stack's copy of what this host sent to a group */
};

/* The network header is linear. */
void roce_dest_read(struct sk_buff *skb, struct roce_dest *to);
/*
 * Does the packet, which is for dev and may deceive, claim to come from this host, and does
 * not? Under RCU.
 */
bool roce_dest_is_deceived(const struct roce_net *rn, const struct tern_dev *dev,
			   const struct sk_buff *skb, const struct roce_dest *to);
/* RoCEv1: does Ethernet say that the frame is for this host, and the GRH, for a port or a group? */
bool roce_dest_is_here(const struct sk_buff *skb);

#endif
