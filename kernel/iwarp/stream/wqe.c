// SPDX-License-Identifier: GPL-2.0
/*
 * Posted send WQEs become work requests of the engine. Which WQEs are legal at all is
 * queue/wqe.c's decision; what iWARP does not have fails here when it would be executed.
 */
#include "core/stats.h"
#include "iwarp/stream/error.h"
#include "iwarp/stream/wqe.h"
#include "queue/sq.h"

static const u8 iw_op_of[TERN_WR_OPCODES] = {
	[TERN_WR_RDMA_WRITE] = WR_WRITE,
	[TERN_WR_RDMA_WRITE_WITH_IMM] = WR_WRITE,
	[TERN_WR_SEND] = WR_SEND,
	[TERN_WR_SEND_WITH_IMM] = WR_LOCAL,		/* no such message: fails later */
	[TERN_WR_RDMA_READ] = WR_READ,
	[TERN_WR_ATOMIC_CMP_AND_SWP] = WR_CMP_SWAP,
	[TERN_WR_ATOMIC_FETCH_AND_ADD] = WR_FETCH_ADD,
	[TERN_WR_LOCAL_INV] = WR_LOCAL,
	[TERN_WR_BIND_MW] = WR_LOCAL,
	[TERN_WR_SEND_WITH_INV] = WR_SEND,
	[TERN_WR_REG_MR] = WR_LOCAL,
	[TERN_WR_RDMA_READ_WITH_INV] = WR_READ,
};

static void sqe_of_wqe(const struct tern_send_wqe *wqe, struct wr *s)
{
	*s = (struct wr){ .op = iw_op_of[wqe->opcode] };

	if (wqe->flags & TERN_SEND_FENCE)
		s->flags |= WR_F_FENCE;
	if (wqe->flags & TERN_SEND_SOLICITED)
		s->flags |= WR_F_SOLICITED;
	if (s->op != WR_LOCAL)
		s->length = tern_wqe_bytes(wqe);
	if (wqe->opcode == TERN_WR_RDMA_WRITE_WITH_IMM) {
		s->flags |= WR_F_IMM;
		s->imm = wqe->imm;
	} else if (wqe->opcode == TERN_WR_SEND_WITH_INV) {
		s->flags |= WR_F_INV;
		s->inv_rkey = wqe->inv_key;
	} else if (wqe->opcode == TERN_WR_LOCAL_INV) {
		/* A READ's sink may be of the region. */
		s->flags |= WR_F_WAIT_ALL;
	}

	switch (s->op) {
	case WR_WRITE:
	case WR_READ:
		s->va = wqe->rdma.remote_addr;
		s->rkey = wqe->rdma.rkey;
		break;
	case WR_CMP_SWAP:
	case WR_FETCH_ADD:
		s->va = wqe->atomic.remote_addr;
		s->rkey = wqe->atomic.rkey;
		s->compare = wqe->atomic.compare_add;
		s->swap_add = s->op == WR_CMP_SWAP ? wqe->atomic.swap :
							wqe->atomic.compare_add;
		break;
	default:
		break;
	}
}

static bool may_post(const struct iw_qp *qp, u8 op)
{
	return iw_req_may_read(&qp->req) ||
	       (op != WR_READ && op != WR_CMP_SWAP && op != WR_FETCH_ADD);
}

void iw_wqe_take_posted(struct iw_qp *qp)
{
	struct tern_sq *sq = &qp->base.sq;
	struct tern_send_wqe *wqe;
	struct wr s;
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
			s = (struct wr){ .op = WR_LOCAL, .flags = WR_F_WAIT_ALL };
		}
		iw_req_post(&qp->req, &s);
		n++;
	}
	if (n)
		tern_count_add(qp->base.dev, TERN_CNT_REQ_SENT, n);
}
