/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The run lock of a second QP, that of a peer on this host, which a QP takes to deliver
 * to it.
 *
 * The rule of order: of two run locks the one of the QP at the higher address is waited
 * for. The other way round it is tried; if that fails, the QP waits on the other's list
 * (lock.h) and its run ends. So no wait is circular and no run is forgotten. The
 * peer's lock is let go of as soon as there is no more to send, before completions are
 * written: the peer's program may have seen what came, and be about to post.
 *
 * Everything here is called with qp's run lock held and BHs off.
 */
#ifndef TERN_ROCE_QP_PEER_H
#define TERN_ROCE_QP_PEER_H

#include "core/device.h"
#include "roce/qp/state.h"

/*
 * Lock qp's peer on dev and keep it in local.to (NULL: no QP there would take anything from
 * qp) until roce_peer_close() or roce_peer_let_go(). False: busy, and qp is run when it is not.
 */
bool roce_peer_open(struct roce_qp *qp, struct tern_dev *dev);
/* Of the next two call these; they seldom need it. */
void roce_peer_shut(struct roce_qp *qp);

/* No longer open, but the batch goes on. */
static inline void roce_peer_let_go(struct roce_qp *qp)
{
	if (qp->local.open)
		roce_peer_shut(qp);
}

/* The end of the batch. */
static inline void roce_peer_close(struct roce_qp *qp)
{
	qp->local.wire_settled = false;
	roce_peer_let_go(qp);
}

/* other, whose run lock the caller took, is let go of. If it was left a mark it is run after qp. */
void roce_peer_unlock(struct roce_qp *qp, struct roce_qp *other);

/* The peer, which waits for a receive WQE of qp's, is run after it. */
void roce_peer_call(struct roce_qp *qp);

#endif
