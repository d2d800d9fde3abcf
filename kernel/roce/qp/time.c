// SPDX-License-Identifier: GPL-2.0
/*
 * The time of the last tick, and what a QP's timer is set for. It fires into run.c.
 */
#include <linux/percpu.h>

#include "core/fault.h"
#include "proto/rc_ack.h"
#include "roce/qp/tick.h"
#include "roce/qp/time.h"

/*
 * From a run that could not do what was due to the next look. The timer must not fire again at
 * once: the softirq that runs it would never end, and what the QP waits for may need its CPU. Not
 * measured.
 */
#define BLOCKED_LOOK_NS	NSEC_PER_MSEC

static DEFINE_PER_CPU(struct tick, last_tick);

u64 roce_tick_ns(void)
{
	return tick_ns(this_cpu_ptr(&last_tick));
}

static u64 earlier_of(u64 a_ns, u64 b_ns)
{
	return a_ns && (!b_ns || a_ns < b_ns) ? a_ns : b_ns;
}

/*
 * The timer is only ever moved forward in time by firing: an armed time that
 * turns out too early costs one look, re-arming for each ACK would cost more.
 */
void roce_timer_arm(struct roce_qp *qp)
{
	u64 want = qp->retry_tx_ns;

	if (roce_is_connected(qp) && qp->req_ready)
		want = earlier_of(rc_req_deadline(&qp->req), want);
	/* a NAK or READ response may have taken the place of the ACK that waited, or preceded it */
	if (!rc_resp_owes_ack_only(&qp->resp))
		ack_hold_cancel(&qp->hold);
	want = earlier_of(ack_hold_deadline(&qp->hold), want);
	if (unlikely(!skb_queue_empty(&qp->kept))) {
		/* While pages are awaited nothing else is looked at. */
		want = earlier_of(tern_fault_is_pending(&qp->base) ?
					  qp->pages_until_ns : rc_resp_recv_look_ns(&qp->resp),
				  want);
	}
	if (!want || (qp->timer_ns && qp->timer_ns <= want))
		return;
	/* Another run at once can do no more than this one: what blocks the QP has it run again. */
	if (unlikely(want <= roce_now(qp)))
		want = roce_now(qp) + BLOCKED_LOOK_NS;
	qp->timer_ns = want;
	hrtimer_start(&qp->timer, ns_to_ktime(want), HRTIMER_MODE_ABS_SOFT);
}
