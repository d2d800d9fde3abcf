// SPDX-License-Identifier: GPL-2.0
/*
 * MPA's start-up (RFC 5044 7, RFC 6581): frames in and out, the steps of both sides, and the
 * opening of the stream. What is agreed on is proto/mpa.c's decision.
 */
#include <linux/moduleparam.h>
#include <net/tcp.h>

#include "core/device.h"
#include "iwarp/cm/callbacks.h"
#include "iwarp/cm/cmid.h"
#include "iwarp/cm/end.h"
#include "iwarp/cm/ep.h"
#include "iwarp/cm/event.h"
#include "iwarp/cm/request.h"
#include "iwarp/cm/startup.h"
#include "iwarp/cm/trace.h"
#include "iwarp/stream/cmref.h"
#include "iwarp/stream/frame.h"
#include "iwarp/stream/qp.h"
#include "iwarp/stream/run.h"
#include "iwarp/stream/start.h"

/* A request that iw_cm had no room for. */
#define BACKLOG_RETRY		msecs_to_jiffies(10)

static bool want_crc = true;
module_param_named(iwarp_crc, want_crc, bool, 0644);
MODULE_PARM_DESC(iwarp_crc, "iWARP: ask for CRCs (Y); without, they are used if the peer asks");

void iw_startup_set_offer(struct iw_ep *ep, const struct iw_cm_conn_param *param, u8 rtr)
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

int iw_startup_attach_qp(struct iw_ep *ep, struct iw_cm_id *cm_id, u32 qpn)
{
	struct iw_qp *qp = iw_qp_attach(to_tern_dev(cm_id->device), qpn,
					 iw_rdma_id(cm_id), ep);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ep->qp = qp;
	return 0;
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

int iw_startup_send_frame(struct iw_ep *ep, struct mpa_frame *f, const void *data, u16 bytes)
{
	u8 head[MPA_FRAME_BYTES + MPA_ENHANCED_BYTES];

	f->private_bytes = bytes;
	return iw_sock_send(ep->sock, head, mpa_frame_build(head, f), data, bytes);
}

int iw_startup_open(struct iw_ep *ep, const struct mpa_terms *terms, bool active)
{
	int err;

	iw_sock_open(ep->sock->sk, READ_ONCE(ep->dev->peer_timeout_s));
	err = iw_qp_start(ep->qp, ep->sock->sk, terms, active);
	if (err)
		return err;
	iw_ep_set_state(ep, IW_EP_OPEN);
	iw_ep_stop_timer(ep);
	return 0;
}

void iw_startup_run(struct iw_ep *ep)
{
	iw_callbacks_attach_data(ep);
	lock_sock(ep->sock->sk);
	iw_sock_set_pacing(ep->sock->sk);
	release_sock(ep->sock->sk);
	iw_run_all(ep->qp);
}

/* ---- the initiator's steps ---- */

void iw_startup_connecting(struct iw_ep *ep)
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
	err = iw_startup_send_frame(ep, &request, ep->buf, ep->own_bytes);
	if (err) {
		iw_ep_end(ep, err);
		return;
	}
	iw_ep_set_state(ep, IW_EP_WAIT_REPLY);
	iw_ep_start_timer(ep, IW_ANSWER_TIMEOUT);
}

/*
 * The peer's reply will not do, or we will not: the peer is told why. That is TCP's before iw_cm is
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

void iw_startup_reply(struct iw_ep *ep)
{
	enum mpa_error frame = read_frame(ep, true);
	enum mpa_verdict verdict;
	struct mpa_terms terms;
	int err;

	if (frame == MPA_MORE)
		return;
	if (frame != MPA_OK) {
		trace_tern_mpa_error(ep, frame);
		iw_ep_reset(ep, -ECONNRESET);
		return;
	}
	verdict = mpa_finish(&ep->offer, &ep->frame, &terms);
	if (verdict != MPA_AGREED)
		trace_tern_mpa_refused(ep, verdict);
	switch (verdict) {
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
	err = iw_startup_open(ep, &terms, true);
	if (err) {
		refuse_reply(ep, &terms, TERM_MPA_LOCAL, err);
		return;
	}
	err = iw_event_send(ep, IW_CM_EVENT_CONNECT_REPLY, 0);
	if (err) {
		iw_event_forget_cm_id(ep);
		iw_ep_reset(ep, err);
		return;
	}
	iw_startup_run(ep);
}

/* ---- the responder's step ---- */

/*
 * Tell iw_cm of a request. -ENOMEM: it has no room for one more now. -ECONNABORTED: the listener is
 * gone, or has given the connection up.
 */
static int announce_request(struct iw_ep *ep)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_CONNECT_REQUEST };
	struct iw_ep *listener = ep->listener;
	int err;

	err = iw_request_announce(ep);
	if (err)
		return err;
	iw_event_describe(ep, &event);
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

void iw_startup_request(struct iw_ep *ep)
{
	enum mpa_error frame = read_frame(ep, false);
	int err;

	if (frame == MPA_MORE && !list_empty_careful(&ep->child))
		return;
	if (frame != MPA_OK) {
		trace_tern_mpa_error(ep, frame);
		iw_ep_reset(ep, -EPROTO);
		return;
	}
	iw_ep_stop_timer(ep);
	iw_ep_set_state(ep, IW_EP_REQUESTED);
	err = announce_request(ep);
	if (!err)
		return;
	iw_ep_set_state(ep, IW_EP_WAIT_REQUEST);
	if (err == -ENOMEM)
		iw_ep_retry(ep, BACKLOG_RETRY);
	else
		iw_ep_reset(ep, err);
}
