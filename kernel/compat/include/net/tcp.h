/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Before 6.5 tcp_sendpage_locked() gives pages to TCP, from then on
 * MSG_SPLICE_PAGES. From 6.2 on kernel sockets track their namespace too.
 */
#ifndef TERN_COMPAT_NET_TCP_H
#define TERN_COMPAT_NET_TCP_H

#include_next <net/tcp.h>

#include <linux/version.h>

/*
 * Gives n pieces of `bytes` in all to TCP, and lets TCP send when it has all it accepts. Before
 * 6.5, if nothing is in flight, it sends from the first piece on, unless `together` is set and
 * there is room for all. Returns the number of bytes taken, or an error. The socket is locked.
 * Takes references to the pages as needed.
 */
static inline int tern_tcp_send_pages(struct sock *sk, const struct bio_vec *bvec, u32 n,
				      size_t bytes, int flags, bool together)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	int taken = 0;
	u32 i;

	/* Twice, because their skbs take room, too. */
	together &= sk->sk_wmem_queued + 2 * bytes < sk->sk_sndbuf;
	for (i = 0; i < n; i++) {
		/*
		 * If the socket does not take the next piece, only an acknowledgement would make it
		 * send this one.
		 */
		bool hold = i + 1 < n && (together || tcp_sk(sk)->packets_out);
		int ret = tcp_sendpage_locked(sk, bvec[i].bv_page, bvec[i].bv_offset,
					      bvec[i].bv_len,
					      flags | (hold ? MSG_SENDPAGE_NOTLAST : 0));

		if (ret < 0)
			return taken ? taken : ret;
		taken += ret;
		if (ret != bvec[i].bv_len)
			break;
	}
	return taken;
#else
	struct msghdr msg = { .msg_flags = flags | MSG_SPLICE_PAGES };

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bvec, n, bytes);
	return tcp_sendmsg_locked(sk, &msg, bytes);
#endif
}

/* tcp_disconnect(); newer kernels do not export it. The socket is locked. */
static inline void tern_tcp_disconnect(struct sock *sk)
{
	sk->sk_prot->disconnect(sk, O_NONBLOCK);
}

/*
 * Makes a kernel socket hold its namespace until it is gone, as those of processes do. False: the
 * namespace is already going.
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
