// SPDX-License-Identifier: GPL-2.0
/*
 * Who runs a QP, and when. Doorbells, packets, timers and the local stack's
 * "room again" all end in roce_kick(): whoever gets the run lock does all the
 * work there is, in its own context; whoever does not leaves a mark, which the
 * holder looks for after it let go. So no event is lost, nobody spins, and a
 * QP's state has one owner at a time. A holder that lets go with work left over
 * leaves a mark too, or a work item: the next to get the lock may be somebody
 * else, and there may be none (roce_run_unlock()). selftests/unit/run_lock_test.cc
 * looks at all ways in which these steps can follow one another: keep it in step.
 *
 * A holder works to a budget; beyond it the work queue goes on, so that
 * softirq time is not hogged. But a program that rings copies by itself, within
 * the host, all that it has posted: its time, its priority, its cgroup.
 */
#include <linux/ktime.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "roce/exec.h"
#include "roce/qp/tick.h"
#include "roce/wire/upcalls.h"
#include "uncleared.h"

/* How often others than posters go on with copying, and how many QPs one call runs besides its own. */
#define ROCE_LOCAL_ROUNDS	8
#define ROCE_LOCAL_CHAIN	8

struct workqueue_struct *roce_wq;

static DEFINE_PER_CPU(struct tick, last_tick);

u64 roce_tick_ns(void)
{
	return tick_ns(this_cpu_ptr(&last_tick));
}

static void queue_backlog(struct roce_qp *qp, struct roce_rx *rx)
{
	struct sk_buff *skb;

	if (skb_queue_len_lockless(&qp->backlog) >= ROCE_RX_BACKLOG_MAX) {
		roce_skb_done(rx);
		goto dropped;
	}
	skb = roce_skb_keep(rx);
	if (unlikely(!skb))
		goto dropped;
	skb_queue_tail(&qp->backlog, skb);
	tern_count(qp->base.dev, TERN_CNT_RX_WAITED);
	return;
dropped:
	tern_count(qp->base.dev, TERN_CNT_RX_BACKLOG_DROPPED);
}

/*
 * Is it of a kind that the QP takes, and from who may send it that? Without the run lock the
 * answer may be wrong while the QP is being modified: "no" is a packet lost, as it would be had it
 * come a moment before or after; and after a "yes" it is asked again.
 */
static bool takes(const struct roce_qp *qp, const struct roce_rx *rx)
{
	static const u8 service[] = {
		[IB_QPT_GSI] = BTH_UD,
		[IB_QPT_RC] = BTH_RC,
		[IB_QPT_UC] = BTH_UC,
		[IB_QPT_UD] = BTH_UD,
	};
	enum ib_qp_state state = READ_ONCE(qp->base.state);
	const struct pkt *k = &rx->k;

	if (state < IB_QPS_RTR || state == IB_QPS_ERR ||
	    (k->opcode & BTH_SERVICE_MASK) != service[qp->base.type] ||
	    (k->pkey & 0x7fff) != (PKEY_DEFAULT & 0x7fff))
		return false;
	if (roce_is_connected(qp))
		return qp->resp_ready && roce_rx_from_path(rx, &qp->path);
	return k->qkey == (qp->base.type == IB_QPT_GSI ? (u32)QKEY_GSI : qp->base.attr.qkey);
}

void roce_rx_one(struct roce_qp *qp, const struct roce_rx *rx)
{
	if (!takes(qp, rx)) {
		tern_count(qp->base.dev, TERN_CNT_RX_BAD_PATH);
		return;
	}
	if (!roce_is_connected(qp)) {
		roce_ud_rx(qp, rx);
	} else if (rx->k.op_flags & OPF_REQUEST) {
		/* Answers go back the way the newest request came. */
		WRITE_ONCE(qp->local.resp, roce_rx_is_local(rx));
		if (unlikely(!skb_queue_empty(&qp->kept)))
			roce_resp_rx_behind(qp, rx);
		else
			roce_resp_rx(qp, rx);
	} else {
		roce_req_rx(qp, rx);
	}
}

static bool rx_backlog(struct roce_qp *qp, u32 *budget)
{
	/* What is missed here has left a mark. */
	if (skb_queue_empty_lockless(&qp->backlog))
		return false;
	while (*budget) {
		struct sk_buff *skb = skb_dequeue(&qp->backlog);
		struct roce_rx rx;

		if (!skb)
			return false;
		--*budget;
		if (roce_skb_parse(qp->base.dev, skb, &rx))
			roce_rx_one(qp, &rx);
		napi_consume_skb(skb, 1);
	}
	return !skb_queue_empty(&qp->backlog);
}

void roce_tx_later(struct roce_qp *qp, u64 ns)
{
	qp->retry_tx_ns = roce_now(qp) + ns;
}

