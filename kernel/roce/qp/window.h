/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many packets a requester may have under way, by the wire: to begin with what fits
 * the queues of a virtual interface, and at most what keeps the fastest of paths busy.
 * A netdev that cuts batches carries more in the same time, and its queues see a batch
 * as one.
 */
#ifndef TERN_ROCE_QP_WINDOW_H
#define TERN_ROCE_QP_WINDOW_H

#include <linux/minmax.h>

#include "roce/qp/state.h"

#define ROCE_WINDOW_PKTS	256
#define ROCE_WINDOW_MAX_PKTS	1024
#define ROCE_WINDOW_MAX_BYTES	(2u << 20)
#define ROCE_WINDOW_CUT_FACTOR	4

/* What it may become. cut: the netdev cuts batches. */
static inline u32 roce_window_max(u32 pmtu, bool cut)
{
	u32 factor = cut ? ROCE_WINDOW_CUT_FACTOR : 1;

	return clamp(factor * ROCE_WINDOW_MAX_BYTES / pmtu, (u32)ROCE_WINDOW_PKTS,
		     factor * ROCE_WINDOW_MAX_PKTS);
}

/* Limit the requester to what suits the netdev that tx.cut_max_bytes is of. Run lock held. */
static inline void roce_window_suit(struct roce_qp *qp)
{
	u32 max;

	qp->window_cut = qp->tx.cut_max_bytes;
	max = roce_window_max(rc_req_pmtu(&qp->req), qp->window_cut);
	if (qp->local.req)
		rc_window_limit(&qp->local.wire_window, max);
	else
		rc_req_limit_window(&qp->req, max);
}

#endif
