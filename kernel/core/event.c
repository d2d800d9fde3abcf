// SPDX-License-Identifier: GPL-2.0
/*
 * Async events of QPs and SRQs. They arise under the transport's locks, and
 * consumers' handlers expect process context, so a work item delivers them.
 * After stop no handler runs.
 */
#include <linux/bitops.h>

#include "core/event.h"
#include "core/qp.h"
#include "core/srq.h"
#include "core/wq.h"

static void events_init(struct tern_events *events, work_func_t fn)
{
	spin_lock_init(&events->lock);
	INIT_WORK(&events->work, fn);
}

static void events_raise(struct tern_events *events, enum ib_event_type type)
{
	unsigned long irq;

	spin_lock_irqsave(&events->lock, irq);
	if (!events->off) {
		events->pending |= BIT(type);
		queue_work(tern_wq, &events->work);
	}
	spin_unlock_irqrestore(&events->lock, irq);
}

static unsigned long events_take(struct tern_events *events)
{
	unsigned long pending;

	spin_lock_irq(&events->lock);
	pending = events->off ? 0 : events->pending;
	events->pending = 0;
	spin_unlock_irq(&events->lock);
	return pending;
}

void tern_events_stop(struct tern_events *events)
{
	spin_lock_irq(&events->lock);
	events->off = true;
	spin_unlock_irq(&events->lock);
	cancel_work_sync(&events->work);
}

static void qp_events_work(struct work_struct *work)
{
	struct tern_qp *qp = container_of(work, struct tern_qp, events.work);
	unsigned long pending = events_take(&qp->events);
	struct ib_qp *ibqp = qp->ibqp;
	unsigned int type;

	for_each_set_bit(type, &pending, BITS_PER_LONG) {
		struct ib_event event = {
			.device = ibqp->device,
			.element.qp = ibqp,
			.event = type,
		};

		if (ibqp->event_handler)
			ibqp->event_handler(&event, ibqp->qp_context);
	}
}

static void srq_events_work(struct work_struct *work)
{
	struct tern_srq *srq = container_of(work, struct tern_srq, events.work);
	unsigned long pending = events_take(&srq->events);
	struct ib_srq *ibsrq = &srq->ibsrq;
	unsigned int type;

	for_each_set_bit(type, &pending, BITS_PER_LONG) {
		struct ib_event event = {
			.device = ibsrq->device,
			.element.srq = ibsrq,
			.event = type,
		};

		if (ibsrq->event_handler)
			ibsrq->event_handler(&event, ibsrq->srq_context);
	}
}

void tern_qp_events_init(struct tern_qp *qp)
{
	events_init(&qp->events, qp_events_work);
}

void tern_srq_events_init(struct tern_srq *srq)
{
	events_init(&srq->events, srq_events_work);
}

void tern_qp_event(struct tern_qp *qp, enum ib_event_type type)
{
	events_raise(&qp->events, type);
}

void tern_srq_event(struct tern_srq *srq, enum ib_event_type type)
{
	events_raise(&srq->events, type);
}
