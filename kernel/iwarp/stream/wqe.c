// SPDX-License-Identifier: GPL-2.0
/*
 * Posted send WQEs become work requests of the engine. Which WQEs are legal at all is
 * queue/wqe.c's decision; what iWARP does not have fails here when it would be executed.
 */
#include "iwarp/stream/error.h"
#include "iwarp/stream/wqe.h"

static const u8 iw_op_of[TERN_WR_OPCODES] = {
	[TERN_WR_RDMA_WRITE] = IW_OP_WRITE,
	[TERN_WR_RDMA_WRITE_WITH_IMM] = IW_OP_WRITE,
	[TERN_WR_SEND] = IW_OP_SEND,
	[TERN_WR_SEND_WITH_IMM] = IW_OP_LOCAL,		/* no such message: fails later */
	[TERN_WR_RDMA_READ] = IW_OP_READ,
	[TERN_WR_ATOMIC_CMP_AND_SWP] = IW_OP_CMP_SWAP,
	[TERN_WR_ATOMIC_FETCH_AND_ADD] = IW_OP_FETCH_ADD,
	[TERN_WR_LOCAL_INV] = IW_OP_LOCAL,
	[TERN_WR_BIND_MW] = IW_OP_LOCAL,
	[TERN_WR_SEND_WITH_INV] = IW_OP_SEND,
	[TERN_WR_REG_MR] = IW_OP_LOCAL,
	[TERN_WR_RDMA_READ_WITH_INV] = IW_OP_READ,
};

static void sqe_of_wqe(const struct tern_send_wqe *wqe, struct iw_sqe *s)
{
	*s = (struct iw_sqe){ .op = iw_op_of[wqe->opcode] };

	if (wqe->flags & TERN_SEND_FENCE)
		s->flags |= IW_SQE_FENCE;
	if (wqe->flags & TERN_SEND_SOLICITED)
		s->flags |= IW_SQE_SOLICITED;
	if (s->op != IW_OP_LOCAL)
		s->length = tern_wqe_bytes(wqe);
	if (wqe->opcode == TERN_WR_RDMA_WRITE_WITH_IMM) {
		s->flags |= IW_SQE_IMM;
		s->imm = wqe->imm;
	} else if (wqe->opcode == TERN_WR_SEND_WITH_INV) {
		s->flags |= IW_SQE_INV;
		s->inv_stag = wqe->inv_key;
	} else if (wqe->opcode == TERN_WR_LOCAL_INV) {
		/* A READ's sink may be of the region. */
		s->flags |= IW_SQE_WAIT_ALL;
	}

	switch (s->op) {
	case IW_OP_WRITE:
	case IW_OP_READ:
		s->va = wqe->rdma.remote_addr;
		s->rkey = wqe->rdma.rkey;
		break;
	case IW_OP_CMP_SWAP:
	case IW_OP_FETCH_ADD:
		s->va = wqe->atomic.remote_addr;
		s->rkey = wqe->atomic.rkey;
		s->compare = wqe->atomic.compare_add;
		s->swap_add = s->op == IW_OP_CMP_SWAP ? wqe->atomic.swap :
							wqe->atomic.compare_add;
		break;
	default:
		break;
	}
}

static bool may_post(const struct iw_qp *qp, u8 op)
{
	return iw_req_may_read(&qp->req) ||
	       (op != IW_OP_READ && op != IW_OP_CMP_SWAP && op != IW_OP_FETCH_ADD);
}

void iw_wqe_take_posted(struct iw_qp *qp)
{
	struct tern_sq *sq = &qp->base.sq;
	struct tern_send_wqe *wqe;
	struct iw_sqe s;
	u32 n = 0;
	int ret;

	/* No more than one run begins. */
	while (iw_req_num_unsent(&qp->req) < IW_BUDGET_WQES && iw_wqe_is_posted(qp) &&
	       (ret = tern_sq_take(sq, qp->base.type, &wqe)) != 0) {
		if (ret == -EOVERFLOW) {
			iw_qp_fatal(qp, IB_EVENT_QP_FATAL);
			return;
		}
		if (ret > 0)
			sqe_of_wqe(wqe, &s);
		if (ret < 0 || wqe->opcode == TERN_WR_SEND_WITH_IMM || !may_post(qp, s.op)) {
			wqe = tern_sq_wqe(sq, sq->head - 1);
			wqe->opcode = TERN_WR_OPCODES;
			s = (struct iw_sqe){ .op = IW_OP_LOCAL, .flags = IW_SQE_WAIT_ALL };
		}
		iw_req_post(&qp->req, &s);
		n++;
	}
	if (n)
		tern_count_add(qp->base.dev, TERN_CNT_REQ_SENT, n);
}
