/* SPDX-License-Identifier: GPL-2.0 */
/* The netdev under a link. */
#ifndef TERN_LINK_NETDEV_H
#define TERN_LINK_NETDEV_H

#include <linux/netdevice.h>
#include <linux/workqueue.h>

struct tern_transport_ops;

/*
 * May netdev have a link of this kind? rtnl and tern_links_lock held. 0, or an
 * error that one line in the log explains.
 */
int tern_netdev_check(const struct net_device *netdev, const struct tern_transport_ops *transport,
		      const char *name);
/* Port changes of dev, out of the notifier's context. */
void tern_netdev_port_work(struct work_struct *work);
int tern_netdev_init(void);
void tern_netdev_exit(void);

#endif
