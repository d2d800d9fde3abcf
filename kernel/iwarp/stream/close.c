// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a stream, as its endpoint sees it. The QP's own ways there are in error.c; what the
 * endpoint makes of it is in cm/open.c.
 */
#include "iwarp/stream/close.h"
#include "iwarp/stream/error.h"
#include "iwarp/stream/run.h"
#include "iwarp/stream/state.h"
#include "iwarp/stream/tcp.h"

void iw_qp_closed(struct iw_qp *qp)
{
	spin_lock_bh(&qp->base.run_lock);
	if (!qp->base.dead && qp->ready)
		iw_qp_error(qp);
	spin_unlock_bh(&qp->base.run_lock);
	iw_kick(qp);
}

/*
 * The peer has closed its half, and all that it sent before was taken. RFC 5041 6.2.1: what was
 * posted by then is still sent, except what needs an answer. A peer that was to send first and
 * never did has closed without a connection. BHs off.
 */
static void peer_closed(struct iw_qp *qp)
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

void iw_close_look(struct iw_qp *qp, struct sock *sk, struct iw_close *close)
{
	bool unread;

	iw_sock_lock(sk);
	iw_run(qp, sk, IW_SETTLE);
	/*
	 * Bytes before the peer's FIN are taken first; the run that takes them has the endpoint
	 * look again. Unless our end is decided, too, and there is no receive for them: they are
	 * dropped.
	 */
	unread = READ_ONCE(qp->rx_pending);
	close->wanted = unread && !READ_ONCE(qp->rx_waits);
	close->fin_in = (sk->sk_shutdown & RCV_SHUTDOWN) &&
			(!unread || (READ_ONCE(qp->tx.closing) && !close->wanted));
	if (close->fin_in) {
		peer_closed(qp);
		iw_run(qp, sk, IW_SETTLE);
	}
	close->closing = READ_ONCE(qp->tx.closing);
	close->fin_out = READ_ONCE(qp->tx.fin);
	close->lent = iw_req_has_lent(&qp->req);
	iw_sock_unlock(sk);
}

u32 iw_close_oldest(const struct iw_qp *qp)
{
	return iw_req_oldest(&qp->req);
}

bool iw_close_is_orderly(const struct iw_qp *qp)
{
	return READ_ONCE(qp->base.state) == IB_QPS_SQD;
}
