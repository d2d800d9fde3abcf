/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send queue: takes WQEs out of the shared ring, copies each once into kernel
 * memory and validates it there; gives slots back when their work is retired.
 * The QP's run lock serialises the kernel side (take, retire, draining); a lock
 * of the queue serialises kernel posters.
 */
#ifndef TERN_QUEUE_SQ_H
#define TERN_QUEUE_SQ_H

#include <linux/spinlock.h>

#include "queue/ring.h"
#include "queue/wqe.h"

struct tern_sq {
	struct tern_ring *ring;
	void *copy;		/* nslots * stride; the ring's own slots for kernel QPs */
	u32 head;		/* WQEs taken */
	u32 tail;		/* WQEs retired (published as hdr->cons) */
	u32 max_wr;
	u32 max_sge;
	u32 max_inline;		/* bytes */
	bool user;
	bool draining;		/* last argument of tern_sq_draining() */
	spinlock_t post_lock;	/* kernel posters */
	u32 prod;		/* kernel posters' index */
};

/*
 * Room for max_wr WQEs of max_sge SGEs or max_inline bytes, whichever is more. The granted values
 * (>= asked) are left in *sq. -EINVAL beyond the limits of tern-abi.h, -ENOMEM. May sleep.
 */
int tern_sq_init(struct tern_sq *sq, u32 max_wr, u32 max_sge, u32 max_inline, bool user);
void tern_sq_uninit(struct tern_sq *sq);

/*
 * RESET: forgets everything posted. Only the poster writes prod: the kernel's indices and cons move
 * up to it.
 */
void tern_sq_reset(struct tern_sq *sq);

/*
 * Takes the next posted WQE. 1: *wqe is the kernel's copy, valid until retired (slot index sq->head
 * - 1). 0: nothing posted. -EINVAL: taken, but malformed (opcode, flags, num_sge, inline_bytes,
 * reserved): use only wr_id and SIGNALED. -EOVERFLOW: prod is impossible, the ring is not usable.
 * qp_type (enum ib_qp_type) decides which opcodes are legal.
 */
int tern_sq_take(struct tern_sq *sq, int qp_type, struct tern_send_wqe **wqe);

/* Kernel copy of a taken and not yet retired WQE. */
static inline struct tern_send_wqe *tern_sq_wqe(const struct tern_sq *sq, u32 index)
{
	return sq->copy + (size_t)(index & (sq->ring->nslots - 1)) * sq->ring->stride;
}

/* WQEs before index upto are complete: gives their slots back to the poster. */
void tern_sq_retire(struct tern_sq *sq, u32 upto);

/*
 * Doorbell elision: set while the kernel will look at prod again without a doorbell. After clearing
 * it (false) the caller must look once more and drain what came meanwhile; this function executes
 * the full barrier.
 */
static inline void tern_sq_draining(struct tern_sq *sq, bool on)
{
	sq->draining = on;
	WRITE_ONCE(sq->ring->hdr->flags, on ? TERN_RING_F_DRAINING : 0);
	/* Pairs with the poster's barrier between its store of prod and its load of flags. */
	if (!on)
		smp_mb();
}

/* Posted and not taken? */
static inline bool tern_sq_pending(const struct tern_sq *sq)
{
	return READ_ONCE(sq->ring->hdr->prod) != sq->head;
}

/*
 * Nothing is posted, and no poster relies on a look: the next one rings. So a look is not needed.
 * It would take the ring's cache line from the poster.
 */
static inline bool tern_sq_is_idle(const struct tern_sq *sq)
{
	return !sq->draining && !tern_sq_pending(sq);
}

/*
 * Kernel posters, post_lock held: the slot of the next WQE, its header zeroed. NULL if the queue is
 * full: then all slots are the engine's. Behind the header there is room for max_sge SGEs or
 * max_inline bytes.
 */
struct tern_send_wqe *tern_sq_slot(struct tern_sq *sq);
void tern_sq_publish(struct tern_sq *sq);

#endif
