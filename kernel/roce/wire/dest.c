// SPDX-License-Identifier: GPL-2.0
/*
 * Where a received packet is to, by its network header, and what that and Ethernet say
 * about its sender. Which device has the GID is in gid.c.
 */
#include <linux/if_packet.h>
#include <linux/netdevice.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "core/device.h"
#include "roce/wire/dest.h"
#include "roce/wire/gid.h"
#include "roce/wire/skb.h"

void roce_dest_read(struct sk_buff *skb, struct roce_dest *to)
{
	enum rdma_network_type network = roce_skb_network(skb);

	to->loopback = skb->dev->flags & IFF_LOOPBACK;
	to->type = ib_network_to_gid_type(network);
	to->iif = skb->dev->ifindex;
	switch (network) {
	case RDMA_NETWORK_ROCE_V1:
		memcpy(&to->gid, &ipv6_hdr(skb)->daddr, sizeof(to->gid));
		to->mcast = rdma_is_multicast_addr(&ipv6_hdr(skb)->daddr);
		break;
	case RDMA_NETWORK_IPV6:
		memcpy(&to->gid, &ipv6_hdr(skb)->daddr, sizeof(to->gid));
		to->mcast = ipv6_addr_is_multicast(&ipv6_hdr(skb)->daddr);
		/* on `lo`: the netdev that has the address */
		to->iif = inet6_iif(skb);
		break;
	default:
		roce_gid_from_ip4(&to->gid, ip_hdr(skb)->daddr);
		to->mcast = ipv4_is_multicast(ip_hdr(skb)->daddr);
	}
	to->own_mcast = to->mcast && skb->pkt_type == PACKET_LOOPBACK;
	/*
	 * What this host sends to itself comes by `lo`. IPv4 drops what comes by the wire with
	 * one of our own addresses as its source, IPv6 and Ethernet do not: then a neighbour
	 * could pretend to be the peer of a QP whose peer is on this host. (To a group anybody
	 * may send; own packets to it come back by the netdev that they left by.)
	 */
	to->may_deceive = network != RDMA_NETWORK_IPV4 && !to->loopback && !to->mcast;
}

bool roce_dest_is_deceived(const struct roce_net *rn, const struct tern_dev *dev,
			   const struct sk_buff *skb, const struct roce_dest *to)
{
	const struct in6_addr *from = &ipv6_hdr(skb)->saddr;

	if (to->type == IB_GID_TYPE_ROCE)
		return roce_gid_find(rn, (const union ib_gid *)from, to->type, to->iif, false);
	/* a link-local one may be another host's on another link */
	return tern_ipv6_dev_find(dev->net, from,
				  ipv6_addr_type(from) & IPV6_ADDR_LINKLOCAL ? skb->dev : NULL);
}

bool roce_dest_is_here(const struct sk_buff *skb)
{
	switch (skb->pkt_type) {
	case PACKET_HOST:
		return true;
	case PACKET_MULTICAST:
	case PACKET_LOOPBACK:
		return rdma_is_multicast_addr(&ipv6_hdr(skb)->daddr);
	default:
		return false;
	}
}
