// SPDX-License-Identifier: GPL-2.0
/*
 * Which context runs an iWARP QP, and when: the one that has its socket does everything there is to
 * do, in the order input, completions, output. If a process owns the socket (which mostly is about
 * to close it), the work item runs the QP, and waits for the socket. Before there is a socket, and
 * after it, there is only flushing. selftests/unit/iw_run_test.cc is a model of this.
 */
#include "core/stats.h"
#include "iwarp/stream/defer.h"
#include "iwarp/stream/error.h"
#include "iwarp/stream/run.h"
#include "iwarp/stream/rx.h"
#include "iwarp/stream/tcp.h"
#include "iwarp/stream/tx.h"
#include "iwarp/stream/upcalls.h"
#include "iwarp/stream/zerocopy.h"
#include "queue/cq.h"

static inline enum iw_step reap_requests(struct iw_qp *qp)
{
	enum iw_step step = IW_DONE;

	if (qp->tx.zc)
		iw_zc_reap(qp);
	if (iw_req_completed(&qp->req))
		step = iw_complete_requests(qp);
	if (iw_req_in_error(&qp->req))
		iw_qp_error(qp);
	return step;
}

/* The work item continues, unless the QP is being destroyed. run_lock held. */
static void hand_off(struct iw_qp *qp)
{
	if (qp->base.dead)
		return;
	tern_qp_count(&qp->base, TERN_CNT_HANDOFFS);
	iw_defer_run(qp);
}

/* run_lock held; sk locked, or NULL. DONE or MORE. */
static enum iw_step run_locked(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	bool pending = qp->rx_pending;
	bool lent = qp->tx.fin && iw_req_has_lent(&qp->req);
	bool rx = why >= IW_BYTES || pending;
	u32 budget = IW_BUDGET_WQES;
	bool more = false;

	if (qp->base.dead)
		return IW_DONE;
	/* It got a socket after the caller looked: the work item looks again. */
	if (qp->ready && !sk)
		return IW_MORE;
	if (qp->ready) {
		if (rx)
			more |= iw_rx(qp, sk, why) == IW_MORE;
		more |= reap_requests(qp) == IW_MORE;
		more |= iw_tx_run(qp, sk, why) == IW_MORE;
		if (rx)
			iw_rx_end(qp, sk);
		/* Nobody will answer these. */
		if (qp->rx_over && iw_req_awaits_response(&qp->req))
			iw_qp_error(qp);
		more |= reap_requests(qp) == IW_MORE;
		/* The endpoint waits for either with the peer's FIN. */
		if ((pending && !qp->rx_pending && (sk->sk_shutdown & RCV_SHUTDOWN)) ||
		    (lent && !iw_req_has_lent(&qp->req)))
			iw_ep_kick(qp->ep);
	}
	if (qp->base.state == IB_QPS_ERR)
		more |= iw_flush(qp, &budget) == IW_MORE;
	return more ? IW_MORE : IW_DONE;
}

/* The QP that this CPU runs, or NULL: its socket may report room while it is being filled. */
static DEFINE_PER_CPU(struct iw_qp *, running);

/* Called from within a run? False: no. */
static bool run_within(struct iw_qp *qp, enum iw_why why)
{
	const struct iw_qp *outer = __this_cpu_read(running);

	if (!outer)
		return false;
	/*
	 * A QP's own run looks for room again when TCP has returned. Another QP gets its work item.
	 */
	if (outer != qp || why != IW_ROOM)
		iw_defer_run(qp);
	return true;
}

void iw_run(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	/*
	 * A process owns the socket; its backlog is being filled or emptied. In the middle of a
	 * call that sends TCP looks at the backlog: it sleeps, takes the socket's spinlock and
	 * calls back. That must not happen with the locks of a run.
	 */
	bool taken = sk && sock_owned_by_user(sk);

	if (run_within(qp, why))
		return;
	spin_lock(&qp->base.run_lock);
	__this_cpu_write(running, qp);
	if (taken || run_locked(qp, sk, why) == IW_MORE)
		hand_off(qp);
	__this_cpu_write(running, NULL);
	spin_unlock(&qp->base.run_lock);
}

void iw_kick(struct iw_qp *qp)
{
	struct sock *sk = READ_ONCE(qp->sk);

	/*
	 * Kernel consumers keep the QP while they post: there is no need to look whether it is
	 * dead, and no way to. Doorbell files come to neither iw_defer_run().
	 */
	if (irqs_disabled() || tern_cq_in_handler()) {
		iw_defer_run(qp);
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
