/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion queue: writes CQEs into the shared ring and raises events as
 * armed, with moderation if asked. An overrun makes the CQ dead: IB_EVENT_CQ_ERR
 * once, then no CQE. A program may want the newest CQEs instead.
 */
#ifndef TERN_QUEUE_CQ_H
#define TERN_QUEUE_CQ_H

#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "queue/ring.h"
#include "tern-dump.h"

/* Of moderation: as much as the verb can say. */
#define TERN_CQ_MAX_COUNT	65535	/* completions */
#define TERN_CQ_MAX_PERIOD_US	65535

struct tern_cq {
	struct ib_cq ibcq;
	struct tern_ring *ring;
	spinlock_t lock;	/* IRQ-safe: producers, resize, kernel consumers */
	u32 prod;		/* published as hdr->prod */
	u32 cons;		/* kernel CQ: published as hdr->cons; user CQ: last seen there */
	bool user;
	bool dead;
	bool wallclock;		/* user CQ: CQEs have wallclock_ns */
	bool ignore_overrun;	/* user CQ: the newest CQEs take the place of the oldest */
	/* An event waits for this many completions that the CQ is armed for, or for this long. */
	bool moderated;
	u16 mod_count;
	u16 mod_period_us;
	u32 mod_pending;	/* such completions since the last event */
	struct hrtimer mod_timer;
};

/*
 * A completion handler runs in the middle of the run that brought the CQE: BHs are off, and the run
 * locks of one or two QPs are held. It may poll, arm, and post to any QP. It may not sleep, modify,
 * query or destroy. A work item sends what it posts: to run that QP here would call further
 * handlers, without a limit on the stack, and take run locks in any order.
 */
DECLARE_PER_CPU(bool, tern_cq_handles);

/* Is the caller in a completion handler? */
static inline bool tern_cq_in_handler(void)
{
	return this_cpu_read(tern_cq_handles);
}

/*
 * At least cqe entries; the number granted is left in ibcq.cqe. user: user space
 * polls it. -EINVAL, -ENOMEM; may sleep.
 */
int tern_cq_init(struct tern_cq *cq, u32 cqe, bool user);
void tern_cq_uninit(struct tern_cq *cq);

/* For a raw dump, all but hdr. False: tern_cq_uninit() was called. Process context. */
bool tern_cq_dump(struct tern_cq *cq, struct tern_dump_cq *dump);

/*
 * Appends *cqe (timestamp filled in here), and calls the completion handler if it is armed for it.
 * solicited: for solicited receives and all errors. False if the CQ is (or becomes) dead. Context:
 * any up to softirq. The handler is called without the CQ's lock, in the caller's context. The
 * caller keeps a QP (so, by ib_core's counts, the CQ) from being destroyed meanwhile.
 */
bool tern_cq_post(struct tern_cq *cq, struct tern_cqe *cqe, bool solicited);

/* No further CQE can be written. Racy: it may become true a moment later. */
static inline bool tern_cq_is_dead(const struct tern_cq *cq)
{
	return READ_ONCE(cq->dead);
}

/*
 * ib_device_ops.modify_cq: an event waits for count completions, or until period_us after the first
 * of them, if neither is 0. Solicited completions and errors are events at once. An event that
 * waits now comes at once. Context: any up to softirq; 0.
 */
int tern_cq_moderate(struct ib_cq *ibcq, u16 count, u16 period_us);

/*
 * A new ring of at least cqe entries (ibcq.cqe), with the unpolled CQEs, each at its free-running
 * index, and the arming. -EINVAL (they do not fit, CQ dead), -ENOMEM; may sleep. User space does
 * not poll or arm meanwhile, and nobody calls tern_cq_clean(). Others wait for one round of move.h
 * at most.
 */
int tern_cq_resize(struct tern_cq *cq, u32 cqe);

#endif
