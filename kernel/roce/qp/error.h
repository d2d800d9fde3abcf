/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completions of a RoCE QP, flushing, and the ways into the error states. The engines,
 * req.c, resp.c and ud_*.c decide which status a work request gets; tern_qp_complete_send()
 * and its like write the CQE. Everything here: run lock held, BHs off.
 */
#ifndef TERN_ROCE_QP_ERROR_H
#define TERN_ROCE_QP_ERROR_H

#include "roce/qp/state.h"
#include "roce/qp/step.h"
#include "tern-abi.h"

/*
 * SQ element index, the next in order, is over. On error, or if its poster wants
 * one, a CQE, and the room before it; else the caller retires it in time.
 */
void roce_complete_send(struct roce_qp *qp, u32 index, enum ib_wc_status status);
/* CQE of the receive WQE in hand; cqe has all but wr_id, qp and status. */
void roce_complete_recv(struct roce_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
			bool solicited);

/*
 * The ways into an error state only change the state and stop the engines, as
 * they are taken in the middle of things. The run flushes when it is done with the
 * rest; after a modify, roce_kick() does.
 */
/* The QP enters ERR for a reason of its own; the event follows. */
void roce_qp_fatal(struct roce_qp *qp, enum ib_event_type event);
/* The QP enters ERR: all that is and will be posted is flushed. */
void roce_qp_error(struct roce_qp *qp);
/* UC, UD: the send queue alone stops (SQE) and is flushed. */
void roce_sq_error(struct roce_qp *qp);

/* In ERR and SQE: flush what is posted. */
enum roce_step roce_flush(struct roce_qp *qp, u32 *budget);
/* The QP is in SQD: raise the event once everything begun is complete. */
void roce_sqd_check(struct roce_qp *qp);

static inline void roce_check_drained(struct roce_qp *qp)
{
	if (unlikely(qp->base.state == IB_QPS_SQD))
		roce_sqd_check(qp);
}

#endif
