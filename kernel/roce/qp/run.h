/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which context runs a QP, and when. Doorbells, packets, timers and the local stack's
 * "room again" all end in the functions here. A context that gets the run lock does all
 * the work there is; one that does not leaves a mark (lock.h).
 *
 * A holder works to a budget; beyond it the work queue goes on, so that
 * softirq time is not hogged. But a program that rings copies by itself, within
 * the host, all that it has posted: its time, its priority, its cgroup.
 */
#ifndef TERN_ROCE_QP_RUN_H
#define TERN_ROCE_QP_RUN_H

#include "roce/qp/state.h"

/*
 * Leave marks (enum tern_qp_mark, 0: none) and run the QP here and now, unless another
 * context does: that one will see them. Any context; with IRQs off a work item does it.
 */
void roce_kick(struct roce_qp *qp, u32 marks);
/*
 * Work was posted. For a kernel consumer this is a kick. A program copies by itself what is for a
 * QP of this host, all that is posted, unless there is a signal for it; that sleeps.
 */
void roce_qp_doorbell(struct tern_qp *base);
/* Pages on demand have come. Process context. */
void roce_qp_resume(struct tern_qp *base);
/*
 * Let go of a run lock that was taken with BHs off, in a process, without running the QP.
 * Runs it if it was left a mark meanwhile. BHs are on then.
 */
void roce_qp_unlock(struct roce_qp *qp) __releases(&qp->base.run_lock);

/* Of a QP that nothing finds yet. */
void roce_run_init(struct roce_qp *qp);
/* No timer, work or queued packet is left; dead must be set before. Sleeps. */
void roce_run_stop(struct roce_qp *qp);

#endif
