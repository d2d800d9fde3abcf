/* SPDX-License-Identifier: GPL-2.0 */
/* Async events of QPs and SRQs, on their way to the consumer. */
#ifndef TERN_CORE_EVENT_H
#define TERN_CORE_EVENT_H

#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

struct tern_qp;
struct tern_srq;

/* Of one object. */
struct tern_events {
	spinlock_t lock;
	bool off;			/* destroy has begun */
	u32 pending;			/* bits: enum ib_event_type */
	struct work_struct work;
};

/* Init at creation. Stop waits for running handlers, and sleeps. */
void tern_qp_events_init(struct tern_qp *qp);
void tern_srq_events_init(struct tern_srq *srq);
void tern_events_stop(struct tern_events *events);

/*
 * An async event for a QP or SRQ, from the transport. Any context, run_lock held or not. Does
 * nothing once destroy has begun. A work item calls the consumer's handler; equal events that are
 * not yet delivered become one.
 */
void tern_qp_event(struct tern_qp *qp, enum ib_event_type type);
void tern_srq_event(struct tern_srq *srq, enum ib_event_type type);

#endif
