/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A run of a QP later: its workqueue, and how a run is queued on it. The work items' functions are
 * in work.c.
 */
#ifndef TERN_IWARP_STREAM_DEFER_H
#define TERN_IWARP_STREAM_DEFER_H

#include <linux/workqueue.h>

#include "iwarp/stream/state.h"

/* Writeback may wait for these runs. Nothing on the queue waits for memory. */
extern struct workqueue_struct *iw_wq;

/* At load; -ENOMEM. */
int iw_defer_init(void);
/* There are no QPs. May sleep. */
void iw_defer_exit(void);

/*
 * Any context. The caller holds run_lock with `dead` unset, or knows otherwise that destroy waits.
 */
static inline void iw_defer_run(struct iw_qp *qp)
{
	queue_work(iw_wq, &qp->work);
}

/* Memory was short: run again in the next jiffy. run_lock held, `dead` not set. */
static inline void iw_defer_retry(struct iw_qp *qp)
{
	mod_delayed_work(iw_wq, &qp->retry, 1);
}

#endif
