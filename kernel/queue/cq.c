// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queue, the producer's side: writes CQEs, detects overrun, raises
 * events as armed and moderated, resizes. cq_kernel.c has the kernel consumers' side.
 */
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "queue/cq.h"

static_assert(sizeof(struct tern_cqe) == TERN_CQE_BYTES);

DEFINE_PER_CPU(bool, tern_cq_handles);

/*
 * CQEs not yet polled, by the newest cons. More than nslots if user space wrote nonsense, but never
 * where overruns are ignored: the others are gone.
 */
static u32 cq_unpolled(struct tern_cq *cq)
{
	u32 unpolled;

	if (cq->user)
		cq->cons = smp_load_acquire(&cq->ring->hdr->cons);
	unpolled = cq->prod - cq->cons;
	return cq->ignore_overrun ? min(unpolled, cq->ring->nslots) : unpolled;
}

/* The last seen cons usually suffices. So user space's cache line is fetched once per lap. */
static bool cq_has_room(struct tern_cq *cq)
{
	u32 nslots = cq->ring->nslots;

	return cq->prod - cq->cons < nslots || cq_unpolled(cq) < nslots || cq->ignore_overrun;
}

static void cq_append(struct tern_cq *cq, struct tern_cqe *cqe)
{
	struct tern_cqe *slot = tern_ring_slot(cq->ring, cq->prod);

	/* Kernel consumers see neither. */
	if (cq->user) {
		cqe->timestamp_ns = ktime_get_raw_ns();
		memset(cqe->reserved, 0, sizeof(cqe->reserved));
		cqe->wallclock_ns = cq->wallclock ? ktime_get_real_ns() : 0;
	}
	*slot = *cqe;
	smp_store_release(&cq->ring->hdr->prod, ++cq->prod);
}

/* Does the arming match this completion? */
static bool cq_is_armed(const struct tern_cq *cq, bool solicited)
{
	u32 arm;

	/* Pairs with the consumer's barrier between arm and its look at prod. */
	smp_mb();
	arm = READ_ONCE(cq->ring->hdr->arm);
	return arm == TERN_CQ_ARM_ANY || (arm == TERN_CQ_ARM_SOLICITED && solicited);
}

/* If the word changes just now, an additional event does no harm. */
static bool cq_disarm(struct tern_cq *cq)
{
	return xchg(&cq->ring->hdr->arm, TERN_CQ_ARM_NONE) != TERN_CQ_ARM_NONE;
}

