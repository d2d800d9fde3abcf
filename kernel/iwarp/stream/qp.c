// SPDX-License-Identifier: GPL-2.0
/*
 * iWARP QPs as verbs/ sees them: create, modify, query, quiesce, release. A QP comes to RTS by its
 * connection alone (start.c).
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "charged.h"
#include "core/dump.h"
#include "core/qp.h"
#include "iwarp/stream/cmref.h"
#include "iwarp/stream/error.h"
#include "iwarp/stream/out.h"
#include "iwarp/stream/part.h"
#include "iwarp/stream/qp.h"
#include "iwarp/stream/run.h"
#include "iwarp/stream/tcp.h"
#include "iwarp/stream/tx.h"
#include "iwarp/stream/upcalls.h"
#include "iwarp/stream/work.h"
#include "iwarp/stream/zerocopy.h"
#include "mem/page.h"
#include "queue/rq.h"
#include "queue/sq.h"

/*
 * An RNIC's QP without a connection is idle: RESET and INIT are the same, and it reports INIT for
 * both.
 */
static void become_idle(struct tern_qp *base)
{
	base->attr.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
				     IB_ACCESS_REMOTE_ATOMIC;
	tern_qp_set_state(base, IB_QPS_INIT);
}

int iw_qp_create(struct tern_qp *base, const struct ib_qp_init_attr *init)
{
	struct iw_qp *qp = to_iw_qp(base);

	qp->sqe = tern_table_alloc(base->sq.ring->nslots, sizeof(*qp->sqe));
	if (!qp->sqe)
		return -ENOMEM;
	tern_pages_use();
	iw_grant_init(&qp->grant, &iw_dev(base->dev)->gate);
	iw_work_init(qp);
	iw_ack_init(&qp->ack);
	refcount_set(&qp->cm_refs, 1);
	init_completion(&qp->cm_gone);
	become_idle(base);
	return 0;
}

/*
 * Nothing is under way except what the peer has not taken yet. Its poster may have been told that
 * it is done: so it has to arrive.
 */
static bool is_idle(const struct iw_qp *qp)
{
	return qp->ready && (qp->base.state == IB_QPS_RTS || qp->base.state == IB_QPS_SQD) &&
	       iw_req_is_empty(&qp->req) && !tern_sq_pending(&qp->base.sq);
}

/*
 * It failed, and the peer has to hear why, or may not have heard yet: a program destroys its QP as
 * soon as it is told. Memory that is lent must not be sent again after that.
 */
static bool ends_with_terminate(const struct iw_qp *qp)
{
	return qp->ready && qp->base.state == IB_QPS_ERR && iw_resp_is_terminating(&qp->resp) &&
	       !iw_req_has_lent(&qp->req);
}

/* The end of a dead QP's connection. */
static void end_connection(struct iw_qp *qp, struct iw_ep *ep, bool orderly)
{
	if (orderly) {
		iw_sock_lock(qp->sk);
		orderly = iw_tx_hand_over(qp, qp->sk);
		iw_sock_unlock(qp->sk);
	}
	iw_ep_close(ep, orderly);
}

void iw_qp_quiesce(struct tern_qp *base)
{
	struct iw_qp *qp = to_iw_qp(base);
	struct iw_ep *ep;
	bool orderly;

	spin_lock_bh(&base->run_lock);
	orderly = is_idle(qp) || ends_with_terminate(qp);
	base->dead = true;
	qp->ready = false;
	ep = qp->ep;
	if (ep)
		iw_ep_get(ep);
	spin_unlock_bh(&base->run_lock);
	iw_grant_uninit(&qp->grant);
	if (ep) {
		end_connection(qp, ep, orderly);
		iw_ep_put(ep);
	}
	/* In this order: TCP's last notice about zero-copy memory may queue the work item. */
	iw_zc_destroy(qp->tx.zc);
	iw_work_cancel(qp);
	/* The events of the endpoint's end make iw_cm let go. */
	iw_cmref_put(qp);
	wait_for_completion(&qp->cm_gone);
}

void iw_qp_release(struct tern_qp *base)
{
	struct iw_qp *qp = to_iw_qp(base);

	if (qp->ep)
		iw_ep_put(qp->ep);
	iw_out_uninit(&qp->tx);
	iw_part_drop(qp);
	tern_pages_unuse();
	kvfree(qp->sqe);
	kvfree(qp->irq);
}

