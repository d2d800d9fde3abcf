// SPDX-License-Identifier: GPL-2.0
/*
 * Handing off: work items, QPs that wait for another's run lock, the next one to be run.
 * What a run does is run.c's; the rule of it all is in lock.h.
 */
#include <linux/workqueue.h>

#include "core/qp.h"
#include "roce/qp/lock.h"

static struct workqueue_struct *roce_wq;

/* Of all QPs: taken only by a run that ends for want of a lock, and after it. */
static DEFINE_SPINLOCK(wait_lock);

int roce_wq_create(void)
{
	/*
	 * Per CPU: a QP goes on where it was interrupted, with warm caches. One worker of a CPU at
	 * a time, of a program's priority: what programs have it do takes no more of a CPU than one
	 * of them may, with however many QPs. No work waits for another's. Writeback to storage
	 * behind a QP waits for it: it allocates nothing that would wait for that.
	 */
	roce_wq = alloc_workqueue("tern_roce", WQ_PERCPU | WQ_CPU_INTENSIVE | WQ_MEM_RECLAIM, 1);
	return roce_wq ? 0 : -ENOMEM;
}

void roce_wq_destroy(void)
{
	destroy_workqueue(roce_wq);
}

void roce_lock_init(struct roce_qp *qp, work_func_t work, work_func_t kick)
{
	INIT_WORK(&qp->work, work);
	INIT_WORK(&qp->local.kick, kick);
	INIT_LIST_HEAD(&qp->local.waiters);
	INIT_LIST_HEAD(&qp->local.wait_node);
}

void roce_hand_off(struct roce_qp *qp)
{
	queue_work(roce_wq, &qp->work);
}

void roce_hand_off_back(struct roce_qp *qp)
{
	queue_work_on(READ_ONCE(qp->cpu), roce_wq, &qp->work);
}

void roce_kick_later(struct roce_qp *qp)
{
	if (!queue_work(roce_wq, &qp->local.kick))
		tern_qp_put(&qp->base);
}

void roce_run_after(struct roce_qp *qp, struct roce_qp **next)
{
	if (!*next)
		*next = qp;
	else if (*next == qp)
		tern_qp_put(&qp->base);
	else
		roce_kick_later(qp);
}

void roce_wait_for(struct roce_qp *qp, struct roce_qp *other)
{
	spin_lock(&wait_lock);
	if (list_empty(&qp->local.wait_node))
		refcount_inc(&qp->base.ref);
	list_move_tail(&qp->local.wait_node, &other->local.waiters);
	spin_unlock(&wait_lock);
}

void roce_wait_no_more(struct roce_qp *qp)
{
	bool waited;

	spin_lock(&wait_lock);
	waited = !list_empty(&qp->local.wait_node);
	list_del_init(&qp->local.wait_node);
	spin_unlock(&wait_lock);
	/* not the last one: destroy has its own until it has had the run lock */
	if (waited)
		tern_qp_put(&qp->base);
}

void roce_run_waiters(struct roce_qp *qp, struct roce_qp **next)
{
	struct roce_qp *waiter, *tmp;

	spin_lock_bh(&wait_lock);
	list_for_each_entry_safe(waiter, tmp, &qp->local.waiters, local.wait_node) {
		list_del_init(&waiter->local.wait_node);
		roce_run_after(waiter, next);
	}
	spin_unlock_bh(&wait_lock);
}

void roce_pass_on(struct roce_qp *qp, struct roce_qp **next)
{
	roce_run_after(qp->local.next, next);
	qp->local.next = NULL;
}
