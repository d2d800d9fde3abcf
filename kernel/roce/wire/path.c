// SPDX-License-Identifier: GPL-2.0
/*
 * From an address vector to what goes into the headers of a packet. Routes are
 * looked up when a packet is sent (route.c), so a path says where to, not how.
 */
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

/* ifindex of the netdev that the source GID is on, if it is where our sockets are. */
static int path_oif(struct tern_dev *dev, const struct ib_gid_attr *sgid)
{
	struct net_device *ndev;
	int oif = 0;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(sgid);
	/* an upper netdev (macvlan) may live in another namespace */
	if (!IS_ERR(ndev) && net_eq(dev_net(ndev), dev->net))
		oif = ndev->ifindex;
	rcu_read_unlock();
	return oif;
}

int roce_path_init(struct tern_dev *dev, struct roce_path *path, const struct rdma_ah_attr *attr,
		   u32 lqpn, u32 rqpn)
{
	const struct ib_global_route *grh = &attr->grh;
	const struct ib_gid_attr *sgid = grh->sgid_attr;
	u32 flow_label = grh->flow_label & 0xfffff;

	if (!(attr->ah_flags & IB_AH_GRH) || !sgid || sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return -EINVAL;

	memset(path, 0, sizeof(*path));
	path->ipv6 = !roce_gid_is_ip4(&sgid->gid);
	if (path->ipv6 == roce_gid_is_ip4(&grh->dgid))
		return -EINVAL;

	if (path->ipv6) {
		memcpy(&path->v6.saddr, &sgid->gid, sizeof(path->v6.saddr));
		memcpy(&path->v6.daddr, &grh->dgid, sizeof(path->v6.daddr));
	} else {
		path->v4.saddr = roce_gid_ip4(&sgid->gid);
		path->v4.daddr = roce_gid_ip4(&grh->dgid);
	}

	path->oif = path_oif(dev, sgid);
	if (!path->oif)
		return -EINVAL;

	path->tclass = grh->traffic_class;
	path->hop_limit = grh->hop_limit ?: DEFAULT_HOP_LIMIT;
	/* the VLAN priority comes from it, by the netdev's egress map */
	path->priority = rdma_ah_get_sl(attr) ?: rt_tos2priority(path->tclass);
	path->flow_label = cpu_to_be32(flow_label);
	path->serial = atomic64_inc_return(&serials);
	path->src_port = cpu_to_be16(rdma_get_udp_sport(flow_label, lqpn, rqpn));
	return 0;
}

bool roce_path_is_back(const struct roce_path *back, const struct roce_path *path)
{
	if (back->ipv6 != path->ipv6)
		return false;
	if (path->ipv6)
		return ipv6_addr_equal(&path->v6.saddr, &back->v6.daddr) &&
		       ipv6_addr_equal(&path->v6.daddr, &back->v6.saddr);
	return path->v4.saddr == back->v4.daddr && path->v4.daddr == back->v4.saddr;
}
