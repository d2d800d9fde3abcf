/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* CQEs to work completions. Pure. */
#ifndef TERN_PROVIDER_CQE_H
#define TERN_PROVIDER_CQE_H

#include <cstdint>

#include <infiniband/verbs.h>

#include "sl.h"
#include "tern-abi.h"

namespace tern {

static_assert(sizeof(tern_cqe) == TERN_CQE_BYTES);
static_assert(static_cast<int>(TERN_WC_BIND_MW) == IBV_WC_BIND_MW);
static_assert(static_cast<int>(TERN_WC_LOCAL_INV) == IBV_WC_LOCAL_INV);
static_assert(static_cast<int>(TERN_WC_RECV) == IBV_WC_RECV);
static_assert(static_cast<int>(TERN_WC_RECV_RDMA_WITH_IMM) == IBV_WC_RECV_RDMA_WITH_IMM);
static_assert(static_cast<int>(TERN_WC_GRH) == IBV_WC_GRH);
static_assert(static_cast<int>(TERN_WC_WITH_IMM) == IBV_WC_WITH_IMM);
static_assert(static_cast<int>(TERN_WC_WITH_INV) == IBV_WC_WITH_INV);

/* The other bits mean something else in enum ibv_wc_flags. */
inline unsigned int cqe_wc_flags(const tern_cqe &cqe)
{
	return cqe.wc_flags & (TERN_WC_GRH | TERN_WC_WITH_IMM | TERN_WC_WITH_INV);
}

inline void cqe_to_wc(const tern_cqe &cqe, ibv_wc *wc)
{
	wc->wr_id = cqe.wr_id;
	wc->status = static_cast<ibv_wc_status>(cqe.status);
	wc->opcode = static_cast<ibv_wc_opcode>(cqe.opcode);
	wc->vendor_err = cqe.vendor_err;
	wc->byte_len = cqe.byte_len;
	wc->imm_data = cqe.imm; /* or the invalidated key: one union in both */
	wc->qp_num = cqe.qp_num;
	wc->src_qp = cqe.src_qp;
	wc->wc_flags = cqe_wc_flags(cqe);
	wc->pkey_index = cqe.pkey_index;
	wc->slid = 0;
	wc->sl = sl_of_cqe(cqe);
	wc->dlid_path_bits = 0;
}

} // namespace tern

#endif
