/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The beginning of an FPDU that has left the socket's queue before its end has come.
 *
 * TCP that is short of memory may drop each packet that would complete an FPDU, as long as the rest
 * is in the socket's queue; if the queue is empty it always takes a packet. And TCP counts packets
 * with all the memory that they take: the beginning of an FPDU may fill the receive buffer, and the
 * window stays shut until it is read. So if TCP reports bytes and there are no more than before, or
 * if it has no room for more, the beginning of the FPDU leaves the queue, and more is added as it
 * comes.
 *
 * All functions: socket and run_lock held.
 */
#ifndef TERN_IWARP_STREAM_PART_H
#define TERN_IWARP_STREAM_PART_H

#include "iwarp/stream/cursor.h"
#include "iwarp/stream/state.h"

/* Bytes of the FPDU, or of its length field, that are missing. */
u32 iw_part_missing(const struct sk_buff *part);
/*
 * qp->rx_part takes the `left` bytes at c (which is set to the queue's begin if it has no skb), at
 * most to the FPDU's end. Returns how many have left the queue; 0 also if there is no memory.
 */
u32 iw_part_begin(struct iw_qp *qp, struct sock *sk, struct iw_cursor *c, u32 left);
/* The same, to a part that has begun. */
u32 iw_part_fill(struct iw_qp *qp, struct sock *sk, struct iw_cursor *c, u32 left);
/* The FPDU is dealt with, or nobody wants it any more. */
void iw_part_drop(struct iw_qp *qp);

#endif
