// SPDX-License-Identifier: GPL-2.0
/*
 * Output of an iWARP QP: what is sent next, and whether it may be. WQEs go into the engine (wqe.c),
 * its segments become FPDUs (frame.c), back to back in pages that the socket takes as they are
 * (out.c). zerocopy.c sends without a copy, gate.c says when a QP may write.
 */
#include <net/tcp.h>

#include "core/stats.h"
#include "core/trace.h"
#include "iwarp/stream/ack.h"
#include "iwarp/stream/defer.h"
#include "iwarp/stream/error.h"
#include "iwarp/stream/frame.h"
#include "iwarp/stream/out.h"
#include "iwarp/stream/trace.h"
#include "iwarp/stream/tx.h"
#include "iwarp/stream/upcalls.h"
#include "iwarp/stream/wqe.h"
#include "iwarp/stream/zerocopy.h"
#include "mem/page.h"
#include "queue/sq.h"
#include "wr/local.h"

static inline u32 zc_left(const struct iw_tx *tx)
{
	return tx->zc ? iw_zc_left(tx->zc) : 0;
}

/* Sends a segment of a response. False: there is none. */
static bool send_response(struct iw_qp *qp)
{
	struct iw_seg seg;
	int err;

	if (!iw_resp_next(&qp->resp, &seg))
		return false;
	err = iw_frame_write(qp, &seg);
	if (err) {
		iw_resp_read_failed(&qp->resp, &seg, iw_fail_of(err));
		tern_qp_count(&qp->base, TERN_CNT_RESP_REFUSED);
		iw_qp_fatal(qp, IB_EVENT_QP_ACCESS_ERR);
		return true;
	}
	if (unlikely(iw_resp_owes_terminate(&qp->resp)))
		trace_tern_terminate_sent(&qp->base, iw_resp_term(&qp->resp));
	iw_resp_sent(&qp->resp, &seg);
	return true;
}

bool iw_tx_hand_over(struct iw_qp *qp, struct sock *sk)
{
	int most = sk->sk_wmem_queued + (IW_TX_PAGES + 1) * TERN_PAGE_BYTES;

	if (sk->sk_sndbuf < most)
		WRITE_ONCE(sk->sk_sndbuf, most);
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, U32_MAX);
	iw_out_follow_mss(qp, sk);
	if (iw_resp_owes_terminate(&qp->resp) && !qp->tx.hold &&
	    (iw_out_has_room(qp) || (iw_out_push(qp, sk) == IW_DONE && iw_out_has_room(qp))))
		send_response(qp);
	return iw_out_push(qp, sk) == IW_DONE;
}

/* Segments of the request whose turn it is, that lie in one SGE. False: none. */
static bool zc_send_request(struct iw_qp *qp)
{
	struct iw_tx *tx = &qp->tx;
	struct iw_seg seg;
	bool any = false;

	if (!iw_zc_begin(qp))
		return false;
	while (iw_req_next_lent(&qp->req, &seg)) {
		/* Only what frames it is in the page that is written to. */
		u32 used = iw_zc_add_fpdu(qp, &seg, iw_out_at(tx));

		if (!used)
			break;
		tx->out[tx->last].bv_offset += used;
		tx->pos += used + seg.bytes;
		iw_req_sent(&qp->req, &seg);
		any = true;
		/* The end of a message, if that is short, is copied. */
		if (!iw_req_in_message(&qp->req) || iw_req_next_bytes(&qp->req) < PAGE_SIZE ||
		    !iw_zc_has_room(tx->zc))
			break;
	}
	return any;
}

/* Requests without a copy, as many as TCP is given at a time. False: none. */
static bool zc_send_requests(struct iw_qp *qp, struct sock *sk)
{
	struct iw_tx *tx = &qp->tx;
	bool any;

	if (!iw_zc_wanted(qp, sk) || iw_out_push(qp, sk) != IW_DONE)
		return false;
	do {
		any = zc_send_request(qp);
	} while (any && iw_zc_has_room(tx->zc) && iw_zc_wanted(qp, sk) &&
		 !iw_grant_must_wait(&qp->grant, iw_req_next_bytes(&qp->req)));
	any = iw_zc_left(tx->zc);
	if (any)
		iw_out_push(qp, sk);
	iw_zc_end(tx->zc);
	return any;
}

/* Sends segments of a request, or executes a local operation. False: there is neither. */
static bool send_request(struct iw_qp *qp, struct sock *sk)
{
	struct iw_seg seg;

	if (qp->tx.zc && zc_send_requests(qp, sk))
		return true;
	if (!iw_req_next(&qp->req, &seg))
		return false;
	if (seg.kind == IW_SEG_LOCAL) {
		iw_req_local_done(&qp->req, &qp->resp, seg.slot,
				  tern_wr_execute_local(&qp->base,
							tern_sq_wqe(&qp->base.sq, seg.slot)));
		return true;
	}
	if (iw_frame_write(qp, &seg)) {
		iw_req_fail(&qp->req, &qp->resp, seg.slot, WR_ST_LOC_PROT_ERR);
		return true;
	}
	iw_req_sent(&qp->req, &seg);
	return true;
}

static bool may_send(const struct iw_qp *qp)
{
	return (qp->base.state == IB_QPS_RTS || qp->base.state == IB_QPS_SQD) && !qp->tx.hold;
}

/*
 * RFC 5041 5.3: a message is sent whole before the next begins; with two tagged messages the peer
 * could not even tell which of them a segment belongs to. A Terminate does not wait: what it cuts
 * off will not be missed.
 */
static bool may_respond(const struct iw_qp *qp)
{
	return !qp->tx.hold && (!iw_req_in_message(&qp->req) || qp->base.state == IB_QPS_ERR);
}

