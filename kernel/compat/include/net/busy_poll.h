/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernels without CONFIG_NET_RX_BUSY_POLL have neither the NAPI IDs of sockets
 * nor a way to poll by them.
 */
#ifndef TERN_COMPAT_NET_BUSY_POLL_H
#define TERN_COMPAT_NET_BUSY_POLL_H

#include_next <net/busy_poll.h>

/* That by which the socket's last packet came; below MIN_NAPI_ID: not known. */
static inline unsigned int tern_sk_napi_id(const struct sock *sk)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	return READ_ONCE(sk->sk_napi_id);
#else
	return 0;
#endif
}

/* Once, if the NAPI is still there and nobody is at it. */
static inline void tern_napi_poll(unsigned int napi_id)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	napi_busy_loop(napi_id, NULL, NULL, false, BUSY_POLL_BUDGET);
#endif
}

#endif
