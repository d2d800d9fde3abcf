// SPDX-License-Identifier: GPL-2.0
/*
 * An endpoint's work. What happens on a socket queues the work item, which takes the next step that
 * the state allows; the timer bounds states. A listener's step is here: it makes endpoints.
 */
#include <linux/net.h>
#include <net/request_sock.h>
#include <net/tcp.h>

#include "core/device.h"
#include "iwarp/cm/callbacks.h"
#include "iwarp/cm/end.h"
#include "iwarp/cm/ep.h"
#include "iwarp/cm/open.h"
#include "iwarp/cm/request.h"
#include "iwarp/cm/startup.h"
#include "iwarp/cm/step.h"

/* An initiator's MPA frame has to come within this time: it is sent as soon as TCP is connected. */
#define MPA_TIMEOUT		(10 * HZ)
/*
 * Connections of a listener that iw_cm has not answered yet; iw_cm counts its own. Beyond it, those
 * that are silent make room for others.
 */
#define MAX_PENDING		1024

static void run_step(struct work_struct *work);
static void run_timeout(struct work_struct *work);

static struct iw_ep *new_ep(struct tern_dev *dev, struct socket *sock)
{
	struct iw_ep *ep = iw_ep_alloc(dev, sock);

	if (!ep)
		return NULL;
	iw_callbacks_save(ep);
	INIT_WORK(&ep->work, run_step);
	INIT_DELAYED_WORK(&ep->timeout, run_timeout);
	return ep;
}

struct iw_ep *iw_step_create(struct tern_dev *dev, int family, int rcvbuf)
{
	struct socket *sock;
	struct iw_ep *ep;
	int err;

	if (family != AF_INET && family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	err = iw_sock_create(dev, family, rcvbuf, &sock);
	if (err)
		return ERR_PTR(err);
	ep = new_ep(dev, sock);
	return ep ?: ERR_PTR(-ENOMEM);
}

/* ---- a listener's step ---- */

/* A TCP connection that came in: wait for its request. */
static void adopt_socket(struct iw_ep *listener, struct socket *sock)
{
	struct iw_ep *ep;

	iw_callbacks_disinherit(sock->sk, listener);
	ep = new_ep(listener->dev, sock);
	if (!ep)
		return;
	iw_sock_prepare(sock->sk);
	iw_ep_set_state(ep, IW_EP_WAIT_REQUEST);
	iw_ep_get(listener);
	ep->listener = listener;
	list_add_tail(&ep->child, &listener->children);
	listener->num_children++;
	/*
	 * As if its lock were held: until it is attached only the listener, which is locked, knows
	 * of it. From then on it may be in the next state, where the timer means something else.
	 */
	iw_ep_start_timer(ep, MPA_TIMEOUT);	/* its reference and the work's keep it */
	iw_callbacks_attach(ep);
	iw_ep_kick(ep);
	iw_ep_put(ep);
}

/* The connection that has been silent for longest goes. False: all have sent their requests. */
static bool make_room(struct iw_ep *listener)
{
	struct iw_ep *child;

	list_for_each_entry(child, &listener->children, child) {
		if (child->spoken)
			continue;
		list_del_init(&child->child);
		listener->num_children--;
		/* It stays as long as it is on the list; the rest is its own work. */
		iw_ep_kick(child);
		return true;
	}
	return false;
}

static void step_listening(struct iw_ep *ep)
{
	const struct sock *sk = ep->sock->sk;
	struct socket *sock;

	/* Beyond that they wait in TCP's queue. */
	if (ep->num_children >= MAX_PENDING &&
	    (reqsk_queue_empty(&inet_csk(sk)->icsk_accept_queue) || !make_room(ep)))
		return;
	if (kernel_accept(ep->sock, &sock, O_NONBLOCK))
		return;
	adopt_socket(ep, sock);
	/*
	 * The next one later: the one that makes room waits for our lock, and has its socket until
	 * then.
	 */
	iw_ep_kick(ep);
}

/* ---- work ---- */

/* ep->lock held. */
static void take_step(struct iw_ep *ep)
{
	switch (ep->state) {
	case IW_EP_LISTENING:
		step_listening(ep);
		break;
	case IW_EP_CONNECTING:
		iw_startup_connecting(ep);
		if (ep->state != IW_EP_WAIT_REPLY)
			break;
		fallthrough;
	case IW_EP_WAIT_REPLY:
		iw_startup_reply(ep);
		break;
	case IW_EP_WAIT_REQUEST:
		iw_startup_request(ep);
		break;
	case IW_EP_REQUESTED:
		/* Its end is noticed when iw_cm answers. */
		break;
	case IW_EP_OPEN:
	case IW_EP_DRAINING:
	case IW_EP_CLOSING:
		iw_open_step(ep);
		break;
	case IW_EP_NEW:
	case IW_EP_DEAD:
		break;
	}
}

static void run_step(struct work_struct *work)
{
	struct iw_ep *ep = container_of(work, struct iw_ep, work);

	iw_ep_lock(ep);
	take_step(ep);
	iw_ep_unlock(ep);
	iw_ep_put(ep);
}

static void run_timeout(struct work_struct *work)
{
	struct iw_ep *ep = container_of(to_delayed_work(work), struct iw_ep, timeout);

	iw_ep_lock(ep);
	if (time_before(jiffies, ep->deadline))
		take_step(ep);
	else if (ep->state > IW_EP_OPEN && ep->state < IW_EP_DEAD && iw_open_may_go_on(ep))
		iw_ep_start_timer(ep, IW_CLOSE_TIMEOUT);
	else if (ep->state == IW_EP_REQUESTED)
		iw_request_drop(ep, -ETIMEDOUT);
	else if (ep->state != IW_EP_OPEN)
		iw_ep_reset(ep, -ETIMEDOUT);
	iw_ep_unlock(ep);
	iw_ep_put(ep);
}