static bool may_request(const struct iw_qp *qp)
{
	return may_send(qp) && !iw_resp_in_message(&qp->resp);
}

/* Peer-to-peer mode: before anything else an empty Write (RFC 6581 9.2). */
static void send_rtr(struct iw_qp *qp)
{
	struct ddp_seg h = { .opcode = RDMAP_WRITE, .tagged = true, .last = true };
	struct iw_seg seg = { .kind = IW_SEG_RESP, .last = true };

	seg.hdr_bytes = (u16)ddp_build(seg.hdr, &h);
	/* No memory is looked at: it cannot fail. */
	iw_frame_write(qp, &seg);
	qp->tx.rtr = false;
}

/* The payload of the message that goes on next, request or response. */
static u32 next_bytes(const struct iw_qp *qp)
{
	return max(iw_req_next_bytes(&qp->req), iw_resp_next_bytes(&qp->resp));
}

/*
 * Room in the page and in the socket for an FPDU. BLOCKED: there is none; the caller leaves, and a
 * run follows when there is.
 */
static enum iw_step make_room(struct iw_qp *qp, struct sock *sk)
{
	/* The end is bounded in time, and the grants of all others may take longer. */
	bool waits = !qp->tx.closing && iw_grant_must_wait(&qp->grant, next_bytes(qp));

	if (!waits && iw_out_has_room(qp) && sk_stream_memory_free(sk))
		return IW_DONE;
	if (iw_out_push(qp, sk) != IW_DONE)
		return IW_BLOCKED;
	if (waits) {
		/*
		 * An acknowledgement starts a run. Not set before: TCP reports room when it sends.
		 */
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		trace_tern_gate_wait(&qp->base, next_bytes(qp));
		return IW_BLOCKED;
	}
	if (!sk_stream_memory_free(sk)) {
		iw_out_wait_for_room(qp, sk);
		return IW_BLOCKED;
	}
	if (iw_out_has_room(qp))
		return IW_DONE;
	iw_defer_retry(qp);	/* no memory */
	return IW_BLOCKED;
}

/* Is there anything to send, now or when its turn comes? */
static inline bool is_due(const struct iw_qp *qp)
{
	return tern_sq_pending(&qp->base.sq) || iw_req_has_unsent(&qp->req) ||
	       iw_resp_pending(&qp->resp) || qp->tx.rtr;
}

/* Is the next request a READ that leaves later, with more of them? Something will come for it. */
static bool read_waits(const struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	if (!iw_req_may_wait(&qp->req))
		return false;
	return why == IW_ROOM || (iw_req_far_ahead(&qp->req) && !iw_ack_is_due(qp, sk));
}

/*
 * A segment of a response, then one of a request, so that neither direction starves the other.
 * False: there was nothing to send.
 */
static bool send_round(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	bool any = false;

	if (iw_resp_pending(&qp->resp) && may_respond(qp))
		any = send_response(qp);
	if (may_request(qp) && !read_waits(qp, sk, why) &&
	    (!any || make_room(qp, sk) == IW_DONE))
		any |= send_request(qp, sk);
	return any;
}

/*
 * Everything is TCP's: if our end is decided, a FIN follows. In SQD only when what was posted
 * before is answered.
 */
static void finish_close(struct iw_qp *qp)
{
	if (!qp->tx.closing)
		return;
	if (qp->base.state != IB_QPS_ERR &&
	    (!iw_req_is_complete(&qp->req) || iw_wqe_is_posted(qp)))
		return;
	qp->tx.fin = true;
	iw_ep_kick(qp->ep);
}

static enum iw_step send_all(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	struct iw_tx *tx = &qp->tx;
	u64 budget_end = tx->pos + IW_BUDGET_BYTES;
	u32 budget = IW_BUDGET_WQES;

	if (tx->fin)
		return IW_DONE;
	/* The most frequent case when something has come in. */
	if (!qp->base.sq.draining && !tx->closing && !tx->unsent && !zc_left(tx) && !is_due(qp))
		return IW_DONE;
	tern_sq_draining(&qp->base.sq, true);
	for (;;) {
		iw_out_follow_mss(qp, sk);
		if (may_send(qp) && iw_wqe_is_posted(qp))
			iw_wqe_take_posted(qp);
		/* Draining stays on: the work item continues, or room starts a run. */
		if (!budget-- || (s64)(tx->pos - budget_end) >= 0)
			return iw_out_push(qp, sk) == IW_DONE ? IW_MORE : IW_BLOCKED;
		/* It stays on: room starts a run. */
		if (make_room(qp, sk) != IW_DONE)
			return IW_BLOCKED;
		if (tx->rtr && may_request(qp) && !iw_req_in_message(&qp->req)) {
			send_rtr(qp);
			continue;
		}
		if (send_round(qp, sk, why) && is_due(qp))
			continue;
		if (iw_out_push(qp, sk) != IW_DONE)
			return IW_BLOCKED;
		/* What waits for a response, and all behind it, goes on when that comes. */
		if (iw_req_has_unsent(&qp->req))
			break;
		tern_sq_draining(&qp->base.sq, false);
		if (!iw_wqe_is_posted(qp) || !may_send(qp))
			break;
		tern_sq_draining(&qp->base.sq, true);
	}
	finish_close(qp);
	return IW_DONE;
}

enum iw_step iw_tx_run(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	enum iw_step step;

	iw_grant_begin(&qp->grant);
	step = send_all(qp, sk, why);
	if (qp->tx.zc)
		iw_zc_close_batch(qp->tx.zc);
	iw_grant_end(&qp->grant);
	return step;
}