/* Does the event of a completion that the CQ is armed for wait for others, or for the timer? */
static bool cq_event_waits(struct tern_cq *cq, bool solicited)
{
	if (solicited || ++cq->mod_pending >= cq->mod_count) {
		cq->mod_pending = 0;
		return false;
	}
	if (cq->mod_pending == 1)
		hrtimer_start(&cq->mod_timer, ns_to_ktime(cq->mod_period_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	return true;
}

/* A completion was appended: is there an event now? */
static bool cq_notifies(struct tern_cq *cq, bool solicited)
{
	if (!cq_is_armed(cq, solicited))
		return false;
	if (unlikely(cq->moderated) && cq_event_waits(cq, solicited))
		return false;
	return cq_disarm(cq);
}

/* Around a consumer's handler. Handlers do not nest. */
static void cq_handler_begin(void)
{
	lockdep_assert(in_softirq() || irqs_disabled());
	lockdep_assert(!tern_cq_in_handler());
	__this_cpu_write(tern_cq_handles, true);
}

static void cq_handler_end(void)
{
	__this_cpu_write(tern_cq_handles, false);
}

static void cq_raise_overrun(struct tern_cq *cq)
{
	struct ib_event event = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	if (!cq->ibcq.event_handler)
		return;
	cq_handler_begin();
	cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
	cq_handler_end();
}

static void cq_raise_event(struct tern_cq *cq)
{
	if (!cq->ibcq.comp_handler)
		return;
	cq_handler_begin();
	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	cq_handler_end();
}

bool tern_cq_post(struct tern_cq *cq, struct tern_cqe *cqe, bool solicited)
{
	bool overrun = false;
	bool notify = false;
	bool posted = false;
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	if (cq->dead) {
		/* reported already */
	} else if (cq_has_room(cq)) {
		cq_append(cq, cqe);
		notify = cq_notifies(cq, solicited);
		posted = true;
	} else {
		WRITE_ONCE(cq->dead, true);
		WRITE_ONCE(cq->ring->hdr->flags, TERN_RING_F_DEAD);
		overrun = true;
	}
	spin_unlock_irqrestore(&cq->lock, irq);

	if (overrun)
		cq_raise_overrun(cq);
	if (notify)
		cq_raise_event(cq);
	return posted;
}

static enum hrtimer_restart end_period(struct hrtimer *timer)
{
	struct tern_cq *cq = container_of(timer, struct tern_cq, mod_timer);
	bool notify = false;
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	/* None: the event came by number, or at once, and the timer was left to run. */
	if (cq->mod_pending)
		notify = cq_disarm(cq);
	cq->mod_pending = 0;
	spin_unlock_irqrestore(&cq->lock, irq);

	if (notify)
		cq_raise_event(cq);
	return HRTIMER_NORESTART;
}

int tern_cq_moderate(struct ib_cq *ibcq, u16 count, u16 period_us)
{
	struct tern_cq *cq = container_of(ibcq, struct tern_cq, ibcq);
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	cq->moderated = count && period_us;
	cq->mod_count = count;
	cq->mod_period_us = period_us;
	if (cq->mod_pending)
		hrtimer_start(&cq->mod_timer, 0, HRTIMER_MODE_REL_SOFT);
	spin_unlock_irqrestore(&cq->lock, irq);
	return 0;
}

int tern_cq_init(struct tern_cq *cq, u32 cqe, bool user)
{
	struct tern_ring *ring = tern_ring_create(cqe, TERN_CQE_BYTES);

	if (IS_ERR(ring))
		return PTR_ERR(ring);

	spin_lock_init(&cq->lock);
	cq->ring = ring;
	cq->prod = 0;
	cq->cons = 0;
	cq->user = user;
	cq->dead = false;
	cq->wallclock = false;
	cq->ignore_overrun = false;
	cq->moderated = false;
	cq->mod_pending = 0;
	hrtimer_setup(&cq->mod_timer, end_period, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	cq->ibcq.cqe = ring->nslots;
	return 0;
}

void tern_cq_uninit(struct tern_cq *cq)
{
	struct tern_ring *ring = cq->ring;

	hrtimer_cancel(&cq->mod_timer);
	spin_lock_irq(&cq->lock);
	cq->ring = NULL;
	spin_unlock_irq(&cq->lock);
	tern_ring_destroy(ring);
}

bool tern_cq_dump(struct tern_cq *cq, struct tern_dump_cq *dump)
{
	const struct tern_ring *ring;

	spin_lock_irq(&cq->lock);
	ring = cq->ring;
	if (ring) {
		dump->cqes = ring->nslots;
		dump->prod = cq->prod;
		dump->cons = READ_ONCE(ring->hdr->cons);
		dump->arm = READ_ONCE(ring->hdr->arm);
		dump->flags = (cq->user ? TERN_DUMP_CQ_USER : 0) |
			      (cq->dead ? TERN_DUMP_CQ_OVERRUN : 0) |
			      (cq->ignore_overrun ? TERN_DUMP_CQ_IGNORE_OVERRUN : 0) |
			      (cq->wallclock ? TERN_DUMP_CQ_WALLCLOCK : 0) |
			      (cq->moderated ? TERN_DUMP_CQ_MODERATED : 0);
		dump->event_count = cq->mod_count;
		dump->event_period_us = cq->mod_period_us;
		dump->event_pending = cq->mod_pending;
	}
	spin_unlock_irq(&cq->lock);
	return ring;
}

int tern_cq_resize(struct tern_cq *cq, u32 cqe)
{
	struct tern_ring *old = cq->ring;
	struct tern_ring *new;
	struct tern_move move;
	unsigned long irq;
	u32 cons;
	int ret;

	new = tern_ring_create(cqe, TERN_CQE_BYTES);
	if (IS_ERR(new))
		return PTR_ERR(new);

	spin_lock_irqsave(&cq->lock, irq);
	/* User space's index. User space does not poll meanwhile, or polls these CQEs again. */
	cons = cq->prod - cq_unpolled(cq);
	tern_ring_move_begin(&move, new, old, cons);
	while (!(ret = tern_move_round(&move, cq->user ? cons : cq->cons, cq->prod))) {
		spin_unlock_irqrestore(&cq->lock, irq);
		cond_resched();
		spin_lock_irqsave(&cq->lock, irq);
	}
	if (ret < 0 || cq->dead) {
		spin_unlock_irqrestore(&cq->lock, irq);
		tern_ring_destroy(new);
		return -EINVAL;
	}

	if (cq->user)
		cq->cons = cons;
	new->hdr->prod = cq->prod;
	new->hdr->cons = cq->cons;
	new->hdr->arm = xchg(&old->hdr->arm, TERN_CQ_ARM_NONE);
	cq->ring = new;
	cq->ibcq.cqe = new->nslots;
	spin_unlock_irqrestore(&cq->lock, irq);

	tern_ring_destroy(old);
	return 0;
}
