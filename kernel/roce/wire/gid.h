/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The GIDs of all devices of a network namespace, by address: which device a
 * received packet is for. ib_core owns the GID table and tells port.c of its
 * changes; this is the copy that reception needs.
 */
#ifndef TERN_ROCE_WIRE_GID_H
#define TERN_ROCE_WIRE_GID_H

#include <linux/rculist.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

struct roce_dev;
struct roce_net;
struct tern_dev;

struct roce_gid {
	struct hlist_node hash_node;	/* roce_net.gids */
	struct hlist_node dev_node;	/* roce_dev.gids */
	struct rcu_head rcu;
	union ib_gid gid;
	enum ib_gid_type type;		/* each address has one of RoCEv1 and one of RoCEv2 */
	struct tern_dev *dev;
	int ifindex;			/* of the netdev that has the address */
	bool link_local;
};

/* An IP address as a GID; IPv4 becomes ::ffff:a.b.c.d (RoCEv2 annex). */
static inline void roce_gid_from_ip4(union ib_gid *gid, __be32 addr)
{
	/*
	 * By halves, as it is compared: of two smaller stores a CPU cannot make one load at once.
	 */
	gid->global.subnet_prefix = 0;
	gid->global.interface_id = cpu_to_be64(0xffffull << 32 | be32_to_cpu(addr));
}

static inline bool roce_gid_is_ip4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid);
}

static inline __be32 roce_gid_ip4(const union ib_gid *gid)
{
	return ((const struct in6_addr *)gid)->s6_addr32[3];
}

/*
 * The device that a packet to gid is for. iif: the netdev it came in by;
 * loopback: that is `lo`. Under RCU. NULL: none.
 */
struct tern_dev *roce_gid_find(const struct roce_net *rn, const union ib_gid *gid,
			       enum ib_gid_type type, int iif, bool loopback);
/* Is gid one of the device's, on that very netdev? Under RCU. */
bool roce_gid_is_there(struct tern_dev *dev, const union ib_gid *gid, enum ib_gid_type type,
		       int ifindex);
/* Is ifindex the device's netdev, or that of one of its GIDs (VLAN, bond)? Under RCU. */
bool roce_gid_on_netdev(struct tern_dev *dev, int ifindex);

/* gid, type, dev, ifindex and link_local of entry are set. Process context. */
void roce_gid_insert(struct roce_dev *rd, struct roce_gid *entry);
/* Readers may have it for a grace period yet. Process context. */
void roce_gid_remove(struct roce_dev *rd, struct roce_gid *entry);

#endif
