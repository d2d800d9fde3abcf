// SPDX-License-Identifier: GPL-2.0
/*
 * Who runs an iWARP QP, and when: whoever has its socket does all there is to
 * do, in the order input, completions, output. A poster who finds the socket
 * taken by a process (closing, most likely) leaves it to the work item, which
 * waits. Before there is a socket, and after it, there is only flushing.
 */
#include <net/tcp.h>

#include "iwarp/iwarp.h"
#include "iwarp/stream/zerocopy.h"

/* ---- completions, errors: run_lock held ---- */

void iw_complete_send(struct iw_qp *qp, u32 index, enum ib_wc_status status)
{
	if (!tern_qp_complete_send(&qp->base, index, status))
		iw_qp_fatal(qp, IB_EVENT_QP_FATAL);
}

void iw_complete_recv(struct iw_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
		      bool solicited)
{
	if (!tern_qp_complete_recv(&qp->base, cqe, status, solicited))
		iw_qp_fatal(qp, IB_EVENT_QP_FATAL);
}

/* After what is written: FIN. */
static void begin_end(struct iw_qp *qp)
{
	qp->tx.closing = true;
	/* It sees to it that this does not take for ever. */
	if (qp->ready)
		iw_ep_kick(qp->ep);
}

void iw_qp_drain(struct iw_qp *qp)
{
	struct tern_qp *base = &qp->base;

	/* In ERR the connection is on its way out anyway. */
	if (base->state != IB_QPS_RTS)
		return;
	/* What is posted later is flushed at the end (RFC 5041 6.2.1). */
	qp->tx.take_end = base->sq.head + min(READ_ONCE(base->sq.ring->hdr->prod) - base->sq.head,
					      base->sq.ring->nslots);
	begin_end(qp);
	base->attr.qp_state = IB_QPS_SQD;
	WRITE_ONCE(base->state, IB_QPS_SQD);
}

void iw_qp_error(struct iw_qp *qp)
{
	struct tern_qp *base = &qp->base;

	if (base->state == IB_QPS_ERR)
		return;
	WRITE_ONCE(base->state, IB_QPS_ERR);
	base->attr.qp_state = IB_QPS_ERR;
	if (qp->ready)
		iw_req_flush(&qp->req);
	if (!base->srq)
		tern_rq_kick_wanted(&base->rq, true);
	/* What is written goes out, a Terminate as well; then the end. */
	begin_end(qp);
}

void iw_qp_fatal(struct iw_qp *qp, enum ib_event_type event)
{
	if (qp->base.state == IB_QPS_ERR)
		return;
	if (qp->ready)
		iw_resp_terminate(&qp->resp, TERM_LOCAL, NULL, 0, 0);
	iw_qp_error(qp);
	tern_qp_event(&qp->base, event);
}

/* True: not all yet. */
static bool reap_completed(struct iw_qp *qp)
{
	u32 left = IW_BUDGET_WQES;
	enum iw_status status;
	u32 slot;

	while (left && iw_req_reap(&qp->req, &slot, &status)) {
		/* enum iw_status has the values of enum ib_wc_status */
		iw_complete_send(qp, slot, (enum ib_wc_status)status);
		left--;
	}
	/* Those without a CQE */
	tern_sq_retire(&qp->base.sq, slot + 1);
	return !left;
}

static inline bool reap(struct iw_qp *qp)
{
	bool more = false;

	if (qp->tx.lender)
		iw_lend_settle(qp);
	if (iw_req_completed(&qp->req))
		more = reap_completed(qp);
	if (iw_req_in_error(&qp->req))
		iw_qp_error(qp);
	return more;
}

/* ERR: all that is posted and will be. True: budget spent. */
static bool flush(struct iw_qp *qp, u32 *budget)
{
	struct tern_qp *base = &qp->base;
	struct tern_send_wqe *wqe;
	bool more = true;
	int ret;

	tern_sq_draining(&base->sq, false);
	for (; more && *budget; --*budget) {
		/*
		 * After what the engine has, which may wait for memory that is lent; then it is our
		 * turn. A dead CQ tells nobody, and there is no end if somebody goes on posting.
		 */
		if ((qp->ready && qp->req.tail != qp->req.head) || tern_cq_is_dead(base->scq))
			ret = 0;
		else
			ret = tern_sq_take(&base->sq, base->type, &wqe);
		if (ret == 0 || ret == -EOVERFLOW)
			more = false;
		else
			iw_complete_send(qp, base->sq.head - 1, IB_WC_WR_FLUSH_ERR);
	}
	more |= tern_qp_flush_recv(base, budget);
	if (base->srq && !qp->last_wqe_told) {
		qp->last_wqe_told = true;
		tern_qp_event(base, IB_EVENT_QP_LAST_WQE_REACHED);
	}
	return more;
}

/* The work item goes on, unless the QP is being destroyed. run_lock held. */
static void hand_off(struct iw_qp *qp)
{
	if (qp->base.dead)
		return;
	tern_count(qp->base.dev, TERN_CNT_HANDOFFS);
	queue_work(iw_wq, &qp->work);
}

