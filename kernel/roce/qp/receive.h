/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive WQEs, and requests that are kept: one that finds no receive WQE, waits for pages on
 * demand or is executed in parts, and those that come behind it. Answers go past. Each run of the
 * QP tries the first of them again (dispatch.c), and the timer sees to it that there is one.
 * Everything here: run lock held, BHs off.
 */
#ifndef TERN_ROCE_QP_RECEIVE_H
#define TERN_ROCE_QP_RECEIVE_H

#include "roce/qp/state.h"

struct roce_rx;

#define ROCE_RX_BACKLOG_MAX	4096	/* skbs queued to a busy QP, or kept by it, before drops */

/* Does the QP's state let requests in? */
static inline bool roce_takes_requests(const struct roce_qp *qp)
{
	return qp->base.state >= IB_QPS_RTR && qp->base.state != IB_QPS_ERR;
}

/*
 * Take a receive WQE in hand if none is. 1; 0: none posted; -EINVAL: it was malformed and is
 * complete; -EOVERFLOW: the ring is broken.
 */
int roce_take_recv(struct roce_qp *qp);
/* As roce_take_recv(), but -EAGAIN: there is none, and the request waits. Connected QPs. */
int roce_take_recv_or_wait(struct roce_qp *qp, const struct roce_rx *rx);

/*
 * The request waits for pages on demand (core/fault.h), which end with a run of the QP. A datagram
 * too; how much may wait is bounded (wire/room.h), and for how long is not.
 */
void roce_keep_for_pages(struct roce_qp *qp, const struct roce_rx *rx);
/*
 * Do kept requests wait for pages still? Of connected QPs they are dropped after
 * RC_RESP_RECV_WAIT_NS.
 */
bool roce_wait_for_pages(struct roce_qp *qp);

/* A request or a datagram comes while qp->kept is not empty: it waits behind those. */
void roce_keep_behind(struct roce_qp *qp, const struct roce_rx *rx);
/* A request is not done yet: it goes on when the QP is run next, and all behind it wait. */
void roce_keep_unfinished(struct roce_qp *qp, const struct roce_rx *rx);
/* A QP of this host waits to bring its request again: call it if that may help. */
void roce_resume_peer(struct roce_qp *qp);
/* Nothing waits any more: posters of receives need not ring. */
void roce_recv_found(struct roce_qp *qp);

#endif
