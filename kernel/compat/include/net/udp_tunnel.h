/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UDP tunnels take a struct socket, in newer kernels a struct sock. The type of
 * the function tells which, so no version is needed.
 */
#ifndef TERN_COMPAT_NET_UDP_TUNNEL_H
#define TERN_COMPAT_NET_UDP_TUNNEL_H

#include_next <net/udp_tunnel.h>

#define tern_tunnel_arg(sock)								\
	__builtin_choose_expr(__same_type(&udp_tunnel_sock_release,			\
					  (void (*)(struct sock *))NULL),		\
			      (sock)->sk, (sock))

static inline void tern_tunnel_setup(struct net *net, struct socket *sock,
				     struct udp_tunnel_sock_cfg *cfg)
{
	setup_udp_tunnel_sock(net, tern_tunnel_arg(sock), cfg);
}

static inline void tern_tunnel_release(struct socket *sock)
{
	udp_tunnel_sock_release(tern_tunnel_arg(sock));
}

#undef tern_tunnel_arg

#endif
