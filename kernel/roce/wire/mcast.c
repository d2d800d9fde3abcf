// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: which QPs of a device are attached to which group, the
 * IGMP or MLD membership of the device's netdev while there is one, and the
 * delivery of a received packet to all of them.
 *
 * Locks: mcast_lock, then the RTNL (so nothing here may be called under the
 * RTNL). Delivery is under RCU only; members are freed after a grace period,
 * and so are QPs.
 *
 * Programs choose groups, so they are found in a table that grows, by a hash that
 * cannot be foreseen. Each QP has a list of its groups.
 *
 * Memberships are those of the device's own netdev. A program that uses a
 * group through a VLAN on it joins by itself or by rdma_cm; its packets are
 * then delivered here like others.
 *
 * A group is for packets of RoCEv1 and of RoCEv2 alike: the program that attaches a
 * QP does not say which. RoCEv1 has neither IGMP nor MLD, and needs the group's MAC in
 * the netdev's filter only, which IGMP and MLD see to as well.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rhashtable.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>

#include "charged.h"
#include "core/qp.h"
#include "core/stats.h"
#include "core/transport.h"
#include "roce/wire/dest.h"
#include "roce/wire/gid.h"
#include "roce/wire/mcast.h"
#include "roce/wire/net.h"
#include "roce/wire/skb.h"
#include "roce/wire/upcalls.h"

struct roce_group {
	struct rhlist_head node;	/* roce_net.groups: each device has its own */
	struct rcu_head rcu;
	union ib_gid mgid;
	struct tern_dev *dev;
	struct hlist_head members;	/* struct roce_member, RCU */
	unsigned int num_members;
	struct in_device *in_dev;	/* IPv4: where the membership is, referenced */
	bool mld;			/* IPv6: there is a membership, not a MAC alone */
};

struct roce_member {
	struct hlist_node node;
	struct list_head qp_node;	/* in the QP's memberships */
	struct rcu_head rcu;
	struct tern_qp *qp;
	struct roce_group *group;
};

static const struct rhashtable_params group_params = {
	.key_len = sizeof_field(struct roce_group, mgid),
	.key_offset = offsetof(struct roce_group, mgid),
	.head_offset = offsetof(struct roce_group, node),
	.automatic_shrinking = true,
};

int roce_mcast_net_init(struct roce_net *rn)
{
	return rhltable_init(&rn->groups, &group_params);
}

void roce_mcast_net_uninit(struct roce_net *rn)
{
	rhltable_destroy(&rn->groups);
}

/* ---- membership of the netdev ---- */

/*
 * Joined at the in_device and not through a socket, whose number of IPv4
 * memberships a sysctl limits to 20. The sockets need no membership to
 * receive: without any, IP_MULTICAST_ALL is what decides, and it is on.
 */
static int join_ipv4(struct roce_group *group)
{
	struct in_device *in_dev = __in_dev_get_rtnl(group->dev->netdev);

	if (!in_dev)
		return -ENODEV;
	ip_mc_inc_group(in_dev, roce_gid_ip4(&group->mgid));
	in_dev_hold(in_dev);
	group->in_dev = in_dev;
	return 0;
}

static void leave_ipv4(struct roce_group *group)
{
	/* an in_device that is not the netdev's any more has dropped its memberships */
	if (__in_dev_get_rtnl(group->dev->netdev) == group->in_dev)
		ip_mc_dec_group(group->in_dev, roce_gid_ip4(&group->mgid));
	in_dev_put(group->in_dev);
}

static int join_mld(struct roce_dev *rd, struct roce_group *group)
{
	struct sock *sk;
	int err;

	if (!rd->mcast_sock6) {
		err = sock_create_kern(rd->dev->net, AF_INET6, SOCK_DGRAM, IPPROTO_UDP,
				       &rd->mcast_sock6);
		if (err) {
			rd->mcast_sock6 = NULL;
			return err;
		}
	}
	sk = rd->mcast_sock6->sk;
	lock_sock(sk);
	err = tern_ipv6_mc_join(sk, rd->dev->netdev->ifindex, (struct in6_addr *)&group->mgid);
	release_sock(sk);
	group->mld = !err;
	return err;
}

