/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completions of an iWARP QP, flushing, and the ways into SQD and ERR. All functions: run_lock
 * held.
 */
#ifndef TERN_IWARP_STREAM_ERROR_H
#define TERN_IWARP_STREAM_ERROR_H

#include "iwarp/stream/state.h"
#include "iwarp/stream/step.h"
#include "tern-abi.h"

/* As tern_qp_complete_recv(). If the CQ has no room the QP fails. */
void iw_complete_recv(struct iw_qp *qp, struct tern_cqe *cqe, enum ib_wc_status status,
		      bool solicited);

/* To SQD: a FIN follows what is posted by now. Nothing happens unless the QP is in RTS. */
void iw_qp_drain(struct iw_qp *qp);
/* To ERR: what is written is sent, also a Terminate that is due; then a FIN. */
void iw_qp_error(struct iw_qp *qp);
/*
 * To ERR with a Terminate: the one that is due, or one that says that the fault is ours. type: the
 * consumer's event.
 */
void iw_qp_fatal(struct iw_qp *qp, enum ib_event_type type);
/* The same, for a Terminate with that code because of what the peer sent. */
void iw_qp_refused(struct iw_qp *qp, int code);

/* What is wrong with memory that a peer names, by the error of mem/. */
static inline enum iw_fail iw_fail_of(int err)
{
	switch (err) {
	case -ERANGE:
		return IW_FAIL_BOUNDS;
	case -EINVAL:
		return IW_FAIL_STAG;
	case -EPERM:
		return IW_FAIL_STREAM;
	default:
		return IW_FAIL_ACCESS;
	}
}

/* Completions of requests that iw_req_completed() has. DONE or MORE. */
enum iw_step iw_complete_requests(struct iw_qp *qp);
/* In ERR: everything that is posted and will be. At most *budget WQEs. DONE or MORE. */
enum iw_step iw_flush(struct iw_qp *qp, u32 *budget);

#endif
