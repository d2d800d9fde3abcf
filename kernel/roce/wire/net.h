/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The state of a network namespace (sockets, tables that a received packet is
 * looked up in) and of a device, and their start and stop.
 *
 * Lifetime. A namespace's state lives from pernet init to pernet exit. Every
 * device in it is stopped before that: link/ unregisters its links from a
 * pernet operation registered after ours, so it runs first on exit. Readers
 * hold the RCU lock. They come in through a socket's sk_user_data, which is
 * NULL before the socket goes, or with a frame of a netdev in the namespace, which
 * goes before our pernet exit. They find devices in the two tables.
 * roce_dev_stop() sees a device gone from both before it waits for readers.
 */
#ifndef TERN_ROCE_WIRE_NET_H
#define TERN_ROCE_WIRE_NET_H

#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>

#include "core/device.h"
#include "proto/cc.h"
#include "roce/wire/gate.h"

struct socket;

#define ROCE_GID_HASH_BITS	7

struct roce_net {
	struct mutex lock;		/* sockets, links, dying */
	struct socket *sock4;
	struct socket *sock6;		/* NULL: no IPv6 in this kernel or namespace */
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
	bool local;			/* switch: may go without packets what stays in the host? */
	const struct cc_ops *cc;	/* of QPs from now on; READ_ONCE() */
	struct cc_params cc_params;	/* of all QPs; likewise */

	struct roce_gate gate;

	struct mutex mcast_lock;	/* the rest */
	unsigned int num_groups;
	struct socket *mcast_sock6;	/* holds the MLD memberships; made at the first join */
};

static inline struct roce_dev *to_roce_dev(struct tern_dev *dev)
{
	return dev->transport_data;
}

/* Pernet operations, at load and unload. */
int roce_net_init(void);
void roce_net_exit(void);

/*
 * Before ib_register_device(), because GIDs come in during that. Sleeps.
 * -ENODEV: the namespace is going away.
 */
int roce_dev_start(struct tern_dev *dev);
/*
 * After ib_unregister_device() has deleted the GIDs and all QPs are destroyed,
 * before the namespace exits, and not under the RTNL. Sleeps. No reader finds
 * the device when it returns.
 */
void roce_dev_stop(struct tern_dev *dev);

#endif
