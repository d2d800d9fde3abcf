// SPDX-License-Identifier: GPL-2.0
/*
 * Trees of skbs in the order of their PSNs, which lie within half of all PSNs. Most come behind the
 * last one. The contract is in ahead.h.
 */
#include "core/fault.h"
#include "core/stats.h"
#include "roce/qp/ahead.h"
#include "roce/qp/drop.h"
#include "roce/qp/packet.h"
#include "roce/qp/receive.h"
#include "roce/qp/req.h"
#include "roce/qp/resp.h"
#include "roce/wire/room.h"
#include "uncleared.h"

static u32 psn_of(const struct sk_buff *skb)
{
	return roce_skb_cb(skb)->psn;
}

/* False: there is one with this PSN. */
static bool insert_skb(struct roce_ahead *ahead, struct sk_buff *skb)
{
	struct rb_node **link = &ahead->tree.rb_node, *parent = NULL;
	bool is_last = !ahead->last || psn_after(psn_of(skb), psn_of(ahead->last));

	if (is_last && ahead->last) {
		parent = &ahead->last->rbnode;
		link = &parent->rb_right;
	}
	while (*link) {
		s32 diff;

		parent = *link;
		diff = psn_diff(psn_of(skb), psn_of(rb_to_skb(parent)));
		if (!diff)
			return false;
		link = diff < 0 ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&skb->rbnode, parent, link);
	rb_insert_color(&skb->rbnode, &ahead->tree);
	if (is_last)
		ahead->last = skb;
	ahead->n++;
	return true;
}

void roce_ahead_add(struct roce_qp *qp, struct roce_ahead *ahead, const struct roce_rx *rx)
{
	struct sk_buff *skb;

	if (roce_rx_is_local(rx) || ahead->n >= ROCE_AHEAD_PKTS)
		goto lost;
	skb = roce_skb_ref(rx);
	if (!skb)
		goto lost;
	if (!roce_tx_charge_ahead(&qp->tx, skb)) {
		kfree_skb(skb);
		goto lost;
	}
	roce_skb_cb(skb)->psn = rx->k.psn;
	if (insert_skb(ahead, skb)) {
		tern_qp_count(&qp->base, TERN_CNT_RX_AHEAD);
	} else {
		kfree_skb(skb);
		tern_qp_count(&qp->base, ahead == &qp->ahead_requests ? TERN_CNT_DUP_REQUEST :
									TERN_CNT_GHOST_ACK);
	}
	return;
lost:
	tern_qp_count(&qp->base, TERN_CNT_RX_BACKLOG_DROPPED);
	roce_note_drop(qp, &rx->k, TERN_DROP_BACKLOG);
}

/* NULL: there is none. */
static struct sk_buff *first_of(const struct roce_ahead *ahead)
{
	return ahead->last ? skb_rb_first(&ahead->tree) : NULL;
}

static void take_out(struct roce_ahead *ahead, struct sk_buff *skb)
{
	if (skb == ahead->last)
		ahead->last = NULL;
	rb_erase(&skb->rbnode, &ahead->tree);
	/* Where the node was there is, among others, dev. */
	skb_mark_not_on_list(skb);
	skb->prev = NULL;
	skb->dev = NULL;
	ahead->n--;
}

static void purge_all(struct roce_ahead *ahead)
{
	struct sk_buff *skb;

	while ((skb = first_of(ahead))) {
		take_out(ahead, skb);
		kfree_skb(skb);
	}
}

void roce_ahead_purge(struct roce_qp *qp)
{
	purge_all(&qp->ahead_requests);
	purge_all(&qp->ahead_answers);
}

/* Does one that has had its turn wait? Then the others do. */
static bool request_waits(const struct roce_qp *qp)
{
	return !skb_queue_empty(&qp->kept) || rc_resp_recv_look_ns(&qp->resp);
}

static enum roce_step resume_requests(struct roce_qp *qp, u32 *budget)
{
	struct roce_ahead *ahead = &qp->ahead_requests;
	struct roce_rx rx TERN_UNCLEARED;
	struct sk_buff *skb;

	if (!roce_takes_requests(qp))
		purge_all(ahead);
	/* Those that came again, in their turn. */
	while ((skb = first_of(ahead)) && psn_before(psn_of(skb), rc_resp_psn(&qp->resp))) {
		take_out(ahead, skb);
		kfree_skb(skb);
	}
	while ((skb = first_of(ahead)) && !request_waits(qp) &&
	       rc_resp_ahead_is_next(&qp->resp, psn_of(skb))) {
		if (!*budget)
			return ROCE_MORE;
		--*budget;
		take_out(ahead, skb);
		if (roce_skb_parse(qp->base.dev, skb, &rx))
			roce_resp_rx(qp, &rx);
		napi_consume_skb(skb, 1);
		if (!roce_takes_requests(qp))
			purge_all(ahead);
	}
	return ROCE_DONE;
}

static enum roce_step resume_answers(struct roce_qp *qp, u32 *budget)
{
	struct roce_ahead *ahead = &qp->ahead_answers;
	struct roce_rx rx TERN_UNCLEARED;
	struct sk_buff *skb;

	if (!roce_req_may_send(qp)) {
		purge_all(ahead);
		return ROCE_DONE;
	}
	while ((skb = first_of(ahead)) && rc_req_ahead_is_next(&qp->req, psn_of(skb))) {
		if (!*budget)
			return ROCE_MORE;
		--*budget;
		take_out(ahead, skb);
		if (roce_skb_parse(qp->base.dev, skb, &rx))
			roce_req_rx(qp, &rx);
		napi_consume_skb(skb, 1);
	}
	if (rc_req_has_missing(&qp->req))
		roce_req_missing(qp, skb, skb ? psn_of(skb) : 0);
	return ROCE_DONE;
}

enum roce_step roce_ahead_resume(struct roce_qp *qp, u32 *budget)
{
	if (resume_answers(qp, budget) == ROCE_MORE)
		return ROCE_MORE;
	return resume_requests(qp, budget);
}
