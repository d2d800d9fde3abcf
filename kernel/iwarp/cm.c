// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints: from iw_cm's connect or listen through MPA's start-up to FPDUs,
 * and to the end. What happens on a socket queues the endpoint's work item,
 * which takes the next step; a timer bounds the steps that wait for the peer.
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "iwarp/iwarp.h"

/* ---- life ---- */

static void ep_work(struct work_struct *work);
static void ep_timeout(struct work_struct *work);

static struct iw_ep *ep_create(struct tern_dev *dev, struct socket *sock)
{
	struct iw_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);

	if (!ep)
		return NULL;
	refcount_set(&ep->ref, 1);
	ep->dev = dev;
	ep->sock = sock;
	mutex_init(&ep->lock);
	INIT_WORK(&ep->work, ep_work);
	INIT_DELAYED_WORK(&ep->timeout, ep_timeout);
	INIT_LIST_HEAD(&ep->children);
	INIT_LIST_HEAD(&ep->child);
	return ep;
}

static void ep_get(struct iw_ep *ep)
{
	refcount_inc(&ep->ref);
}

void iw_ep_put(struct iw_ep *ep)
{
	if (!refcount_dec_and_test(&ep->ref))
		return;
	/* May be the last reference of a QP's, which may end in any context. */
	if (ep->sock)
		sock_release(ep->sock);
	kfree(ep);
}

void iw_ep_kick(struct iw_ep *ep)
{
	ep_get(ep);
	if (!queue_work(iw_wq, &ep->work))
		iw_ep_put(ep);
}

static void start_timer(struct iw_ep *ep, unsigned long delay)
{
	ep_get(ep);
	if (mod_delayed_work(iw_wq, &ep->timeout, delay))
		iw_ep_put(ep);
}

static void stop_timer(struct iw_ep *ep)
{
	if (cancel_delayed_work(&ep->timeout))
		iw_ep_put(ep);
}

/* rtr: what the initiator can send first, or the responder can take as that. */
static void set_offer(struct iw_ep *ep, const struct iw_cm_conn_param *param, u8 rtr)
{
	ep->offer = (struct mpa_offer){
		.revision = 2,
		.crc = true,
		.p2p = true,
		.rtr = rtr,
		.ird = (u16)min_t(u32, param->ird, IW_MAX_RD_ATOMIC),
		.ord = (u16)min_t(u32, param->ord, IW_MAX_RD_ATOMIC),
	};
}

/* ---- iw_cm's events: ep->lock held ---- */

static void fill_addresses(const struct iw_ep *ep, struct iw_cm_event *event)
{
	kernel_getsockname(ep->sock, (struct sockaddr *)&event->local_addr);
	kernel_getpeername(ep->sock, (struct sockaddr *)&event->remote_addr);
}

static int send_event(struct iw_ep *ep, enum iw_cm_event_type type, int status)
{
	struct iw_cm_event event = { .event = type, .status = status };

	fill_addresses(ep, &event);
	if (type == IW_CM_EVENT_CONNECT_REPLY && (!status || status == -ECONNREFUSED)) {
		event.ird = (u8)min_t(u16, ep->frame.enhanced ? ep->frame.ird : ep->offer.ird,
				      U8_MAX);
		event.ord = (u8)min_t(u16, ep->frame.enhanced ? ep->frame.ord : ep->offer.ord,
				      U8_MAX);
		event.private_data = ep->buf + ep->frame.private_at;
		event.private_data_len = (u8)min_t(u16, ep->frame.private_bytes, U8_MAX);
	}
	return ep->cm_id->event_handler(ep->cm_id, &event);
}

static void forget_cm_id(struct iw_ep *ep)
{
	struct iw_cm_id *cm_id = ep->cm_id;

	ep->cm_id = NULL;
	if (cm_id)
		cm_id->rem_ref(cm_id);
}

static void leave_listener(struct iw_ep *ep)
{
	struct iw_ep *listener = ep->listener;

	if (!listener)
		return;
	ep->listener = NULL;
	mutex_lock_nested(&listener->lock, SINGLE_DEPTH_NESTING);
	if (!list_empty(&ep->child)) {
		list_del_init(&ep->child);
		listener->num_children--;
	}
	mutex_unlock(&listener->lock);
	/* One that waited in TCP's queue may come now. */
	iw_ep_kick(listener);
	iw_ep_put(listener);
}

/*
 * The end, whatever it was doing. status: why, for an iw_cm that waits for a
 * connection.
 */
