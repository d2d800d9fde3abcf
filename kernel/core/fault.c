// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults of QPs: the work item between the note of an access and the next run. How many
 * kernel threads a user's page faults may take.
 */
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/moduleparam.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>

#include "core/fault.h"
#include "core/qp.h"
#include "core/trace.h"
#include "core/stats.h"
#include "core/transport.h"
#include "core/wq.h"
#include "mem/odp.h"

/* ---- pagers ---- */

static uint odp_contexts = 1024;
module_param(odp_contexts, uint, 0644);
MODULE_PARM_DESC(odp_contexts, "contexts of a user that may have memory on demand");

static DEFINE_MUTEX(users_lock);
/* By user: the number of its pagers. */
static DEFINE_XARRAY(users);

/*
 * Our caller, or the user that made the user namespace, and with it any number of users. Root makes
 * them for containers: these have users of their own, and do not share root's number.
 */
static uid_t responsible_user(void)
{
	struct user_namespace *ns = current_user_ns(), *outermost = NULL;
	kuid_t uid = current_uid(), first;

	for (; ns->parent; ns = ns->parent)
		outermost = ns;
	if (outermost) {
		uid = outermost->owner;
		first = make_kuid(outermost, 0);
		if (uid_eq(uid, GLOBAL_ROOT_UID) && uid_valid(first))
			uid = first;
	}
	return __kuid_val(uid);
}

static unsigned long pagers_of(uid_t user)
{
	void *n = xa_load(&users, user);

	return n ? xa_to_value(n) : 0;
}

static int count_pager_in(uid_t user)
{
	unsigned long n;
	int err = -EAGAIN;

	mutex_lock(&users_lock);
	n = pagers_of(user);
	if (n < READ_ONCE(odp_contexts))
		/* one entry for each user that has contexts, which are charged */
		err = xa_err(xa_store(&users, user, xa_mk_value(n + 1), GFP_KERNEL));
	mutex_unlock(&users_lock);
	return err;
}

static void count_pager_out(uid_t user)
{
	unsigned long n;

	mutex_lock(&users_lock);
	n = pagers_of(user) - 1;
	if (n)
		xa_store(&users, user, xa_mk_value(n), GFP_KERNEL);	/* in its place */
	else
		xa_erase(&users, user);
	mutex_unlock(&users_lock);
}

static int pager_make_wq(struct tern_pager *pager)
{
	int err;

	pager->user = responsible_user();
	err = count_pager_in(pager->user);
	if (err)
		return err;
	/*
	 * Without WQ_MEM_RECLAIM, which would keep a thread for each queue: page faults allocate
	 * memory anyway.
	 */
	pager->wq = alloc_ordered_workqueue("tern_pager", 0);
	if (pager->wq)
		return 0;
	count_pager_out(pager->user);
	return -ENOMEM;
}

int tern_pager_start(struct tern_pager *pager)
{
	int err = 0;

	mutex_lock(&pager->lock);
	if (!pager->wq)
		err = pager_make_wq(pager);
	mutex_unlock(&pager->lock);
	return err;
}

void tern_pager_stop(struct tern_pager *pager)
{
	if (!pager->wq)
		return;
	destroy_workqueue(pager->wq);
	count_pager_out(pager->user);
}

/* ---- faults ---- */

static void bring_in_and_resume(struct work_struct *work)
{
	struct tern_qp *qp = container_of(work, struct tern_qp, fault_work);
	int err = tern_odp_fault(&qp->fault);

	trace_tern_fault_end(qp, err);
	/* For the port: qp may be destroyed by now, and its set of counters gone. */
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
