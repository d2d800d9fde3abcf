/* SPDX-License-Identifier: GPL-2.0 */
/* Work requests that are executed at the requester alone. */
#ifndef TERN_WR_LOCAL_H
#define TERN_WR_LOCAL_H

#include "core/qp.h"
#include "proto/wr.h"

/*
 * Executes LOCAL_INV, BIND_MW, REG_MR. LOC_QP_OP_ERR for any other opcode, as in refused WQEs.
 * run_lock held; the caller holds no span.
 */
enum wr_status tern_wr_execute_local(struct tern_qp *qp, const struct tern_send_wqe *wqe);

#endif
