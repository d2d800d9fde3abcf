/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The UDP sockets of a network namespace that packets come in by: one of each family, for all
 * addresses.
 */
#ifndef TERN_ROCE_WIRE_SOCKET_H
#define TERN_ROCE_WIRE_SOCKET_H

struct net;
struct roce_net;

/* rn->lock held. Sleeps. Errors are logged. */
int roce_sockets_open(struct net *net, struct roce_net *rn);
/* rn->lock held, or rn has no other user. Sleeps. */
void roce_sockets_close(struct roce_net *rn);

#endif
