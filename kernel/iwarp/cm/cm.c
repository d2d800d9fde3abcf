// SPDX-License-Identifier: GPL-2.0
/*
 * Connections: from iw_cm's connect or listen through MPA's start-up to FPDUs,
 * and to the orderly end. What happens on a socket queues the endpoint's work
 * item, which takes the next step.
 */
#include <linux/moduleparam.h>
#include <net/ip.h>
#include <net/request_sock.h>
#include <net/tcp.h>
#include <rdma/rdma_cm.h>

#include "iwarp/iwarp.h"
#include "iwarp/stream/close.h"
#include "iwarp/stream/cmref.h"
#include "iwarp/stream/frame.h"
#include "iwarp/stream/qp.h"
#include "iwarp/stream/run.h"
#include "iwarp/stream/start.h"

static bool want_crc = true;
module_param_named(iwarp_crc, want_crc, bool, 0644);
MODULE_PARM_DESC(iwarp_crc, "iWARP: ask for CRCs (Y); without, they are used if the peer asks");

/* iw_cm is rdma_cm's alone: what is behind an identifier is rdma_cm's own. */
static const struct rdma_cm_id *rdma_id(const struct iw_cm_id *cm_id)
{
	return cm_id->context;
}

/* Ports and addresses are those of the link's network namespace: others may not use them. */
static bool is_in_namespace(const struct iw_cm_id *cm_id)
{
	return net_eq(rdma_id(cm_id)->route.addr.dev_addr.net, to_tern_dev(cm_id->device)->net);
}

/* rtr: what the initiator can send first, or the responder can take as that. */
static void set_offer(struct iw_ep *ep, const struct iw_cm_conn_param *param, u8 rtr)
{
	ep->offer = (struct mpa_offer){
		.revision = 2,
		.crc = READ_ONCE(want_crc),
		.p2p = true,
		.rtr = rtr,
		.long_fpdus = true,
		.ird = (u16)min_t(u32, param->ird, IW_MAX_RD_ATOMIC),
		.ord = (u16)min_t(u32, param->ord, IW_MAX_RD_ATOMIC),
		.ird_most = IW_MAX_RD_ATOMIC,
	};
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
	int err;

	iw_sock_open(ep->sock->sk, READ_ONCE(ep->dev->peer_timeout_s));
	err = iw_qp_start(ep->qp, ep->sock->sk, terms, active);
	if (err)
		return err;
	ep->state = IW_EP_OPEN;
	iw_ep_stop_timer(ep);
	return 0;
}

/* The data path's callbacks, and what came before they were there. */
static void ep_run(struct iw_ep *ep)
{
	iw_sock_attach_data(ep);
	lock_sock(ep->sock->sk);
	iw_sock_set_pacing(ep->sock->sk);
	release_sock(ep->sock->sk);
	iw_run_all(ep->qp);
}

/* ---- active side ---- */

static int attach_qp(struct iw_ep *ep, struct iw_cm_id *cm_id, u32 qpn)
{
	struct iw_qp *qp = iw_qp_attach(to_tern_dev(cm_id->device), qpn, rdma_id(cm_id), ep);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ep->qp = qp;
	return 0;
}

static int addr_bytes(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);
}

