/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send queue: takes WQEs out of the shared ring, each copied once into kernel
 * memory and validated there; gives slots back when their work is retired.
 * Calls of the kernel side (take, retire, draining) are serialised by the
 * QP's run lock; those of kernel posters by a lock of their own.
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
	bool draining;		/* as tern_sq_draining() was told last */
	spinlock_t post_lock;	/* kernel posters */
	u32 prod;		/* kernel posters' index */
};

/*
 * Room for max_wr WQEs of max_sge SGEs or max_inline bytes, whichever is more;
 * the granted values (>= asked) are left in *sq. -EINVAL beyond the limits of
 * tern-abi.h, -ENOMEM. May sleep.
 */
int tern_sq_init(struct tern_sq *sq, u32 max_wr, u32 max_sge, u32 max_inline, bool user);
void tern_sq_uninit(struct tern_sq *sq);

/*
 * RESET: forget everything posted. prod has one writer, the poster, and is not
 * touched: the kernel's indices and cons move up to it.
 */
void tern_sq_reset(struct tern_sq *sq);

/*
 * Take the next posted WQE. 1: *wqe is the kernel's copy, valid until retired
 * (slot index sq->head - 1). 0: nothing posted. -EINVAL: taken, but malformed
 * (opcode, flags, num_sge, inline_bytes, reserved): only wr_id and SIGNALED
 * are to be used. -EOVERFLOW: prod is impossible, the ring is not usable.
 * qp_type (enum ib_qp_type) decides which opcodes are legal.
 */
int tern_sq_take(struct tern_sq *sq, int qp_type, struct tern_send_wqe **wqe);

/* Kernel copy of a taken and not yet retired WQE. */
static inline struct tern_send_wqe *tern_sq_wqe(const struct tern_sq *sq, u32 index)
{
	return sq->copy + (size_t)(index & (sq->ring->nslots - 1)) * sq->ring->stride;
}

/* WQEs before index upto are complete: their slots are the poster's again. */
void tern_sq_retire(struct tern_sq *sq, u32 upto);

/*
 * Doorbell elision: set while the kernel will look at prod again without being
 * told. After clearing (false) the caller must look once more (the function
 * executes the full barrier) and drain what came meanwhile.
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
 * Nothing is posted, and nobody counts on being looked at: who posts from now on rings.
 * So there is no need to go and look, which takes the ring's cache line from its poster.
 */
static inline bool tern_sq_is_idle(const struct tern_sq *sq)
{
	return !sq->draining && !tern_sq_pending(sq);
}

/*
 * Kernel posters, post_lock held: the slot of the next WQE, its header zeros, NULL if the
 * queue is full; and all that is in it now is the engine's. Room behind the header is for
 * max_sge SGEs or max_inline bytes.
 */
struct tern_send_wqe *tern_sq_slot(struct tern_sq *sq);
void tern_sq_publish(struct tern_sq *sq);

#endif
