/* SPDX-License-Identifier: GPL-2.0 */
/* Completions of a QP, whatever its transport. run_lock held throughout. */
#ifndef TERN_CORE_COMPLETE_H
#define TERN_CORE_COMPLETE_H

#include "core/qp.h"
#include "queue/rq.h"
#include "tern-abi.h"

/*
 * SQ element index, the next in order, is over. On error, or if its poster
 * wants one, writes a CQE, after it gave back the room up to it. Else the caller
 * retires the element in time. False: the CQ has no room.
 */
bool tern_qp_complete_send(struct tern_qp *qp, u32 index, enum ib_wc_status status);

/* CQE of the receive WQE in hand; cqe has all but wr_id, qp and status. False: no room. */
bool tern_qp_complete_recv(struct tern_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
			   bool solicited);

/*
 * Take a receive WQE in hand if none is. 1; 0: none posted; -EINVAL: it is malformed, and to be
 * completed so; -EOVERFLOW: the ring is broken.
 */
int tern_qp_take_recv(struct tern_qp *qp);

/* Would tern_qp_take_recv() return other than 0? Only for a queue that is not shared. */
static inline bool tern_qp_recv_is_posted(const struct tern_qp *qp)
{
	return qp->have_rwqe || tern_rq_is_posted(&qp->rq);
}

/* LOCAL_INV, BIND_MW, REG_MR; any other opcode, malformed WQEs for one, is LOC_QP_OP_ERR. */
enum ib_wc_status tern_qp_execute_local(struct tern_qp *qp, const struct tern_send_wqe *wqe);

/* Flush the receive queue, unless it is shared. True: budget spent, more to do. */
bool tern_qp_flush_recv(struct tern_qp *qp, u32 *budget);

#endif
