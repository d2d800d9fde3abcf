// SPDX-License-Identifier: GPL-2.0
/*
 * Receive WQEs taken, and requests kept until there is one, until their pages are there, or until
 * they are done. dispatch.c tries kept requests again. How long one may wait for a WQE is the
 * engine's decision.
 */
#include "core/complete.h"
#include "core/fault.h"
#include "core/stats.h"
#include "core/trace.h"
#include "queue/rq.h"
#include "roce/qp/error.h"
#include "roce/qp/packet.h"
#include "roce/qp/peer.h"
#include "roce/qp/receive.h"
#include "roce/qp/time.h"
#include "roce/qp/drop.h"
#include "roce/wire/room.h"

int roce_take_recv(struct roce_qp *qp)
{
	int ret = tern_qp_take_recv(&qp->base);

	if (ret == -EINVAL) {
		struct tern_cqe cqe = { .opcode = TERN_WC_RECV };

		roce_complete_recv(qp, &cqe, IB_WC_LOC_QP_OP_ERR, true);
	}
	return ret;
}

/* Are posters of receives to ring? In ERR they do anyway; for a shared queue they do not. */
static void call_for_recv(struct roce_qp *qp, bool on)
{
	if (qp->recv_called == on || !tern_qp_has_rq(&qp->base) || qp->base.state == IB_QPS_ERR)
		return;
	qp->recv_called = on;
	tern_rq_kick_wanted(&qp->base.rq, on);
}

/* NULL: it cannot be kept. */
static struct sk_buff *ref_to_keep(struct roce_qp *qp, const struct roce_rx *rx)
{
	struct sk_buff *skb;

	if (skb_queue_len(&qp->kept) >= ROCE_RX_BACKLOG_MAX)
		return NULL;
	skb = roce_skb_ref(rx);
	/* Nobody sends a datagram again, so it may wait for any time. */
	if (skb && !roce_is_connected(qp) && !roce_tx_charge_datagram(&qp->tx, skb)) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

/* False: it is lost. */
static bool keep_packet(struct roce_qp *qp, const struct roce_rx *rx, bool first)
{
	struct sk_buff *skb = ref_to_keep(qp, rx);

	if (!skb) {
		tern_qp_count(&qp->base, TERN_CNT_RX_BACKLOG_DROPPED);
		roce_note_drop(qp, &rx->k, TERN_DROP_BACKLOG);
	} else if (first) {
		__skb_queue_head(&qp->kept, skb);
	} else {
		__skb_queue_tail(&qp->kept, skb);
	}
	return skb;
}

/*
 * The sender of this host brings it again: when it is called, or looks by itself. A datagram by the
 * stack.
 */
static void have_it_brought_again(struct roce_qp *qp, const struct roce_rx *rx, bool calls)
{
	rx->src->waits = true;
	qp->local.peer_waits = calls;
}

void roce_keep_for_pages(struct roce_qp *qp, const struct roce_rx *rx)
{
	if (roce_rx_is_local(rx)) {
		have_it_brought_again(qp, rx, roce_is_connected(qp));
		/* A datagram may be lost on its way. */
		if (!roce_is_connected(qp))
			tern_fault_forget(&qp->base);
		return;
	}
	/* From each fault on: whatever was awaited before has come. */
	if (roce_is_connected(qp))
		qp->pages_until_ns = roce_now(qp) + RC_RESP_RECV_WAIT_NS;
	if (!keep_packet(qp, rx, true) && !roce_is_reliable(qp))
		tern_fault_forget(&qp->base);
}

bool roce_wait_for_pages(struct roce_qp *qp)
{
	if (!tern_fault_is_pending(&qp->base))
		return false;
	if (qp->pages_until_ns && roce_now(qp) >= qp->pages_until_ns &&
	    !skb_queue_empty(&qp->kept)) {
		/* It may take for ever. They are lost, as on the wire; RC sends them again. */
		trace_tern_rx_drop(qp->base.dev, qp->base.qpn, 0, 0, TERN_DROP_NO_PAGES);
		tern_qp_count_add(&qp->base, TERN_CNT_RX_BACKLOG_DROPPED,
				  skb_queue_len(&qp->kept));
		__skb_queue_purge(&qp->kept);
		/* A FLUSH among them begins anew: what comes next need not be the same. */
		qp->flushed = 0;
		/* RC brings the same access again, and is to hear if it fails. */
		if (!roce_is_reliable(qp))
			tern_fault_forget(&qp->base);
	}
	return true;
}

void roce_keep_behind(struct roce_qp *qp, const struct roce_rx *rx)
{
	if (roce_rx_is_local(rx))
		have_it_brought_again(qp, rx, tern_qp_has_rq(&qp->base) ||
						 tern_fault_is_pending(&qp->base));
	else
		keep_packet(qp, rx, false);
}

void roce_keep_unfinished(struct roce_qp *qp, const struct roce_rx *rx)
{
	if (roce_rx_is_local(rx))
		rx->src->unfinished = true;
	else
		keep_packet(qp, rx, true);
}

int roce_take_recv_or_wait(struct roce_qp *qp, const struct roce_rx *rx)
{
	int ret = roce_take_recv(qp);

	if (likely(ret)) {
		rc_resp_recv_found(&qp->resp);
		if (unlikely(qp->recv_called) && skb_queue_empty(&qp->kept))
			call_for_recv(qp, false);
		return ret;
	}
	if (!rc_resp_recv_look_ns(&qp->resp))
		tern_qp_count(&qp->base, TERN_CNT_RNR_NAK_TX);
	if (!rc_resp_recv_may_wait(&qp->resp, roce_now(qp))) {
		call_for_recv(qp, false);
		return 0;
	}
	call_for_recv(qp, true);
	ret = roce_take_recv(qp);	/* posted before it could be seen that we call */
	if (ret) {
		rc_resp_recv_found(&qp->resp);
		return ret;
	}
	if (roce_rx_is_local(rx))
		have_it_brought_again(qp, rx, tern_qp_has_rq(&qp->base));
	else
		keep_packet(qp, rx, true);
	return -EAGAIN;
}

void roce_resume_peer(struct roce_qp *qp)
{
	if (tern_fault_is_pending(&qp->base))
		return;
	if (tern_qp_has_rq(&qp->base) && roce_takes_requests(qp) &&
	    rc_resp_recv_look_ns(&qp->resp) && !tern_qp_recv_is_posted(&qp->base))
		return;
	qp->local.peer_waits = false;
	call_for_recv(qp, false);
	roce_peer_call(qp);
}

void roce_recv_found(struct roce_qp *qp)
{
	if (!qp->local.peer_waits)
		call_for_recv(qp, false);
}
