/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive queue, of a QP or shared (SRQ): hands out WQEs, each copied once.
 * take and post have a lock each, because an SRQ serves many QPs.
 */
#ifndef TERN_QUEUE_RQ_H
#define TERN_QUEUE_RQ_H

#include <linux/spinlock.h>

#include "queue/ring.h"
#include "tern-dump.h"

/* A taken receive WQE: the consumer's private copy. */
struct tern_rwqe {
	u64 wr_id;
	u32 num_sge;
	u32 bytes;		/* sum of the SGEs; saturates at U32_MAX */
	struct tern_sge sge[TERN_MAX_SGE];
};

struct tern_rq {
	struct tern_ring *ring;
	spinlock_t take_lock;
	spinlock_t post_lock;	/* kernel posters */
	u32 head;		/* WQEs taken; published as hdr->cons */
	u32 prod;		/* kernel posters' index */
	u32 max_wr;
	u32 max_sge;
	u32 limit;		/* SRQ: event when fewer WQEs are left; 0: not armed */
	bool user;
};

int tern_rq_init(struct tern_rq *rq, u32 max_wr, u32 max_sge, bool user);
void tern_rq_uninit(struct tern_rq *rq);
/* For a raw dump. False: tern_rq_uninit() was called. Process context. */
bool tern_rq_dump(struct tern_rq *rq, struct tern_dump_queue *dump);
/* RESET: forgets everything posted. Only the poster writes prod: head and cons move up to it. */
void tern_rq_reset(struct tern_rq *rq);

/*
 * 1: *out filled. 0: empty. -EINVAL: a malformed WQE was taken (out->wr_id is
 * set). -EOVERFLOW: prod is impossible. *limit_hit: the SRQ limit event is due
 * (once per arming). Any context; takes an IRQ-safe lock.
 */
int tern_rq_take(struct tern_rq *rq, struct tern_rwqe *out, bool *limit_hit);

/*
 * Is there a WQE to take, or is the ring broken? Called by the taker, for a queue that is never
 * resized.
 */
static inline bool tern_rq_is_posted(const struct tern_rq *rq)
{
	return READ_ONCE(rq->ring->hdr->prod) != READ_ONCE(rq->head);
}

/* Sets or clears TERN_RING_F_KICK. After setting it, take what came meanwhile. */
void tern_rq_kick_wanted(struct tern_rq *rq, bool on);
/* Kernel posters, after a full barrier: is a doorbell due? */
static inline bool tern_rq_kick_due(const struct tern_rq *rq)
{
	return READ_ONCE(rq->ring->hdr->flags) & TERN_RING_F_KICK;
}

/* SRQ: arms the limit event (0 disarms). -EINVAL if above max_wr. *hit: already below. */
int tern_rq_set_limit(struct tern_rq *rq, u32 limit, bool *hit);

/*
 * SRQ resize: moves the WQEs not yet taken to a new ring of max_wr WQEs. -EINVAL if they do not
 * fit, -ENOMEM. The old ring is put. May sleep. User space holds its own lock and posts nothing
 * meanwhile. Each WQE keeps its free-running index. Takers and kernel posters wait for one round of
 * move.h at most.
 */
int tern_rq_resize(struct tern_rq *rq, u32 max_wr);

/* Kernel posters. 0, -ENOMEM (full), -EINVAL (num_sge). Any context. */
int tern_rq_post(struct tern_rq *rq, u64 wr_id, const struct tern_sge *sge, u32 num_sge);

#endif
