/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The work items, delayed works and the tasklet of a QP.
 */
#ifndef TERN_IWARP_STREAM_WORK_H
#define TERN_IWARP_STREAM_WORK_H

#include <linux/types.h>

struct iw_qp;

void iw_work_init(struct iw_qp *qp);
/* On return none runs. `dead` was set under run_lock before, so none is queued again. May sleep. */
void iw_work_cancel(struct iw_qp *qp);
/*
 * The stream begins: send the first message of peer-to-peer mode again (tx.rtr is set), or stop
 * waiting for the peer's first FPDU (p2p is not agreed on). run_lock held.
 */
void iw_work_start_opening(struct iw_qp *qp, bool p2p);

#endif
