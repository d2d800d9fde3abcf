// SPDX-License-Identifier: GPL-2.0
/* Send WQEs into requests of the engines, for both transports. */
#include "core/qp.h"
#include "core/stats.h"
#include "proto/pkt.h"
#include "queue/sq.h"
#include "wr/request.h"

static void fill_wr(struct wr *wr, u8 op, const struct tern_send_wqe *wqe)
{
	*wr = (struct wr){ .op = op, .srqn = wqe->srqn };

	if (wqe->flags & TERN_SEND_FENCE)
		wr->flags |= WR_F_FENCE;
	if (wqe->flags & TERN_SEND_SOLICITED)
		wr->flags |= WR_F_SOLICITED;
	if (op != WR_LOCAL)
		wr->length = tern_wqe_bytes(wqe);

	switch (wqe->opcode) {
	case TERN_WR_SEND_WITH_IMM:
	case TERN_WR_RDMA_WRITE_WITH_IMM:
		wr->flags |= WR_F_IMM;
		wr->imm = wqe->imm;
		break;
	case TERN_WR_SEND_WITH_INV:
		wr->flags |= WR_F_INV;
		wr->inv_rkey = wqe->inv_key;
		break;
	case TERN_WR_LOCAL_INV:
		/* Requests under way may read from the region again, or be READs into it. */
		wr->flags |= WR_F_WAIT_ALL;
		break;
	default:
		break;
	}

	switch (op) {
	case WR_WRITE:
	case WR_READ:
	case WR_ATOMIC_WRITE:
		wr->va = wqe->rdma.remote_addr;
		wr->rkey = wqe->rdma.rkey;
		break;
	case WR_CMP_SWAP:
		wr->va = wqe->atomic.remote_addr;
		wr->rkey = wqe->atomic.rkey;
		wr->compare = wqe->atomic.compare_add;
		wr->swap_add = wqe->atomic.swap;
		break;
	case WR_FETCH_ADD:
		wr->va = wqe->atomic.remote_addr;
		wr->rkey = wqe->atomic.rkey;
		wr->swap_add = wqe->atomic.compare_add;
		break;
	case WR_FLUSH:
		wr->va = wqe->flush.remote_addr;
		wr->rkey = wqe->flush.rkey;
		wr->flush_bytes = wqe->flush.bytes;
		wr->feth = wqe->flush.placement;
		if (wqe->flush.selectivity == TERN_FLUSH_REGION)
			wr->feth |= FETH_REGION;
		break;
	default:
		break;
	}
}

/* The WQE that was taken last fails with LOC_QP_OP_ERR when every request before it is complete. */
static void refuse_taken(struct tern_sq *sq, struct wr *wr)
{
	/* tern_wr_execute_local() has no such opcode. */
	tern_sq_wqe(sq, sq->head - 1)->opcode = TERN_WR_OPCODES;
	*wr = (struct wr){ .op = WR_LOCAL, .flags = WR_F_WAIT_ALL };
}

int tern_wr_take(struct tern_qp *qp, const u8 op_of[TERN_WR_OPCODES], bool may_read, struct wr *wr)
{
	struct tern_send_wqe *wqe;
	int ret = tern_sq_take(&qp->sq, qp->type, &wqe);

	if (ret == 0 || ret == -EOVERFLOW)
		return ret;
	if (ret < 0 || op_of[wqe->opcode] == TERN_WR_NO_OP) {
		refuse_taken(&qp->sq, wr);
		return 1;
	}
	fill_wr(wr, op_of[wqe->opcode], wqe);
	if (wr_has_response(wr) && !may_read) {
		refuse_taken(&qp->sq, wr);
		return 1;
	}
	tern_qp_count_request(qp, wqe->opcode);
	return 1;
}