bool roce_batch_send(struct roce_qp *qp)
{
	int ret;

	if (!qp->tx.batch.head)
		return true;
	ret = roce_tx_flush(&qp->tx, &qp->path);
	qp->now_ns = 0;
	if (unlikely(qp->window_cut != !!qp->tx.cut_max_bytes) && qp->req_ready)
		roce_window_suit(qp);

	if (unlikely(ret == -EAGAIN)) {
		if (qp->batch.has_requests)
			rc_req_unsend(&qp->req, qp->batch.psn);
		if (qp->batch.has_ack)
			rc_resp_unsend_ack(&qp->resp);
		roce_tx_later(qp, ROCE_TX_RETRY_NS);
	}
	qp->batch.has_requests = false;
	qp->batch.has_ack = false;
	return ret != -EAGAIN;	/* other errors: lost, as on the wire */
}

bool roce_batch_make_room(struct roce_qp *qp, const struct run *run)
{
	struct pkt k TERN_UNCLEARED;

	run_pkt(run, 0, &k);
	return roce_tx_fits(&qp->tx, &k) || roce_batch_send(qp);
}

/*
 * The timer is only ever moved forward in time by firing: an armed time that
 * turns out too early costs one look, re-arming for each ACK would cost more.
 */
static void arm_timer(struct roce_qp *qp)
{
	u64 want = qp->retry_tx_ns, held;

	if (roce_is_connected(qp) && qp->req_ready) {
		u64 deadline = rc_req_deadline(&qp->req);

		if (deadline && (!want || deadline < want))
			want = deadline;
	}
	/* a NAK or a READ response may have taken the place of the ACK that waited */
	if (!rc_resp_owes_ack(&qp->resp))
		ack_hold_cancel(&qp->hold);
	held = ack_hold_deadline(&qp->hold);
	if (held && (!want || held < want))
		want = held;
	if (unlikely(!skb_queue_empty(&qp->kept))) {
		u64 look = rc_resp_recv_look_ns(&qp->resp);

		if (look && (!want || look < want))
			want = look;
	}
	if (!want || (qp->timer_ns && qp->timer_ns <= want))
		return;
	qp->timer_ns = want;
	hrtimer_start(&qp->timer, ns_to_ktime(want), HRTIMER_MODE_ABS_SOFT);
}

/* All there is to do, within the budget. True: more is left. */
static bool run(struct roce_qp *qp, u32 budget)
{
	u32 marks = atomic_read(&qp->base.marks);
	bool unreaped = false;
	bool more;

	/* what is left from now on is looked for once the lock is free */
	if (marks)
		marks = atomic_xchg(&qp->base.marks, 0);

	if (qp->base.dead) {
		roce_purge_backlog(qp);
		return false;
	}

	WRITE_ONCE(qp->cpu, smp_processor_id());
	more = roce_resp_has_kept(qp) && roce_resp_resume(qp, &budget);
	more |= rx_backlog(qp, &budget);
	if (marks & TERN_QP_MARK_TIMER) {
		qp->timer_ns = 0;
		qp->retry_tx_ns = 0;
		roce_req_timer(qp);
	}
	if (roce_is_connected(qp)) {
		bool ack_waits;

		more |= roce_resp_send(qp, &budget);
		ack_waits = ack_hold_waits(&qp->hold);
		more |= roce_req_send(qp, &budget);
		/* for the reply, which was posted only after we looked */
		if (ack_waits && !ack_hold_waits(&qp->hold))
			more |= roce_resp_send(qp, &budget);
		roce_batch_send(qp);
		unreaped = roce_req_reap(qp);
	} else {
		more |= roce_ud_send(qp, &budget);
		roce_check_drained(qp);
	}
	if (unreaped)
		more = true;
	else if (qp->base.state == IB_QPS_ERR || qp->base.state == IB_QPS_SQE)
		more |= roce_flush(qp, &budget);
	roce_tx_end_turn(&qp->tx);
	arm_timer(qp);
	qp->now_ns = 0;
	return more;
}

/* The runs of one QP by one caller, until there is no more to do, or somebody else goes on. */
struct visit {
	u32 budget;		/* of each */
	u32 rounds;		/* by which it went on by itself */
	bool posted;		/* a program is in the kernel because it has posted ... */
	u32 until;		/* up to here, as of its first run */
};

/*
 * Budget is spent on copying within the host. Who posted that goes on until it is done, with
 * BHs on and others let on their CPU in between, as in a write() to a pipe. Signals are to be
 * taken in time: then a work item goes on. Others in process context go on for a while.
 */
static bool goes_on(const struct roce_qp *qp, struct visit *visit)
{
	if (!qp->local.req || !in_task())
		return false;
	if (!visit->posted)
		return !need_resched() && ++visit->rounds < ROCE_LOCAL_ROUNDS;
	if (!visit->rounds++)
		visit->until = READ_ONCE(qp->base.sq.ring->hdr->prod);
	return !rc_req_has_sent_before(&qp->req, visit->until) && !signal_pending(current);
}

