/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Links: which netdevs have a tern device, and what happens to it when its
 * netdev, its network namespace or the module goes.
 */
#ifndef TERN_LINK_LINK_H
#define TERN_LINK_LINK_H

#include <linux/list.h>
#include <linux/mutex.h>

/* Last at load, first at the end. Sleeps. 0 or an error. */
int tern_link_init(void);
void tern_link_exit(void);

/* ---- among the files of link/ ---- */

/* Every device from creation to dealloc_driver. Taken inside rtnl, never around it. */
extern struct mutex tern_links_lock;
extern struct list_head tern_links;

#endif
