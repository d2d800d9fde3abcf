/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP sockets of endpoints: how they are made, set up and closed. All functions may sleep, except
 * iw_sock_set_pacing().
 */
#ifndef TERN_IWARP_CM_SOCK_H
#define TERN_IWARP_CM_SOCK_H

#include <linux/net.h>
#include <net/sock.h>

struct tern_dev;

#define IW_RCVBUF_BYTES		(512 << 10)
/* Until a connection is accepted: an MPA frame, and what a packet takes beside its bytes. */
#define IW_START_RCVBUF_BYTES	4096

/* A socket's callbacks; what they do is in callbacks.c. */
struct iw_sock_callbacks {
	void (*ready)(struct sock *sk);
	void (*space)(struct sock *sk);
	void (*change)(struct sock *sk);
	void (*error)(struct sock *sk);
};

/* In dev's namespace. 0, or TCP's error. */
int iw_sock_create(struct tern_dev *dev, int family, int rcvbuf, struct socket **sock);
/* What iw_sock_create() sets up, for a socket that a listener accepted. */
void iw_sock_prepare(struct sock *sk);
/* FPDUs follow; a peer that is silent for peer_timeout_s is dead. */
void iw_sock_open(struct sock *sk, u32 peer_timeout_s);
/* For the netdev that the connection goes by. The socket is locked. */
void iw_sock_set_pacing(struct sock *sk);
void iw_sock_set_tos(struct sock *sk, u8 tos);
/* Bound to port 0, the socket gets a port at connect: any that is free toward that peer. */
void iw_sock_pick_port(struct socket *sock);
/* A reset, if there is a connection. */
void iw_sock_abort(struct socket *sock);
/* The socket goes; its connection ends the way it is ending. */
void iw_sock_release(struct socket *sock);
/*
 * The first bytes of a connection, from one or two places; more may be NULL. 0, TCP's error, or
 * -ENOBUFS.
 */
int iw_sock_send(struct socket *sock, const void *p, u32 bytes, const void *more, u32 more_bytes);

#endif
