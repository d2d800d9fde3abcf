/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The UDP sockets of a network namespace that packets come in by: one of each
 * family for all addresses, and one of their own for the first few addresses.
 */
#ifndef TERN_ROCE_WIRE_SOCKET_H
#define TERN_ROCE_WIRE_SOCKET_H

struct net;
struct roce_net;
struct socket;
union ib_gid;

/* Those for all addresses. rn->lock held. Sleeps. Errors are logged. */
int roce_sockets_open(struct net *net, struct roce_net *rn);
/* rn->lock held, or rn has no other user. Sleeps. */
void roce_sockets_close(struct roce_net *rn);

/*
 * A socket for packets to gid alone, which is not link-local. NULL: none; its
 * packets are found all the same. For roce_address_close(). Both sleep.
 */
struct socket *roce_address_open(struct net *net, struct roce_net *rn, const union ib_gid *gid);
/* NULL is fine. */
void roce_address_close(struct roce_net *rn, struct socket *sock);

#endif
