// SPDX-License-Identifier: GPL-2.0
/* Executes work requests that change keys and send nothing. */
#include "core/qp.h"
#include "mem/fast.h"
#include "mem/invalidate.h"
#include "mem/window.h"
#include "wr/local.h"

enum wr_status tern_wr_execute_local(struct tern_qp *qp, const struct tern_send_wqe *wqe)
{
	switch (wqe->opcode) {
	case TERN_WR_LOCAL_INV:
		return tern_mem_invalidate(&qp->mem, wqe->inv_key, false) ? WR_ST_LOC_QP_OP_ERR :
									    WR_ST_SUCCESS;
	case TERN_WR_BIND_MW:
		return tern_mem_bind(&qp->mem, wqe->mw.mw_rkey, wqe->mw.new_rkey, wqe->mw.mr_lkey,
				     wqe->mw.addr, wqe->mw.length, wqe->mw.access) ?
			       WR_ST_MW_BIND_ERR : WR_ST_SUCCESS;
	case TERN_WR_REG_MR:
		return tern_mem_reg(&qp->mem, wqe->reg.mr_key, wqe->reg.new_key,
				    wqe->reg.access) ? WR_ST_LOC_QP_OP_ERR : WR_ST_SUCCESS;
	default:
		return WR_ST_LOC_QP_OP_ERR;
	}
}
