/* SPDX-License-Identifier: GPL-2.0 */
/* Before 6.5 pages are given to TCP by tcp_sendpage_locked(), then by MSG_SPLICE_PAGES. */
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

#endif
