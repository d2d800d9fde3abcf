// SPDX-License-Identifier: GPL-2.0
/*
 * Open connections, and their orderly end: our FIN, the peer's, and how long they may take. The
 * stream's part of that is stream/close.c.
 */
#include <net/tcp.h>

#include "iwarp/cm/end.h"
#include "iwarp/cm/ep.h"
#include "iwarp/cm/event.h"
#include "iwarp/cm/open.h"
#include "iwarp/stream/close.h"

/*
 * In an orderly end: has the peer taken anything, or sent, since the last look? After an error
 * nothing more than the Terminate is waited for.
 */
static bool is_progressing(struct iw_ep *ep)
{
	const struct tcp_sock *tp = tcp_sk(ep->sock->sk);
	u32 una = READ_ONCE(tp->snd_una), copied = READ_ONCE(tp->copied_seq);
	u32 req = iw_close_oldest(ep->qp);
	bool moved = una != ep->close_una || copied != ep->close_copied || req != ep->close_req;

	ep->close_una = una;
	ep->close_copied = copied;
	ep->close_req = req;
	return moved && iw_close_is_orderly(ep->qp);
}

/* The peer has IW_CLOSE_TIMEOUT, and as often more as it makes progress. */
static void bound_end(struct iw_ep *ep)
{
	is_progressing(ep);
	iw_ep_start_timer(ep, IW_CLOSE_TIMEOUT);
}

/*
 * From the peer's FIN on the end takes no longer than a silent peer is waited for. Our program is
 * told nothing before the end, and a peer that takes a few bytes at a time always makes progress:
 * so this bounds the whole. TCP has the bound for silence, of the same length.
 */
static void bound_peer(struct iw_ep *ep)
{
	if (ep->peer_closed)
		return;
	ep->peer_closed = true;
	ep->end_by = jiffies + msecs_to_jiffies(inet_csk(ep->sock->sk)->icsk_user_timeout);
}

bool iw_open_may_go_on(struct iw_ep *ep)
{
	return is_progressing(ep) && !(ep->peer_closed && time_after_eq(jiffies, ep->end_by));
}

void iw_open_step(struct iw_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	struct iw_close close;

	iw_close_look(ep->qp, sk, &close);
	/* If both ends have closed, the peer's last messages may still have to be taken. */
	if (sk->sk_err || (sk->sk_state == TCP_CLOSE && !close.wanted)) {
		iw_ep_end(ep, 0);
		return;
	}
	if (close.fin_in)
		bound_peer(ep);
	if (close.fin_in && close.closing && ep->state == IW_EP_OPEN)
		iw_event_send(ep, IW_CM_EVENT_DISCONNECT, 0);
	if (close.closing && ep->state == IW_EP_OPEN) {
		iw_ep_set_state(ep, IW_EP_DRAINING);
		bound_end(ep);
	}
	/* What has completed is TCP's; of the rest TCP may still read the memory. */
	if (close.fin_in && close.fin_out && !close.lent) {
		iw_ep_end(ep, 0);
		return;
	}
	if (close.fin_out && ep->state == IW_EP_DRAINING) {
		iw_ep_set_state(ep, IW_EP_CLOSING);
		kernel_sock_shutdown(ep->sock, SHUT_WR);
		bound_end(ep);
	}
}
