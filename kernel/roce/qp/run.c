// SPDX-License-Identifier: GPL-2.0
/*
 * One run of a QP: what is done in which order. And all that leads to one: doorbells,
 * packets, the timer, work items, the end of another QP's run.
 */
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "core/fault.h"
#include "core/qp.h"
#include "core/stats.h"
#include "queue/cq.h"
#include "roce/qp/ahead.h"
#include "roce/qp/batch.h"
#include "roce/qp/carry.h"
#include "roce/qp/dispatch.h"
#include "roce/qp/error.h"
#include "roce/qp/lock.h"
#include "roce/qp/req.h"
#include "roce/qp/run.h"
#include "roce/qp/step.h"
#include "roce/qp/time.h"
#include "roce/qp/ud_send.h"
#include "roce/wire/room.h"
#include "roce/wire/skb.h"
#include "roce/wire/upcalls.h"

/*
 * How often others than posters go on with copying, and how many QPs one call runs besides its own.
 */
#define LOCAL_ROUNDS	8
#define LOCAL_CHAIN	8
/*
 * Looks at a run lock that will soon be free: some microseconds at most, in which a short message
 * is delivered. What it gains: Documentation/decisions/03-local-path.md.
 */
#define AWAIT_LOOKS	50

/* Answers, requests, completions. Is there more, for which the budget did not last? */
static bool run_connected(struct roce_qp *qp, u32 *budget, bool *unreaped)
{
	/* In ERR the NAK that says why is sent now: the QP may be destroyed before the next run. */
	u32 last = ROCE_BUDGET_SOFTIRQ;
	bool ack_waits, more;

	if (unlikely(qp->cnp_due)) {
		qp->cnp_due = false;
		if (qp->base.state != IB_QPS_ERR)
			roce_batch_cnp(qp);
	}
	more = roce_carry_answers(qp, qp->base.state == IB_QPS_ERR ? &last : budget) == ROCE_MORE;
	ack_waits = ack_hold_waits(&qp->hold);
	more |= roce_carry_requests(qp, budget) == ROCE_MORE;
	/* for the reply, which was posted only after we looked */
	if (ack_waits && !ack_hold_waits(&qp->hold))
		more |= roce_carry_answers(qp, budget) == ROCE_MORE;
	roce_batch_send(qp);
	*unreaped = roce_req_reap(qp) == ROCE_MORE;
	return more || *unreaped;
}

/* All there is to do, within the budget. */
static enum roce_step run_qp(struct roce_qp *qp, u32 budget)
{
	u32 marks = atomic_read(&qp->base.marks);
	bool unreaped = false, more = false;

	/* what is left from now on is looked for once the lock is free */
	if (marks)
		marks = atomic_xchg(&qp->base.marks, 0);

	if (qp->base.dead) {
		roce_backlog_purge(qp);
		return ROCE_DONE;
	}

	WRITE_ONCE(qp->cpu, smp_processor_id());
	if (!tern_fault_is_pending(&qp->base))
		qp->pages_until_ns = 0;
	if (roce_kept_has_some(qp))
		more = roce_kept_resume(qp, &budget) == ROCE_MORE;
	if (roce_backlog_has_some(qp))
		more |= roce_backlog_take(qp, &budget) == ROCE_MORE;
	if (roce_ahead_has_some(qp))
		more |= roce_ahead_resume(qp, &budget) == ROCE_MORE;
	more |= roce_kept_goes_on(qp);
	if (marks & TERN_QP_MARK_TIMER) {
		qp->timer_ns = 0;
		qp->retry_tx_ns = 0;
		roce_tx_try_again(&qp->tx);
		roce_req_timer(qp);
	}
	if (roce_is_connected(qp)) {
		more |= run_connected(qp, &budget, &unreaped);
	} else {
		more |= roce_ud_send(qp, &budget) == ROCE_MORE;
		roce_check_drained(qp);
	}
	/* Completions come before flushed work requests. */
	if (!unreaped && (qp->base.state == IB_QPS_ERR || qp->base.state == IB_QPS_SQE))
		more |= roce_flush(qp, &budget) == ROCE_MORE;
	roce_tx_run_ends(&qp->tx);
	roce_timer_arm(qp);
	qp->now_ns = 0;
	return more ? ROCE_MORE : ROCE_DONE;
}

