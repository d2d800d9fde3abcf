// SPDX-License-Identifier: GPL-2.0
/*
 * A network namespace ends. Its links end first, and are gone before its
 * sockets, netdevs and GIDs. This needs pernet *device* operations, which run
 * before those of any subsystem and, registered late, before the netdevs' own;
 * and pre_exit, the earliest step.
 */
#include <net/net_namespace.h>

#include "core/device.h"
#include "link/link.h"
#include "link/netns.h"

static struct tern_dev *find_link_get(const struct net *net)
{
	struct tern_dev *dev;

	mutex_lock(&tern_links_lock);
	list_for_each_entry(dev, &tern_links, link_list) {
		if (dev->net == net) {
			get_device(&dev->ibdev.dev);
			mutex_unlock(&tern_links_lock);
			return dev;
		}
	}
	mutex_unlock(&tern_links_lock);
	return NULL;
}

/*
 * No link is being made here, because the socket that newlink came by holds the namespace.
 * ib_unregister_device() is a fence, so it also waits for a link that somebody else is ending.
 */
static void __net_exit netns_pre_exit(struct net *net)
{
	struct tern_dev *dev;

	while ((dev = find_link_get(net))) {
		ib_unregister_device(&dev->ibdev);
		put_device(&dev->ibdev.dev);
	}
}

static struct pernet_operations netns_ops = {
	.pre_exit = netns_pre_exit,
};

int tern_netns_init(void)
{
	return register_pernet_device(&netns_ops);
}

void tern_netns_exit(void)
{
	unregister_pernet_device(&netns_ops);
}
