/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page faults of QPs: accesses to memory on demand (mem/odp.h) that found pages absent.
 *
 * An access that ends with -EAGAIN has left a note in its QP. The transport undoes what it
 * has begun, so that the same access comes again, calls tern_fault_begin(), and takes the
 * QP's run for blocked. A work item brings the pages in and has the QP run again. If
 * they cannot be had, the access fails with -EFAULT when it comes again.
 *
 * Each user context has a work queue of its own for the regions that it registers, with one
 * item at a time: a page may take for ever (a file system in user space), and then only that
 * context waits. It takes a kernel thread while an item is carried out, so a user has no more than
 * odp_contexts of such contexts.
 */
#ifndef TERN_CORE_FAULT_H
#define TERN_CORE_FAULT_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "core/qp.h"

/* Of a user context. */
struct tern_pager {
	struct mutex lock;
	struct workqueue_struct *wq;	/* NULL: no region on demand yet */
	uid_t user;			/* whom it counts for */
};

static inline void tern_pager_init(struct tern_pager *pager)
{
	mutex_init(&pager->lock);
	pager->wq = NULL;
}

/* Before the first region on demand. 0; -EAGAIN: the user has too many; -ENOMEM. Sleeps. */
int tern_pager_start(struct tern_pager *pager);
/* No region of the context is left. Sleeps. */
void tern_pager_stop(struct tern_pager *pager);

/* At creation of a QP. */
void tern_fault_init(struct tern_qp *qp);

/* If an access of qp has left a note: have its pages brought in, and true. run_lock held. */
bool tern_fault_begin(struct tern_qp *qp);

/* Are pages being brought in for qp? Then it need not try again. run_lock held. */
static inline bool tern_fault_is_pending(const struct tern_qp *qp)
{
	u32 state = READ_ONCE(qp->fault.state);

	return state == TERN_FAULT_BUSY || state == TERN_FAULT_FORGOTTEN;
}

/*
 * The access that left the note will not come again: qp goes to RESET, or lost what came. So that
 * the pages could not be had concerns no other access. run_lock held.
 */
void tern_fault_forget(struct tern_qp *qp);

#endif
