/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Input of an iWARP QP. Socket and run_lock held.
 */
#ifndef TERN_IWARP_STREAM_RX_H
#define TERN_IWARP_STREAM_RX_H

#include "iwarp/stream/state.h"
#include "iwarp/stream/step.h"

/* Take what has come. MORE: the budget is used up; else DONE, also if rx_pending is set. */
enum iw_step iw_rx(struct iw_qp *qp, struct sock *sk, enum iw_why why);
/* After each iw_rx(), and after output, which takes the ACK along. */
void iw_rx_end(struct iw_qp *qp, struct sock *sk);

#endif
