// SPDX-License-Identifier: GPL-2.0
/*
 * iWARP QPs as verbs/ and iw_cm see them: create, modify, query, quiesce,
 * release. To RTS a QP comes by its connection alone (iw_qp_start()), once.
 */
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>

#include "charged.h"
#include "iwarp/iwarp.h"
#include "iwarp/lend.h"
#include "mem/page.h"
#include "transport.h"

/* ---- references of iw_cm's: struct ib_qp must stay until they are gone ---- */

struct iw_qp *iw_qp_find(struct tern_dev *dev, u32 qpn)
{
	struct tern_qp *base;
	struct iw_qp *qp = NULL;

	rcu_read_lock();
	base = tern_qp_lookup(dev, qpn);
	if (base && refcount_inc_not_zero(&to_iw_qp(base)->cm_refs))
		qp = to_iw_qp(base);
	rcu_read_unlock();
	return qp;
}

void iw_qp_unfind(struct iw_qp *qp)
{
	if (refcount_dec_and_test(&qp->cm_refs))
		complete(&qp->cm_gone);
}

/*
 * iw_cm looks a QP up and then refers to it, in two calls with nothing in
 * between, but without anything that would keep it there. So the first call
 * does both.
 */
struct ib_qp *iw_get_qp(struct ib_device *ibdev, int qpn)
{
	struct iw_qp *qp = iw_qp_find(to_tern_dev(ibdev), qpn);

	return qp ? qp->base.ibqp : NULL;
}

void iw_qp_add_ref(struct ib_qp *ibqp)
{
}

void iw_qp_rem_ref(struct ib_qp *ibqp)
{
	iw_qp_unfind(to_iw_qp(to_tern_qp(ibqp)));
}

static int is_file_of(const void *ufile, struct file *file, unsigned int fd)
{
	return file->private_data == ufile;
}

/*
 * rdma_cm takes a process's word for which QP to connect, but for the kernel's, which are made with
 * its identifier. A program's QP is connected only by a process that has the file open by which the
 * QP was made: that process could as well destroy it.
 */
bool iw_qp_is_callers(const struct iw_qp *qp, const struct rdma_cm_id *id)
{
	const struct tern_qp *base = &qp->base;

	if (!base->user)
		return READ_ONCE(id->qp) == base->ibqp;
	return iterate_fd(current->files, 0, is_file_of, base->pd->uobject->ufile);
}

/* ---- create, destroy ---- */

/*
 * An RNIC's QP without a connection is idle: there is no difference between RESET and INIT,
 * which is how both are called.
 */
static void become_idle(struct tern_qp *base)
{
	base->attr.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
				     IB_ACCESS_REMOTE_ATOMIC;
	base->attr.qp_state = IB_QPS_INIT;
	WRITE_ONCE(base->state, IB_QPS_INIT);
}

int iw_qp_create(struct tern_qp *base, const struct ib_qp_init_attr *init)
{
	struct iw_qp *qp = to_iw_qp(base);

	qp->sqe = tern_table_alloc(base->sq.ring->nslots, sizeof(*qp->sqe));
	if (!qp->sqe)
		return -ENOMEM;
	tern_pages_use();
	iw_turn_init(&qp->turn, &iw_dev(base->dev)->gate);
	INIT_WORK(&qp->work, iw_work_fn);
	INIT_DELAYED_WORK(&qp->retry, iw_retry_fn);
	INIT_DELAYED_WORK(&qp->opening, iw_opening_fn);
	INIT_DELAYED_WORK(&qp->acker, iw_acker_fn);
	iw_ack_init(&qp->ack);
	refcount_set(&qp->cm_refs, 1);
	init_completion(&qp->cm_gone);
	become_idle(base);
	return 0;
}

/*
 * Nothing is under way but what the peer has not taken yet, and its poster may
 * have been told that it is done: so it shall arrive.
 */
static bool is_idle(const struct iw_qp *qp)
{
	return qp->ready && (qp->base.state == IB_QPS_RTS || qp->base.state == IB_QPS_SQD) &&
	       qp->req.tail == qp->req.head && !tern_sq_pending(&qp->base.sq);
}

/*
 * It failed, and the peer is to hear why, or need not have heard yet: a program destroys its QP
 * as soon as it is told. Of memory that is lent nothing may be sent again after that.
 */
static bool has_last_word(const struct iw_qp *qp)
{
	return qp->ready && qp->base.state == IB_QPS_ERR && qp->resp.term != TERM_NONE &&
	       !qp->req.num_lent;
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
	orderly = is_idle(qp) || has_last_word(qp);
	base->dead = true;
	qp->ready = false;
	ep = qp->ep;
	if (ep)
		iw_ep_get(ep);
	spin_unlock_bh(&base->run_lock);
	iw_turn_uninit(&qp->turn);
	if (ep) {
		end_connection(qp, ep, orderly);
		iw_ep_put(ep);
	}
	iw_lender_destroy(qp->tx.lender);
	/* None is queued again by anybody who looks at dead first. */
	cancel_delayed_work_sync(&qp->retry);
	cancel_delayed_work_sync(&qp->opening);
	if (cancel_delayed_work_sync(&qp->acker))
		iw_ack_waited(qp);
	cancel_work_sync(&qp->work);
	/* The events of the endpoint's end make iw_cm let go. */
	iw_qp_unfind(qp);
	wait_for_completion(&qp->cm_gone);
}

