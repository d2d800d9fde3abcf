// SPDX-License-Identifier: GPL-2.0
/*
 * `rdma link add NAME type tern_... netdev DEV`. ib_core deletes links: it
 * unregisters the device. Every way of ending a link reaches dealloc_driver()
 * here.
 */
#include <linux/err.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

#include "core/device.h"
#include "core/qp.h"
#include "core/transport.h"
#include "core/wq.h"
#include "link/link.h"
#include "link/netdev.h"
#include "link/netns.h"
#include "verbs/device.h"

DEFINE_MUTEX(tern_links_lock);
LIST_HEAD(tern_links);

static void dealloc_driver(struct ib_device *ibdev)
{
	struct tern_dev *dev = to_tern_dev(ibdev);

	mutex_lock(&tern_links_lock);
	list_del_init(&dev->link_list);
	mutex_unlock(&tern_links_lock);
	/* It cannot be found any more, so it cannot be queued any more. */
	cancel_work_sync(&dev->port_work);
	tern_device_destroy(dev);
}

static const struct ib_device_ops link_ops = {
	.dealloc_driver = dealloc_driver,
};

/* Under rtnl, so that netdev cannot go before the notifier can find its link. */
static struct tern_dev *create_device(const char *name, struct net_device *netdev,
				      const struct tern_transport_ops *transport)
{
	struct tern_dev *dev;
	int err;

	mutex_lock(&tern_links_lock);
	err = tern_netdev_check(netdev, transport, name);
	if (err) {
		dev = ERR_PTR(err);
		goto unlock;
	}
	dev = tern_device_create(transport, netdev);
	if (IS_ERR(dev)) {
		pr_err("tern: %s: no device for %s: %ld\n", name, netdev->name, PTR_ERR(dev));
		goto unlock;
	}
	tern_device_set_verbs(dev);
	ib_set_device_ops(&dev->ibdev, &link_ops);
	INIT_WORK(&dev->port_work, tern_netdev_port_work);
	list_add_tail(&dev->link_list, &tern_links);
unlock:
	mutex_unlock(&tern_links_lock);
	return dev;
}

/*
 * A device has been registered. It may have missed changes of its netdev: look at it now. Look at
 * all links, because somebody may have ended this device already.
 */
static void settle_links(void)
{
	struct tern_dev *dev;

	mutex_lock(&tern_links_lock);
	list_for_each_entry(dev, &tern_links, link_list) {
		if (dev->netdev_gone && ib_device_try_get(&dev->ibdev)) {
			ib_unregister_device_queued(&dev->ibdev);
			ib_device_put(&dev->ibdev);
		}
		queue_work(tern_wq, &dev->port_work);
	}
	mutex_unlock(&tern_links_lock);
}

static int add_link(const char *name, struct net_device *netdev,
		    const struct tern_transport_ops *transport)
{
	struct device *parent;
	struct tern_dev *dev;
	int err;

	rtnl_lock();
	dev = create_device(name, netdev, transport);
	/* The device points to its parent, but takes a reference only when it is registered. */
	parent = get_device(netdev->dev.parent);
	rtnl_unlock();
	if (IS_ERR(dev)) {
		err = PTR_ERR(dev);
		goto put_parent;
	}

	err = tern_device_register(dev, name);
	if (err)
		ib_dealloc_device(&dev->ibdev);
	else
		settle_links();
put_parent:
	put_device(parent);
	return err;
}

static int roce_newlink(const char *name, struct net_device *netdev)
{
	return add_link(name, netdev, &tern_roce_transport);
}

static int iwarp_newlink(const char *name, struct net_device *netdev)
{
	return add_link(name, netdev, &tern_iwarp_transport);
}

static struct rdma_link_ops iwarp_link_ops = {
	.type = "tern_iwarp",
	.newlink = iwarp_newlink,
};

static struct rdma_link_ops roce_link_ops = {
	.type = "tern_roce",
	.newlink = roce_newlink,
};

/*
 * A client of ib_core, only to learn of a device's end before its users do. ib_core removes the
 * last client first, and tern_init() ensures that ib_uverbs came before. (If ib_uverbs alone is
 * reloaded, it goes first. Then programs see the device's end by its event, and no flushed WQEs.)
 * Kernel clients end their QPs themselves.
 */
static int client_add(struct ib_device *ibdev)
{
	return ibdev->ops.driver_id == (enum rdma_driver_id)TERN_DRIVER_ID ? 0 : -EOPNOTSUPP;
}

static void client_remove(struct ib_device *ibdev, void *data)
{
	tern_qps_end(to_tern_dev(ibdev));
}

static struct ib_client tern_client = {
	.name = "tern",
	.add = client_add,
	.remove = client_remove,
};

int tern_link_init(void)
{
	int err;

	err = tern_wq_init();
	if (err)
		return err;
	err = tern_netns_init();
	if (err)
		goto wq_exit;
	err = tern_netdev_init();
	if (err)
		goto netns_exit;
	err = ib_register_client(&tern_client);
	if (err)
		goto netdev_exit;
	rdma_link_register(&roce_link_ops);
	rdma_link_register(&iwarp_link_ops);
	return 0;

netdev_exit:
	tern_netdev_exit();
netns_exit:
	tern_netns_exit();
wq_exit:
	tern_wq_exit();
	return err;
}

void tern_link_exit(void)
{
	/* First no new links, then no links, then none of those that look for links. */
	rdma_link_unregister(&iwarp_link_ops);
	rdma_link_unregister(&roce_link_ops);
	ib_unregister_driver((enum rdma_driver_id)TERN_DRIVER_ID);
	ib_unregister_client(&tern_client);
	tern_netdev_exit();
	tern_netns_exit();
	tern_wq_exit();
}
