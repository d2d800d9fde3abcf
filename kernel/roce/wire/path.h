/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An address vector resolved for sending: the header fields of its packets. The
 * route is looked up when a packet is sent (route.h, ether.h).
 */
#ifndef TERN_ROCE_WIRE_PATH_H
#define TERN_ROCE_WIRE_PATH_H

#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/types.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

#include "proto/grh.h"

struct tern_dev;

struct roce_path {
	enum rdma_network_type network;	/* RoCEv1, IPv4, IPv6: by the source GID */
	u8 tclass;
	u8 hop_limit;
	u8 dmac[ETH_ALEN];		/* RoCEv1 */
	__be32 flow_label;		/* not IPv4; network order, 20 bits */
	__be16 src_port;		/* not RoCEv1 */
	union {
		struct { __be32 saddr, daddr; } v4;
		struct { struct in6_addr saddr, daddr; } v6;	/* RoCEv1: the GIDs */
	};
	int oif;			/* ifindex of the sgid's netdev */
	u32 priority;			/* of skbs; a VLAN netdev makes its own of it */
	u64 serial;			/* no other AV's path has it */
};

/*
 * Fill from a resolved AV (attr.grh.sgid_attr set; RoCEv1: roce.dmac too). The UDP
 * source port comes from the flow label if that is not zero, else from the QP
 * numbers (annex A17, kernel rdma_get_udp_sport()). 0 or -EINVAL (RoCEv2: GID pair
 * of different families; sgid gone).
 */
int roce_path_init(struct tern_dev *dev, struct roce_path *path, const struct rdma_ah_attr *attr,
		   u32 lqpn, u32 rqpn);

/* Of the network header alone. */
static inline u32 roce_path_ip_bytes(const struct roce_path *path)
{
	return path->network == RDMA_NETWORK_IPV4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

/* From the network header to the BTH. */
static inline u32 roce_path_net_bytes(const struct roce_path *path)
{
	return roce_path_ip_bytes(path) +
	       (path->network == RDMA_NETWORK_ROCE_V1 ? 0 : sizeof(struct udphdr));
}

/* The IP header of a packet of this many bytes, header included; IPv4's checksum is 0. */
static inline void roce_path_ip4(const struct roce_path *path, struct iphdr *ip, u16 bytes, u16 id)
{
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tos = path->tclass;
	ip->tot_len = htons(bytes);
	ip->id = htons(id);
	ip->frag_off = htons(IP_DF);
	ip->ttl = path->hop_limit;
	ip->protocol = IPPROTO_UDP;
	ip->check = 0;
	ip->saddr = path->v4.saddr;
	ip->daddr = path->v4.daddr;
}

static inline void roce_path_ip6(const struct roce_path *path, struct ipv6hdr *ip, u16 bytes)
{
	ip6_flow_hdr(ip, path->tclass, path->flow_label);
	ip->payload_len = htons(bytes - sizeof(*ip));
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = path->hop_limit;
	ip->saddr = path->v6.saddr;
	ip->daddr = path->v6.daddr;
}

/* The GRH of a packet of this many bytes, GRH included. */
static inline void roce_path_grh(const struct roce_path *path, u8 *grh, u16 bytes)
{
	grh_build(grh, path->tclass, be32_to_cpu(path->flow_label), bytes - GRH_BYTES,
		  path->hop_limit, path->v6.saddr.s6_addr, path->v6.daddr.s6_addr);
}

/* Does `back` lead from where `path` leads to where it comes from? */
bool roce_path_is_back(const struct roce_path *back, const struct roce_path *path);

#endif
