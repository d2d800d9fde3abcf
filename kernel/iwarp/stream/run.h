/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Running a QP: input, completions, output, and flushing.
 */
#ifndef TERN_IWARP_STREAM_RUN_H
#define TERN_IWARP_STREAM_RUN_H

#include "iwarp/stream/step.h"

struct iw_qp;
struct sock;

/*
 * Run the QP. sk: the QP's socket, with its spinlock held, or NULL. BHs off. If a process owns the
 * socket, or sk is NULL where the QP has a socket by now, the work item runs it.
 */
void iw_run(struct iw_qp *qp, struct sock *sk, enum iw_why why);
/* The same from a process, which may sleep; with IW_SETTLE. */
void iw_run_all(struct iw_qp *qp);
/*
 * Something was posted: run the QP here, or leave it to the work item. Any context, IRQs possibly
 * off. May race with or follow destroy, which does not wait for doorbells: the caller holds only a
 * reference, so `dead` is tested under run_lock.
 */
void iw_kick(struct iw_qp *qp);

#endif
