// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: their references, work item and timer, what iw_cm is told of
 * them, and their ends. The way from connect or listen to FPDUs is cm.c's.
 */
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/tcp.h>

#include "charged.h"
#include "iwarp/iwarp.h"
#include "iwarp/stream/ack.h"
#include "iwarp/stream/close.h"
#include "iwarp/stream/qp.h"
#include "iwarp/stream/run.h"
#include "iwarp/stream/start.h"

/* ---- references: all of process context ---- */

static void ep_work(struct work_struct *work);
static void ep_timeout(struct work_struct *work);

struct iw_ep *iw_ep_alloc(struct tern_dev *dev, struct socket *sock)
{
	struct iw_ep *ep = kzalloc(sizeof(*ep), TERN_GFP_CHARGED);

	if (!ep) {
		iw_sock_release(sock);
		return NULL;
	}
	refcount_set(&ep->ref, 1);
	ep->dev = dev;
	ep->sock = sock;
	iw_sock_callbacks_get(sock->sk, &ep->tcp_callbacks);
	mutex_init(&ep->lock);
	INIT_WORK(&ep->work, ep_work);
	INIT_DELAYED_WORK(&ep->timeout, ep_timeout);
	INIT_LIST_HEAD(&ep->children);
	INIT_LIST_HEAD(&ep->child);
	return ep;
}

struct iw_ep *iw_ep_create(struct tern_dev *dev, int family, int rcvbuf)
{
	struct socket *sock;
	struct iw_ep *ep;
	int err;

	if (family != AF_INET && family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	err = iw_sock_create(dev, family, rcvbuf, &sock);
	if (err)
		return ERR_PTR(err);
	ep = iw_ep_alloc(dev, sock);
	return ep ?: ERR_PTR(-ENOMEM);
}

void iw_ep_get(struct iw_ep *ep)
{
	refcount_inc(&ep->ref);
}

void iw_ep_put(struct iw_ep *ep)
{
	if (!refcount_dec_and_test(&ep->ref))
		return;
	iw_sock_release(ep->sock);
	kfree(ep);
}

void iw_ep_kick(struct iw_ep *ep)
{
	iw_ep_get(ep);
	if (!queue_work(iw_ep_wq, &ep->work))
		iw_ep_put(ep);
}

/* ---- the timer: bounds a state, or tries its step again: ep->lock held ---- */

static void arm(struct iw_ep *ep, unsigned long delay)
{
	iw_ep_get(ep);
	if (mod_delayed_work(iw_ep_wq, &ep->timeout, delay))
		iw_ep_put(ep);
}

void iw_ep_start_timer(struct iw_ep *ep, unsigned long delay)
{
	ep->deadline = jiffies + delay;
	arm(ep, delay);
}

void iw_ep_retry(struct iw_ep *ep, unsigned long delay)
{
	long left = (long)(ep->deadline - jiffies);

	arm(ep, min_t(unsigned long, delay, max(left, 0L)));
}

void iw_ep_stop_timer(struct iw_ep *ep)
{
	if (cancel_delayed_work(&ep->timeout))
		iw_ep_put(ep);
}

/* ---- requests that iw_cm was told of: by number, for it may forget them ---- */

/*
 * iw_cm drops the requests of a listener that ends before it has looked at
 * them, and nobody hears of it. So what it gets is a number that may turn out
 * stale, and what it does not answer ends some time after the listener.
 */
static DEFINE_XARRAY_FLAGS(requests, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
static u32 next_request;

int iw_request_announce(struct iw_ep *ep)
{
	int err = xa_alloc_cyclic(&requests, &ep->request, ep, xa_limit_31b, &next_request,
				  TERN_GFP_CHARGED);

	if (err < 0)
		return err;
	iw_ep_get(ep);
	return 0;
}

struct iw_ep *iw_request_take(u32 number)
{
	return xa_erase(&requests, number);
}

static void request_drop(struct iw_ep *ep, int status)
{
	/* Else its answer is coming, and waits for ep->lock. */
	if (iw_request_take(ep->request) != ep)
		return;
	iw_ep_reset(ep, status);
	iw_ep_put(ep);
}

void iw_requests_end(struct tern_dev *dev)
{
	struct iw_ep *ep;
	unsigned long number;

	/* Others' are answered meanwhile: an entry is there as long as the lock is held. */
	xa_lock(&requests);
	xa_for_each(&requests, number, ep) {
		if (ep->dev != dev)
			continue;
		__xa_erase(&requests, number);
		xa_unlock(&requests);
		iw_ep_lock(ep);
		iw_ep_reset(ep, -ECONNABORTED);
		iw_ep_unlock(ep);
		iw_ep_put(ep);
		xa_lock(&requests);
	}
	xa_unlock(&requests);
}

/* ---- iw_cm's events: ep->lock held ---- */

/* An IPv4 connection of a dual-stack listener is one of IPv4 to rdma_cm. */
static void unmap_address(struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)addr;
	struct sockaddr_in four = { .sin_family = AF_INET };

	if (six->sin6_family != AF_INET6 || !ipv6_addr_v4mapped(&six->sin6_addr))
		return;
	four.sin_port = six->sin6_port;
	four.sin_addr.s_addr = six->sin6_addr.s6_addr32[3];
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &four, sizeof(four));
}

