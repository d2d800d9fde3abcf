/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An XRC target has no receive queue, CQ and PD. It borrows those of the SRQ that a request names,
 * for as long as it works on that request. Everything here: run lock held, BHs off.
 */
#ifndef TERN_ROCE_QP_TARGET_H
#define TERN_ROCE_QP_TARGET_H

#include "roce/qp/state.h"

static inline bool roce_is_target(const struct roce_qp *qp)
{
	return unlikely(qp->base.type == IB_QPT_XRC_TGT);
}

/* For a target, what the next two do. */
bool roce_target_borrow(struct roce_qp *qp, u32 srqn);
void roce_target_give_back(struct roce_qp *qp);

/*
 * A target gets a receive queue, a CQ and a PD, until roce_give_back(): those of this SRQ. False:
 * its domain has no such SRQ. Other QPs have their own.
 */
static inline bool roce_borrow(struct roce_qp *qp, u32 srqn)
{
	return !roce_is_target(qp) || roce_target_borrow(qp, srqn);
}

static inline void roce_give_back(struct roce_qp *qp)
{
	if (roce_is_target(qp))
		roce_target_give_back(qp);
}

/* The receive WQE that a target has in hand, if any, is flushed. It has nothing borrowed. */
void roce_target_flush_recv(struct roce_qp *qp);

/*
 * A message that takes a receive WQE of this SRQ begins. A target may have one of another SRQ in
 * hand: for a message of which nothing was placed, because its sender's memory refused.
 */
static inline void roce_target_begin(struct roce_qp *qp, u32 srqn)
{
	if (roce_is_target(qp) && qp->base.have_rwqe && qp->base.rwqe_srqn != srqn)
		roce_target_flush_recv(qp);
}

#endif
