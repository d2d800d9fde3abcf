/* SPDX-License-Identifier: GPL-2.0 */
/*
 * If IPv6 may be a module, its functions are called by a table, ipv6_stub.
 * Newer kernels have IPv6 built in or not at all, and no table. Their functions
 * must not be called if IPv6 is switched off (ipv6.disable=1); the table
 * ensured that.
 */
#ifndef TERN_COMPAT_NET_IP6_ROUTE_H
#define TERN_COMPAT_NET_IP6_ROUTE_H

#include_next <net/ip6_route.h>

#include <linux/err.h>
#include <linux/ipv6.h>
#include <net/addrconf.h>
#include <net/ipv6.h>

#ifdef TERN_HAS_ipv6_stub
#include <net/ipv6_stubs.h>
#define TERN_IPV6(fn)		(ipv6_stub->fn)
#define TERN_IPV6_IS_ON		true
#else
#define TERN_IPV6(fn)		fn
#define TERN_IPV6_IS_ON		ipv6_mod_enabled()
#define ipv6_dst_lookup_flow	ip6_dst_lookup_flow
#endif

/* The netdev of dev's L3 domain that has the address, or NULL. RCU. */
static inline struct net_device *tern_ipv6_dev_find(struct net *net, const struct in6_addr *addr,
						    struct net_device *dev)
{
	return TERN_IPV6_IS_ON ? TERN_IPV6(ipv6_dev_find)(net, addr, dev) : NULL;
}

/* A route, referenced, or ERR_PTR. */
static inline struct dst_entry *tern_ipv6_route(struct net *net, struct flowi6 *fl6)
{
	if (!TERN_IPV6_IS_ON)
		return ERR_PTR(-EAFNOSUPPORT);
	return TERN_IPV6(ipv6_dst_lookup_flow)(net, NULL, fl6, NULL);
}

/* Joins. The socket and the RTNL are locked. 0 or an error. */
static inline int tern_ipv6_mc_join(struct sock *sk, int ifindex, const struct in6_addr *group)
{
	return TERN_IPV6_IS_ON ? TERN_IPV6(ipv6_sock_mc_join)(sk, ifindex, group) : -EAFNOSUPPORT;
}

/* Leaves a group that was joined. */
static inline void tern_ipv6_mc_leave(struct sock *sk, int ifindex, const struct in6_addr *group)
{
	if (TERN_IPV6_IS_ON)
		TERN_IPV6(ipv6_sock_mc_drop)(sk, ifindex, group);
}

#undef TERN_IPV6
#undef TERN_IPV6_IS_ON
#undef ipv6_dst_lookup_flow

#endif
