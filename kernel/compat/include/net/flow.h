/* SPDX-License-Identifier: GPL-2.0 */
/* The DSCP of an IPv4 flow. Older kernels keep it in the TOS. */
#ifndef TERN_COMPAT_NET_FLOW_H
#define TERN_COMPAT_NET_FLOW_H

#include_next <net/flow.h>

#include <net/inet_dscp.h>

static inline void tern_flowi4_set_dscp(struct flowi4 *fl4, dscp_t dscp)
{
#ifdef flowi4_dscp
	fl4->flowi4_dscp = dscp;
#else
	fl4->flowi4_tos = inet_dscp_to_dsfield(dscp);
#endif
}

#endif