static bool is_wildcard(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
	return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

static int bind_local(struct socket *sock, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage local = *addr;

	return kernel_bind(sock, tern_sockaddr(&local), addr_bytes(addr));
}

static int start_connect(struct iw_ep *ep, const struct iw_cm_id *cm_id,
			 const struct sockaddr_storage *from)
{
	const struct sockaddr_storage *to = &cm_id->m_remote_addr;
	int err;

	if (cm_id->tos_set)
		iw_sock_set_tos(ep->sock->sk, cm_id->tos);
	err = bind_local(ep->sock, from);
	if (err)
		return err;
	iw_sock_attach(ep);
	err = kernel_connect(ep->sock, tern_sockaddr(to), addr_bytes(to), O_NONBLOCK);
	if (!err || err == -EINPROGRESS)
		return 0;
	iw_sock_detach(ep);
	return err;
}

/* A port nobody asked for: one of those that are handed out. */
static bool is_ephemeral(const struct tern_dev *dev, const struct sockaddr_storage *addr)
{
	/* IPv6 has its port in the same place. */
	int port = ntohs(((const struct sockaddr_in *)addr)->sin_port);
	int low, high;

	inet_get_local_port_range(dev->net, &low, &high);
	return port >= low && port <= high;
}

/* rdma_cm's port was free among its own; to TCP it may be taken, or too young to reuse. */
static int start_connect_anywhere(struct iw_ep *ep, const struct iw_cm_id *cm_id)
{
	struct sockaddr_storage from = cm_id->m_local_addr;
	struct socket *sock;
	int err;

	err = iw_sock_create(ep->dev, from.ss_family, IW_RCVBUF_BYTES, &sock);
	if (err)
		return err;
	iw_sock_release(ep->sock);
	ep->sock = sock;
	iw_sock_pick_port(sock);
	((struct sockaddr_in *)&from)->sin_port = 0;
	return start_connect(ep, cm_id, &from);
}

int iw_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct tern_dev *dev = to_tern_dev(cm_id->device);
	struct iw_ep *ep;
	int err;

	if (param->private_data_len > MPA_MAX_PRIVATE_BYTES - MPA_ENHANCED_BYTES)
		return -EINVAL;
	/* Before Linux 6.5 rdma_cm finds a link by its hardware address, wherever that is. */
	if (!is_in_namespace(cm_id))
		return -ENODEV;
	ep = iw_ep_create(dev, cm_id->m_remote_addr.ss_family, IW_RCVBUF_BYTES);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	iw_ep_lock(ep);
	set_offer(ep, param, MPA_RTR_WRITE);
	/* Kept where the peer's frame comes later. */
	memcpy(ep->buf, param->private_data, param->private_data_len);
	ep->own_bytes = param->private_data_len;

	err = attach_qp(ep, cm_id, param->qpn);
	if (err)
		goto fail;
	ep->state = IW_EP_CONNECTING;
	err = start_connect(ep, cm_id, &cm_id->m_local_addr);
	if ((err == -EADDRINUSE || err == -EADDRNOTAVAIL) &&
	    is_ephemeral(dev, &cm_id->m_local_addr))
		err = start_connect_anywhere(ep, cm_id);
	if (err)
		goto fail;
	cm_id->add_ref(cm_id);
	cm_id->provider_data = ep;
	ep->cm_id = cm_id;
	iw_ep_start_timer(ep, READ_ONCE(dev->peer_timeout_s) * HZ);
	iw_ep_unlock(ep);
	iw_ep_kick(ep);
	iw_ep_put(ep);		/* the QP has one */
	return 0;

fail:
	ep->state = IW_EP_DEAD;
	iw_qp_detach(ep->qp, ep);
	ep->qp = NULL;
	iw_ep_unlock(ep);
	iw_ep_put(ep);
	return err;
}

static void step_connecting(struct iw_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	struct mpa_frame request;
	int err;

	switch (sk->sk_state) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return;
	case TCP_ESTABLISHED:
		break;
	default:
		err = sock_error(sk);
		iw_ep_end(ep, err ?: -ECONNRESET);
		return;
	}
	mpa_request(&ep->offer, &request);
	err = send_frame(ep, &request, ep->buf, ep->own_bytes);
	if (err) {
		iw_ep_end(ep, err);
		return;
	}
	ep->state = IW_EP_WAIT_REPLY;
	iw_ep_start_timer(ep, IW_ANSWER_TIMEOUT);
}

/*
 * The peer's reply will not do, or we will not: it is told why, in TCP's hands before iw_cm is
 * told that there is no connection, and the program destroys the QP.
 */
static void refuse_reply(struct iw_ep *ep, const struct mpa_terms *terms, int code, int status)
{
	u8 fpdu[IW_TERMINATE_BYTES];

	if (iw_sock_send(ep->sock, fpdu, iw_frame_terminate(terms, code, fpdu), NULL, 0))
		iw_ep_reset(ep, status);
	else
		iw_ep_end(ep, status);
}

static void step_reply(struct iw_ep *ep)
{
	enum mpa_error frame = read_frame(ep, true);
	struct mpa_terms terms;
	int err;

	if (frame == MPA_MORE)
		return;
	if (frame != MPA_OK) {
		iw_ep_reset(ep, -ECONNRESET);
		return;
	}
	switch (mpa_finish(&ep->offer, &ep->frame, &terms)) {
	case MPA_AGREED:
		break;
	case MPA_REJECTED:
		iw_ep_end(ep, -ECONNREFUSED);
		return;
	case MPA_NO_IRD:
		refuse_reply(ep, &terms, TERM_MPA_NO_IRD, -EPROTO);
		return;
	case MPA_NO_RTR:
		refuse_reply(ep, &terms, TERM_MPA_NO_RTR, -EPROTO);
		return;
	}
	err = ep_open(ep, &terms, true);
	if (err) {
		refuse_reply(ep, &terms, TERM_MPA_LOCAL, err);
		return;
	}
	err = iw_ep_event(ep, IW_CM_EVENT_CONNECT_REPLY, 0);
	if (err) {
		iw_ep_forget_cm_id(ep);
		iw_ep_reset(ep, err);
		return;
	}
	ep_run(ep);
}

