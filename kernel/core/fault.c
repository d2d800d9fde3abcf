// SPDX-License-Identifier: GPL-2.0
/* Page faults of QPs: the work item between the note of an access and the next run. */
#include <linux/errno.h>

#include "core/fault.h"
#include "core/qp.h"
#include "core/trace.h"
#include "core/stats.h"
#include "core/transport.h"
#include "core/wq.h"
#include "mem/odp.h"

int tern_pager_start(struct tern_pager *pager)
{
	int err = 0;

	mutex_lock(&pager->lock);
	if (!pager->wq)
		pager->wq = alloc_ordered_workqueue("tern_pager", WQ_MEM_RECLAIM);
	if (!pager->wq)
		err = -ENOMEM;
	mutex_unlock(&pager->lock);
	return err;
}

void tern_pager_stop(struct tern_pager *pager)
{
	if (pager->wq)
		destroy_workqueue(pager->wq);
}

static void bring_in_and_resume(struct work_struct *work)
{
	struct tern_qp *qp = container_of(work, struct tern_qp, fault_work);
	int err = tern_odp_fault(&qp->fault);

	trace_tern_fault_end(qp, err);
	tern_count_anywhere(qp->dev, TERN_CNT_PAGE_FAULTS);
	/* What the thread did to the note comes before. */
	if (cmpxchg_release(&qp->fault.state, TERN_FAULT_BUSY,
			    err ? TERN_FAULT_FAILED : TERN_FAULT_NONE) != TERN_FAULT_BUSY)
		smp_store_release(&qp->fault.state, TERN_FAULT_NONE);
	qp->dev->transport->qp_resume(qp);
	tern_qp_put(qp);
}

void tern_fault_init(struct tern_qp *qp)
{
	INIT_WORK(&qp->fault_work, bring_in_and_resume);
}

bool tern_fault_begin(struct tern_qp *qp)
{
	struct workqueue_struct *wq;

	if (qp->fault.state != TERN_FAULT_WANTED)
		return false;
	trace_tern_fault_begin(qp);
	qp->fault.state = TERN_FAULT_BUSY;
	refcount_inc(&qp->ref);
	wq = tern_odp_fault_prepare(&qp->dev->keys, &qp->fault);
	/* The region may be gone since. Then the access finds that out. */
	queue_work(wq ?: tern_wq, &qp->fault_work);
	return true;
}

void tern_fault_forget(struct tern_qp *qp)
{
	if (cmpxchg(&qp->fault.state, TERN_FAULT_BUSY, TERN_FAULT_FORGOTTEN) != TERN_FAULT_BUSY &&
	    !tern_fault_is_pending(qp))
		qp->fault.state = TERN_FAULT_NONE;
}
