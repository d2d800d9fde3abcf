// SPDX-License-Identifier: GPL-2.0
/*
 * TCP sockets of endpoints: how they are made, and which callbacks they have
 * in which phase. sk_user_data is the endpoint, from attach to detach; a
 * callback holds sk_callback_lock, so after detach none runs any more, and the
 * socket has TCP's own again: it may outlive this module. What a listener
 * accepts comes with the listener's callbacks, but without its endpoint.
 */
#include <linux/net.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "iwarp/iwarp.h"

void iw_sock_prepare(struct sock *sk)
{
	tcp_sock_set_nodelay(sk);
	/* Segments are built in softirqs, too. */
	sk->sk_allocation = GFP_ATOMIC;
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, IW_UNSENT_BYTES);
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
	return 0;
}

/*
 * A peer that has something to acknowledge is given up by TCP's own timer, one that has not is
 * asked from half of the time on, and has five chances to answer.
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
		sk_pacing_shift_update(sk, IW_PACING_SHIFT);
	rcu_read_unlock();
}

void iw_sock_set_tos(struct sock *sk, u8 tos)
{
	if (sk->sk_family == AF_INET) {
		ip_sock_set_tos(sk, tos);
		return;
	}
	lock_sock(sk);
	inet6_sk(sk)->tclass = tos;
	release_sock(sk);
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
	 * What is on its way, and the FIN, goes on after us, timers and all; so the
	 * namespace must stay as long, which kernel sockets do not see to.
	 */
	if (sock->sk->sk_state != TCP_CLOSE && !tern_sk_hold_net(sock->sk))
		iw_sock_abort(sock);
	sock_release(sock);
	memalloc_noio_restore(noio);
}

/* ---- callbacks ---- */

/* sk_callback_lock held */
static struct iw_ep *ep_of(const struct sock *sk)
{
	return __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
}

static void kick_ep(struct sock *sk)
{
	struct iw_ep *ep;

	read_lock_bh(&sk->sk_callback_lock);
	ep = ep_of(sk);
	if (ep)
		iw_ep_kick(ep);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void data_ready(struct sock *sk)
{
	struct iw_ep *ep;

	read_lock_bh(&sk->sk_callback_lock);
	ep = ep_of(sk);
	if (ep)
		iw_run(ep->qp, sk, IW_BYTES);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void write_space(struct sock *sk)
{
	struct iw_ep *ep;

	if (!sk_stream_is_writeable(sk))
		return;
	read_lock_bh(&sk->sk_callback_lock);
	ep = ep_of(sk);
	if (ep) {
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		iw_run(ep->qp, sk, IW_ROOM);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void nothing(struct sock *sk)
{
}

void iw_sock_callbacks_get(const struct sock *sk, struct iw_sock_callbacks *cb)
{
	cb->ready = sk->sk_data_ready;
	cb->space = sk->sk_write_space;
	cb->change = sk->sk_state_change;
	cb->error = sk->sk_error_report;
}

static void set_callbacks(struct sock *sk, struct iw_ep *ep, const struct iw_sock_callbacks *cb)
{
	write_lock_bh(&sk->sk_callback_lock);
	__rcu_assign_sk_user_data_with_flags(sk, ep, ep ? SK_USER_DATA_NOCOPY : 0);
	sk->sk_data_ready = cb->ready;
	sk->sk_write_space = cb->space;
	sk->sk_state_change = cb->change;
	sk->sk_error_report = cb->error;
	write_unlock_bh(&sk->sk_callback_lock);
}

void iw_sock_disinherit(struct sock *sk, const struct iw_ep *listener)
{
	set_callbacks(sk, NULL, &listener->tcp_callbacks);
}

void iw_sock_attach(struct iw_ep *ep)
{
	static const struct iw_sock_callbacks step = { kick_ep, nothing, kick_ep, kick_ep };

	set_callbacks(ep->sock->sk, ep, &step);
}

void iw_sock_attach_data(struct iw_ep *ep)
{
	static const struct iw_sock_callbacks data = { data_ready, write_space, kick_ep, kick_ep };

	set_callbacks(ep->sock->sk, ep, &data);
}

void iw_sock_detach(struct iw_ep *ep)
{
	set_callbacks(ep->sock->sk, NULL, &ep->tcp_callbacks);
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