/* ---- passive side ---- */

static int start_listen(struct iw_ep *ep, const struct iw_cm_id *cm_id, int backlog)
{
	const struct sockaddr_storage *addr = &cm_id->m_local_addr;
	struct sock *sk = ep->sock->sk;
	int err;

	if (addr->ss_family == AF_INET6 && cm_id->afonly)
		ip6_sock_set_v6only(sk);
	/* A wildcard is this device's: each may listen on one port. */
	if (is_wildcard(addr))
		sk->sk_bound_dev_if = ep->dev->netdev->ifindex;
	err = bind_local(ep->sock, addr);
	if (err)
		return err;
	iw_sock_attach(ep);
	/* The application's backlog is of MPA requests, and iw_cm's to keep. */
	err = kernel_listen(ep->sock, max(backlog, 128));
	if (err)
		iw_sock_detach(ep);
	return err;
}

int iw_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct iw_ep *ep;
	int err;

	/* One on any address is asked of all links; those of other namespaces are not meant. */
	if (!is_in_namespace(cm_id))
		return is_wildcard(&cm_id->m_local_addr) ? 0 : -ENODEV;
	ep = iw_ep_create(to_tern_dev(cm_id->device), cm_id->m_local_addr.ss_family,
			  IW_START_RCVBUF_BYTES);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	iw_ep_lock(ep);
	err = start_listen(ep, cm_id, backlog);
	if (!err) {
		ep->state = IW_EP_LISTENING;
		cm_id->add_ref(cm_id);
		cm_id->provider_data = ep;
		ep->cm_id = cm_id;
	}
	iw_ep_unlock(ep);
	if (err)
		iw_ep_put(ep);
	return err;
}

/* The listener of a connection that came in is going. */
static void end_child(struct iw_ep *ep)
{
	iw_ep_lock(ep);
	if (ep->state == IW_EP_WAIT_REQUEST)
		iw_ep_reset(ep, -ECONNABORTED);
	else if (ep->state == IW_EP_REQUESTED)
		iw_ep_start_timer(ep, IW_ANSWER_TIMEOUT);
	iw_ep_unlock(ep);
}

int iw_destroy_listen(struct iw_cm_id *cm_id)
{
	struct iw_ep *ep = cm_id->provider_data;
	struct iw_ep *child;

	if (!ep)
		return 0;	/* not in its namespace */
	iw_ep_lock(ep);
	ep->state = IW_EP_DEAD;
	iw_sock_detach(ep);
	iw_ep_forget_cm_id(ep);
	/* Work may still hold the endpoint: nobody is to connect to it. */
	kernel_sock_shutdown(ep->sock, SHUT_RDWR);
	while ((child = list_first_entry_or_null(&ep->children, struct iw_ep, child))) {
		list_del_init(&child->child);
		ep->num_children--;
		iw_ep_get(child);
		/* A child takes its own lock first, then ours. */
		iw_ep_unlock(ep);
		end_child(child);
		iw_ep_put(child);
		iw_ep_lock(ep);
	}
	iw_ep_unlock(ep);
	iw_ep_put(ep);
	return 0;
}

/* A TCP connection that came in: wait for its request. */
static void adopt(struct iw_ep *listener, struct socket *sock)
{
	struct iw_ep *ep;

	iw_sock_disinherit(sock->sk, listener);
	ep = iw_ep_alloc(listener->dev, sock);
	if (!ep)
		return;
	iw_sock_prepare(sock->sk);
	ep->state = IW_EP_WAIT_REQUEST;
	iw_ep_get(listener);
	ep->listener = listener;
	list_add_tail(&ep->child, &listener->children);
	listener->num_children++;
	/*
	 * As if its lock were held: until it is attached nobody knows of it but by us, who have the
	 * listener. From then on it may be in the next state, where the timer means another thing.
	 */
	iw_ep_start_timer(ep, IW_MPA_TIMEOUT);	/* its reference, and the work's, keep it */
	iw_sock_attach(ep);
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
		/* It is there as long as it is on the list; the rest is its own work. */
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
	if (ep->num_children >= IW_MAX_PENDING &&
	    (reqsk_queue_empty(&inet_csk(sk)->icsk_accept_queue) || !make_room(ep)))
		return;
	if (kernel_accept(ep->sock, &sock, O_NONBLOCK))
		return;
	adopt(ep, sock);
	/* The next one later: who went to make room waits for our lock, and has his socket until then. */
	iw_ep_kick(ep);
}

/*
 * Tell iw_cm of a request. -ENOMEM: it has no room for one more now. -ECONNABORTED: the listener is
 * gone, or has given the connection up.
 */
