/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What came for a QP, with a packet or without: which part of the QP it goes to, and the
 * queues of packets that wait.
 */
#ifndef TERN_ROCE_QP_DISPATCH_H
#define TERN_ROCE_QP_DISPATCH_H

#include "core/fault.h"
#include "roce/qp/state.h"
#include "roce/qp/step.h"

struct roce_rx;

/*
 * Is it of a kind that the QP takes, and from a sender that may send it that: service, P_Key,
 * state, peer or Q_Key? Without the run lock the answer may be wrong while the QP is being
 * modified. A "no" is then a packet lost, as it would be had it come a moment before or after;
 * after a "yes" roce_dispatch() asks again. A "no" is counted.
 */
bool roce_takes(const struct roce_qp *qp, const struct roce_rx *rx);

/* rx goes where it belongs, if roce_takes() it. Run lock held. */
void roce_dispatch(struct roce_qp *qp, const struct roce_rx *rx);

/* qp is busy: rx waits in its backlog, unless that is full. Ends rx. Softirq, no lock held. */
void roce_backlog_add(struct roce_qp *qp, struct roce_rx *rx);

/* Is there a backlog? What is missed here has left a mark. */
static inline bool roce_backlog_has_some(const struct roce_qp *qp)
{
	return !skb_queue_empty_lockless(&qp->backlog);
}

/* Run lock held, BHs off, as the next two. */
enum roce_step roce_backlog_take(struct roce_qp *qp, u32 *budget);

/* Does a request, or a peer of this host with one, wait for a receive WQE? Or is one not done? */
static inline bool roce_kept_has_some(const struct roce_qp *qp)
{
	return unlikely(!skb_queue_empty(&qp->kept) || qp->local.peer_waits);
}

/* Those go on as far as they can. */
enum roce_step roce_kept_resume(struct roce_qp *qp, u32 *budget);

/* Is a request kept that waits for nothing? Then it is not done, and the next run goes on. */
static inline bool roce_kept_goes_on(const struct roce_qp *qp)
{
	return unlikely(!skb_queue_empty(&qp->kept)) && !rc_resp_recv_look_ns(&qp->resp) &&
	       !tern_fault_is_pending(&qp->base);
}

/* These, and those that came before their turn. Run lock held, or the QP is stopped. */
void roce_backlog_purge(struct roce_qp *qp);

#endif
