/* SPDX-License-Identifier: GPL-2.0 */
/* Completions of a QP, whatever its transport. The caller holds run_lock. */
#ifndef TERN_CORE_COMPLETE_H
#define TERN_CORE_COMPLETE_H

#include "core/qp.h"
#include "queue/rq.h"
#include "tern-abi.h"

/*
 * SQ element index, the next in order, is complete. On error, or if its poster wants one, this
 * gives the room up to it back and writes a CQE. Otherwise the caller retires the element later.
 * False: the CQ has no room.
 */
bool tern_qp_complete_send(struct tern_qp *qp, u32 index, enum ib_wc_status status);

/*
 * Writes the CQE of the receive WQE in hand. The caller fills in all of *cqe except wr_id, qp and
 * status. False: the CQ has no room.
 */
bool tern_qp_complete_recv(struct tern_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
			   bool solicited);

/*
 * Takes a receive WQE in hand, if there is none. 1: there is one. 0: none is posted. -EINVAL: it is
 * malformed; complete it with that status. -EOVERFLOW: the ring is broken.
 */
int tern_qp_take_recv(struct tern_qp *qp);

/* Would tern_qp_take_recv() return other than 0? Only for a queue that is not shared. */
static inline bool tern_qp_recv_is_posted(const struct tern_qp *qp)
{
	return qp->have_rwqe || tern_rq_is_posted(&qp->rq);
}

/* Flushes the receive queue, unless it is shared. True: the budget is spent and there is more. */
bool tern_qp_flush_recv(struct tern_qp *qp, u32 *budget);

#endif
