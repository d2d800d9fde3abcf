// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a device. verbs/ has the verbs that ib_core calls. link/ decides
 * when devices come and go.
 */
#include <linux/etherdevice.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/wait_bit.h>
#include <net/addrconf.h>

#include "core/device.h"
#include "core/port.h"
#include "core/stats.h"
#include "core/transport.h"

/* From the netdev's MAC address; lo and tunnels have none. */
static void make_guid(struct tern_dev *dev)
{
	const struct net_device *netdev = dev->netdev;
	u8 mac[ETH_ALEN];

	if (tern_netdev_has_address(netdev))
		ether_addr_copy(mac, netdev->dev_addr);
	else
		eth_random_addr(mac);
	addrconf_addr_eui48((u8 *)&dev->ibdev.node_guid, mac);
}

static void describe_device(struct tern_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;

	ibdev->node_type = dev->transport->node_type;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->dev.parent = dev->netdev->dev.parent;
	make_guid(dev);
	strscpy(ibdev->node_desc, dev->transport->link_type, sizeof(ibdev->node_desc));
	/*
	 * With network namespaces in exclusive mode, a device made in a namespace belongs to it.
	 * (In shared mode all namespaces have access already.)
	 */
	if (!rdma_dev_access_netns(ibdev, dev->net))
		write_pnet(&ibdev->coredev.rdma_net, dev->net);
}

struct tern_dev *tern_device_create(const struct tern_transport_ops *transport,
				    struct net_device *netdev)
{
	struct tern_dev *dev = ib_alloc_device(tern_dev, ibdev);
	int err;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	err = tern_stats_init(dev);
	if (err)
		goto dealloc;
	dev->transport = transport;
	dev->peer_timeout_s = transport->peer_timeout_s;
	dev->netdev = netdev;
	dev->net = dev_net(netdev);
	describe_device(dev);
	err = ib_device_set_netdev(&dev->ibdev, netdev, 1);
	if (err)
		goto free_stats;
	/* ib_core drops its reference before dealloc_driver, while packets still come. */
	netdev_hold(netdev, &dev->netdev_tracker, GFP_KERNEL);

	tern_keys_init(&dev->keys, &dev->ibdev);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->srqs, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT | XA_FLAGS_LOCK_IRQ);
	dev->next_qpn = get_random_u32() & 0xffffff;
	INIT_LIST_HEAD(&dev->link_list);
	dev->port_state = tern_port_state(dev);
	return dev;

free_stats:
	tern_stats_uninit(dev);
dealloc:
	ib_dealloc_device(&dev->ibdev);
	return ERR_PTR(err);
}

int tern_device_register(struct tern_dev *dev, const char *name)
{
	int err = dev->transport->dev_start(dev);

	if (err)
		return err;
	dev->started = true;

	err = ib_register_device(&dev->ibdev, name, NULL);
	if (err)
		pr_err("tern: %s: the RDMA subsystem refused the device: %d%s\n", name, err,
		       err == -ENFILE ? " (the name is taken)" : "");
	return err == -ENFILE ? -EEXIST : err;
}

void tern_device_destroy(struct tern_dev *dev)
{
	/* Timers and packets of destroyed QPs may hold them for a moment. */
	while (!wait_var_event_timeout(&dev->num_qp, !atomic_read(&dev->num_qp), 10 * HZ))
		dev_warn(&dev->ibdev.dev, "waiting for %d QPs to be released\n",
			 atomic_read(&dev->num_qp));
	if (dev->started)
		dev->transport->dev_stop(dev);
	/* Readers that found one of its QPs before are through now. */
	synchronize_rcu();

	WARN_ON(!xa_empty(&dev->qps));
	xa_destroy(&dev->qps);
	WARN_ON(!xa_empty(&dev->srqs));
	xa_destroy(&dev->srqs);
	WARN_ON(!xa_empty(&dev->ahs));
	xa_destroy(&dev->ahs);
	tern_keys_destroy(&dev->keys);
	tern_stats_uninit(dev);
	netdev_put(dev->netdev, &dev->netdev_tracker);
}
