/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QP's clock and its one timer. Everything here: run lock held, BHs off.
 */
#ifndef TERN_ROCE_QP_TIME_H
#define TERN_ROCE_QP_TIME_H

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "roce/qp/state.h"
#include "roce/wire/room.h"

/* The local stack refused a packet and does not call back: look again after twice this, ... */
#define ROCE_TX_RETRY_NS	(200 * NSEC_PER_USEC)
/* ... then after twice as long, and so on, up to 6.4 ms. */
#define ROCE_TX_RETRY_DOUBLINGS	5u
/* It does call back, but may do so late: our packets may wait elsewhere, as for a neighbour. */
#define ROCE_TX_CALL_NS		(25 * NSEC_PER_MSEC)

/* An ACK timer that is no shorter may be early by one of them. */
#define ROCE_MANY_TICKS		16

/* The time, asked for once by a holder of the run lock, and after each batch. */
static inline u64 roce_now(struct roce_qp *qp)
{
	if (!qp->now_ns)
		qp->now_ns = ktime_get_ns();
	return qp->now_ns;
}

/* A time since the last tick. */
u64 roce_tick_ns(void);

/*
 * A time from which the requester's ACK timer may run: one since the last tick, which takes
 * little of a wait of many ticks. It costs next to nothing; a look at the clock costs as much as a
 * header, or, where the kernel has a slow one, as a packet.
 */
static inline u64 roce_ack_timer_from(struct roce_qp *qp)
{
	u64 wait = rc_req_first_wait_ns(&qp->req);

	if (qp->now_ns || (wait && wait < ROCE_MANY_TICKS * (u64)TICK_NSEC))
		return roce_now(qp);
	return roce_tick_ns();
}

static inline u64 roce_peer_timeout_ns(const struct roce_qp *qp)
{
	return (u64)READ_ONCE(qp->base.dev->peer_timeout_s) * NSEC_PER_SEC;
}

/* The local stack has no room or no memory, and may not say when: look again after ns. */
static inline void roce_tx_later(struct roce_qp *qp, u64 ns)
{
	qp->retry_tx_ns = roce_now(qp) + ns;
}

/* The local queue refused what was sent. */
static inline void roce_tx_after_refusal(struct roce_qp *qp)
{
	roce_tx_later(qp, roce_tx_is_called(&qp->tx) ? ROCE_TX_CALL_NS :
		      ROCE_TX_RETRY_NS << min(qp->tx.refusals, ROCE_TX_RETRY_DOUBLINGS));
}

/* At the end of each run: set the timer for what comes first, if it is not set for sooner. */
void roce_timer_arm(struct roce_qp *qp);

#endif