void iw_qp_release(struct tern_qp *base)
{
	struct iw_qp *qp = to_iw_qp(base);

	if (qp->ep)
		iw_ep_put(qp->ep);
	iw_tx_uninit(&qp->tx);
	kfree_skb(qp->rx_part);
	tern_pages_unuse();
	kvfree(qp->sqe);
	kvfree(qp->irq);
}

/* ---- connection ---- */

int iw_qp_start(struct iw_qp *qp, struct iw_ep *ep, const struct mpa_terms *terms, bool active)
{
	struct tern_qp *base = &qp->base;
	struct iw_resp_cfg resp = {
		/* All that fit: siw, told a depth, rounds it up to a power of two. */
		.ird = terms->ird ? (u16)iw_irq_entries(terms->ird) : 0,
		/* rdma_cm gives a QP that connects no rights at all: the keys' decide. */
		.access = IW_ACCESS_WRITE | IW_ACCESS_READ | IW_ACCESS_ATOMIC,
	};
	struct iw_req_cfg req = {
		.ord = terms->ord,
		.max_lent_bytes = IW_LENT_FPDU_BYTES,
	};
	struct iw_lender *lender = NULL;
	struct iw_irq *irq;
	u8 *bounce = NULL;
	int err = 0;

	irq = tern_table_alloc(iw_irq_entries(terms->ird), sizeof(*irq));
	if (!irq)
		return -ENOMEM;
	if (terms->tx_markers) {
		bounce = tern_table_alloc(1, IW_MAX_FPDU_BYTES);
		if (!bounce) {
			kvfree(irq);
			return -ENOMEM;
		}
	}

	if (!terms->crc && !terms->tx_markers && terms->long_fpdus)
		lender = iw_lender_create(qp);

	spin_lock_bh(&base->run_lock);
	if (base->dead || !iw_qp_may_connect(qp) || qp->ready) {
		err = -EINVAL;
		goto unlock;
	}
	/* Nothing was taken before: engine and queue count alike. */
	iw_req_init(&qp->req, qp->sqe, base->sq.ring->nslots, base->sq.head, &req);
	iw_resp_init(&qp->resp, irq, &resp);
	swap(qp->irq, irq);
	swap(qp->tx.bounce, bounce);
	swap(qp->tx.lender, lender);
	qp->terms = *terms;
	/* The initiator speaks first (RFC 5044 7.1.2), in peer-to-peer mode at once. */
	qp->tx.hold = !active;
	qp->tx.rtr = active && terms->p2p;
	if (qp->tx.rtr) {
		qp->tx.rtr_repeats = IW_RTR_REPEATS;
		queue_delayed_work(iw_wq, &qp->opening, IW_RTR_AGAIN);
	} else if (qp->tx.hold && !terms->p2p) {
		queue_delayed_work(iw_wq, &qp->opening, IW_HOLD_MAX);
	}
	qp->sk = ep->sock->sk;
	base->attr.max_rd_atomic = min_t(u16, terms->ord, U8_MAX);
	base->attr.max_dest_rd_atomic = min_t(u16, terms->ird, U8_MAX);
	base->attr.qp_state = IB_QPS_RTS;
	WRITE_ONCE(base->state, IB_QPS_RTS);
	qp->ready = true;
unlock:
	spin_unlock_bh(&base->run_lock);
	iw_lender_destroy(lender);
	kvfree(irq);
	kvfree(bounce);
	return err;
}

void iw_qp_closed(struct iw_qp *qp)
{
	spin_lock_bh(&qp->base.run_lock);
	if (!qp->base.dead && qp->ready)
		iw_qp_error(qp);
	spin_unlock_bh(&qp->base.run_lock);
	iw_kick(qp);
}

/*
 * RFC 5041 6.2.1: what was posted by then goes out all the same, but for what needs an answer. Who
 * was to speak first and never did has closed without a connection.
 */
void iw_qp_peer_closed(struct iw_qp *qp)
{
	spin_lock(&qp->base.run_lock);
	if (!qp->base.dead && !qp->rx_over) {
		qp->rx_over = true;
		if (qp->tx.hold)
			iw_qp_error(qp);
		else
			iw_qp_drain(qp);
	}
	spin_unlock(&qp->base.run_lock);
}

/* ---- modify, query ---- */

/*
 * RFC 5040 6 and the verbs of RDMAC, in verbs' states: connecting is iw_cm's
 * (INIT to RTS); SQD closes in order, ERR with a reset.
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
		/* librdmacm does so before it accepts: one more name of "not connected yet" */
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
		if (!has_last_word(qp))
			ep = qp->ep;
		goto unlock;
	}
	if (next == IB_QPS_SQD) {
		iw_qp_drain(qp);
		goto unlock;
	}
	if (next == IB_QPS_RESET && qp->ep) {
		err = -EINVAL;		/* one connection in a QP's life */
		goto unlock;
	}
	if (next == IB_QPS_RESET) {
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
		goto unlock;
	}
	/*
	 * Of the attributes there is none that an RNIC would have, and its drivers refuse none: they
	 * are not taken, so that a query tells what is so.
	 */
	base->attr.qp_state = next;
	WRITE_ONCE(base->state, next);
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
