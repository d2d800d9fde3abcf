/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Links: which netdevs have a tern device, and what happens to it when its
 * netdev, its network namespace or the module goes.
 */
#ifndef TERN_LINK_H
#define TERN_LINK_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>

struct tern_transport_ops;

int tern_link_init(void);
void tern_link_exit(void);

/* ---- among the files of link/ ---- */

/* Every device from creation to dealloc_driver. Taken inside rtnl, never around it. */
extern struct mutex tern_links_lock;
extern struct list_head tern_links;

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

int tern_netns_init(void);
void tern_netns_exit(void);

#endif
