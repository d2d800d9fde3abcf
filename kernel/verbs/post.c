// SPDX-License-Identifier: GPL-2.0
/*
 * Posting by kernel consumers: work requests become WQEs in the same rings that
 * user space fills itself. A user QP's post_send is its doorbell, for programs
 * without a doorbell file. Context: any, IRQs may be off.
 */
#include "core/av.h"
#include "core/qp.h"
#include "core/srq.h"
#include "queue/rq.h"
#include "queue/sq.h"
#include "verbs/ah.h"
#include "verbs/doorbell.h"
#include "verbs/post.h"

static_assert(sizeof(struct ib_sge) == sizeof(struct tern_sge));
static_assert(offsetof(struct ib_sge, addr) == offsetof(struct tern_sge, addr));
static_assert(offsetof(struct ib_sge, length) == offsetof(struct tern_sge, length));
static_assert(offsetof(struct ib_sge, lkey) == offsetof(struct tern_sge, lkey));
static_assert(TERN_SEND_FENCE == (u32)IB_SEND_FENCE);
static_assert(TERN_SEND_SIGNALED == (u32)IB_SEND_SIGNALED);
static_assert(TERN_SEND_SOLICITED == (u32)IB_SEND_SOLICITED);
static_assert(TERN_SEND_INLINE == (u32)IB_SEND_INLINE);

static int fill_ud(struct tern_send_wqe *wqe, const struct tern_qp *qp,
		   const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);

	if (!ud->ah)
		return -EINVAL;
	wqe->ud.ah = to_tern_ah(ud->ah)->index;
	wqe->ud.remote_qpn = ud->remote_qpn;
	wqe->ud.remote_qkey = ud->remote_qkey;
	wqe->ud.pkey_index = qp->type == IB_QPT_GSI ? ud->pkey_index : 0;
	return 0;
}

static void fill_rdma(struct tern_send_wqe *wqe, const struct ib_send_wr *wr)
{
	wqe->rdma.remote_addr = rdma_wr(wr)->remote_addr;
	wqe->rdma.rkey = rdma_wr(wr)->rkey;
}

static void fill_atomic(struct tern_send_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *atomic = atomic_wr(wr);

	wqe->atomic.remote_addr = atomic->remote_addr;
	wqe->atomic.compare_add = atomic->compare_add;
	wqe->atomic.swap = atomic->swap;
	wqe->atomic.rkey = atomic->rkey;
}

static void fill_reg(struct tern_send_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_reg_wr *reg = reg_wr(wr);

	wqe->reg.mr_key = reg->mr->lkey;
	wqe->reg.new_key = reg->key;
	wqe->reg.access = reg->access;
}

/* Everything except the SGEs. */
static int fill_header(struct tern_send_wqe *wqe, const struct tern_qp *qp,
		       const struct ib_send_wr *wr)
{
	bool ud = qp->type == IB_QPT_UD || qp->type == IB_QPT_GSI;

	wqe->wr_id = wr->wr_id;
	wqe->flags = wr->send_flags;
	wqe->num_sge = wr->num_sge;
	if (ib_wr_is_atomic_write(wr)) {
		wqe->opcode = TERN_WR_ATOMIC_WRITE;
		fill_rdma(wqe, wr);
		return 0;
	}
	switch (wr->opcode) {
	case IB_WR_SEND_WITH_IMM:
		wqe->imm = wr->ex.imm_data;
		fallthrough;
	case IB_WR_SEND:
		wqe->opcode = wr->opcode == IB_WR_SEND ? TERN_WR_SEND : TERN_WR_SEND_WITH_IMM;
		return ud ? fill_ud(wqe, qp, wr) : 0;
	case IB_WR_SEND_WITH_INV:
		wqe->opcode = TERN_WR_SEND_WITH_INV;
		wqe->inv_key = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_RDMA_WRITE:
		wqe->opcode = TERN_WR_RDMA_WRITE;
		fill_rdma(wqe, wr);
		return 0;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		wqe->opcode = TERN_WR_RDMA_WRITE_WITH_IMM;
		wqe->imm = wr->ex.imm_data;
		fill_rdma(wqe, wr);
		return 0;
	case IB_WR_RDMA_READ:
		wqe->opcode = TERN_WR_RDMA_READ;
		fill_rdma(wqe, wr);
		return 0;
	case IB_WR_RDMA_READ_WITH_INV:
		wqe->opcode = TERN_WR_RDMA_READ_WITH_INV;
		wqe->inv_key = wr->ex.invalidate_rkey;
		fill_rdma(wqe, wr);
		return 0;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		wqe->opcode = TERN_WR_ATOMIC_CMP_AND_SWP;
		fill_atomic(wqe, wr);
		return 0;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->opcode = TERN_WR_ATOMIC_FETCH_AND_ADD;
		fill_atomic(wqe, wr);
		return 0;
	case IB_WR_LOCAL_INV:
		wqe->opcode = TERN_WR_LOCAL_INV;
		wqe->inv_key = wr->ex.invalidate_rkey;
		wqe->num_sge = 0;
		return 0;
	case IB_WR_REG_MR:
		wqe->opcode = TERN_WR_REG_MR;
		fill_reg(wqe, wr);
		wqe->num_sge = 0;
		return 0;
	default:
		return -EINVAL;
	}
}

