// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queue: copy-in of receive WQEs, the SRQ limit, and SRQ resize.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "queue/rq.h"

static_assert(sizeof(struct tern_recv_wqe) == TERN_RECV_WQE_BYTES);

int tern_rq_init(struct tern_rq *rq, u32 max_wr, u32 max_sge, bool user)
{
	struct tern_ring *ring;
	u32 stride;

	if (max_sge > TERN_MAX_SGE)
		return -EINVAL;

	stride = ALIGN(TERN_RECV_WQE_BYTES + max_sge * sizeof(struct tern_sge), TERN_WQE_ALIGN);
	ring = tern_ring_create(max(max_wr, 1u), stride);
	if (IS_ERR(ring))
		return PTR_ERR(ring);

	memset(rq, 0, sizeof(*rq));
	spin_lock_init(&rq->take_lock);
	spin_lock_init(&rq->post_lock);
	rq->ring = ring;
	rq->user = user;
	rq->max_wr = ring->nslots;
	rq->max_sge = min_t(u32, TERN_MAX_SGE,
			    (stride - TERN_RECV_WQE_BYTES) / sizeof(struct tern_sge));
	return 0;
}

void tern_rq_uninit(struct tern_rq *rq)
{
	struct tern_ring *ring = rq->ring;

	spin_lock_irq(&rq->take_lock);
	rq->ring = NULL;
	spin_unlock_irq(&rq->take_lock);
	tern_ring_destroy(ring);
}

bool tern_rq_dump(struct tern_rq *rq, struct tern_dump_queue *dump)
{
	const struct tern_ring *ring;

	spin_lock_irq(&rq->take_lock);
	ring = rq->ring;
	if (ring)
		*dump = (struct tern_dump_queue){
			.wqes = rq->max_wr,
			.prod = READ_ONCE(ring->hdr->prod),
			.taken = rq->head,
			.retired = rq->head,
		};
	spin_unlock_irq(&rq->take_lock);
	return ring;
}

void tern_rq_reset(struct tern_rq *rq)
{
	struct tern_ring_hdr *hdr;
	unsigned long irq;

	spin_lock_irqsave(&rq->take_lock, irq);
	hdr = rq->ring->hdr;
	rq->head = smp_load_acquire(&hdr->prod);
	WRITE_ONCE(hdr->flags, 0);
	smp_store_release(&hdr->cons, rq->head);
	spin_unlock_irqrestore(&rq->take_lock, irq);
}

/* The only read of the WQE at head. */
static int rq_copy_in(const struct tern_rq *rq, struct tern_rwqe *out)
{
	const struct tern_recv_wqe *shared = tern_ring_slot(rq->ring, rq->head);
	struct tern_recv_wqe wqe;
	u32 bytes = 0;
	u32 i;

	memcpy(&wqe, shared, sizeof(wqe));
	/* From here on use the copy; do not read the source again. */
	barrier();

	out->wr_id = wqe.wr_id;
	out->num_sge = 0;
	out->bytes = 0;
	if (wqe.num_sge > rq->max_sge || (rq->user && wqe.reserved))
		return -EINVAL;

	memcpy(out->sge, shared + 1, wqe.num_sge * sizeof(struct tern_sge));
	barrier();

	for (i = 0; i < wqe.num_sge; i++)
		if (check_add_overflow(bytes, out->sge[i].length, &bytes))
			break;
	out->num_sge = wqe.num_sge;
	out->bytes = i < wqe.num_sge ? U32_MAX : bytes;
	return 1;
}

int tern_rq_take(struct tern_rq *rq, struct tern_rwqe *out, bool *limit_hit)
{
	unsigned long irq;
	u32 left;
	int ret;

	*limit_hit = false;

	spin_lock_irqsave(&rq->take_lock, irq);
	left = smp_load_acquire(&rq->ring->hdr->prod) - rq->head;
	if (!left) {
		ret = 0;
		goto unlock;
	}
	if (left > rq->ring->nslots) {
		ret = -EOVERFLOW;
		goto unlock;
	}

	ret = rq_copy_in(rq, out);
	smp_store_release(&rq->ring->hdr->cons, ++rq->head);

	/* The event disarms the limit: see ibv_modify_srq(3). */
	if (--left < rq->limit) {
		rq->limit = 0;
		*limit_hit = true;
	}
unlock:
	spin_unlock_irqrestore(&rq->take_lock, irq);
	return ret;
}

