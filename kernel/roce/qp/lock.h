/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The run lock (base.run_lock), its marks and its waiters. Its holder, with BHs off,
 * owns the QP's state and does all the work there is.
 *
 * The rule: a context that leaves work leaves a mark. One that brings work (a doorbell,
 * a packet, a timer) marks the QP first, then tries the lock. If it fails, the holder
 * sees the mark: it looks at the marks after it let go, with a full barrier between.
 * A holder that lets go with work left over leaves a mark too, or the work item: the
 * next to get the lock may be another context, and there may be none. The work item
 * may come before the lock is free, on another CPU. It then leaves a mark of its own
 * (WORK), which even a holder that has handed off looks at. A context that needs the
 * lock of a second QP and does not get it waits on a list of that QP (peer.h);
 * the holder that lets go of the lock runs the waiters. So no event is lost and no CPU spins.
 *
 * roce_run_unlock() is the one way to let go. selftests/unit/run_lock_test.cc is a model
 * of this, in which all orders of these steps are searched: keep it in step.
 */
#ifndef TERN_ROCE_QP_LOCK_H
#define TERN_ROCE_QP_LOCK_H

#include <linux/atomic.h>

#include "roce/qp/state.h"

/* The work queue on which QPs are run. At load and unload. */
int roce_wq_create(void);
void roce_wq_destroy(void);

/* work: runs the QP of roce_qp.work; kick: that of local.kick, whose reference it puts. */
void roce_lock_init(struct roce_qp *qp, work_func_t work, work_func_t kick);

/* Leave marks (enum tern_qp_mark); the caller holds the run lock, or is about to have it. */
static inline void roce_mark(struct roce_qp *qp, u32 marks)
{
	atomic_or(marks, &qp->base.marks);
}

/* Leave marks; the caller tries the run lock next. With the full barrier between. Any context. */
static inline void roce_mark_and_order(struct roce_qp *qp, u32 marks)
{
	roce_mark(qp, marks);
	smp_mb__after_atomic();	/* pairs with the one in roce_run_unlock() */
}

/* The work item goes on with the QP, on this CPU. Any context. */
void roce_hand_off(struct roce_qp *qp);
/* The same on the CPU that ran it last. */
void roce_hand_off_back(struct roce_qp *qp);
/* Run it from a work item of its own; takes over the caller's reference. Any context. */
void roce_kick_later(struct roce_qp *qp);

/* Have qp, referenced, run: the first one goes to *next, others to work items. */
void roce_run_after(struct roce_qp *qp, struct roce_qp **next);

/*
 * qp, whose run lock is held, waits for that of other. The caller tries other's lock once
 * more after it and a full barrier. BHs off.
 */
void roce_wait_for(struct roce_qp *qp, struct roce_qp *other);
/* It got the lock after all. */
void roce_wait_no_more(struct roce_qp *qp);

/* For roce_run_unlock(): these have something to do only seldom. */
void roce_pass_on(struct roce_qp *qp, struct roce_qp **next);
void roce_run_waiters(struct roce_qp *qp, struct roce_qp **next);

/*
 * Let go of the run lock. QPs that waited for it, and the one left to be run after this one
 * (local.next), are run: the first after the caller (*next, referenced, if that is NULL),
 * others by work items. Returns the marks: if there are any, the caller runs the QP, or has it
 * run, or has left it a work item. BHs are off.
 */
static inline u32 roce_run_unlock(struct roce_qp *qp, struct roce_qp **next)
	__releases(&qp->base.run_lock)
{
	if (unlikely(qp->local.next))
		roce_pass_on(qp, next);
	spin_unlock(&qp->base.run_lock);
	/* Pairs with the barriers between a mark or a waiter and its trylock. */
	smp_mb();
	if (unlikely(!list_empty_careful(&qp->local.waiters)))
		roce_run_waiters(qp, next);
	return atomic_read(&qp->base.marks);
}

#endif