static void ep_end(struct iw_ep *ep, int status)
{
	enum iw_ep_state was = ep->state;

	if (was == IW_EP_DEAD)
		return;
	ep->state = IW_EP_DEAD;
	stop_timer(ep);
	iw_sock_detach(ep);
	leave_listener(ep);
	if (ep->qp)
		iw_qp_closed(ep->qp);
	switch (was) {
	case IW_EP_CONNECTING:
	case IW_EP_WAIT_REPLY:
		if (ep->cm_id)
			send_event(ep, IW_CM_EVENT_CONNECT_REPLY, status);
		break;
	case IW_EP_OPEN:
	case IW_EP_CLOSING:
		if (ep->cm_id)
			send_event(ep, IW_CM_EVENT_CLOSE, 0);
		break;
	default:
		break;
	}
	forget_cm_id(ep);
	kernel_sock_shutdown(ep->sock, SHUT_RDWR);
}

/* A reset instead of what is still under way. */
static void ep_reset(struct iw_ep *ep, int status)
{
	if (ep->state == IW_EP_DEAD)
		return;
	sock_no_linger(ep->sock->sk);
	ep_end(ep, status);
	lock_sock(ep->sock->sk);
	if (ep->sock->sk->sk_state != TCP_CLOSE)
		tcp_disconnect(ep->sock->sk, O_NONBLOCK);
	release_sock(ep->sock->sk);
}

void iw_ep_abort(struct iw_ep *ep)
{
	mutex_lock(&ep->lock);
	ep_reset(ep, -ECONNABORTED);
	mutex_unlock(&ep->lock);
}

/* ---- MPA's frames ---- */

/* As much of the peer's frame as is there, and not a byte more. */
static enum mpa_error read_frame(struct iw_ep *ep, bool reply)
{
	u32 need = MPA_FRAME_BYTES;

	for (;;) {
		struct kvec vec = { .iov_base = ep->buf + ep->have, .iov_len = need - ep->have };
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
		enum mpa_error err;
		int n = 0;

		if (need > ep->have)
			n = kernel_recvmsg(ep->sock, &msg, &vec, 1, vec.iov_len, MSG_DONTWAIT);
		if (n > 0)
			ep->have += n;
		err = mpa_frame_parse(ep->buf, ep->have, reply, &ep->frame);
		if (err != MPA_MORE)
			return err;
		if (n == 0)
			return MPA_BAD_LENGTH;	/* the peer closed in the middle */
		if (n < 0)
			return n == -EAGAIN ? MPA_MORE : MPA_BAD_LENGTH;
		need = ep->frame.bytes;
	}
}

static int send_frame(struct iw_ep *ep, struct mpa_frame *f, const void *data, u16 bytes)
{
	u8 head[MPA_FRAME_BYTES + MPA_ENHANCED_BYTES];

	f->private_bytes = bytes;
	return iw_sock_send(ep->sock, head, mpa_frame_build(head, f), data, bytes);
}

/* FPDUs from here on. */
static int ep_open(struct iw_ep *ep, const struct mpa_terms *terms, bool active)
{
	int err = iw_qp_start(ep->qp, ep, terms, active);

	if (err)
		return err;
	ep->state = IW_EP_OPEN;
	stop_timer(ep);
	return 0;
}

/* The data path's callbacks, and what came before they were there. */
static void ep_run(struct iw_ep *ep)
{
	iw_sock_attach_data(ep);
	lock_sock(ep->sock->sk);
	iw_run(ep->qp, true);
	release_sock(ep->sock->sk);
}

/* ---- active side ---- */

static int connect_qp(struct iw_ep *ep, struct iw_cm_id *cm_id, u32 qpn)
{
	struct ib_qp *ibqp = iw_get_qp(cm_id->device, qpn);
	struct iw_qp *qp;
	int err = 0;

	if (!ibqp)
		return -EINVAL;
	qp = to_iw_qp(to_tern_qp(ibqp));
	spin_lock_bh(&qp->base.run_lock);
	if (qp->base.dead || qp->ep || !iw_qp_may_connect(qp)) {
		err = -EINVAL;
	} else {
		ep_get(ep);
		qp->ep = ep;
		ep->qp = qp;
	}
	spin_unlock_bh(&qp->base.run_lock);
	return err;
}