static void leave_mld(struct roce_dev *rd, struct roce_group *group)
{
	struct sock *sk = rd->mcast_sock6->sk;

	lock_sock(sk);
	tern_ipv6_mc_leave(sk, rd->dev->netdev->ifindex, (struct in6_addr *)&group->mgid);
	release_sock(sk);
}

/* The netdev may be without IPv6: RoCEv1's groups of IPv4 addresses have this form too. */
static int join_ipv6(struct roce_dev *rd, struct roce_group *group)
{
	struct net_device *netdev = rd->dev->netdev;
	u8 mac[ETH_ALEN];
	int err;

	rdma_get_mcast_mac((struct in6_addr *)&group->mgid, mac);
	err = dev_mc_add(netdev, mac);
	if (err || !__in6_dev_get(netdev))
		return err;
	err = join_mld(rd, group);
	if (err)
		dev_mc_del(netdev, mac);
	return err;
}

static void leave_ipv6(struct roce_dev *rd, struct roce_group *group)
{
	u8 mac[ETH_ALEN];

	if (group->mld)
		leave_mld(rd, group);
	rdma_get_mcast_mac((struct in6_addr *)&group->mgid, mac);
	dev_mc_del(rd->dev->netdev, mac);
}

static int join_group(struct roce_dev *rd, struct roce_group *group)
{
	int err;

	rtnl_lock();
	err = roce_gid_is_ip4(&group->mgid) ? join_ipv4(group) : join_ipv6(rd, group);
	rtnl_unlock();
	return err;
}

static void leave_group(struct roce_dev *rd, struct roce_group *group)
{
	rtnl_lock();
	if (roce_gid_is_ip4(&group->mgid))
		leave_ipv4(group);
	else
		leave_ipv6(rd, group);
	rtnl_unlock();
}

/* ---- groups, under mcast_lock ---- */

static struct roce_group *find_group(struct roce_dev *rd, const union ib_gid *mgid)
{
	struct rhlist_head *list, *pos;
	struct roce_group *group;

	rcu_read_lock();
	list = rhltable_lookup(&rd->rn->groups, mgid, group_params);
	rhl_for_each_entry_rcu(group, pos, list, node)
		if (group->dev == rd->dev)
			goto found;
	group = NULL;
found:
	rcu_read_unlock();
	return group;
}

static struct roce_group *create_group(struct roce_dev *rd, const union ib_gid *mgid)
{
	struct roce_group *group;
	int err;

	if (rd->num_groups >= rd->dev->transport->limits->max_mcast_grp)
		return ERR_PTR(-ENOMEM);
	group = kzalloc(sizeof(*group), TERN_GFP_CHARGED);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->mgid = *mgid;
	group->dev = rd->dev;

	err = join_group(rd, group);
	if (err)
		goto free;
	err = rhltable_insert(&rd->rn->groups, &group->node, group_params);
	if (err)
		goto leave;
	rd->num_groups++;
	return group;
leave:
	leave_group(rd, group);
free:
	kfree(group);
	return ERR_PTR(err);
}

static void destroy_group(struct roce_dev *rd, struct roce_group *group)
{
	rhltable_remove(&rd->rn->groups, &group->node, group_params);
	rd->num_groups--;
	leave_group(rd, group);
	kfree_rcu(group, rcu);
}

static struct roce_member *find_member(struct roce_group *group, const struct tern_qp *qp)
{
	struct roce_member *member;

	hlist_for_each_entry(member, &group->members, node)
		if (member->qp == qp)
			return member;
	return NULL;
}

/* The group goes with its last member. */
static void remove_member(struct roce_dev *rd, struct roce_member *member)
{
	struct roce_group *group = member->group;

	list_del(&member->qp_node);
	hlist_del_rcu(&member->node);
	kfree_rcu(member, rcu);
	if (!--group->num_members)
		destroy_group(rd, group);
}

/* ---- verbs ---- */