void iw_ep_describe(struct iw_ep *ep, struct iw_cm_event *event)
{
	bool known = ep->frame.enhanced;

	kernel_getsockname(ep->sock, (struct sockaddr *)&event->local_addr);
	kernel_getpeername(ep->sock, (struct sockaddr *)&event->remote_addr);
	unmap_address(&event->local_addr);
	unmap_address(&event->remote_addr);
	/* rdma_cm's initiator depth is the peer's IRD, its responder resources the peer's ORD. */
	event->ird = known ? min_t(u16, ep->frame.ird, U8_MAX) : IW_MAX_RD_ATOMIC;
	event->ord = known ? min_t(u16, ep->frame.ord, U8_MAX) : IW_MAX_RD_ATOMIC;
	/* iw_cm counts in a byte: what is beyond cannot be handed on. */
	event->private_data = ep->buf + ep->frame.private_at;
	event->private_data_len = (u8)min_t(u16, ep->frame.private_bytes, U8_MAX);
}

int iw_ep_event(struct iw_ep *ep, enum iw_cm_event_type type, int status)
{
	struct iw_cm_event event = { .event = type, .status = status };
	int err;

	if (!ep->cm_id)
		return 0;
	if (type == IW_CM_EVENT_CONNECT_REPLY && (!status || status == -ECONNREFUSED))
		iw_ep_describe(ep, &event);
	if (type == IW_CM_EVENT_ESTABLISHED) {
		u8 ird, ord;

		/* What was agreed on, in the terms of iw_ep_describe(). */
		iw_qp_depths(ep->qp, &ird, &ord);
		event.ird = ord;
		event.ord = ird;
	}
	err = ep->cm_id->event_handler(ep->cm_id, &event);
	if (!err || WARN_ON_ONCE(!event.private_data_len))
		return err;
	/* It copies private data; for an event without it keeps an entry. It must hear of it. */
	event.private_data = NULL;
	event.private_data_len = 0;
	event.status = status ?: err;
	ep->cm_id->event_handler(ep->cm_id, &event);
	return err;
}

void iw_ep_forget_cm_id(struct iw_ep *ep)
{
	struct iw_cm_id *cm_id = ep->cm_id;

	ep->cm_id = NULL;
	if (cm_id)
		cm_id->rem_ref(cm_id);
}

/* ---- ends: ep->lock held ---- */

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
	ep->state = IW_EP_DEAD;
	iw_ep_stop_timer(ep);
	iw_sock_detach(ep);
	iw_ep_leave_listener(ep);
	if (qp) {
		iw_qp_closed(qp);
		iw_ack_settle(qp);
	}
	if (was == IW_EP_CONNECTING || was == IW_EP_WAIT_REPLY)
		iw_ep_event(ep, IW_CM_EVENT_CONNECT_REPLY, status);
	else if (was == IW_EP_OPEN || was == IW_EP_DRAINING || was == IW_EP_CLOSING)
		iw_ep_event(ep, IW_CM_EVENT_CLOSE, 0);
	iw_ep_forget_cm_id(ep);
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

/* ---- work ---- */

static void ep_work(struct work_struct *work)
{
	struct iw_ep *ep = container_of(work, struct iw_ep, work);

	iw_ep_lock(ep);
	iw_ep_step(ep);
	iw_ep_unlock(ep);
	iw_ep_put(ep);
}

/*
 * In an orderly end: has the peer taken anything, or sent, since the last look? After an
 * error nobody waits for more than the Terminate.
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

void iw_ep_bound_end(struct iw_ep *ep)
{
	is_progressing(ep);
	iw_ep_start_timer(ep, IW_CLOSE_TIMEOUT);
}

/*
 * Our program hears of nothing before the end, and a peer that takes a few bytes at a time always
 * makes progress: so this is a bound of the whole. TCP has the one for silence, of the same length.
 */
void iw_ep_peer_closed(struct iw_ep *ep)
{
	if (ep->peer_closed)
		return;
	ep->peer_closed = true;
	ep->end_by = jiffies + msecs_to_jiffies(inet_csk(ep->sock->sk)->icsk_user_timeout);
}

static bool may_go_on(struct iw_ep *ep)
{
	return is_progressing(ep) && !(ep->peer_closed && time_after_eq(jiffies, ep->end_by));
}

static void ep_timeout(struct work_struct *work)
{
	struct iw_ep *ep = container_of(to_delayed_work(work), struct iw_ep, timeout);

	iw_ep_lock(ep);
	if (time_before(jiffies, ep->deadline))
		iw_ep_step(ep);
	else if (ep->state > IW_EP_OPEN && ep->state < IW_EP_DEAD && may_go_on(ep))
		iw_ep_start_timer(ep, IW_CLOSE_TIMEOUT);
	else if (ep->state == IW_EP_REQUESTED)
		request_drop(ep, -ETIMEDOUT);
	else if (ep->state != IW_EP_OPEN)
		iw_ep_reset(ep, -ETIMEDOUT);
	iw_ep_unlock(ep);
	iw_ep_put(ep);
}
