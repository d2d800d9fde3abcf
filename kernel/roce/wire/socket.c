// SPDX-License-Identifier: GPL-2.0
/*
 * The UDP sockets that packets come in by, open while their namespace has a started
 * device (net.c).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/net.h>
#include <net/udp_tunnel.h>

#include "proto/pkt.h"
#include "roce/wire/gid.h"
#include "roce/wire/gro.h"
#include "roce/wire/net.h"
#include "roce/wire/rx.h"
#include "roce/wire/socket.h"

/* Addresses that have a socket of their own. */
#define ADDRESS_SOCKETS		16

/* IPv6 may be compiled out, or switched off for this boot (ipv6.disable=1). */
static bool family_is_absent(int err)
{
	return err == -EAFNOSUPPORT || err == -EPFNOSUPPORT;
}

static void make_receive(struct net *net, struct roce_net *rn, struct socket *sock)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = rn,
		.encap_type = 1,
		.encap_rcv = roce_rx_udp,
		.gro_receive = roce_gro_receive,
		.gro_complete = roce_gro_complete,
	};

	tern_tunnel_setup(net, sock, &tunnel);
	/* batches come whole, if they are of our kind; see ROCE_GSO_TYPE */
	udp_allow_gso(sock->sk);
}

/* For all addresses. */
static int open_socket(struct net *net, struct roce_net *rn, int family, struct socket **sock)
{
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = htons(ROCE_UDP_PORT),
		.ipv6_v6only = family == AF_INET6,
		/* zero UDP checksums are the rule in RoCEv2, for IPv6 too: no use_udp6_* */
	};
	int err;

	err = udp_sock_create(net, &port, sock);
	if (err) {
		*sock = NULL;
		return err;
	}
	make_receive(net, rn, *sock);
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
	WARN_ON(rn->addresses);
	close_socket(&rn->sock6);
	close_socket(&rn->sock4);
}

/* ---- an address' own socket ---- */

/* May another of root's sockets have the port, too? */
static void share_port(struct socket *sock, bool shares)
{
	lock_sock(sock->sk);
	sock->sk->sk_reuseport = shares;
	release_sock(sock->sk);
}

static int bind_address(struct socket *sock, const union ib_gid *gid)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(ROCE_UDP_PORT) };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT) };

	/* IPv6 addresses come before duplicate address detection is done */
	ip_sock_set_freebind(sock->sk);
	if (roce_gid_is_ip4(gid)) {
		sin.sin_addr.s_addr = roce_gid_ip4(gid);
		return kernel_bind(sock, tern_sockaddr(&sin), sizeof(sin));
	}
	/* as open_socket() has it */
	ip6_sock_set_v6only(sock->sk);
	udp_set_no_check6_rx(sock->sk, true);
	memcpy(&sin6.sin6_addr, gid, sizeof(sin6.sin6_addr));
	return kernel_bind(sock, tern_sockaddr(&sin6), sizeof(sin6));
}

/*
 * The stack looks for a packet's socket by the packet's address first, then among
 * those for all addresses, GRO does so for each packet. So an address with a socket
 * of its own is found sooner; one without is found all the same, which is why
 * nothing is said of errors: most often another device has the address, too. A few
 * have one, as it takes a grace period to close it.
 */
struct socket *roce_address_open(struct net *net, struct roce_net *rn, const union ib_gid *gid)
{
	int family = roce_gid_is_ip4(gid) ? AF_INET : AF_INET6;
	struct socket *sock = NULL;
	struct socket *of_all;

	mutex_lock(&rn->lock);
	of_all = family == AF_INET ? rn->sock4 : rn->sock6;
	if (!of_all || rn->addresses == ADDRESS_SOCKETS ||
	    sock_create_kern(net, family, SOCK_DGRAM, IPPROTO_UDP, &sock))
		goto out;
	share_port(of_all, true);
	share_port(sock, true);
	if (bind_address(sock, gid)) {
		sock_release(sock);
		sock = NULL;
	} else {
		share_port(sock, false);
		make_receive(net, rn, sock);
		rn->addresses++;
	}
	share_port(of_all, false);
out:
	mutex_unlock(&rn->lock);
	return sock;
}

void roce_address_close(struct roce_net *rn, struct socket *sock)
{
	if (!sock)
		return;
	mutex_lock(&rn->lock);
	rn->addresses--;
	mutex_unlock(&rn->lock);
	close_socket(&sock);
}
