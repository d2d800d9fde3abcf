/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of an iWARP QP. Socket and run_lock held.
 */
#ifndef TERN_IWARP_STREAM_TX_H
#define TERN_IWARP_STREAM_TX_H

#include "iwarp/stream/state.h"
#include "iwarp/stream/step.h"

/*
 * Send what is posted, and responses. DONE: nothing is left that could be sent now. BLOCKED: a
 * grant, room or memory is missing; a run follows when there is some. MORE: the budget is used up.
 * In the last two cases the SQ's draining flag stays set.
 */
enum iw_step iw_tx_run(struct iw_qp *qp, struct sock *sk, enum iw_why why);
/*
 * The QP is dead. What is written has completed, and a Terminate may be due: the socket gets both,
 * whether it has room or not. False: it does not take them. Only the socket is locked: nobody else
 * uses the QP any more.
 */
bool iw_tx_hand_over(struct iw_qp *qp, struct sock *sk);

#endif