static void disconnect_qp(struct iw_ep *ep)
{
	struct iw_qp *qp = ep->qp;

	if (!qp)
		return;
	spin_lock_bh(&qp->base.run_lock);
	qp->ep = NULL;
	spin_unlock_bh(&qp->base.run_lock);
	ep->qp = NULL;
	iw_ep_put(ep);
}

static int addr_bytes(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);
}

static bool is_wildcard(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ipv4_is_zeronet(((const struct sockaddr_in *)addr)->sin_addr.s_addr);
	return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* To the local address and port that rdma_cm chose. */
static int bind_local(struct socket *sock, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage local = *addr;

	return kernel_bind(sock, (struct sockaddr *)&local, addr_bytes(addr));
}

int iw_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct tern_dev *dev = to_tern_dev(cm_id->device);
	struct sockaddr_storage *to = &cm_id->m_remote_addr;
	struct socket *sock;
	struct iw_ep *ep;
	int err;

	if (param->private_data_len > MPA_MAX_PRIVATE_BYTES - MPA_ENHANCED_BYTES)
		return -EINVAL;
	if (to->ss_family != AF_INET && to->ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	err = iw_sock_create(dev, to->ss_family, &sock);
	if (err)
		return err;
	ep = ep_create(dev, sock);
	if (!ep) {
		sock_release(sock);
		return -ENOMEM;
	}
	mutex_lock(&ep->lock);
	set_offer(ep, param, MPA_RTR_WRITE);
	/* Kept where the peer's frame comes later. */
	memcpy(ep->buf, param->private_data, param->private_data_len);
	ep->frame.private_bytes = param->private_data_len;
	if (cm_id->tos_set && to->ss_family == AF_INET)
		ip_sock_set_tos(sock->sk, cm_id->tos);

	err = connect_qp(ep, cm_id, param->qpn);
	if (err)
		goto fail;
	err = bind_local(sock, &cm_id->m_local_addr);
	if (err)
		goto fail;
	ep->state = IW_EP_CONNECTING;
	iw_sock_attach(ep);
	err = kernel_connect(sock, (struct sockaddr *)to, addr_bytes(to), O_NONBLOCK);
	if (err && err != -EINPROGRESS) {
		iw_sock_detach(ep);
		goto fail;
	}
	cm_id->add_ref(cm_id);
	cm_id->provider_data = ep;
	ep->cm_id = cm_id;
	start_timer(ep, IW_MPA_TIMEOUT);
	mutex_unlock(&ep->lock);
	iw_ep_kick(ep);
	iw_ep_put(ep);		/* the QP has one */
	return 0;

fail:
	ep->state = IW_EP_DEAD;
	disconnect_qp(ep);
	mutex_unlock(&ep->lock);
	iw_ep_put(ep);
	return err;
}

static void step_connecting(struct iw_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	struct mpa_frame request;
	u16 bytes = ep->frame.private_bytes;
	int err;

	switch (sk->sk_state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return;
	case TCP_ESTABLISHED:
		break;
	default:
		err = sock_error(sk);
		ep_end(ep, err ?: -ECONNRESET);
		return;
	}
	mpa_request(&ep->offer, &request);
	err = send_frame(ep, &request, ep->buf, bytes);
	if (err) {
		ep_end(ep, err);
		return;
	}
	ep->state = IW_EP_WAIT_REPLY;
}

static void step_reply(struct iw_ep *ep)
{
	enum mpa_error frame = read_frame(ep, true);
	struct mpa_terms terms;
	int err;

	if (frame == MPA_MORE)
		return;
	if (frame != MPA_OK) {
		ep_reset(ep, -ECONNRESET);
		return;
	}
	switch (mpa_finish(&ep->offer, &ep->frame, &terms)) {
	case MPA_AGREED:
		break;
	case MPA_REJECTED:
		ep_end(ep, -ECONNREFUSED);
		return;
	default:
		ep_reset(ep, -EPROTO);
		return;
	}
	err = ep_open(ep, &terms, true);
	if (err) {
		ep_reset(ep, err);
		return;
	}
	send_event(ep, IW_CM_EVENT_CONNECT_REPLY, 0);
	ep_run(ep);
}

/* ---- passive side ---- */

int iw_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct tern_dev *dev = to_tern_dev(cm_id->device);
	struct sockaddr_storage *addr = &cm_id->m_local_addr;
	struct socket *sock;
	struct iw_ep *ep;
	int err;

	if (addr->ss_family != AF_INET && addr->ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	err = iw_sock_create(dev, addr->ss_family, &sock);
	if (err)
		return err;
	ep = ep_create(dev, sock);
	if (!ep) {
		sock_release(sock);
		return -ENOMEM;
	}
	ep->state = IW_EP_LISTENING;
	if (addr->ss_family == AF_INET6)
		ip6_sock_set_v6only(sock->sk);
	/* A wildcard is this device's: each may listen on one port. */
	if (is_wildcard(addr))
		sock->sk->sk_bound_dev_if = dev->netdev->ifindex;
	err = bind_local(sock, addr);
	if (err)
		goto fail;
	cm_id->add_ref(cm_id);
	cm_id->provider_data = ep;
	ep->cm_id = cm_id;
	iw_sock_attach(ep);
	/* The application's backlog is of MPA requests, and iw_cm's to keep. */
	err = kernel_listen(sock, max(backlog, 128));
	if (err) {
		iw_sock_detach(ep);
		forget_cm_id(ep);
		goto fail;
	}
	return 0;

fail:
	iw_ep_put(ep);
	return err;
}

int iw_destroy_listen(struct iw_cm_id *cm_id)
{
	struct iw_ep *ep = cm_id->provider_data;
	struct iw_ep *child;

	mutex_lock(&ep->lock);
	ep->state = IW_EP_DEAD;
	iw_sock_detach(ep);
	forget_cm_id(ep);
	while ((child = list_first_entry_or_null(&ep->children, struct iw_ep, child))) {
		list_del_init(&child->child);
		ep->num_children--;
		ep_get(child);
		/* A child takes its own lock first, then ours. */
		mutex_unlock(&ep->lock);
		mutex_lock(&child->lock);
		if (child->state == IW_EP_WAIT_REQUEST)
			ep_reset(child, -ECONNABORTED);
		mutex_unlock(&child->lock);
		iw_ep_put(child);
		mutex_lock(&ep->lock);
	}
	mutex_unlock(&ep->lock);
	iw_ep_put(ep);
	return 0;
}

/* A TCP connection that came in: wait for its request. */
static void adopt(struct iw_ep *listener, struct socket *sock)
{
	struct iw_ep *ep = ep_create(listener->dev, sock);

	if (!ep) {
		sock_release(sock);
		return;
	}
	iw_sock_prepare(sock->sk);
	ep->state = IW_EP_WAIT_REQUEST;
	ep_get(listener);
	ep->listener = listener;
	list_add_tail(&ep->child, &listener->children);
	listener->num_children++;
	iw_sock_attach(ep);
	start_timer(ep, IW_MPA_TIMEOUT);	/* its reference, and the work's, keep it */
	iw_ep_kick(ep);
	iw_ep_put(ep);
}

static void step_listening(struct iw_ep *ep)
{
	struct socket *sock;

	/* Beyond that they wait in TCP's queue. */
	while (ep->num_children < IW_MAX_PENDING && !kernel_accept(ep->sock, &sock, O_NONBLOCK))
		adopt(ep, sock);
}

static void step_request(struct iw_ep *ep)
{
	enum mpa_error frame = read_frame(ep, false);
	struct iw_ep *listener = ep->listener;
	struct iw_cm_event event = { .event = IW_CM_EVENT_CONNECT_REQUEST };
	int err = -ECONNABORTED;

	if (frame == MPA_MORE)
		return;
	if (frame != MPA_OK) {
		ep_reset(ep, -EPROTO);
		return;
	}
	fill_addresses(ep, &event);
	event.private_data = ep->buf + ep->frame.private_at;
	event.private_data_len = (u8)min_t(u16, ep->frame.private_bytes, U8_MAX);
	/* In the terms of who accepts: its IRD is at least what the peer wants to ask. */
	event.ird = (u8)min_t(u16, ep->frame.enhanced ? ep->frame.ord : IW_MAX_RD_ATOMIC, U8_MAX);
	event.ord = (u8)min_t(u16, ep->frame.enhanced ? ep->frame.ird : IW_MAX_RD_ATOMIC, U8_MAX);
	event.provider_data = ep;

	ep->state = IW_EP_REQUESTED;
	stop_timer(ep);
	ep_get(ep);		/* iw_cm's, until accept or reject */
	mutex_lock_nested(&listener->lock, SINGLE_DEPTH_NESTING);
	if (listener->cm_id)
		err = listener->cm_id->event_handler(listener->cm_id, &event);
	mutex_unlock(&listener->lock);
	if (err) {
		ep_reset(ep, err);
		iw_ep_put(ep);
	}
}

int iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct iw_ep *ep = cm_id->provider_data;
	struct mpa_frame reply;
	struct mpa_terms terms;
	int err = -ECONNRESET;

	mutex_lock(&ep->lock);
	if (ep->state != IW_EP_REQUESTED)
		goto fail;
	leave_listener(ep);
	err = -EINVAL;
	if (param->private_data_len > MPA_MAX_PRIVATE_BYTES - MPA_ENHANCED_BYTES)
		goto fail;
	set_offer(ep, param, MPA_RTR_WRITE | MPA_RTR_READ);
	if (mpa_accept(&ep->offer, &ep->frame, &terms, &reply) != MPA_AGREED)
		goto fail;
	err = connect_qp(ep, cm_id, param->qpn);
	if (err)
		goto fail;
	err = ep_open(ep, &terms, false);
	if (err)
		goto fail;
	/* Nothing but the reply can be first: the data path has no socket callbacks yet. */
	err = send_frame(ep, &reply, param->private_data, param->private_data_len);
	if (err) {
		ep->state = IW_EP_REQUESTED;	/* no event: the error tells it */
		iw_qp_closed(ep->qp);
		goto fail;
	}
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
	send_event(ep, IW_CM_EVENT_ESTABLISHED, 0);
	ep_run(ep);
	mutex_unlock(&ep->lock);
	iw_ep_put(ep);
	return 0;

fail:
	ep_reset(ep, err);
	mutex_unlock(&ep->lock);
	iw_ep_put(ep);
	return err;
}