/* run_lock held; sk locked, or NULL. True: more to do. */
static bool run_locked(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	bool pending = qp->rx_pending;
	bool lent = qp->tx.fin && qp->req.num_lent;
	bool rx = why >= IW_BYTES || pending;
	u32 budget = IW_BUDGET_WQES;
	bool more = false;

	if (qp->base.dead)
		return false;
	/* It has a socket since the caller looked: the work item looks again. */
	if (qp->ready && !sk)
		return true;
	if (qp->ready) {
		if (rx)
			more |= iw_rx(qp, sk, why);
		more |= reap(qp);
		more |= iw_tx_run(qp, sk, why);
		if (rx)
			iw_rx_end(qp, sk);
		/* Nobody will answer it. */
		if (qp->rx_over && qp->req.rd_out)
			iw_qp_error(qp);
		more |= reap(qp);
		/* The endpoint waits for either with the peer's FIN. */
		if ((pending && !qp->rx_pending && (sk->sk_shutdown & RCV_SHUTDOWN)) ||
		    (lent && !qp->req.num_lent))
			iw_ep_kick(qp->ep);
	}
	if (qp->base.state == IB_QPS_ERR)
		more |= flush(qp, &budget);
	return more;
}

/* The QP that this CPU runs, or NULL: its socket may tell of room while it is being filled. */
static DEFINE_PER_CPU(struct iw_qp *, running);

/* From within a run. False: there is none. */
static bool run_within(struct iw_qp *qp, enum iw_why why)
{
	const struct iw_qp *outer = __this_cpu_read(running);

	if (!outer)
		return false;
	/* A QP's own run looks for room again when TCP has returned. Others get a work item. */
	if (outer != qp || why != IW_ROOM)
		queue_work(iw_wq, &qp->work);
	return true;
}

void iw_run(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	/*
	 * A process has the socket; its backlog is filled, or emptied just now. TCP looks at the
	 * backlog in the middle of a call that sends, where it sleeps, takes the socket's spinlock
	 * and calls back: not with the locks of a run.
	 */
	bool taken = sk && sock_owned_by_user(sk);

	if (run_within(qp, why))
		return;
	spin_lock(&qp->base.run_lock);
	__this_cpu_write(running, qp);
	if (taken || run_locked(qp, sk, why))
		hand_off(qp);
	__this_cpu_write(running, NULL);
	spin_unlock(&qp->base.run_lock);
}

void iw_kick(struct iw_qp *qp)
{
	struct sock *sk = READ_ONCE(qp->sk);

	/*
	 * Kernel consumers, who keep the QP while they post: no need to look whether
	 * it is dead, nor a way to. Doorbell files come to neither queue_work().
	 */
	if (irqs_disabled() || tern_cq_in_handler()) {
		queue_work(iw_wq, &qp->work);
		return;
	}
	local_bh_disable();
	if (!sk) {
		iw_run(qp, NULL, IW_ROOM);
	} else if (!run_within(qp, IW_ROOM)) {
		/* The socket stays as long as the QP: its endpoint does. */
		spin_lock(&sk->sk_lock.slock);
		iw_run(qp, sk, IW_ROOM);
		spin_unlock(&sk->sk_lock.slock);
	}
	local_bh_enable();
}

void iw_run_all(struct iw_qp *qp)
{
	struct sock *sk = READ_ONCE(qp->sk);

	if (!sk) {
		local_bh_disable();
		iw_run(qp, NULL, IW_SETTLE);
		local_bh_enable();
		return;
	}
	iw_sock_lock(sk);
	iw_run(qp, sk, IW_SETTLE);
	iw_sock_unlock(sk);
}

void iw_work_fn(struct work_struct *work)
{
	iw_run_all(container_of(work, struct iw_qp, work));
}

void iw_retry_fn(struct work_struct *work)
{
	iw_run_all(container_of(to_delayed_work(work), struct iw_qp, retry));
}

void iw_acker_fn(struct work_struct *work)
{
	struct iw_qp *qp = container_of(to_delayed_work(work), struct iw_qp, acker);
	bool late = false;
	u32 now;

	spin_lock_bh(&qp->base.run_lock);
	/* Not before: an ACK might have begun to wait after it. */
	now = (u32)jiffies;
	iw_ack_waited(qp);
	if (!qp->base.dead && qp->rx_held) {
		late = iw_ack_late(&qp->ack, qp->rx_held, now);
		if (!late)
			iw_ack_wait(qp, iw_ack_ticks_left(&qp->ack, now));
	}
	spin_unlock_bh(&qp->base.run_lock);
	if (late)
		iw_run_all(qp);
}

void iw_opening_fn(struct work_struct *work)
{
	struct iw_qp *qp = container_of(to_delayed_work(work), struct iw_qp, opening);
	u32 delay = IW_RTR_AGAIN;
	u32 left = 0;

	spin_lock_bh(&qp->base.run_lock);
	qp->tx.hold = false;
	if (!qp->base.dead && qp->base.state == IB_QPS_RTS && qp->tx.rtr_repeats) {
		left = --qp->tx.rtr_repeats;
		qp->tx.rtr = true;
	}
	spin_unlock_bh(&qp->base.run_lock);
	iw_run_all(qp);
	if (!left)
		return;
	for (; left < IW_RTR_REPEATS; left++)
		delay *= 5;
	queue_delayed_work(iw_wq, &qp->opening, delay);
}
