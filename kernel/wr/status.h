/* SPDX-License-Identifier: GPL-2.0 */
/* The status of a completion, as the engines name it and as CQEs have it: one to one. */
#ifndef TERN_WR_STATUS_H
#define TERN_WR_STATUS_H

#include <rdma/ib_verbs.h>

#include "proto/wr.h"
#include "tern-abi.h"

static inline enum ib_wc_status tern_wr_wc_status(enum wr_status status)
{
	static_assert((int)WR_ST_SUCCESS == (int)IB_WC_SUCCESS);
	static_assert((int)WR_ST_LOC_LEN_ERR == (int)IB_WC_LOC_LEN_ERR);
	static_assert((int)WR_ST_LOC_QP_OP_ERR == (int)IB_WC_LOC_QP_OP_ERR);
	static_assert((int)WR_ST_LOC_PROT_ERR == (int)IB_WC_LOC_PROT_ERR);
	static_assert((int)WR_ST_WR_FLUSH_ERR == (int)IB_WC_WR_FLUSH_ERR);
	static_assert((int)WR_ST_MW_BIND_ERR == (int)IB_WC_MW_BIND_ERR);
	static_assert((int)WR_ST_BAD_RESP_ERR == (int)IB_WC_BAD_RESP_ERR);
	static_assert((int)WR_ST_REM_INV_REQ_ERR == (int)IB_WC_REM_INV_REQ_ERR);
	static_assert((int)WR_ST_REM_ACCESS_ERR == (int)IB_WC_REM_ACCESS_ERR);
	static_assert((int)WR_ST_REM_OP_ERR == (int)IB_WC_REM_OP_ERR);
	static_assert((int)WR_ST_RETRY_EXC_ERR == (int)IB_WC_RETRY_EXC_ERR);
	static_assert((int)WR_ST_RNR_RETRY_EXC_ERR == (int)IB_WC_RNR_RETRY_EXC_ERR);
	return (enum ib_wc_status)status;
}

#endif
