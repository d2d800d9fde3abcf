/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RC, UC and XRC requester: feeds posted WQEs to the engine, hands out its runs, executes
 * local operations, places READ data and atomic results, and turns the engine's
 * completions into CQEs. carry.c sends the runs. Everything here: run lock held, BHs off.
 */
#ifndef TERN_ROCE_QP_REQ_H
#define TERN_ROCE_QP_REQ_H

#include "queue/sq.h"
#include "roce/qp/state.h"
#include "roce/qp/step.h"

struct roce_rx;
struct run;

static inline bool roce_req_may_send(const struct roce_qp *qp)
{
	return qp->req_ready && (qp->base.state == IB_QPS_RTS || qp->base.state == IB_QPS_SQD);
}

/* Is there anything to send, or to take? Then posters need not ring until roce_req_rest(). */
static inline bool roce_req_begin(struct roce_qp *qp)
{
	if (!roce_req_may_send(qp) ||
	    (!rc_req_has_unsent(&qp->req) && tern_sq_is_idle(&qp->base.sq)))
		return false;
	tern_sq_draining(&qp->base.sq, true);
	return true;
}

/* Nothing is left: posters must ring again. False: something was posted meanwhile. */
static inline bool roce_req_rest(struct roce_qp *qp)
{
	tern_sq_draining(&qp->base.sq, false);
	if (!tern_sq_pending(&qp->base.sq))
		return true;
	tern_sq_draining(&qp->base.sq, true);
	return false;
}

/*
 * Take posted WQEs, execute local operations. ROCE_NEXT: send *run.
 * ROCE_BLOCKED: nothing before the peer, a timer or a change of state runs the QP.
 */
enum roce_step roce_req_next(struct roce_qp *qp, u32 *budget, struct run *run);

/* A packet of the peer's responder. */
void roce_req_rx(struct roce_qp *qp, const struct roce_rx *rx);
/* The answers at hand are worked through: ask for the missing ones. kept, psn: rc_req_missing(). */
void roce_req_missing(struct roce_qp *qp, bool kept, u32 psn);
/* A CNP came, or a response with a mark. */
void roce_req_slow_down(struct roce_qp *qp);
/* The timer has come, or an earlier time. */
void roce_req_timer(struct roce_qp *qp);
/* Complete what is over. ROCE_MORE: not all of it yet; flush nothing behind it. */
enum roce_step roce_req_reap(struct roce_qp *qp);

#endif
