/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs of a connected QP's engines, requests and answers, to its peer: by the wire or
 * within the host. Everything here: run lock held, BHs off.
 */
#ifndef TERN_ROCE_QP_CARRY_H
#define TERN_ROCE_QP_CARRY_H

#include "roce/qp/state.h"
#include "roce/qp/step.h"

/* Take posted WQEs and send what may be sent. */
enum roce_step roce_carry_requests(struct roce_qp *qp, u32 *budget);
/* Send what the responder owes. */
enum roce_step roce_carry_answers(struct roce_qp *qp, u32 *budget);
/* The QP ends, or begins anew: send the ACK that waits, so that the peer does not miss it. */
void roce_carry_held_ack(struct roce_qp *qp);

#endif