int iw_reject(struct iw_cm_id *cm_id, const void *data, u8 bytes)
{
	struct iw_ep *ep = cm_id->provider_data;
	struct mpa_offer mine = { .revision = 2 };
	struct mpa_frame reply;
	int err = -ECONNRESET;

	mutex_lock(&ep->lock);
	if (ep->state == IW_EP_REQUESTED) {
		mpa_reject(&mine, &ep->frame, &reply);
		err = send_frame(ep, &reply, data, bytes);
		ep_end(ep, 0);
	}
	mutex_unlock(&ep->lock);
	iw_ep_put(ep);
	return err;
}

/* ---- open, closing ---- */

static void step_open(struct iw_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	struct iw_qp *qp = ep->qp;
	bool fin;

	lock_sock(sk);
	iw_run(qp, true);
	fin = READ_ONCE(qp->tx.fin);
	release_sock(sk);

	if (sk->sk_state == TCP_CLOSE || sk->sk_err) {
		ep_end(ep, 0);
		return;
	}
	if (sk->sk_shutdown & RCV_SHUTDOWN) {
		/* The peer's orderly end: nothing more will come. Ours. */
		if (ep->state == IW_EP_OPEN && ep->cm_id)
			send_event(ep, IW_CM_EVENT_DISCONNECT, 0);
		ep->state = IW_EP_CLOSING;
		iw_qp_closed(qp);
		ep_end(ep, 0);
		return;
	}
	if (fin && ep->state == IW_EP_OPEN) {
		ep->state = IW_EP_CLOSING;
		kernel_sock_shutdown(ep->sock, SHUT_WR);
		start_timer(ep, IW_CLOSE_TIMEOUT);
	}
}

static void ep_work(struct work_struct *work)
{
	struct iw_ep *ep = container_of(work, struct iw_ep, work);

	mutex_lock(&ep->lock);
	switch (ep->state) {
	case IW_EP_LISTENING:
		step_listening(ep);
		break;
	case IW_EP_CONNECTING:
		step_connecting(ep);
		if (ep->state != IW_EP_WAIT_REPLY)
			break;
		fallthrough;
	case IW_EP_WAIT_REPLY:
		step_reply(ep);
		break;
	case IW_EP_WAIT_REQUEST:
		step_request(ep);
		break;
	case IW_EP_REQUESTED:
		/* Its end is noticed when iw_cm answers. */
		break;
	case IW_EP_OPEN:
	case IW_EP_CLOSING:
		step_open(ep);
		break;
	case IW_EP_DEAD:
		break;
	}
	mutex_unlock(&ep->lock);
	iw_ep_put(ep);
}

static void ep_timeout(struct work_struct *work)
{
	struct iw_ep *ep = container_of(to_delayed_work(work), struct iw_ep, timeout);

	mutex_lock(&ep->lock);
	ep_reset(ep, -ETIMEDOUT);
	mutex_unlock(&ep->lock);
	iw_ep_put(ep);
}
