// SPDX-License-Identifier: GPL-2.0
/*
 * The UDP sockets that packets come in by, open while their namespace has a started
 * device (net.c).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/net.h>
#include <net/udp_tunnel.h>

#include "proto/pkt.h"
#include "roce/wire/gro.h"
#include "roce/wire/net.h"
#include "roce/wire/rx.h"
#include "roce/wire/socket.h"

/* IPv6 may be compiled out, or switched off for this boot (ipv6.disable=1). */
static bool family_is_absent(int err)
{
	return err == -EAFNOSUPPORT || err == -EPFNOSUPPORT;
}

static int open_socket(struct net *net, struct roce_net *rn, int family, struct socket **sock)
{
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = htons(ROCE_UDP_PORT),
		.ipv6_v6only = family == AF_INET6,
		/* zero UDP checksums are the rule in RoCEv2, for IPv6 too: no use_udp6_* */
	};
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = rn,
		.encap_type = 1,
		.encap_rcv = roce_rx_udp,
		.gro_receive = roce_gro_receive,
		.gro_complete = roce_gro_complete,
	};
	int err;

	err = udp_sock_create(net, &port, sock);
	if (err) {
		*sock = NULL;
		return err;
	}
	tern_tunnel_setup(net, *sock, &tunnel);
	/* batches come whole, if they are of our kind; see ROCE_GSO_TYPE */
	udp_allow_gso((*sock)->sk);
	return 0;
}

/* Readers of rn through this socket are gone when it returns. */
static void close_socket(struct socket **sock)
{
	if (*sock)
		tern_tunnel_release(*sock);
	*sock = NULL;
}

int roce_sockets_open(struct net *net, struct roce_net *rn)
{
	int err;

	err = open_socket(net, rn, AF_INET, &rn->sock4);
	if (err)
		goto failed;
	err = open_socket(net, rn, AF_INET6, &rn->sock6);
	if (err && !family_is_absent(err)) {
		close_socket(&rn->sock4);
		goto failed;
	}
	return 0;

failed:
	if (err == -EADDRINUSE)
		pr_err("UDP port %d is taken in this network namespace, probably by another RoCE driver (rdma_rxe): unload it, or add the link in another namespace\n",
		       ROCE_UDP_PORT);
	else
		pr_err("cannot open UDP port %d: error %d\n", ROCE_UDP_PORT, err);
	return err;
}

void roce_sockets_close(struct roce_net *rn)
{
	close_socket(&rn->sock6);
	close_socket(&rn->sock4);
}