u32 roce_run_unlock(struct roce_qp *qp, struct roce_qp **next) __releases(&qp->base.run_lock)
{
	roce_local_pass_on(qp, next);
	spin_unlock(&qp->base.run_lock);
	/* Pairs with the barriers between a mark or a waiter and its trylock. */
	smp_mb();
	roce_local_released(qp, next);
	return atomic_read(&qp->base.marks);
}

/*
 * Runs the QP and lets go of it; BHs are off and stay so. *next: another QP, referenced,
 * that is to be run for what was done here, unless there is one already. True: there is
 * a mark, our own or of somebody who came meanwhile and went, and no work item for it:
 * that may have come and gone, too, if it was given to another CPU.
 */
static bool run_and_unlock(struct roce_qp *qp, struct visit *visit, struct roce_qp **next)
	__releases(&qp->base.run_lock)
{
	u32 wanted = ~0u;

	if (run(qp, visit->budget)) {
		if (goes_on(qp, visit)) {
			/* Who gets the lock before us goes on instead. */
			atomic_or(TERN_QP_MARK_SEND, &qp->base.marks);
		} else {
			wanted = TERN_QP_MARK_WORK;
			tern_count(qp->base.dev, TERN_CNT_HANDOFFS);
			queue_work(roce_wq, &qp->work);
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
		/* This may take long: the peer, if it has work of its own, does not wait for that. */
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

		if (++n > ROCE_LOCAL_CHAIN) {
			roce_kick_later(qp);
			return;
		}
		next = NULL;
		atomic_or(TERN_QP_MARK_SEND, &qp->base.marks);
		smp_mb__after_atomic();
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

static void leave_marks(struct roce_qp *qp, u32 marks)
{
	atomic_or(marks, &qp->base.marks);
	smp_mb__after_atomic();
}

void roce_kick(struct roce_qp *qp, u32 marks)
{
	struct visit visit = { .budget = in_task() ? ROCE_BUDGET_PROCESS : ROCE_BUDGET_SOFTIRQ };

	if (marks)
		leave_marks(qp, marks);
	if (irqs_disabled() || tern_cq_in_handler()) {
		/* ib_mad posts so: the IP stack must not be entered. Or: see queue/cq.h. */
		queue_work(roce_wq, &qp->work);
		return;
	}
	run_chain(qp, &visit);
}

void roce_kick_posted(struct roce_qp *qp)
{
	struct visit visit = { .budget = ROCE_BUDGET_PROCESS, .posted = true };

	might_sleep();
	leave_marks(qp, TERN_QP_MARK_SEND);
	run_chain(qp, &visit);
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

void roce_qp_prefetch(const struct tern_qp *base, const struct roce_rx *rx)
{
	const struct roce_qp *qp = container_of(base, struct roce_qp, base);

	prefetch(&base->run_lock);
	prefetch(&base->mem);
	prefetch(&qp->path);
	prefetch(&qp->tx.batch);
	prefetch(&qp->local);
	if (rx->k.op_flags & OPF_REQUEST)
		rc_resp_prefetch(&qp->resp);
	else
		rc_req_prefetch(&qp->req);
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
		roce_rx_one(qp, rx);
		roce_skb_done(rx);
		return;
	}
	/* Strangers are not to fill the backlog. */
	if (!takes(qp, rx)) {
		tern_count(qp->base.dev, TERN_CNT_RX_BAD_PATH);
		roce_skb_done(rx);
		return;
	}
	queue_backlog(qp, rx);
	if (!series->qp) {
		struct visit visit = { .budget = ROCE_BUDGET_SOFTIRQ };

		leave_marks(qp, TERN_QP_MARK_RX);
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

static void work_fn(struct work_struct *work)
{
	struct roce_qp *qp = container_of(work, struct roce_qp, work);

	roce_kick(qp, TERN_QP_MARK_SEND | TERN_QP_MARK_WORK);
}

static enum hrtimer_restart timer_fn(struct hrtimer *timer)
{
	struct roce_qp *qp = container_of(timer, struct roce_qp, timer);

	roce_kick(qp, TERN_QP_MARK_TIMER);
	return HRTIMER_NORESTART;
}

void roce_exec_init(struct roce_qp *qp)
{
	skb_queue_head_init(&qp->backlog);
	__skb_queue_head_init(&qp->kept);
	INIT_WORK(&qp->work, work_fn);
	roce_local_init(qp);
	hrtimer_setup(&qp->timer, timer_fn, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

void roce_purge_backlog(struct roce_qp *qp)
{
	skb_queue_purge(&qp->backlog);
	__skb_queue_purge(&qp->kept);
}

void roce_exec_stop(struct roce_qp *qp)
{
	/* dead: none of them starts another */
	cancel_work_sync(&qp->work);
	hrtimer_cancel(&qp->timer);
	roce_purge_backlog(qp);
}
