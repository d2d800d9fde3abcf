/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stream/ and cm/ use of TCP alike: the socket's spinlock, and what the path takes.
 */
#ifndef TERN_IWARP_STREAM_TCP_H
#define TERN_IWARP_STREAM_TCP_H

#include <linux/math64.h>
#include <linux/netdevice.h>
#include <net/sock.h>
#include <net/tcp.h>

/*
 * A process locks the socket as softirqs do: it may not sleep then, and what comes in waits for the
 * spinlock, not in the backlog. So a QP may be run.
 */
static inline void iw_sock_lock(struct sock *sk) __acquires(&sk->sk_lock.slock)
{
	while (lock_sock_fast(sk))
		unlock_sock_fast(sk, true);
}

static inline void iw_sock_unlock(struct sock *sk) __releases(&sk->sk_lock.slock)
{
	unlock_sock_fast(sk, false);
}

/*
 * Does the netdev not cut segments itself? Then each packet takes a place of its ring, and each
 * time TCP sends is a doorbell and an interrupt for few of them.
 */
static inline bool iw_sends_packets(const struct net_device *netdev)
{
	return !(READ_ONCE(netdev->features) & NETIF_F_ALL_TSO);
}

/* What the path takes: TCP's delivery rate by its least round trip time. 0: not known yet. */
static inline u64 iw_path_bytes(const struct tcp_sock *tp)
{
	if (!tp->rate_interval_us)
		return 0;
	return div_u64((u64)tp->rate_delivered * tp->mss_cache * tcp_min_rtt(tp),
		       tp->rate_interval_us);
}

#endif
