// SPDX-License-Identifier: GPL-2.0
/*
 * GIDs added and deleted as ib_core says, and the port's capability flags.
 */
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/bonding.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "core/device.h"
#include "core/transport.h"
#include "roce/wire/gid.h"
#include "roce/wire/net.h"
#include "roce/wire/port.h"

int roce_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct tern_dev *dev = to_tern_dev(attr->device);
	struct roce_dev *rd = to_roce_dev(dev);
	struct net_device *ndev;
	struct roce_gid *entry;

	*context = NULL;
	if (attr->gid_type != IB_GID_TYPE_ROCE && attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return -EOPNOTSUPP;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;

	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	/*
	 * An upper netdev may have been moved to another namespace, where we
	 * have no socket. Refusing it would make ib_core log an error that the
	 * owner of that namespace can provoke at will, so such a GID is there,
	 * but no path can be made from it (path.c) and no packet finds it.
	 */
	if (ndev && net_eq(dev_net(ndev), dev->net))
		entry->ifindex = ndev->ifindex;
	rcu_read_unlock();
	if (!entry->ifindex) {
		kfree(entry);
		return 0;
	}

	entry->gid = attr->gid;
	entry->type = attr->gid_type;
	entry->dev = dev;
	entry->link_local = ipv6_addr_type((const struct in6_addr *)&attr->gid) &
			    IPV6_ADDR_LINKLOCAL;
	roce_gid_insert(rd, entry);
	*context = entry;
	return 0;
}

int roce_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct roce_dev *rd = to_roce_dev(to_tern_dev(attr->device));
	struct roce_gid *entry = *context;

	if (!entry)
		return 0;
	roce_gid_remove(rd, entry);
	kfree_rcu(entry, rcu);
	*context = NULL;
	return 0;
}

/* ---- what ib_core is told of the port ---- */

/* Does the netdev have the link-local address that ib_core's default GID is made of? */
static bool has_eui64_link_local(const struct net_device *ndev)
{
	struct in6_addr addr = { .s6_addr32[0] = htonl(0xfe800000) };
	struct inet6_ifaddr *ifa;
	struct inet6_dev *idev;
	bool found = false;

	if (addrconf_ifid_eui48(addr.s6_addr + 8, (struct net_device *)ndev))
		return false;
	idev = __in6_dev_get(ndev);
	if (!idev)
		return false;

	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa, &idev->addr_list, if_list) {
		if (ipv6_addr_equal(&ifa->addr, &addr) && !(ifa->flags & IFA_F_DADFAILED)) {
			found = true;
			break;
		}
	}
	read_unlock_bh(&idev->lock);
	return found;
}

static bool default_gid_exists(const struct tern_dev *dev)
{
	struct net_device *ndev;
	bool exists;

	rcu_read_lock();
	ndev = dev->netdev;
	/* ib_core makes a slave's default GID from the bond */
	if (netif_is_bond_slave(ndev))
		ndev = netdev_master_upper_dev_get_rcu(ndev) ?: ndev;
	exists = netif_running(ndev) && has_eui64_link_local(ndev);
	rcu_read_unlock();
	return exists;
}

static void set_roce_caps(struct ib_port_immutable *immutable)
{
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	/* each address gets a GID of either, RoCEv1 first */
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE | RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
}

/*
 * ib_core reserves the first indices of a RoCE port's GID table, one for each GID
 * type, for a "default GID": the EUI-64 link-local address of the netdev's MAC,
 * whether the netdev has that address or not. Often it has not (stable-privacy
 * addresses, IPv6 switched off, interface down), and then the GID that programs
 * take if not told otherwise (index 0) leads nowhere.
 *
 * The reservation is made once, from the port's capability flags, when the
 * table is set up in ib_register_device(). If the netdev has that address, all
 * is well and the flags are told right away. If not, no flag is set at first:
 * no index is reserved and no address scanned. roce_dev_enable(), which runs
 * before any client or user sees the device, sets the flags and has ib_core
 * scan the addresses, which now fill the table from index 0.
 *
 * Between the two ib_core looks at the flags only to choose those scans, to
 * check that a port without MADs has MAD size 0, and to fill an IB port's GID
 * table by ops.query_gid, which we lack (6.1 to 6.12: cache.c, device.c,
 * sysfs.c). The price is a rate-limited line of ib_core for each GID type, when it
 * finds no room for its default GID at this scan and again when the netdev comes
 * up or changes its MAC. ib_core offers no quieter way: one mask says both which
 * types addresses get and which default GIDs are tried.
 */
void roce_port_immutable(struct tern_dev *dev, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = dev->transport->limits->gid_tbl_len;
	immutable->pkey_tbl_len = dev->transport->limits->pkey_tbl_len;
	immutable->core_cap_flags = 0;
	immutable->max_mad_size = 0;
	if (default_gid_exists(dev))
		set_roce_caps(immutable);
}

/* ib_core holds devices_rwsem, under which ipoib takes the RTNL too. */
int roce_dev_enable(struct tern_dev *dev)
{
	struct ib_port_immutable *immutable = &dev->ibdev.port_data[1].immutable;

	if (immutable->core_cap_flags)
		return 0;
	set_roce_caps(immutable);
	rdma_roce_rescan_device(&dev->ibdev);
	return 0;
}
