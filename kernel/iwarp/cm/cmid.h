/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iw_cm's identifiers: their namespace and addresses, of IPv4 or IPv6.
 */
#ifndef TERN_IWARP_CM_CMID_H
#define TERN_IWARP_CM_CMID_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <net/ipv6.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "core/device.h"

/* iw_cm is used by rdma_cm alone: what is behind an identifier is rdma_cm's own. */
static inline const struct rdma_cm_id *iw_rdma_id(const struct iw_cm_id *cm_id)
{
	return cm_id->context;
}

/* Is it of the link's network namespace? Others may not use the link's ports and addresses. */
static inline bool iw_is_in_namespace(const struct iw_cm_id *cm_id)
{
	return net_eq(iw_rdma_id(cm_id)->route.addr.dev_addr.net,
		      to_tern_dev(cm_id->device)->net);
}

static inline int iw_addr_bytes(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);
}

static inline bool iw_addr_is_wildcard(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
	return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* May sleep. */
static inline int iw_addr_bind(struct socket *sock, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage local = *addr;

	return kernel_bind(sock, tern_sockaddr(&local), iw_addr_bytes(addr));
}

#endif
