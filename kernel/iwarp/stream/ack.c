// SPDX-License-Identifier: GPL-2.0
/*
 * When TCP gets back what was read from its queue, and with that sends an ACK.
 */
#include "iwarp/stream/ack.h"
#include "iwarp/stream/defer.h"
#include "iwarp/stream/tcp.h"

void iw_ack_start_timer(struct iw_qp *qp, u32 ticks)
{
	iw_ack_waits(&qp->ack, (u32)jiffies);
	if (queue_delayed_work(iw_wq, &qp->acker, ticks))
		atomic_inc(&iw_dev(qp->base.dev)->acks_waiting);
}

void iw_ack_timer_done(struct iw_qp *qp)
{
	atomic_dec(&iw_dev(qp->base.dev)->acks_waiting);
}

/*
 * An ACK does not wait for more than these bytes, or for more than what leaves the peer most of its
 * window; not at all if TCP needs the memory.
 */
static u32 due_bytes(const struct iw_qp *qp, struct sock *sk)
{
	u32 waiting = (u32)atomic_read(&iw_dev(qp->base.dev)->acks_waiting);

	if (unlikely(tcp_under_memory_pressure(sk)))
		return 0;
	return min(iw_ack_due_bytes(&qp->ack, waiting), tcp_sk(sk)->rcv_wnd / 4);
}

bool iw_ack_is_due(const struct iw_qp *qp, struct sock *sk)
{
	u32 n = qp->rx_held;

	return qp->rx_settle || n <= inet_csk(sk)->icsk_ack.rcv_mss || n >= due_bytes(qp, sk);
}

void iw_ack_give_back(struct iw_qp *qp, struct sock *sk)
{
	u32 n = qp->rx_held;

	if (!n)
		return;
	if (!iw_ack_is_due(qp, sk)) {
		if (iw_ack_may_wait(&qp->ack))
			iw_ack_start_timer(qp, IW_ACK_TICKS);
		else
			iw_defer_run(qp);
		return;
	}
	qp->rx_held = 0;
	iw_ack_sent(&qp->ack);
	tcp_read_done(sk, n);
}

void iw_ack_settle(struct iw_qp *qp)
{
	struct sock *sk = qp->sk;

	if (!sk)
		return;
	iw_sock_lock(sk);
	spin_lock(&qp->base.run_lock);
	qp->rx_settle = true;
	/* A reset for what nobody wants to read would overtake the Terminate. */
	if (iw_resp_is_terminating(&qp->resp))
		qp->rx_held = tcp_inq(sk);
	iw_ack_give_back(qp, sk);
	spin_unlock(&qp->base.run_lock);
	iw_sock_unlock(sk);
}
