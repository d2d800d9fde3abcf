// SPDX-License-Identifier: GPL-2.0
/*
 * Posted send WQEs become work requests of the engine. Which WQEs are legal at all is
 * queue/wqe.c's decision; what iWARP does not have fails here when it would be executed.
 */
#include "core/stats.h"
#include "iwarp/stream/error.h"
#include "iwarp/stream/wqe.h"
#include "tern-abi.h"
#include "wr/request.h"

static const u8 iw_op_of[TERN_WR_OPCODES] = {
	[TERN_WR_RDMA_WRITE] = WR_WRITE,
	[TERN_WR_RDMA_WRITE_WITH_IMM] = WR_WRITE,
	[TERN_WR_SEND] = WR_SEND,
	[TERN_WR_SEND_WITH_IMM] = TERN_WR_NO_OP,	/* RFC 5040 has no such message */
	[TERN_WR_RDMA_READ] = WR_READ,
	[TERN_WR_ATOMIC_CMP_AND_SWP] = WR_CMP_SWAP,
	[TERN_WR_ATOMIC_FETCH_AND_ADD] = WR_FETCH_ADD,
	[TERN_WR_LOCAL_INV] = WR_LOCAL,
	[TERN_WR_BIND_MW] = WR_LOCAL,
	[TERN_WR_SEND_WITH_INV] = WR_SEND,
	[TERN_WR_REG_MR] = WR_LOCAL,
	[TERN_WR_RDMA_READ_WITH_INV] = WR_READ,
	[TERN_WR_FLUSH] = TERN_WR_NO_OP,	/* nor have RFC 5040 and 7306 these two */
	[TERN_WR_ATOMIC_WRITE] = TERN_WR_NO_OP,
};

void iw_wqe_take_posted(struct iw_qp *qp)
{
	struct wr wr;
	u32 n = 0;
	int ret;

	/* No more than one run begins. */
	while (iw_req_num_unsent(&qp->req) < IW_BUDGET_WQES && iw_wqe_is_posted(qp) &&
	       (ret = tern_wr_take(&qp->base, iw_op_of, iw_req_may_read(&qp->req), &wr)) != 0) {
		if (ret < 0) {
			iw_qp_fatal(qp, IB_EVENT_QP_FATAL);
			return;
		}
		iw_req_post(&qp->req, &wr);
		n++;
	}
	if (n)
		tern_qp_count_add(&qp->base, TERN_CNT_REQ_SENT, n);
}
