// SPDX-License-Identifier: GPL-2.0
/*
 * Send queue: copy-in, retirement and doorbell elision. A WQE of a user ring is
 * read exactly once, into sq->copy; wqe.c decides whether it is legal.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "charged.h"
#include "queue/sq.h"

static_assert(sizeof(struct tern_send_wqe) == TERN_SEND_WQE_BYTES);
static_assert(sizeof(struct tern_sge) == 16);
static_assert((int)TERN_WQE_QPT_GSI == (int)IB_QPT_GSI);
static_assert((int)TERN_WQE_QPT_RC == (int)IB_QPT_RC);
static_assert((int)TERN_WQE_QPT_UC == (int)IB_QPT_UC);
static_assert((int)TERN_WQE_QPT_UD == (int)IB_QPT_UD);
static_assert((int)TERN_WQE_QPT_XRC_INI == (int)IB_QPT_XRC_INI);
static_assert(TERN_WQE_BIND_ACCESS == (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
				       IB_ACCESS_REMOTE_ATOMIC | IB_ZERO_BASED));

static u32 sq_room(const struct tern_sq *sq)
{
	return sq->ring->stride - TERN_SEND_WQE_BYTES;
}

int tern_sq_init(struct tern_sq *sq, u32 max_wr, u32 max_sge, u32 max_inline, bool user)
{
	u32 tail_bytes, stride;

	if (max_sge > TERN_MAX_SGE || max_inline > TERN_MAX_INLINE)
		return -EINVAL;

	memset(sq, 0, sizeof(*sq));
	spin_lock_init(&sq->post_lock);
	sq->user = user;

	tail_bytes = max_t(u32, max_sge * sizeof(struct tern_sge), max_inline);
	stride = ALIGN(TERN_SEND_WQE_BYTES + tail_bytes, TERN_WQE_ALIGN);
	sq->ring = tern_ring_create(max(max_wr, 1u), stride);
	if (IS_ERR(sq->ring)) {
		int err = PTR_ERR(sq->ring);

		sq->ring = NULL;
		return err;
	}

	sq->max_wr = sq->ring->nslots;
	sq->max_sge = min_t(u32, TERN_MAX_SGE, sq_room(sq) / sizeof(struct tern_sge));
	sq->max_inline = min_t(u32, TERN_MAX_INLINE, sq_room(sq));

	if (!user) {
		sq->copy = sq->ring->slots;
		return 0;
	}

	sq->copy = tern_table_alloc(sq->ring->nslots, stride);
	if (!sq->copy) {
		tern_sq_uninit(sq);
		return -ENOMEM;
	}
	return 0;
}

void tern_sq_uninit(struct tern_sq *sq)
{
	if (sq->user)
		kvfree(sq->copy);
	sq->copy = NULL;
	tern_ring_destroy(sq->ring);
	sq->ring = NULL;
}

void tern_sq_reset(struct tern_sq *sq)
{
	struct tern_ring_hdr *hdr = sq->ring->hdr;
	unsigned long irq;

	spin_lock_irqsave(&sq->post_lock, irq);
	sq->head = smp_load_acquire(&hdr->prod);
	sq->tail = sq->head;
	sq->draining = false;
	WRITE_ONCE(hdr->flags, 0);
	smp_store_release(&hdr->cons, sq->tail);
	spin_unlock_irqrestore(&sq->post_lock, irq);
}

/* The only read of a user's WQE: the header, then as much as it claims and the slot holds. */
static void sq_copy_in(const struct tern_sq *sq, u32 index, struct tern_send_wqe *wqe)
{
	const struct tern_send_wqe *shared = tern_ring_slot(sq->ring, index);

	memcpy(wqe, shared, sizeof(*wqe));
	/* From here on use the copy; do not read the source again. */
	barrier();
	tern_wqe_copy_tail(wqe, shared + 1, tern_wqe_tail_bytes(wqe, sq_room(sq)));
	barrier();
}

int tern_sq_take(struct tern_sq *sq, int qp_type, struct tern_send_wqe **wqe)
{
	const struct tern_wqe_limits lim = {
		.max_sge = sq->max_sge,
		.max_inline = sq->max_inline,
		.user = sq->user,
	};
	u32 prod = smp_load_acquire(&sq->ring->hdr->prod);
	u32 taken = sq->head - sq->tail;
	u32 posted = prod - sq->tail;

	if (prod == sq->head)
		return 0;
	if (posted > sq->ring->nslots || posted < taken)
		return -EOVERFLOW;

	*wqe = tern_sq_wqe(sq, sq->head);
	if (sq->user)
		sq_copy_in(sq, sq->head, *wqe);
	sq->head++;

	return tern_wqe_check(*wqe, qp_type, &lim) ?: 1;
}

void tern_sq_retire(struct tern_sq *sq, u32 upto)
{
	if (WARN_ON_ONCE(upto - sq->tail > sq->head - sq->tail))
		return;
	sq->tail = upto;
	smp_store_release(&sq->ring->hdr->cons, upto);
}

struct tern_send_wqe *tern_sq_slot(struct tern_sq *sq)
{
	struct tern_send_wqe *slot = tern_ring_slot(sq->ring, sq->prod);

	if (sq->prod - smp_load_acquire(&sq->ring->hdr->cons) >= sq->ring->nslots)
		return NULL;
	*slot = (struct tern_send_wqe){};
	return slot;
}

void tern_sq_publish(struct tern_sq *sq)
{
	smp_store_release(&sq->ring->hdr->prod, ++sq->prod);
}
