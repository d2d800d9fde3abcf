// SPDX-License-Identifier: GPL-2.0
/*
 * Completions of a QP, whatever its transport: CQEs of send and receive WQEs,
 * the receive WQE in hand, flushing. The transport decides which status a work
 * request gets, and what follows if a CQ has no room.
 */
#include "core/complete.h"
#include "core/srq.h"
#include "core/trace.h"
#include "queue/cq.h"
#include "queue/wqe.h"

static const u8 send_wc_opcode[TERN_WR_OPCODES] = {
	[TERN_WR_RDMA_WRITE] = TERN_WC_RDMA_WRITE,
	[TERN_WR_RDMA_WRITE_WITH_IMM] = TERN_WC_RDMA_WRITE,
	[TERN_WR_SEND] = TERN_WC_SEND,
	[TERN_WR_SEND_WITH_IMM] = TERN_WC_SEND,
	[TERN_WR_RDMA_READ] = TERN_WC_RDMA_READ,
	[TERN_WR_ATOMIC_CMP_AND_SWP] = TERN_WC_COMP_SWAP,
	[TERN_WR_ATOMIC_FETCH_AND_ADD] = TERN_WC_FETCH_ADD,
	[TERN_WR_LOCAL_INV] = TERN_WC_LOCAL_INV,
	[TERN_WR_BIND_MW] = TERN_WC_BIND_MW,
	[TERN_WR_SEND_WITH_INV] = TERN_WC_SEND,
	[TERN_WR_REG_MR] = TERN_WC_REG_MR,
	[TERN_WR_RDMA_READ_WITH_INV] = TERN_WC_RDMA_READ,
	[TERN_WR_FLUSH] = TERN_WC_FLUSH,
	[TERN_WR_ATOMIC_WRITE] = TERN_WC_ATOMIC_WRITE,
};

/* A CQE names its QP by number, and for kernel consumers by pointer. */
static void cqe_set_qp(const struct tern_qp *qp, const struct tern_cq *cq, struct tern_cqe *cqe)
{
	cqe->qp_num = qp->qpn;
	cqe->qp_context = cq->user ? 0 : (uintptr_t)qp->ibqp;
}

bool tern_qp_complete_send(struct tern_qp *qp, u32 index, enum ib_wc_status status)
{
	const struct tern_send_wqe *wqe = tern_sq_wqe(&qp->sq, index);
	struct tern_cqe cqe = {};

	if (status == IB_WC_SUCCESS && !qp->sq_sig_all && !(wqe->flags & TERN_SEND_SIGNALED))
		return true;
	if (unlikely(status != IB_WC_SUCCESS))
		trace_tern_cqe_error(qp, true, wqe->wr_id, status);
	cqe.wr_id = wqe->wr_id;
	cqe.status = status;
	if (wqe->opcode < TERN_WR_OPCODES)
		cqe.opcode = send_wc_opcode[wqe->opcode];
	if (status == IB_WC_SUCCESS && wqe->opcode < TERN_WR_OPCODES &&
	    wqe->opcode != TERN_WR_LOCAL_INV && wqe->opcode != TERN_WR_BIND_MW &&
	    wqe->opcode != TERN_WR_REG_MR)
		cqe.byte_len = tern_wqe_bytes(wqe);
	cqe_set_qp(qp, qp->scq, &cqe);
	/*
	 * A poster that sees the CQE may post at once, so its room must be there first. wqe is
	 * invalid from here on.
	 */
	tern_sq_retire(&qp->sq, index + 1);
	return tern_cq_post(qp->scq, &cqe, status != IB_WC_SUCCESS);
}

bool tern_qp_complete_recv(struct tern_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
			   bool solicited)
{
	if (unlikely(status != IB_WC_SUCCESS))
		trace_tern_cqe_error(qp, false, qp->rwqe.wr_id, status);
	cqe->wr_id = qp->rwqe.wr_id;
	cqe->status = status;
	if (status != IB_WC_SUCCESS && !cqe->opcode)
		cqe->opcode = TERN_WC_RECV;
	cqe_set_qp(qp, qp->rcq, cqe);
	qp->have_rwqe = false;
	return tern_cq_post(qp->rcq, cqe, solicited || status != IB_WC_SUCCESS);
}

int tern_qp_take_recv(struct tern_qp *qp)
{
	bool limit_hit = false;
	int ret;

	if (qp->have_rwqe)
		return 1;
	ret = tern_rq_take(qp->srq ? &qp->srq->rq : &qp->rq, &qp->rwqe, &limit_hit);
	if (limit_hit)
		tern_srq_event(qp->srq, IB_EVENT_SRQ_LIMIT_REACHED);
	if (ret == 1) {
		qp->have_rwqe = true;
		qp->rwqe_srqn = qp->srq ? qp->srq->srqn : 0;
	}
	return ret;
}

bool tern_qp_flush_recv(struct tern_qp *qp, u32 *budget)
{
	if (qp->have_rwqe) {
		struct tern_cqe cqe = { .opcode = TERN_WC_RECV };

		tern_qp_complete_recv(qp, &cqe, IB_WC_WR_FLUSH_ERR, true);
	}
	if (!tern_qp_has_rq(qp))
		return false;	/* a shared queue's WQEs are not this QP's */
	for (; *budget; --*budget) {
		struct tern_cqe cqe = { .opcode = TERN_WC_RECV };
		int ret;

		/*
		 * Else a program that goes on posting through its mapping of the ring keeps this
		 * loop busy for ever.
		 */
		if (tern_cq_is_dead(qp->rcq))
			return false;
		ret = tern_qp_take_recv(qp);
		if (ret == 0 || ret == -EOVERFLOW)
			return false;
		/* The CQ itself reports an overrun, once. */
		tern_qp_complete_recv(qp, &cqe,
				      ret < 0 ? IB_WC_LOC_QP_OP_ERR : IB_WC_WR_FLUSH_ERR, true);
	}
	return true;
}
