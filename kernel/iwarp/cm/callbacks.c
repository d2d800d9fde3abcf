// SPDX-License-Identifier: GPL-2.0
/*
 * Which callbacks an endpoint's socket has in which phase. sk_user_data is the endpoint, from
 * attach to detach. A callback holds sk_callback_lock, so after detach none runs any more, and the
 * socket has TCP's own again: it may outlive this module. What a listener accepts comes with the
 * listener's callbacks, but without its endpoint.
 */
#include <net/tcp.h>

#include "iwarp/cm/callbacks.h"
#include "iwarp/cm/ep.h"
#include "iwarp/stream/run.h"

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

static void ignore_space(struct sock *sk)
{
}

void iw_callbacks_save(struct iw_ep *ep)
{
	const struct sock *sk = ep->sock->sk;

	ep->tcp_callbacks = (struct iw_sock_callbacks){
		.ready = sk->sk_data_ready,
		.space = sk->sk_write_space,
		.change = sk->sk_state_change,
		.error = sk->sk_error_report,
	};
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

void iw_callbacks_disinherit(struct sock *sk, const struct iw_ep *listener)
{
	set_callbacks(sk, NULL, &listener->tcp_callbacks);
}

void iw_callbacks_attach(struct iw_ep *ep)
{
	static const struct iw_sock_callbacks step = { kick_ep, ignore_space, kick_ep, kick_ep };

	set_callbacks(ep->sock->sk, ep, &step);
}

void iw_callbacks_attach_data(struct iw_ep *ep)
{
	static const struct iw_sock_callbacks data = { data_ready, write_space, kick_ep, kick_ep };

	set_callbacks(ep->sock->sk, ep, &data);
}

void iw_callbacks_detach(struct iw_ep *ep)
{
	set_callbacks(ep->sock->sk, NULL, &ep->tcp_callbacks);
}
