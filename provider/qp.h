/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files about queue pairs share. */
#ifndef TERN_PROVIDER_QP_H
#define TERN_PROVIDER_QP_H

#include "objects.h"

namespace tern {

/*
 * May WQEs be posted to the send queue, the receive queue now? 0 or EINVAL. An
 * iWARP connection manager moves the QP on in the kernel, so there the kernel is
 * asked before a refusal: the only case in which this is a system call.
 */
int send_state_error(Qp *qp);
int recv_state_error(Qp *qp);

/*
 * Set the functions of the ibv_wr_* interface. ops are IBV_QP_EX_WITH_* bits
 * among send_ops_of() of the QP's kind.
 */
void wr_init(Qp *qp, uint64_t ops);

/* Publish what was filled into the SQ. True: the doorbell is to be rung, after unlocking. */
inline bool sq_publish(Qp *qp)
{
	return sq_needs_doorbell(qp->sq.publish());
}

} // namespace tern

#endif
