// SPDX-License-Identifier: GPL-2.0
/*
 * RoCE in a network namespace: the UDP sockets that packets come in by, open
 * while the namespace has a started device, and the start and stop of devices.
 * See net.h for who outlives whom.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <net/netns/generic.h>
#include <net/udp_tunnel.h>

#include "roce/wire/net.h"

static unsigned int roce_net_id;

/* IPv6 may be compiled out, or switched off for this boot (ipv6.disable=1). */
static bool family_is_absent(int err)
{
	return err == -EAFNOSUPPORT || err == -EPFNOSUPPORT;
}

static void socket_receives(struct net *net, struct roce_net *rn, struct socket *sock)
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
static int socket_open(struct net *net, struct roce_net *rn, int family, struct socket **sock)
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
	socket_receives(net, rn, *sock);
	return 0;
}

/* Readers of rn through this socket are gone when it returns. */
static void socket_close(struct socket **sock)
{
	if (*sock)
		tern_tunnel_release(*sock);
	*sock = NULL;
}

static int sockets_open(struct net *net, struct roce_net *rn)
{
	int err;

	err = socket_open(net, rn, AF_INET, &rn->sock4);
	if (err)
		goto failed;
	err = socket_open(net, rn, AF_INET6, &rn->sock6);
	if (err && !family_is_absent(err)) {
		socket_close(&rn->sock4);
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

static void sockets_close(struct roce_net *rn)
{
	WARN_ON(rn->addresses);
	socket_close(&rn->sock6);
	socket_close(&rn->sock4);
}

/* ---- an address' own socket ---- */

/* May another of root's sockets have the port, too? */
static void socket_shares(struct socket *sock, bool shares)
{
	lock_sock(sock->sk);
	sock->sk->sk_reuseport = shares;
	release_sock(sock->sk);
}

static int bind_address(struct socket *sock, const union ib_gid *gid)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(ROCE_UDP_PORT) };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT) };

	/* IPv6 addresses come while nobody knows yet whether they are in use elsewhere */
	ip_sock_set_freebind(sock->sk);
	if (roce_gid_is_ip4(gid)) {
		sin.sin_addr.s_addr = roce_gid_ip4(gid);
		return kernel_bind(sock, tern_sockaddr(&sin), sizeof(sin));
	}
	/* as socket_open() has it */
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
 * have one, as it takes a grace period to close it. Sleeps.
 */
struct socket *roce_address_open(struct net *net, struct roce_net *rn, const union ib_gid *gid)
{
	int family = roce_gid_is_ip4(gid) ? AF_INET : AF_INET6;
	struct socket *sock = NULL;
	struct socket *of_all;

	mutex_lock(&rn->lock);
	of_all = family == AF_INET ? rn->sock4 : rn->sock6;
	if (!of_all || rn->addresses == ROCE_NET_ADDRESSES ||
	    sock_create_kern(net, family, SOCK_DGRAM, IPPROTO_UDP, &sock))
		goto out;
	socket_shares(of_all, true);
	socket_shares(sock, true);
	if (bind_address(sock, gid)) {
		sock_release(sock);
		sock = NULL;
	} else {
		socket_shares(sock, false);
		socket_receives(net, rn, sock);
		rn->addresses++;
	}
	socket_shares(of_all, false);
out:
	mutex_unlock(&rn->lock);
	return sock;
}

/* NULL is fine. Sleeps. */
void roce_address_close(struct roce_net *rn, struct socket *sock)
{
	if (!sock)
		return;
	mutex_lock(&rn->lock);
	rn->addresses--;
	mutex_unlock(&rn->lock);
	socket_close(&sock);
}

/* ---- devices ---- */

/*
 * Before ib_register_device(), because GIDs come in during that. Sleeps.
 * -ENODEV: the namespace is going away.
 */
int roce_dev_start(struct tern_dev *dev)
{
	struct roce_net *rn = net_generic(dev->net, roce_net_id);
	struct roce_dev *rd;
	int err = 0;

	rd = kzalloc(sizeof(*rd), GFP_KERNEL);
	if (!rd)
		return -ENOMEM;
	rd->dev = dev;
	rd->rn = rn;
	rd->local = true;
	roce_gate_init(&rd->gate, dev->netdev);
	roce_mcast_dev_init(rd);

	mutex_lock(&rn->lock);
	if (rn->dying)
		err = -ENODEV;
	else if (!rn->links)
		err = sockets_open(dev->net, rn);
	if (!err)
		rn->links++;
	mutex_unlock(&rn->lock);

	if (err) {
		roce_mcast_dev_uninit(rd);
		kfree(rd);
		return err;
	}
	dev->transport_data = rd;
	return 0;
}

/*
 * After ib_unregister_device() has deleted the GIDs and all QPs are destroyed,
 * before the namespace exits, and not under the RTNL. Sleeps. No reader finds
 * the device when it returns.
 */
void roce_dev_stop(struct tern_dev *dev)
{
	struct roce_dev *rd = to_roce_dev(dev);
	struct roce_net *rn = rd->rn;

	WARN_ON(!hlist_empty(&rd->gids));
	roce_mcast_dev_uninit(rd);

	mutex_lock(&rn->lock);
	if (!--rn->links)
		sockets_close(rn);
	mutex_unlock(&rn->lock);

	synchronize_net();
	roce_gate_uninit(&rd->gate);
	dev->transport_data = NULL;
	kfree(rd);
}

static int __net_init roce_net_create(struct net *net)
{
	struct roce_net *rn = net_generic(net, roce_net_id);

	mutex_init(&rn->lock);
	spin_lock_init(&rn->table_lock);
	return roce_mcast_net_init(rn);
}

/* No device starts here any more; those that there are, link/ now stops. */
static void __net_exit roce_net_pre_exit(struct net *net)
{
	struct roce_net *rn = net_generic(net, roce_net_id);

	mutex_lock(&rn->lock);
	rn->dying = true;
	mutex_unlock(&rn->lock);
}

static void __net_exit roce_net_destroy(struct net *net)
{
	struct roce_net *rn = net_generic(net, roce_net_id);

	/* A socket must not outlive its namespace even if link/ let us down. */
	if (WARN_ON(rn->links))
		sockets_close(rn);
	roce_mcast_net_uninit(rn);
	mutex_destroy(&rn->lock);
}

/*
 * A subsystem, not a device: on exit the core runs all device operations, and
 * subsystem operations registered after these, before roce_net_destroy().
 */
static struct pernet_operations roce_net_ops = {
	.init = roce_net_create,
	.pre_exit = roce_net_pre_exit,
	.exit = roce_net_destroy,
	.id = &roce_net_id,
	.size = sizeof(struct roce_net),
};

int roce_net_init(void)
{
	return register_pernet_subsys(&roce_net_ops);
}

void roce_net_exit(void)
{
	unregister_pernet_subsys(&roce_net_ops);
	/* the last calls of sk_write_space callbacks (tx.c) */
	synchronize_rcu();
}
