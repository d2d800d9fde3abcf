/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Posted send WQEs become work requests of the engine.
 */
#ifndef TERN_IWARP_STREAM_WQE_H
#define TERN_IWARP_STREAM_WQE_H

#include "iwarp/stream/state.h"
#include "queue/sq.h"

/* Is there a WQE to take? At the stream's end only what was posted before is sent. */
static inline bool iw_wqe_is_posted(const struct iw_qp *qp)
{
	const struct tern_sq *sq = &qp->base.sq;

	return tern_sq_pending(sq) && (!qp->tx.closing || (s32)(qp->tx.take_end - sq->head) > 0);
}

/* Take what is posted, at most what one run begins. A broken ring fails the QP. run_lock held. */
void iw_wqe_take_posted(struct iw_qp *qp);

#endif
