/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One run of a QP: why it happens, how much it may do, and what its steps answer.
 */
#ifndef TERN_IWARP_STREAM_STEP_H
#define TERN_IWARP_STREAM_STEP_H

enum iw_why {
	IW_ROOM,	/* to send, or something was posted */
	IW_BYTES,	/* bytes came in */
	IW_SETTLE,	/* the same, and nothing may be put off */
};

enum iw_step {
	IW_DONE,	/* nothing is left that could be done now */
	IW_MORE,	/* the budget is used up: the work item continues */
	IW_BLOCKED,	/* something is missing; an event or a timer that is set starts a run */
};

/* Bytes in and out per run; the rest is for the work item. */
#define IW_BUDGET_BYTES		(1 << 20)
/*
 * WQEs that a run takes and has not begun, that it begins, and that it completes; and FPDUs in,
 * each of which may complete a receive. This number of 64 B takes 0.9 (emulated) to 2.5 (native) of
 * the time of IW_BUDGET_BYTES (performance.md).
 */
#define IW_BUDGET_WQES		1024

#endif
