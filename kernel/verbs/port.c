// SPDX-License-Identifier: GPL-2.0
/*
 * The verbs of the device's one port, which is a view of its netdev. link/
 * sends its events.
 */
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_mad.h>

#include "core/port.h"
#include "core/transport.h"
#include "verbs/port.h"

#define PKEY_FULL_DEFAULT 0xffff

static u8 phys_state(const struct tern_dev *dev)
{
	if (!netif_running(dev->netdev))
		return IB_PORT_PHYS_STATE_DISABLED;
	return netif_carrier_ok(dev->netdev) ? IB_PORT_PHYS_STATE_LINK_UP :
					       IB_PORT_PHYS_STATE_POLLING;
}

/* ib_get_eth_speed() logs a line per call if the speed is not known (virtio). Ask first. */
static void query_speed(struct tern_dev *dev, struct ib_port_attr *attr)
{
	struct ethtool_link_ksettings ks;
	int err = -ENODEV;

	rtnl_lock();
	if (dev->netdev->reg_state == NETREG_REGISTERED)
		err = __ethtool_get_link_ksettings(dev->netdev, &ks);
	rtnl_unlock();
	if (!err && ks.base.speed != (u32)SPEED_UNKNOWN &&
	    !ib_get_eth_speed(&dev->ibdev, 1, &attr->active_speed, &attr->active_width))
		return;
	attr->active_width = IB_WIDTH_1X;
	attr->active_speed = IB_SPEED_FDR10;
}

int tern_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct tern_dev *dev = to_tern_dev(ibdev);
	const struct tern_limits *lim = dev->transport->limits;

	if (port != 1)
		return -EINVAL;
	/* ib_core has zeroed attr. */
	attr->state = tern_port_state(dev);
	attr->phys_state = phys_state(dev);
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = tern_transport_mtu(dev);
	attr->phys_mtu = READ_ONCE(dev->netdev->mtu);
	attr->gid_tbl_len = lim->gid_tbl_len;
	attr->ip_gids = dev->transport->node_type == RDMA_NODE_IB_CA;
	attr->port_cap_flags = atomic_read(&dev->port_cap_flags);
	attr->max_msg_sz = lim->max_msg_bytes;
	attr->pkey_tbl_len = lim->pkey_tbl_len;
	attr->max_vl_num = 1;
	query_speed(dev, attr);
	return 0;
}

/*
 * Capabilities that a kernel consumer provides and announces. Each is a class of MADs that such a
 * consumer can register for (IBTA 14.2.5.6). The driver would have to provide all others.
 */
#define SERVED_BY_CONSUMERS (IB_PORT_CM_SUP | IB_PORT_SNMP_TUNNEL_SUP | IB_PORT_DEVICE_MGMT_SUP | \
			     IB_PORT_VENDOR_CLASS_SUP)

int tern_modify_port(struct ib_device *ibdev, u32 port, int mask, struct ib_port_modify *modify)
{
	struct tern_dev *dev = to_tern_dev(ibdev);

	if (port != 1)
		return -EINVAL;
	/* The port's attributes do not count wrong Q_Keys, so there is no counter to reset. */
	if (mask & ~IB_PORT_RESET_QKEY_CNTR ||
	    (modify->set_port_cap_mask | modify->clr_port_cap_mask) & ~SERVED_BY_CONSUMERS)
		return -EOPNOTSUPP;
	atomic_or(modify->set_port_cap_mask, &dev->port_cap_flags);
	atomic_andnot(modify->clr_port_cap_mask, &dev->port_cap_flags);
	return 0;
}

int tern_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (port != 1 || index >= to_tern_dev(ibdev)->transport->limits->pkey_tbl_len)
		return -EINVAL;
	*pkey = PKEY_FULL_DEFAULT;
	return 0;
}

int tern_get_port_immutable(struct ib_device *ibdev, u32 port,
			    struct ib_port_immutable *immutable)
{
	struct tern_dev *dev = to_tern_dev(ibdev);

	if (port != 1)
		return -EINVAL;
	immutable->gid_tbl_len = dev->transport->limits->gid_tbl_len;
	immutable->pkey_tbl_len = dev->transport->limits->pkey_tbl_len;
	dev->transport->port_immutable(dev, immutable);
	return 0;
}

enum rdma_link_layer tern_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}