/* The runs of one QP by one caller, until there is no more to do, or another context goes on. */
struct visit {
	u32 budget;		/* of each */
	u32 rounds;		/* by which it went on by itself */
	bool posted;		/* a program is in the kernel because it has posted ... */
	u32 until;		/* up to here, as of its first run */
};

/*
 * Budget is spent on copying within the host. The program that posted goes on until it is done,
 * with BHs on and others let on its CPU in between, as in a write() to a pipe. A pending signal
 * ends that, and a work item goes on. Other tasks go on for a while.
 */
static bool may_go_on(const struct roce_qp *qp, struct visit *visit)
{
	if (!qp->local.req || !in_task())
		return false;
	if (!visit->posted)
		return !need_resched() && ++visit->rounds < LOCAL_ROUNDS;
	if (!visit->rounds++)
		visit->until = READ_ONCE(qp->base.sq.ring->hdr->prod);
	return !rc_req_has_sent_before(&qp->req, visit->until) && !signal_pending(current);
}

/*
 * Runs the QP and lets go of it; BHs are off and stay so. *next: another QP, referenced,
 * to run for what was done here, unless there is one already. True: there is
 * a mark, our own or of a context that came meanwhile and went, and no work item for it.
 * The item may have come and gone, too, if it was given to another CPU.
 */
static bool run_and_unlock(struct roce_qp *qp, struct visit *visit, struct roce_qp **next)
	__releases(&qp->base.run_lock)
{
	u32 wanted = ~0u;

	if (run_qp(qp, visit->budget) == ROCE_MORE) {
		if (may_go_on(qp, visit)) {
			/* A context that gets the lock before us goes on instead. */
			roce_mark(qp, TERN_QP_MARK_SEND);
		} else {
			wanted = TERN_QP_MARK_WORK;
			tern_qp_count(&qp->base, TERN_CNT_HANDOFFS);
			roce_hand_off(qp);
		}
	}
	return roce_run_unlock(qp, next) & wanted;
}

static void visit_qp(struct roce_qp *qp, struct visit *visit, struct roce_qp **next)
{
	bool again;

	do {
		local_bh_disable();
		if (!spin_trylock(&qp->base.run_lock)) {
			local_bh_enable();
			return;
		}
		again = run_and_unlock(qp, visit, next);
		local_bh_enable();
		if (!visit->posted)
			continue;
		/*
		 * This may take long: the peer, if it has work of its own, does not wait for that.
		 */
		if (again && visit->rounds && *next) {
			roce_kick_later(*next);
			*next = NULL;
		}
		cond_resched();
	} while (again);
}

static void run_while_marked(struct roce_qp *qp, u32 budget, struct roce_qp **next)
{
	struct visit visit = { .budget = budget };

	visit_qp(qp, &visit, next);
}

/* A QP that work was brought for, most often the peer; then those that it brought work for. */
static void run_next(struct roce_qp *next, u32 budget)
{
	u32 n = 0;

	while (unlikely(next)) {
		struct roce_qp *qp = next;

		if (++n > LOCAL_CHAIN) {
			roce_kick_later(qp);
			return;
		}
		next = NULL;
		roce_mark_and_order(qp, TERN_QP_MARK_SEND);
		run_while_marked(qp, budget, &next);
		tern_qp_put(&qp->base);
	}
}

static void run_chain(struct roce_qp *qp, struct visit *visit)
{
	struct roce_qp *next = NULL;

	visit_qp(qp, visit, &next);
	run_next(next, visit->budget);
}

void roce_kick(struct roce_qp *qp, u32 marks)
{
	struct visit visit = { .budget = in_task() ? ROCE_BUDGET_PROCESS : ROCE_BUDGET_SOFTIRQ };

	if (marks)
		roce_mark_and_order(qp, marks);
	if (irqs_disabled() || tern_cq_in_handler()) {
		/* ib_mad posts so: the IP stack must not be entered. Or: see queue/cq.h. */
		roce_hand_off(qp);
		return;
	}
	run_chain(qp, &visit);
}

/*
 * A program that sees what came may post its answer while the one that brought it still has the
 * lock. To wait a moment is less than to have the answer sent by that CPU too, behind all that it
 * has to do for its own message.
 */
static void await_delivery(const struct roce_qp *qp)
{
	u32 n;

	for (n = 0; n < AWAIT_LOOKS && READ_ONCE(qp->local.short_held); n++)
		cpu_relax();
}

