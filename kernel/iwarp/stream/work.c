// SPDX-License-Identifier: GPL-2.0
/*
 * Runs of a QP that do not come from its socket or a poster: what remained of a run, a retry when
 * memory or a receive WQE was missing, an ACK that waited long enough, the stream's opening, and
 * memory that TCP has returned. How they are queued: defer.h.
 */
#include <linux/jiffies.h>

#include "iwarp/stream/ack.h"
#include "iwarp/stream/defer.h"
#include "iwarp/stream/run.h"
#include "iwarp/stream/work.h"

/*
 * The first message of peer-to-peer mode is sent again to a responder that has sent nothing: after
 * this time, then five times as long, and so on. siw drops what comes while it is still returning
 * from sending its reply, and looks again when more comes.
 */
#define RTR_AGAIN		msecs_to_jiffies(10)
#define RTR_REPEATS		4
/*
 * RFC 5044 7.1.2: a responder sends nothing before the initiator's first FPDU, as the initiator may
 * still be opening its end. Without peer-to-peer mode (siw does not ask for it) that FPDU may never
 * come, and programs whose server sends first would wait for ever. After this time the initiator
 * counts as ready.
 */
#define HOLD_MAX		(HZ / 2)

static void run_work(struct work_struct *work)
{
	iw_run_all(container_of(work, struct iw_qp, work));
}

static void run_retry(struct work_struct *work)
{
	iw_run_all(container_of(to_delayed_work(work), struct iw_qp, retry));
}

static void run_acker(struct work_struct *work)
{
	struct iw_qp *qp = container_of(to_delayed_work(work), struct iw_qp, acker);
	bool late = false;
	u32 now;

	spin_lock_bh(&qp->base.run_lock);
	/* Not before: an ACK might have begun to wait after it. */
	now = (u32)jiffies;
	iw_ack_timer_done(qp);
	if (!qp->base.dead && qp->rx_held) {
		late = iw_ack_late(&qp->ack, qp->rx_held, now);
		if (!late)
			iw_ack_start_timer(qp, iw_ack_ticks_left(&qp->ack, now));
	}
	spin_unlock_bh(&qp->base.run_lock);
	if (late)
		iw_run_all(qp);
}

static void run_opening(struct work_struct *work)
{
	struct iw_qp *qp = container_of(to_delayed_work(work), struct iw_qp, opening);
	u32 delay = RTR_AGAIN;
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
	for (; left < RTR_REPEATS; left++)
		delay *= 5;
	queue_delayed_work(iw_wq, &qp->opening, delay);
}

void iw_work_start_opening(struct iw_qp *qp, bool p2p)
{
	if (qp->tx.rtr) {
		qp->tx.rtr_repeats = RTR_REPEATS;
		queue_delayed_work(iw_wq, &qp->opening, RTR_AGAIN);
	} else if (qp->tx.hold && !p2p) {
		queue_delayed_work(iw_wq, &qp->opening, HOLD_MAX);
	}
}

/* The QP stays until zerocopy.c has killed this tasklet. */
static void run_zc_done(struct tasklet_struct *tasklet)
{
	iw_kick(container_of(tasklet, struct iw_qp, zc_done));
}

void iw_work_init(struct iw_qp *qp)
{
	INIT_WORK(&qp->work, run_work);
	INIT_DELAYED_WORK(&qp->retry, run_retry);
	INIT_DELAYED_WORK(&qp->opening, run_opening);
	INIT_DELAYED_WORK(&qp->acker, run_acker);
	tasklet_setup(&qp->zc_done, run_zc_done);
}

void iw_work_cancel(struct iw_qp *qp)
{
	cancel_delayed_work_sync(&qp->retry);
	cancel_delayed_work_sync(&qp->opening);
	if (cancel_delayed_work_sync(&qp->acker))
		iw_ack_timer_done(qp);
	cancel_work_sync(&qp->work);
}
