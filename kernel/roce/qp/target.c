// SPDX-License-Identifier: GPL-2.0
/*
 * What an XRC target borrows, and the receive WQE that it has in hand between two packets
 * of a message. resp.c and carry.c say when.
 */
#include "core/srq.h"
#include "roce/qp/error.h"
#include "roce/qp/target.h"

bool roce_target_borrow(struct roce_qp *qp, u32 srqn)
{
	struct tern_qp *base = &qp->base;
	struct tern_srq *srq = tern_srq_borrow(base->dev, srqn, base->xrcd);

	if (!srq)
		return false;
	base->srq = srq;
	base->rcq = srq->cq;
	base->mem.pd = srq->ibsrq.pd;
	return true;
}

void roce_target_give_back(struct roce_qp *qp)
{
	struct tern_qp *base = &qp->base;

	tern_srq_give_back(base->srq);
	base->srq = NULL;
	base->rcq = NULL;
	base->mem.pd = NULL;
}

void roce_target_flush_recv(struct roce_qp *qp)
{
	struct tern_cqe cqe = { .opcode = TERN_WC_RECV };

	if (!qp->base.have_rwqe)
		return;
	if (!roce_target_borrow(qp, qp->base.rwqe_srqn)) {
		/* The SRQ was destroyed, and with it its WQEs. */
		qp->base.have_rwqe = false;
		return;
	}
	roce_complete_recv(qp, &cqe, IB_WC_WR_FLUSH_ERR, true);
	roce_target_give_back(qp);
}