int roce_mcast_attach(struct tern_qp *qp, struct list_head *memberships, const union ib_gid *mgid)
{
	struct roce_dev *rd = to_roce_dev(qp->dev);
	struct roce_member *member;
	struct roce_group *group;
	int err = 0;

	if (!rdma_is_multicast_addr((struct in6_addr *)mgid))
		return -EINVAL;
	member = kzalloc(sizeof(*member), TERN_GFP_CHARGED);
	if (!member)
		return -ENOMEM;
	member->qp = qp;

	mutex_lock(&rd->mcast_lock);
	group = find_group(rd, mgid);
	if (group && find_member(group, qp))
		goto out;
	if (!group)
		group = create_group(rd, mgid);
	if (IS_ERR(group)) {
		err = PTR_ERR(group);
		goto out;
	}
	if (group->num_members >= qp->dev->transport->limits->max_mcast_qp_attach) {
		err = -ENOMEM;
		goto out;
	}
	group->num_members++;
	member->group = group;
	list_add(&member->qp_node, memberships);
	hlist_add_head_rcu(&member->node, &group->members);
	member = NULL;
out:
	mutex_unlock(&rd->mcast_lock);
	kfree(member);
	return err;
}

int roce_mcast_detach(struct tern_qp *qp, const union ib_gid *mgid)
{
	struct roce_dev *rd = to_roce_dev(qp->dev);
	struct roce_member *member = NULL;
	struct roce_group *group;

	mutex_lock(&rd->mcast_lock);
	group = find_group(rd, mgid);
	if (group)
		member = find_member(group, qp);
	if (member)
		remove_member(rd, member);
	mutex_unlock(&rd->mcast_lock);
	return member ? 0 : -EINVAL;
}

void roce_mcast_detach_all(struct tern_qp *qp, struct list_head *memberships)
{
	struct roce_dev *rd = to_roce_dev(qp->dev);

	/* Others have their turn in between. */
	while (!list_empty(memberships)) {
		mutex_lock(&rd->mcast_lock);
		remove_member(rd, list_first_entry(memberships, struct roce_member, qp_node));
		mutex_unlock(&rd->mcast_lock);
	}
}

void roce_mcast_dev_init(struct roce_dev *rd)
{
	mutex_init(&rd->mcast_lock);
}

void roce_mcast_dev_uninit(struct roce_dev *rd)
{
	WARN_ON(rd->num_groups);
	if (rd->mcast_sock6)
		sock_release(rd->mcast_sock6);
	mutex_destroy(&rd->mcast_lock);
}

/* ---- reception ---- */

struct tern_dev *roce_mcast_find(struct roce_net *rn, const union ib_gid *mgid, int iif)
{
	struct rhlist_head *list, *pos;
	struct roce_group *group;

	list = rhltable_lookup(&rn->groups, mgid, group_params);
	rhl_for_each_entry_rcu(group, pos, list, node)
		if (roce_gid_on_netdev(group->dev, iif))
			return group->dev;
	return NULL;
}

/* The skb's data is shared by the clones; QPs only read it. One of several packets stays theirs. */
static void deliver_clone(const struct roce_rx *rx, const struct roce_group *group,
			  const struct roce_member *member, struct roce_rx_series *series)
{
	struct roce_rx copy = *rx;

	copy.dev = group->dev;
	if (!rx->uncut)
		copy.skb = skb_clone(rx->skb, GFP_ATOMIC | __GFP_NOWARN);
	if (copy.skb)
		roce_qp_rx(series, member->qp, &copy);
	else
		tern_count(group->dev, TERN_CNT_RX_UD_DROPPED);
}

/* A group's device is that of the netdev, so the number says whose packet it is. */
static bool is_skipped(const struct roce_dest *to, const struct roce_rx *rx,
		       const struct tern_qp *qp)
{
	return to->own_mcast && qp->skips_own_mcast && qp->qpn == rx->k.sqpn;
}

/* Work is bounded by max_mcast_qp_attach times the devices on one netdev. */
void roce_mcast_deliver(struct roce_net *rn, const struct roce_dest *to, struct roce_rx *rx,
			struct roce_rx_series *series)
{
	const struct roce_member *member;
	struct rhlist_head *list, *pos;
	struct roce_group *group;

	list = rhltable_lookup(&rn->groups, &to->gid, group_params);
	rhl_for_each_entry_rcu(group, pos, list, node) {
		if (!roce_gid_on_netdev(group->dev, to->iif))
			continue;
		hlist_for_each_entry_rcu(member, &group->members, node)
			if (!is_skipped(to, rx, member->qp))
				deliver_clone(rx, group, member, series);
	}
	roce_skb_done(rx);
}