void roce_qp_doorbell(struct tern_qp *base)
{
	struct visit visit = { .budget = ROCE_BUDGET_PROCESS, .posted = true };
	struct roce_qp *qp = to_roce_qp(base);

	/* A kernel consumer may ring from a handler, inside the very delivery. */
	if (!base->sq.user) {
		roce_kick(qp, TERN_QP_MARK_SEND);
		return;
	}
	might_sleep();
	await_delivery(qp);
	roce_mark_and_order(qp, TERN_QP_MARK_SEND);
	run_chain(qp, &visit);
}

void roce_qp_resume(struct tern_qp *base)
{
	roce_kick(to_roce_qp(base), TERN_QP_MARK_SEND);
}

void roce_qp_unlock(struct roce_qp *qp) __releases(&qp->base.run_lock)
{
	struct roce_qp *next = NULL;
	u32 marks;

	qp->now_ns = 0;
	marks = roce_run_unlock(qp, &next);
	local_bh_enable();
	if (marks)
		run_while_marked(qp, ROCE_BUDGET_PROCESS, &next);
	run_next(next, ROCE_BUDGET_PROCESS);
}

void roce_qp_rx(struct roce_rx_series *series, struct tern_qp *base, struct roce_rx *rx)
{
	struct roce_qp *qp = to_roce_qp(base);

	lockdep_assert_in_softirq();
	if (series->qp != qp) {
		roce_rx_series_end(series);
		if (spin_trylock(&qp->base.run_lock)) {
			series->qp = qp;
			__release(&qp->base.run_lock);	/* sparse cannot follow it from here on */
		}
	}
	if (series->qp && skb_queue_empty(&qp->backlog) && !qp->base.dead) {
		roce_dispatch(qp, rx);
		roce_skb_done(rx);
		return;
	}
	/* Strangers are not to fill the backlog. */
	if (!roce_takes(qp, rx)) {
		roce_skb_done(rx);
		return;
	}
	roce_backlog_add(qp, rx);
	if (!series->qp) {
		struct visit visit = { .budget = ROCE_BUDGET_SOFTIRQ };

		roce_mark_and_order(qp, TERN_QP_MARK_RX);
		run_chain(qp, &visit);
	}
}

void roce_rx_series_end(struct roce_rx_series *series)
{
	struct roce_qp *qp = series->qp;
	struct visit visit = { .budget = ROCE_BUDGET_SOFTIRQ };
	struct roce_qp *next = NULL;

	series->qp = NULL;
	if (!qp)
		return;
	__acquire(&qp->base.run_lock);
	if (run_and_unlock(qp, &visit, &next))
		run_while_marked(qp, ROCE_BUDGET_SOFTIRQ, &next);
	run_next(next, ROCE_BUDGET_SOFTIRQ);
}

static void run_work(struct work_struct *work)
{
	struct roce_qp *qp = container_of(work, struct roce_qp, work);

	roce_kick(qp, TERN_QP_MARK_SEND | TERN_QP_MARK_WORK);
}

static void run_kicked(struct work_struct *work)
{
	struct roce_qp *qp = container_of(work, struct roce_qp, local.kick);

	roce_kick(qp, TERN_QP_MARK_SEND);
	tern_qp_put(&qp->base);
}

static enum hrtimer_restart run_timer(struct hrtimer *timer)
{
	struct roce_qp *qp = container_of(timer, struct roce_qp, timer);

	/*
	 * The timers of any number of QPs fire in one softirq. What a rate lets go is the program's
	 * work, and it says when: a worker does it, at a program's priority.
	 */
	if (READ_ONCE(qp->base.attr.rate_limit) || rc_req_is_steered(&qp->req)) {
		roce_mark_and_order(qp, TERN_QP_MARK_TIMER);
		roce_hand_off(qp);
		return HRTIMER_NORESTART;
	}
	roce_kick(qp, TERN_QP_MARK_TIMER);
	return HRTIMER_NORESTART;
}

void roce_run_init(struct roce_qp *qp)
{
	skb_queue_head_init(&qp->backlog);
	__skb_queue_head_init(&qp->kept);
	roce_lock_init(qp, run_work, run_kicked);
	hrtimer_setup(&qp->timer, run_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

void roce_run_stop(struct roce_qp *qp)
{
	/*
	 * dead: the item starts no timer, so that the timer, which may start the item, ends first
	 */
	hrtimer_cancel(&qp->timer);
	cancel_work_sync(&qp->work);
	roce_backlog_purge(qp);
}
