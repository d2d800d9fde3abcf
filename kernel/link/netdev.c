// SPDX-License-Identifier: GPL-2.0
/*
 * The netdev under a link: whether it may have one, and what its changes mean
 * for the RDMA port. The notifier runs under rtnl, where neither unregistering
 * a device nor dispatching its events is safe, so it leaves both to work items.
 */
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>

#include "core/device.h"
#include "core/port.h"
#include "core/stats.h"
#include "core/transport.h"
#include "core/wq.h"
#include "link/link.h"
#include "link/netdev.h"

/* ---- may it have a link? ---- */

static bool has_link(const struct net_device *netdev, const struct tern_transport_ops *transport)
{
	struct tern_dev *dev;

	list_for_each_entry(dev, &tern_links, link_list)
		if (dev->netdev == netdev && dev->transport == transport && !dev->netdev_gone)
			return true;
	return false;
}

int tern_netdev_check(const struct net_device *netdev, const struct tern_transport_ops *transport,
		      const char *name)
{
	const char *type = transport->link_type;

	if (netdev->reg_state != NETREG_REGISTERED) {
		pr_err("tern: %s: %s is being removed\n", name, netdev->name);
		return -ENODEV;
	}
	if (!transport->any_netdev && netdev->flags & IFF_LOOPBACK) {
		pr_err("tern: %s: %s is the loopback interface; use any Ethernet interface, it reaches this host too\n",
		       name, netdev->name);
		return -EINVAL;
	}
	if (!transport->any_netdev &&
	    (netdev->type != ARPHRD_ETHER || netdev->addr_len != ETH_ALEN)) {
		pr_err("tern: %s: %s is not an Ethernet interface; links of type tern_iwarp take any\n",
		       name, netdev->name);
		return -EINVAL;
	}
	if (!transport->any_netdev && is_vlan_dev(netdev)) {
		pr_err("tern: %s: %s is a VLAN of %s; add the link to %s, the addresses of its VLANs get GIDs\n",
		       name, netdev->name, vlan_dev_real_dev(netdev)->name,
		       vlan_dev_real_dev(netdev)->name);
		return -EINVAL;
	}
	if (netif_is_bond_slave(netdev)) {
		pr_err("tern: %s: %s is a member of a bond; add the link to the bond\n", name,
		       netdev->name);
		return -EINVAL;
	}
	if (!__in_dev_get_rtnl(netdev) && !__in6_dev_get(netdev)) {
		pr_err("tern: %s: %s has no IP (its MTU is %u)\n", name, netdev->name,
		       netdev->mtu);
		return -EAFNOSUPPORT;
	}
	if (has_link(netdev, transport)) {
		pr_err("tern: %s: %s already has a %s link\n", name, netdev->name, type);
		return -EEXIST;
	}
	return 0;
}

/* ---- its changes ---- */

static void dispatch_event(struct tern_dev *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = type,
	};

	ib_dispatch_event(&event);
}

/*
 * The reference keeps the device registered while ib_core takes the event: ib_core flushes
 * dispatched events before it unregisters. It also orders the work after registration; before that
 * there is no listener.
 */
void tern_netdev_port_work(struct work_struct *work)
{
	struct tern_dev *dev = container_of(work, struct tern_dev, port_work);
	u8 state;

	if (!ib_device_try_get(&dev->ibdev))
		return;
	if (dev->transport->dev_changed)
		dev->transport->dev_changed(dev);

	state = tern_port_state(dev);
	if (state != dev->port_state) {
		dev->port_state = state;
		if (state != IB_PORT_ACTIVE)
			tern_count_anywhere(dev, TERN_CNT_LINK_DOWN);
		dispatch_event(dev, state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE :
							      IB_EVENT_PORT_ERR);
	}
	ib_device_put(&dev->ibdev);
}

/* Also when the netdev moves to another namespace: sockets and addresses stay behind. */
static void netdev_gone(struct tern_dev *dev)
{
	dev->netdev_gone = true;
	/* If it is not registered yet, add_link() sees the mark. */
	if (!ib_device_try_get(&dev->ibdev))
		return;
	ib_unregister_device_queued(&dev->ibdev);
	ib_device_put(&dev->ibdev);
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(info);
	struct tern_dev *dev;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
	case NETDEV_CHANGEADDR:
	case NETDEV_UNREGISTER:
		break;
	default:
		return NOTIFY_DONE;
	}

	mutex_lock(&tern_links_lock);
	list_for_each_entry(dev, &tern_links, link_list) {
		if (dev->netdev != netdev)
			continue;
		if (event == NETDEV_UNREGISTER)
			netdev_gone(dev);
		else
			queue_work(tern_wq, &dev->port_work);
	}
	mutex_unlock(&tern_links_lock);
	return NOTIFY_OK;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

int tern_netdev_init(void)
{
	return register_netdevice_notifier(&netdev_notifier);
}

void tern_netdev_exit(void)
{
	unregister_netdevice_notifier(&netdev_notifier);
}