/*
 * RFC 5040 6 and the verbs of RDMAC, in verbs' states: connecting is iw_cm's (INIT to RTS); SQD
 * closes in order, ERR with a reset.
 */
bool iw_qp_may_modify(enum ib_qp_state cur, enum ib_qp_state next, enum ib_qp_type type,
		      enum ib_qp_attr_mask mask)
{
	switch (next) {
	case IB_QPS_RESET:
		/* another name of INIT, see become_idle() */
		return cur <= IB_QPS_RTR || cur == IB_QPS_ERR;
	case IB_QPS_INIT:
		return cur <= IB_QPS_INIT;
	case IB_QPS_RTR:
		/* librdmacm does this before it accepts: another name of "not connected yet" */
		return cur == IB_QPS_INIT || cur == IB_QPS_RTR;
	case IB_QPS_RTS:
		return cur == IB_QPS_RTS;
	case IB_QPS_SQD:
		return cur == IB_QPS_RTS || cur == IB_QPS_SQD || cur == IB_QPS_ERR;
	case IB_QPS_ERR:
		return true;
	default:
		return false;
	}
}

/* run_lock held. */
static int reset_qp(struct iw_qp *qp)
{
	struct tern_qp *base = &qp->base;

	if (qp->ep)
		return -EINVAL;		/* one connection in a QP's life */
	tern_sq_reset(&base->sq);
	if (!base->srq) {
		tern_rq_reset(&base->rq);
		tern_rq_kick_wanted(&base->rq, false);
	}
	base->have_rwqe = false;
	/* As ERR had them. */
	qp->tx.closing = false;
	qp->last_wqe_told = false;
	become_idle(base);
	return 0;
}

int iw_qp_modify(struct tern_qp *base, const struct ib_qp_attr *attr, int mask,
		 enum ib_qp_state cur, enum ib_qp_state next)
{
	struct iw_qp *qp = to_iw_qp(base);
	struct iw_ep *ep = NULL;
	int err = 0;

	spin_lock_bh(&base->run_lock);
	if (base->dead || (base->state != cur && next != IB_QPS_ERR && next != IB_QPS_SQD)) {
		err = -EINVAL;
		goto unlock;
	}
	if (next == IB_QPS_ERR) {
		iw_qp_error(qp);
		/* What ends by itself, and soon, is not cut off. */
		if (!ends_with_terminate(qp))
			ep = qp->ep;
		goto unlock;
	}
	if (next == IB_QPS_SQD) {
		iw_qp_drain(qp);
		goto unlock;
	}
	if (next == IB_QPS_RESET) {
		err = reset_qp(qp);
		goto unlock;
	}
	/*
	 * An RNIC has none of the attributes, and its drivers refuse none: they are ignored, so
	 * that a query reports what is true.
	 */
	tern_qp_set_state(base, next);
unlock:
	if (ep)
		iw_ep_get(ep);
	spin_unlock_bh(&base->run_lock);
	if (ep) {
		iw_ep_close(ep, false);
		iw_ep_put(ep);
	}
	if (!err)
		iw_kick(qp);
	return err;
}

void iw_qp_query(struct tern_qp *base, struct ib_qp_attr *attr, int mask)
{
	spin_lock_bh(&base->run_lock);
	*attr = base->attr;
	attr->qp_state = base->state;
	attr->cur_qp_state = base->state;
	spin_unlock_bh(&base->run_lock);
}

void iw_qp_dump(struct tern_qp *base, struct tern_dump_qp *dump)
{
	struct iw_qp *qp = to_iw_qp(base);

	spin_lock_bh(&base->run_lock);
	tern_qp_dump(base, dump);
	if (qp->ready) {
		dump->flags |= TERN_DUMP_QP_REQUESTER | TERN_DUMP_QP_RESPONDER;
		if (qp->rx_waits)
			dump->flags |= TERN_DUMP_QP_RECV_WAITS;
		dump->unsent = iw_req_num_unsent(&qp->req);
		if (iw_resp_is_terminating(&qp->resp))
			dump->terminate = iw_resp_term(&qp->resp);
	}
	spin_unlock_bh(&base->run_lock);
}
