// SPDX-License-Identifier: GPL-2.0
/*
 * The table of GIDs that a received packet's address is looked up in.
 */
#include <linux/hash.h>

#include "core/device.h"
#include "roce/wire/gid.h"
#include "roce/wire/net.h"

/* Addresses of one host differ in the second half, if anywhere, and others do not choose them. */
static u32 gid_hash(const union ib_gid *gid)
{
	return hash_64((__force u64)gid->global.interface_id, ROCE_GID_HASH_BITS);
}

static bool is_entry_of(const struct roce_gid *entry, const union ib_gid *gid,
			enum ib_gid_type type)
{
	return entry->type == type && ipv6_addr_equal((const struct in6_addr *)&entry->gid,
						      (const struct in6_addr *)gid);
}

/*
 * Addresses are a property of the host, so a packet to one of ours is for the
 * device that has it as GID, whatever netdev brought it (Linux' weak host
 * model). If several devices have it, the one whose GID is on that netdev is
 * meant. A link-local address says nothing without its link, except on `lo`,
 * where packets to ourselves arrive.
 */
struct tern_dev *roce_gid_find(const struct roce_net *rn, const union ib_gid *gid,
			       enum ib_gid_type type, int iif, bool loopback)
{
	struct tern_dev *dev = NULL;
	struct roce_gid *entry;

	hlist_for_each_entry_rcu(entry, &rn->gids[gid_hash(gid)], hash_node) {
		if (!is_entry_of(entry, gid, type))
			continue;
		if (entry->ifindex == iif)
			return entry->dev;
		if (!dev && (loopback || !entry->link_local))
			dev = entry->dev;
	}
	return dev;
}

bool roce_gid_is_there(struct tern_dev *dev, const union ib_gid *gid, enum ib_gid_type type,
		       int ifindex)
{
	const struct roce_net *rn = to_roce_dev(dev)->rn;
	struct roce_gid *entry;

	hlist_for_each_entry_rcu(entry, &rn->gids[gid_hash(gid)], hash_node)
		if (is_entry_of(entry, gid, type) && entry->dev == dev && entry->ifindex == ifindex)
			return true;
	return false;
}

bool roce_gid_on_netdev(struct tern_dev *dev, int ifindex)
{
	struct roce_gid *entry;

	if (dev->netdev->ifindex == ifindex)
		return true;
	hlist_for_each_entry_rcu(entry, &to_roce_dev(dev)->gids, dev_node)
		if (entry->ifindex == ifindex)
			return true;
	return false;
}

void roce_gid_insert(struct roce_dev *rd, struct roce_gid *entry)
{
	spin_lock(&rd->rn->table_lock);
	hlist_add_head_rcu(&entry->hash_node, &rd->rn->gids[gid_hash(&entry->gid)]);
	hlist_add_head_rcu(&entry->dev_node, &rd->gids);
	spin_unlock(&rd->rn->table_lock);
}

void roce_gid_remove(struct roce_dev *rd, struct roce_gid *entry)
{
	spin_lock(&rd->rn->table_lock);
	hlist_del_rcu(&entry->hash_node);
	hlist_del_rcu(&entry->dev_node);
	spin_unlock(&rd->rn->table_lock);
}
