// SPDX-License-Identifier: GPL-2.0
/*
 * What came for a QP, to the engine that it is for. The engines judge it; wire/rx.c has
 * checked what can be checked without a QP.
 */
#include "core/fault.h"
#include "core/stats.h"
#include "roce/qp/ahead.h"
#include "roce/qp/dispatch.h"
#include "roce/qp/packet.h"
#include "roce/qp/receive.h"
#include "roce/qp/req.h"
#include "roce/qp/resp.h"
#include "roce/qp/drop.h"
#include "roce/qp/time.h"
#include "roce/qp/ud_recv.h"
#include "uncleared.h"

static __always_inline enum tern_drop drop_reason(const struct roce_qp *qp,
						  const struct roce_rx *rx)
{
	enum ib_qp_state state = READ_ONCE(qp->base.state);
	const struct pkt *k = &rx->k;

	if (state < IB_QPS_RTR || state == IB_QPS_ERR)
		return TERN_DROP_STATE;
	if (unlikely(k->op_flags & OPF_CNP) ?
		    !roce_has_requester(qp) :
		    (k->opcode & BTH_SERVICE_MASK) != roce_service(qp))
		return TERN_DROP_SERVICE;
	if ((k->pkey & 0x7fff) != (PKEY_DEFAULT & 0x7fff))
		return TERN_DROP_PKEY;
	if (!roce_is_connected(qp))
		return k->qkey == (qp->base.type == IB_QPT_GSI ? (u32)QKEY_GSI :
								 qp->base.attr.qkey) ?
			       TERN_DROP_NONE : TERN_DROP_QKEY;
	/* An XRC initiator takes no requests. */
	if (unlikely(qp->base.type == IB_QPT_XRC_INI) && k->op_flags & OPF_REQUEST)
		return TERN_DROP_SERVICE;
	if (!qp->resp_ready)
		return TERN_DROP_STATE;
	return roce_rx_from_path(rx, &qp->path) ? TERN_DROP_NONE : TERN_DROP_PEER;
}

static __always_inline bool is_taken(const struct roce_qp *qp, const struct roce_rx *rx)
{
	enum tern_drop drop = drop_reason(qp, rx);

	if (likely(drop == TERN_DROP_NONE))
		return true;
	tern_qp_count(&qp->base, TERN_CNT_RX_BAD_PATH);
	roce_note_drop(qp, &rx->k, drop);
	return false;
}

bool roce_takes(const struct roce_qp *qp, const struct roce_rx *rx)
{
	return is_taken(qp, rx);
}

/* A request, or a datagram. */
static __always_inline void take_request(struct roce_qp *qp, const struct roce_rx *rx)
{
	if (roce_is_connected(qp))
		roce_resp_rx(qp, rx);
	else
		roce_ud_rx(qp, rx);
}

/*
 * The sender hears of it by a CNP: a requester always, a responder never. How many responses are
 * under way is decided by the requester that they come to.
 */
static void take_mark(struct roce_qp *qp, const struct pkt *k)
{
	if (k->op_flags & OPF_REQUEST)
		qp->cnp_due |= cnp_is_due(&qp->cnp, roce_now(qp));
	else if (k->op_flags & OPF_READ)
		roce_req_slow_down(qp);
}

void roce_dispatch(struct roce_qp *qp, const struct roce_rx *rx)
{
	if (!is_taken(qp, rx))
		return;
	if (roce_is_connected(qp)) {
		if (unlikely(rx->k.op_flags & OPF_CNP)) {
			roce_req_slow_down(qp);
			return;
		}
		if (!roce_rx_is_local(rx) && unlikely(roce_skb_is_marked(rx->skb)))
			take_mark(qp, &rx->k);
		if (!(rx->k.op_flags & OPF_REQUEST)) {
			roce_req_rx(qp, rx);
			return;
		}
		/* Answers go back the way the newest request came. */
		WRITE_ONCE(qp->local.resp, roce_rx_is_local(rx));
	}
	if (unlikely(!skb_queue_empty(&qp->kept)))
		roce_keep_behind(qp, rx);
	else
		take_request(qp, rx);
}

void roce_backlog_add(struct roce_qp *qp, struct roce_rx *rx)
{
	struct sk_buff *skb;

	if (skb_queue_len_lockless(&qp->backlog) >= ROCE_RX_BACKLOG_MAX) {
		roce_skb_done(rx);
		goto dropped;
	}
	skb = roce_skb_keep(rx);
	if (unlikely(!skb))
		goto dropped;
	skb_queue_tail(&qp->backlog, skb);
	tern_qp_count(&qp->base, TERN_CNT_RX_WAITED);
	return;
dropped:
	tern_qp_count(&qp->base, TERN_CNT_RX_BACKLOG_DROPPED);
	roce_note_drop(qp, &rx->k, TERN_DROP_BACKLOG);
}

enum roce_step roce_backlog_take(struct roce_qp *qp, u32 *budget)
{
	while (*budget) {
		struct sk_buff *skb = skb_dequeue(&qp->backlog);
		struct roce_rx rx;

		if (!skb)
			return ROCE_DONE;
		--*budget;
		if (roce_skb_parse(qp->base.dev, skb, &rx))
			roce_dispatch(qp, &rx);
		napi_consume_skb(skb, 1);
	}
	return skb_queue_empty(&qp->backlog) ? ROCE_DONE : ROCE_MORE;
}

enum roce_step roce_kept_resume(struct roce_qp *qp, u32 *budget)
{
	struct roce_rx rx TERN_UNCLEARED;
	u32 half = *budget / 2;

	if (qp->local.peer_waits)
		roce_resume_peer(qp);
	if (roce_wait_for_pages(qp))
		return ROCE_BLOCKED;
	while (!skb_queue_empty(&qp->kept)) {
		struct sk_buff *skb;

		if (!*budget)
			return ROCE_MORE;
		--*budget;
		skb = __skb_dequeue(&qp->kept);
		if (roce_takes_requests(qp) && roce_skb_parse(qp->base.dev, skb, &rx))
			take_request(qp, &rx);
		napi_consume_skb(skb, 1);
		if (rc_resp_recv_look_ns(&qp->resp) || tern_fault_is_pending(&qp->base))
			return ROCE_BLOCKED;
		/* A long FLUSH leaves some for the QP's own requests and answers. */
		if (qp->flushed && *budget <= half)
			return ROCE_MORE;
	}
	roce_recv_found(qp);
	return ROCE_DONE;
}

void roce_backlog_purge(struct roce_qp *qp)
{
	skb_queue_purge(&qp->backlog);
	__skb_queue_purge(&qp->kept);
	roce_ahead_purge(qp);
}
