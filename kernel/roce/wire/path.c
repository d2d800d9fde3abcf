// SPDX-License-Identifier: GPL-2.0
/*
 * From an address vector to what goes into the headers of a packet. Routes are
 * looked up when a packet is sent (route.c, ether.c), so a path says where to, not how.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "core/device.h"
#include "roce/wire/gid.h"
#include "roce/wire/path.h"

/* An AV may leave the hop limit open (0); routers would drop that. */
#define DEFAULT_HOP_LIMIT	64

static atomic64_t serials;

/* The service level that rdma_cm gives to a path of this priority. */
static u8 level_of(struct net_device *ndev, u32 priority)
{
	const struct net_device *real = is_vlan_dev(ndev) ? vlan_dev_real_dev(ndev) : ndev;

	if (real->num_tc)
		return netdev_get_prio_tc_map(real, priority);
	if (!is_vlan_dev(ndev))
		return 0;
	return (vlan_dev_get_egress_qos_mask(ndev, priority) & VLAN_PRIO_MASK) >> VLAN_PRIO_SHIFT;
}

/*
 * Of skbs: the traffic class's, as sockets have it, or the level if the program chose one. Not if
 * the level is what ndev makes of the class, as with rdma_cm: ndev would make another of that.
 */
static u32 path_priority(struct net_device *ndev, u8 level, u8 tclass)
{
	u32 priority = rt_tos2priority(tclass);

	return level && level != level_of(ndev, priority) ? level : priority;
}

/* The netdev that the source GID is on. False: it is not where our sockets are, or gone. */
static bool set_netdev(struct roce_path *path, struct tern_dev *dev,
		       const struct rdma_ah_attr *attr)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr->grh.sgid_attr);
	/* an upper netdev (macvlan) may live in another namespace */
	if (!IS_ERR(ndev) && net_eq(dev_net(ndev), dev->net)) {
		path->oif = ndev->ifindex;
		path->priority = path_priority(ndev, rdma_ah_get_sl(attr), path->tclass);
	}
	rcu_read_unlock();
	return path->oif;
}

/* The addresses in the headers. The GIDs of RoCEv1 are not looked into. */
static int set_addresses(struct roce_path *path, const struct rdma_ah_attr *attr)
{
	const union ib_gid *sgid = &attr->grh.sgid_attr->gid, *dgid = &attr->grh.dgid;

	switch (path->network) {
	case RDMA_NETWORK_ROCE_V1:
		if (attr->type != RDMA_AH_ATTR_TYPE_ROCE)
			return -EINVAL;
		ether_addr_copy(path->dmac, attr->roce.dmac);
		break;
	case RDMA_NETWORK_IPV4:
		if (!roce_gid_is_ip4(dgid))
			return -EINVAL;
		path->v4.saddr = roce_gid_ip4(sgid);
		path->v4.daddr = roce_gid_ip4(dgid);
		return 0;
	case RDMA_NETWORK_IPV6:
		if (roce_gid_is_ip4(dgid))
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	memcpy(&path->v6.saddr, sgid, sizeof(path->v6.saddr));
	memcpy(&path->v6.daddr, dgid, sizeof(path->v6.daddr));
	return 0;
}

int roce_path_init(struct tern_dev *dev, struct roce_path *path, const struct rdma_ah_attr *attr,
		   u32 lqpn, u32 rqpn)
{
	const struct ib_global_route *grh = &attr->grh;
	const struct ib_gid_attr *sgid = grh->sgid_attr;
	u32 flow_label = grh->flow_label & 0xfffff;
	int err;

	if (!(attr->ah_flags & IB_AH_GRH) || !sgid)
		return -EINVAL;

	memset(path, 0, sizeof(*path));
	path->network = rdma_gid_attr_network_type(sgid);
	err = set_addresses(path, attr);
	if (err)
		return err;

	path->tclass = grh->traffic_class;
	if (!set_netdev(path, dev, attr))
		return -EINVAL;

	path->hop_limit = grh->hop_limit ?: DEFAULT_HOP_LIMIT;
	path->flow_label = cpu_to_be32(flow_label);
	path->serial = atomic64_inc_return(&serials);
	path->src_port = cpu_to_be16(rdma_get_udp_sport(flow_label, lqpn, rqpn));
	return 0;
}

bool roce_path_is_back(const struct roce_path *back, const struct roce_path *path)
{
	if (back->network != path->network)
		return false;
	if (path->network == RDMA_NETWORK_IPV4)
		return path->v4.saddr == back->v4.daddr && path->v4.daddr == back->v4.saddr;
	return ipv6_addr_equal(&path->v6.saddr, &back->v6.daddr) &&
	       ipv6_addr_equal(&path->v6.daddr, &back->v6.saddr);
}
