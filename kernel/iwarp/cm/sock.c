// SPDX-License-Identifier: GPL-2.0
/*
 * TCP sockets of endpoints: how they are made, set up and closed. Their callbacks are in
 * callbacks.c.
 */
#include <linux/net.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/tcp.h>

#include "core/device.h"
#include "iwarp/cm/congestion.h"
#include "iwarp/cm/sock.h"
#include "iwarp/stream/tcp.h"

/*
 * What may wait below TCP, in the device's queue: 2^-9 s' worth at the pace of the stream, instead
 * of TCP's 2^-10 s, as ACKs held back slow that pace as TCP sees it. With 2^-8 s a bulk stream
 * fills netdevs' rings, and short messages of other QPs wait behind it. tcp_limit_output_bytes
 * bounds it all the same. With a netdev that does not cut segments itself TCP's is enough to fill
 * the ring.
 */
#define PACING_SHIFT		9
/*
 * Written to TCP, but not sent yet: beyond it there is no room. More of it makes nothing faster. It
 * would complete megabytes of WRITEs of a bulk stream that have not begun to leave, and spend their
 * poster's time on them alone.
 */
#define UNSENT_BYTES		(256 << 10)

void iw_sock_prepare(struct sock *sk)
{
	tcp_sock_set_nodelay(sk);
	/* Segments are built in softirqs, too. */
	sk->sk_allocation = GFP_ATOMIC;
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, UNSENT_BYTES);
}

int iw_sock_create(struct tern_dev *dev, int family, int rcvbuf, struct socket **sock)
{
	struct sock *sk;
	int err;

	err = sock_create_kern(dev->net, family, SOCK_STREAM, IPPROTO_TCP, sock);
	if (err)
		return err;
	sk = (*sock)->sk;
	sock_set_reuseaddr(sk);
	/* Inherited by what a listener accepts. */
	WRITE_ONCE(sk->sk_rcvbuf, rcvbuf);
	iw_sock_prepare(sk);
	err = iw_congestion_apply(dev, *sock);
	if (err)
		sock_release(*sock);
	return err;
}

/*
 * If the peer has something to acknowledge, TCP's own timer gives it up. Else it is asked from half
 * of the time on, and has five chances to answer.
 */
static void set_peer_timeout(struct sock *sk, u32 seconds)
{
	tcp_sock_set_keepidle(sk, seconds / 2);
	tcp_sock_set_keepintvl(sk, max(seconds / 10, 1U));
	tcp_sock_set_user_timeout(sk, seconds * MSEC_PER_SEC);
	sock_set_keepalive(sk);
}

void iw_sock_open(struct sock *sk, u32 peer_timeout_s)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window;

	set_peer_timeout(sk, peer_timeout_s);
	/*
	 * FPDUs are taken whole if they can be, so the window should have room for the largest from
	 * the start; TCP's own tuning goes on from there. What an accepted connection began with is
	 * less: it gets what it would have, had it begun with this.
	 */
	lock_sock(sk);
	if (sk->sk_rcvbuf < IW_RCVBUF_BYTES)
		WRITE_ONCE(sk->sk_rcvbuf, IW_RCVBUF_BYTES);
	window = tcp_win_from_space(sk, sk->sk_rcvbuf);
	if (tp->window_clamp < window)
		WRITE_ONCE(tp->window_clamp, window);
	window = min_t(u32, window, U16_MAX);
	if (tp->rcv_ssthresh < window)
		WRITE_ONCE(tp->rcv_ssthresh, window);
	release_sock(sk);
}

void iw_sock_set_pacing(struct sock *sk)
{
	const struct dst_entry *dst;

	/* The netdev may be on its way out: the route would have another then. */
	rcu_read_lock();
	dst = __sk_dst_get(sk);
	if (dst && !iw_sends_packets(READ_ONCE(dst->dev)))
		sk_pacing_shift_update(sk, PACING_SHIFT);
	rcu_read_unlock();
}

void iw_sock_set_tos(struct sock *sk, u8 tos)
{
	if (sk->sk_family == AF_INET) {
		ip_sock_set_tos(sk, tos);
		return;
	}
	lock_sock(sk);
	inet6_sk(sk)->tclass = (tos & ~INET_ECN_MASK) | (inet6_sk(sk)->tclass & INET_ECN_MASK);
	release_sock(sk);
	/* For IPv4 the stack does that. */
	sock_set_priority(sk, rt_tos2priority(tos));
}

void iw_sock_pick_port(struct socket *sock)
{
	int on = 1;

	/* Else it is chosen at bind, for all peers at once. */
	sock->ops->setsockopt(sock, SOL_IP, IP_BIND_ADDRESS_NO_PORT, KERNEL_SOCKPTR(&on),
			      sizeof(on));
}

void iw_sock_abort(struct socket *sock)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	if (sk->sk_state != TCP_CLOSE)
		tern_tcp_disconnect(sk);
	release_sock(sk);
}

void iw_sock_release(struct socket *sock)
{
	unsigned int noio = memalloc_noio_save();	/* also by an endpoint's work */

	/*
	 * What is on its way, and the FIN, continues after this, with timers; so the namespace
	 * must stay as long, which kernel sockets do not ensure.
	 */
	if (sock->sk->sk_state != TCP_CLOSE && !tern_sk_hold_net(sock->sk))
		iw_sock_abort(sock);
	sock_release(sock);
	memalloc_noio_restore(noio);
}

int iw_sock_send(struct socket *sock, const void *p, u32 bytes, const void *more, u32 more_bytes)
{
	struct kvec vec[2] = {
		{ .iov_base = (void *)p, .iov_len = bytes },
		{ .iov_base = (void *)more, .iov_len = more_bytes },
	};
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	int ret = kernel_sendmsg(sock, &msg, vec, more_bytes ? 2 : 1, bytes + more_bytes);

	if (ret < 0)
		return ret;
	/* The first bytes of a connection: they fit, or something is very wrong. */
	return ret == bytes + more_bytes ? 0 : -ENOBUFS;
}
