/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One FPDU, from its bytes to what it causes.
 */
#ifndef TERN_IWARP_STREAM_FPDU_H
#define TERN_IWARP_STREAM_FPDU_H

#include "iwarp/stream/cursor.h"
#include "iwarp/stream/state.h"
#include "iwarp/stream/step.h"
#include "proto/ddp.h"

/* What is known of it. */
struct iw_fpdu {
	struct ddp_seg seg;
	struct iw_cursor payload;
	u32 have;			/* bytes at head */
	const u8 *head;			/* in the socket's queue, or buf */
	u8 buf[DDP_CTRL_MAX_BYTES];
};

/*
 * An FPDU of n bytes, its CRC not counted, at c, whole in the queue; ulpdu: its length field. DONE:
 * it is dealt with, also if it ended the stream. BLOCKED: there is no receive WQE for it; it stays
 * where it is, and the retry is queued. Socket and run_lock held.
 */
enum iw_step iw_fpdu_rx(struct iw_qp *qp, struct sock *sk, struct iw_cursor c, u32 n, u32 ulpdu);

#endif
