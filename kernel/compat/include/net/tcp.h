/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Before 6.5 pages are given to TCP by tcp_sendpage_locked(), then by
 * MSG_SPLICE_PAGES. From 6.2 on kernel sockets track their namespace as well.
 */
#ifndef TERN_COMPAT_NET_TCP_H
#define TERN_COMPAT_NET_TCP_H

#include_next <net/tcp.h>

#include <linux/version.h>

/* Bytes taken, or an error; the socket is locked. Takes references to the page as needed. */
static inline int tern_tcp_send_page(struct sock *sk, struct page *page, int offset, size_t size,
				     int flags)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return tcp_sendpage_locked(sk, page, offset, size, flags);
#else
	struct msghdr msg = { .msg_flags = flags | MSG_SPLICE_PAGES };
	struct bio_vec bvec;

	bvec_set_page(&bvec, page, size, offset);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bvec, 1, size);
	return tcp_sendmsg_locked(sk, &msg, size);
#endif
}

/*
 * A kernel socket is to keep its namespace until it is gone, as those of
 * processes do. False: the namespace is going already.
 */
static inline bool tern_sk_hold_net(struct sock *sk)
{
	struct net *net;

	if (sk->sk_net_refcnt)
		return true;
	net = maybe_get_net(sock_net(sk));
	if (!net)
		return false;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	__netns_tracker_free(net, &sk->ns_tracker, false);
#endif
	sk->sk_net_refcnt = 1;
	netns_tracker_alloc(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
	return true;
}

#endif