/* The addresses are kernel virtual ones (virtual DMA), and inline data needs no mapping. */
static int put_inline(struct tern_send_wqe *wqe, const struct ib_send_wr *wr, u32 max_bytes)
{
	u8 *data = tern_wqe_inline(wqe);
	u32 bytes = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > max_bytes - bytes)
			return -EINVAL;
		memcpy(data + bytes, (void *)(uintptr_t)sge->addr, sge->length);
		bytes += sge->length;
	}
	wqe->num_sge = 0;
	wqe->inline_bytes = bytes;
	return 0;
}

/* post_lock held. Nobody reads the slot until it is published. */
static int post_one(struct tern_qp *qp, const struct ib_send_wr *wr)
{
	struct tern_sq *sq = &qp->sq;
	struct tern_send_wqe *wqe;
	int err;

	if (wr->num_sge < 0 || wr->num_sge > U16_MAX || wr->send_flags & ~TERN_SEND_FLAGS_ALL)
		return -EINVAL;
	wqe = tern_sq_slot(sq);
	if (!wqe)
		return -ENOMEM;
	err = fill_header(wqe, qp, wr);
	if (err)
		return err;
	if (wqe->num_sge && wqe->flags & TERN_SEND_INLINE) {
		err = put_inline(wqe, wr, sq->max_inline);
		if (err)
			return err;
	} else {
		if (wqe->num_sge > sq->max_sge)
			return -EINVAL;
		tern_wqe_copy_tail(wqe, wr->sg_list, wqe->num_sge * sizeof(struct tern_sge));
	}
	tern_sq_publish(sq);
	return 0;
}

int tern_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct tern_qp *qp = to_tern_qp(ibqp);
	enum ib_qp_state state = READ_ONCE(qp->state);
	unsigned long irq;
	bool posted = false;
	int err = 0;

	if (qp->user) {
		*bad_wr = wr;
		if (wr)
			return -EINVAL;
		tern_qp_ring(qp);
		return 0;
	}
	if (state == IB_QPS_RESET || state == IB_QPS_INIT || state == IB_QPS_RTR) {
		*bad_wr = wr;
		return -EINVAL;
	}

	spin_lock_irqsave(&qp->sq.post_lock, irq);
	for (; wr; wr = wr->next) {
		err = post_one(qp, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
		posted = true;
	}
	spin_unlock_irqrestore(&qp->sq.post_lock, irq);
	if (posted)
		tern_qp_ring(qp);
	return err;
}

/* Post a chain; *any: at least one went in. */
static int post_recvs(struct tern_rq *rq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr, bool *any)
{
	int err = 0;

	*any = false;
	for (; wr; wr = wr->next) {
		if (rq->user || wr->num_sge < 0)
			err = -EINVAL;
		else
			err = tern_rq_post(rq, wr->wr_id, (const struct tern_sge *)wr->sg_list,
					   wr->num_sge);
		if (err) {
			*bad_wr = wr;
			break;
		}
		*any = true;
	}
	return err;
}

int tern_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct tern_qp *qp = to_tern_qp(ibqp);
	bool any;
	int err;

	if (!tern_qp_has_rq(qp) || READ_ONCE(qp->state) == IB_QPS_RESET) {
		*bad_wr = wr;
		return -EINVAL;
	}
	err = post_recvs(&qp->rq, wr, bad_wr, &any);

	/*
	 * In ERR, for example, nobody looks at the queue unless told. Full barrier: either the
	 * transport sees these WQEs, or this sees its request.
	 */
	smp_mb();
	if (any && tern_rq_kick_due(&qp->rq))
		tern_qp_ring(qp);
	return err;
}

int tern_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	bool any;

	return post_recvs(&to_tern_srq(ibsrq)->rq, wr, bad_wr, &any);
}