static u32 rq_count(const struct tern_rq *rq)
{
	return min(READ_ONCE(rq->ring->hdr->prod) - rq->head, rq->ring->nslots);
}

void tern_rq_kick_wanted(struct tern_rq *rq, bool on)
{
	unsigned long irq;

	spin_lock_irqsave(&rq->take_lock, irq);
	WRITE_ONCE(rq->ring->hdr->flags, on ? TERN_RING_F_KICK : 0);
	spin_unlock_irqrestore(&rq->take_lock, irq);
	/* Pairs with the poster's barrier between its store of prod and its load of flags. */
	smp_mb();
}

int tern_rq_set_limit(struct tern_rq *rq, u32 limit, bool *hit)
{
	unsigned long irq;
	int err = 0;

	*hit = false;

	spin_lock_irqsave(&rq->take_lock, irq);
	if (limit > rq->max_wr) {
		err = -EINVAL;
	} else if (rq_count(rq) < limit) {
		rq->limit = 0;
		*hit = true;
	} else {
		rq->limit = limit;
	}
	spin_unlock_irqrestore(&rq->take_lock, irq);
	return err;
}

int tern_rq_resize(struct tern_rq *rq, u32 max_wr)
{
	struct tern_ring *old = rq->ring;
	struct tern_ring *new;
	struct tern_move move;
	unsigned long irq;
	u32 prod;
	int ret;

	new = tern_ring_create(max(max_wr, 1u), old->stride);
	if (IS_ERR(new))
		return PTR_ERR(new);

	/* User space's index. User space does not post meanwhile, or loses what it posts. */
	prod = smp_load_acquire(&old->hdr->prod);
	tern_ring_move_begin(&move, new, old, READ_ONCE(rq->head));
	for (;;) {
		spin_lock_irqsave(&rq->post_lock, irq);
		spin_lock(&rq->take_lock);
		ret = tern_move_round(&move, rq->head, rq->user ? prod : rq->prod);
		if (ret)
			break;
		spin_unlock(&rq->take_lock);
		spin_unlock_irqrestore(&rq->post_lock, irq);
		cond_resched();
	}
	if (ret < 0 || rq->limit > new->nslots) {
		spin_unlock(&rq->take_lock);
		spin_unlock_irqrestore(&rq->post_lock, irq);
		tern_ring_destroy(new);
		return -EINVAL;
	}

	new->hdr->prod = move.next;
	new->hdr->cons = rq->head;
	new->hdr->flags = READ_ONCE(old->hdr->flags) & TERN_RING_F_KICK;
	rq->ring = new;
	rq->max_wr = new->nslots;
	spin_unlock(&rq->take_lock);
	spin_unlock_irqrestore(&rq->post_lock, irq);

	tern_ring_destroy(old);
	return 0;
}

int tern_rq_post(struct tern_rq *rq, u64 wr_id, const struct tern_sge *sge, u32 num_sge)
{
	struct tern_recv_wqe *slot;
	struct tern_ring_hdr *hdr;
	unsigned long irq;
	int err = 0;

	if (num_sge > rq->max_sge)
		return -EINVAL;

	spin_lock_irqsave(&rq->post_lock, irq);
	hdr = rq->ring->hdr;
	if (rq->prod - smp_load_acquire(&hdr->cons) >= rq->ring->nslots) {
		err = -ENOMEM;
		goto unlock;
	}
	slot = tern_ring_slot(rq->ring, rq->prod);
	slot->wr_id = wr_id;
	slot->num_sge = num_sge;
	slot->reserved = 0;
	memcpy(slot + 1, sge, num_sge * sizeof(*sge));
	smp_store_release(&hdr->prod, ++rq->prod);
unlock:
	spin_unlock_irqrestore(&rq->post_lock, irq);
	return err;
}
