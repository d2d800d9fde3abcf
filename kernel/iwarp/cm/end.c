// SPDX-License-Identifier: GPL-2.0
/*
 * The ends of endpoints, by whatever caused them. The orderly way there is in open.c.
 */
#include "iwarp/cm/callbacks.h"
#include "iwarp/cm/end.h"
#include "iwarp/cm/ep.h"
#include "iwarp/cm/event.h"
#include "iwarp/stream/ack.h"
#include "iwarp/stream/close.h"
#include "iwarp/stream/run.h"

void iw_ep_leave_listener(struct iw_ep *ep)
{
	struct iw_ep *listener = ep->listener;

	if (!listener)
		return;
	ep->listener = NULL;
	iw_ep_lock_listener(listener);
	if (!list_empty(&ep->child)) {
		list_del_init(&ep->child);
		listener->num_children--;
	}
	iw_ep_unlock(listener);
	/* One that waited in TCP's queue may come now. */
	iw_ep_kick(listener);
	iw_ep_put(listener);
}

void iw_ep_end(struct iw_ep *ep, int status)
{
	enum iw_ep_state was = ep->state;
	struct iw_qp *qp = ep->qp;

	if (was == IW_EP_DEAD)
		return;
	iw_ep_set_state(ep, IW_EP_DEAD);
	iw_ep_stop_timer(ep);
	iw_callbacks_detach(ep);
	iw_ep_leave_listener(ep);
	if (qp) {
		iw_qp_closed(qp);
		iw_ack_settle(qp);
	}
	if (was == IW_EP_CONNECTING || was == IW_EP_WAIT_REPLY)
		iw_event_send(ep, IW_CM_EVENT_CONNECT_REPLY, status);
	else if (was == IW_EP_OPEN || was == IW_EP_DRAINING || was == IW_EP_CLOSING)
		iw_event_send(ep, IW_CM_EVENT_CLOSE, 0);
	iw_event_forget_cm_id(ep);
	kernel_sock_shutdown(ep->sock, SHUT_RDWR);
	ep->qp = NULL;
}

void iw_ep_reset(struct iw_ep *ep, int status)
{
	struct iw_qp *qp = ep->qp;

	if (ep->state == IW_EP_DEAD)
		return;
	sock_no_linger(ep->sock->sk);
	iw_ep_end(ep, status);
	iw_sock_abort(ep->sock);
	/* What the socket had yet to take, it never will. */
	if (qp)
		iw_kick(qp);
}

void iw_ep_close(struct iw_ep *ep, bool orderly)
{
	iw_ep_lock(ep);
	if (orderly)
		iw_ep_end(ep, 0);
	else
		iw_ep_reset(ep, -ECONNABORTED);
	iw_ep_unlock(ep);
}
