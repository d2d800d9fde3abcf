/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When TCP gets back what was read from its queue, which makes it send an ACK. For how many bytes
 * an ACK may wait is proto/iw_ack.h's decision. All functions but iw_ack_settle(): run_lock held.
 */
#ifndef TERN_IWARP_STREAM_ACK_H
#define TERN_IWARP_STREAM_ACK_H

#include "iwarp/stream/state.h"

/*
 * Does TCP get back now what was read? If not, and the ACK is a bulk transfer's, it does when the
 * work item runs; in a steady stream (proto/iw_ack.h) after a time. Softirqs would give bytes back
 * for each packet, and a sender that gets few bytes acknowledged at a time sends few at a time.
 * Between iw_rx() and iw_rx_end(), socket locked.
 */
bool iw_ack_is_due(const struct iw_qp *qp, struct sock *sk);
/* Give back what was read if that is due, else have it done later. Socket locked. */
void iw_ack_give_back(struct iw_qp *qp, struct sock *sk);
/* An ACK waits, for more bytes or for the time of ticks in jiffies. `dead` is not set. */
void iw_ack_start_timer(struct iw_qp *qp, u32 ticks);
/* The acker has gone off, or was cancelled. Without run_lock, too. */
void iw_ack_timer_done(struct iw_qp *qp);
/*
 * The socket is about to be closed: what was read must not look unread to TCP, which would send a
 * reset. Takes the socket's lock and run_lock; may sleep.
 */
void iw_ack_settle(struct iw_qp *qp);

#endif