static int announce(struct iw_ep *ep)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_CONNECT_REQUEST };
	struct iw_ep *listener = ep->listener;
	int err;

	err = iw_request_announce(ep);
	if (err)
		return err;
	iw_ep_describe(ep, &event);
	event.provider_data = (void *)(uintptr_t)ep->request;
	err = -ECONNABORTED;
	iw_ep_lock_listener(listener);
	if (listener->cm_id && !list_empty(&ep->child)) {
		ep->spoken = true;
		err = listener->cm_id->event_handler(listener->cm_id, &event);
	}
	iw_ep_unlock(listener);
	if (err && iw_request_take(ep->request))
		iw_ep_put(ep);
	return err;
}

static void step_request(struct iw_ep *ep)
{
	enum mpa_error frame = read_frame(ep, false);
	int err;

	if (frame == MPA_MORE && !list_empty_careful(&ep->child))
		return;
	if (frame != MPA_OK) {
		iw_ep_reset(ep, -EPROTO);
		return;
	}
	iw_ep_stop_timer(ep);
	ep->state = IW_EP_REQUESTED;
	err = announce(ep);
	if (!err)
		return;
	ep->state = IW_EP_WAIT_REQUEST;
	if (err == -ENOMEM)
		iw_ep_retry(ep, IW_BACKLOG_RETRY);
	else
		iw_ep_reset(ep, err);
}

int iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct iw_ep *ep = iw_request_take((uintptr_t)cm_id->provider_data);
	struct mpa_frame reply;
	struct mpa_terms terms;
	int err = -ECONNRESET;

	if (!ep)
		return err;
	iw_ep_lock(ep);
	if (ep->state != IW_EP_REQUESTED)
		goto fail;
	iw_ep_leave_listener(ep);
	err = -EINVAL;
	if (param->private_data_len > MPA_MAX_PRIVATE_BYTES - MPA_ENHANCED_BYTES)
		goto fail;
	set_offer(ep, param, MPA_RTR_WRITE | MPA_RTR_READ);
	/* Even if it has no first message that we know: it is told, and the one to end it. */
	mpa_accept(&ep->offer, &ep->frame, &terms, &reply);
	err = attach_qp(ep, cm_id, param->qpn);
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
	iw_ep_event(ep, IW_CM_EVENT_ESTABLISHED, 0);
	ep_run(ep);
	iw_ep_unlock(ep);
	iw_ep_put(ep);
	return 0;

fail:
	iw_ep_reset(ep, err);
	iw_ep_unlock(ep);
	iw_ep_put(ep);
	return err;
}

int iw_reject(struct iw_cm_id *cm_id, const void *data, u8 bytes)
{
	struct iw_ep *ep = iw_request_take((uintptr_t)cm_id->provider_data);
	struct mpa_offer mine = { .revision = 2 };
	struct mpa_frame reply;
	int err = -ECONNRESET;

	if (!ep)
		return err;
	iw_ep_lock(ep);
	if (ep->state == IW_EP_REQUESTED) {
		mpa_reject(&mine, &ep->frame, &reply);
		err = send_frame(ep, &reply, data, bytes);
		iw_ep_end(ep, 0);
	}
	iw_ep_unlock(ep);
	iw_ep_put(ep);
	return err;
}

/* ---- open, closing ---- */

static void step_open(struct iw_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	struct iw_close close;

	iw_close_look(ep->qp, sk, &close);
	/* If both ends have closed, the peer's last messages may be yet to be taken. */
	if (sk->sk_err || (sk->sk_state == TCP_CLOSE && !close.wanted)) {
		iw_ep_end(ep, 0);
		return;
	}
	if (close.fin_in)
		iw_ep_peer_closed(ep);
	if (close.fin_in && close.closing && ep->state == IW_EP_OPEN)
		iw_ep_event(ep, IW_CM_EVENT_DISCONNECT, 0);
	if (close.closing && ep->state == IW_EP_OPEN) {
		ep->state = IW_EP_DRAINING;
		iw_ep_bound_end(ep);
	}
	/* What has completed is TCP's by now; the rest it may still read from where that lies. */
	if (close.fin_in && close.fin_out && !close.lent) {
		iw_ep_end(ep, 0);
		return;
	}
	if (close.fin_out && ep->state == IW_EP_DRAINING) {
		ep->state = IW_EP_CLOSING;
		kernel_sock_shutdown(ep->sock, SHUT_WR);
		iw_ep_bound_end(ep);
	}
}

void iw_ep_step(struct iw_ep *ep)
{
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
	case IW_EP_DRAINING:
	case IW_EP_CLOSING:
		step_open(ep);
		break;
	case IW_EP_DEAD:
		break;
	}
}
