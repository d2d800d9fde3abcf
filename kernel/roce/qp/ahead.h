/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets that came before their turn: requests for the responder's engine, answers for the
 * requester's. Which are kept and whose turn it is, the engines say. At most ROCE_AHEAD_PKTS of
 * each are kept. They are charged to the QP's socket, in bytes no more than a TCP socket may
 * receive without being read (net.ipv4.tcp_rmem). Everything here: run lock held, BHs off.
 */
#ifndef TERN_ROCE_QP_AHEAD_H
#define TERN_ROCE_QP_AHEAD_H

#include "proto/rc_ack.h"
#include "roce/qp/state.h"
#include "roce/qp/step.h"

struct roce_rx;

/*
 * Packets. How far ahead of the expected one they are kept, and how many: the most that a requester
 * of ours has under way (ROCE_WINDOW_CUT_FACTOR * ROCE_WINDOW_MAX_PKTS, window.h).
 */
#define ROCE_AHEAD_PKTS		4096

/* rx is kept until its turn comes, or lost: there is one like it, or no room. */
void roce_ahead_add(struct roce_qp *qp, struct roce_ahead *ahead, const struct roce_rx *rx);

/* Is there anything for roce_ahead_resume()? */
static inline bool roce_ahead_has_some(const struct roce_qp *qp)
{
	return unlikely(qp->ahead_requests.last || qp->ahead_answers.last ||
			rc_req_has_missing(&qp->req));
}

/* Those whose turn has come go on; the requester asks for what answers show to be missing. */
enum roce_step roce_ahead_resume(struct roce_qp *qp, u32 *budget);

/* All of them are lost. Run lock held, or the QP is stopped. */
void roce_ahead_purge(struct roce_qp *qp);

#endif
