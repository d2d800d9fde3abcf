/* SPDX-License-Identifier: GPL-2.0 */
/* The device's one port, as its netdev determines it. */
#ifndef TERN_CORE_PORT_H
#define TERN_CORE_PORT_H

#include <linux/netdevice.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "core/device.h"

static inline enum ib_port_state tern_port_state(const struct tern_dev *dev)
{
	return netif_running(dev->netdev) && netif_carrier_ok(dev->netdev) ? IB_PORT_ACTIVE :
									     IB_PORT_DOWN;
}

/* The largest RDMA payload, IB_MTU_256 .. IB_MTU_4096, that the netdev's MTU has room for now. */
static inline enum ib_mtu tern_transport_mtu(const struct tern_dev *dev)
{
	enum ib_mtu mtu = iboe_get_mtu(READ_ONCE(dev->netdev->mtu));

	return mtu ? mtu : IB_MTU_256;
}

/* False for lo and most tunnels. */
static inline bool tern_netdev_has_address(const struct net_device *netdev)
{
	return memchr_inv(netdev->dev_addr, 0, netdev->addr_len);
}

#endif
