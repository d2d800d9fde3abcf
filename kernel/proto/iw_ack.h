/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When the acknowledge of a stream that goes on and on may wait until it is for
 * many bytes. Who sends may have to wait for it: TCP's congestion window says how
 * much it may send without one, and a receiver does not know that window. So it is
 * tried: after IW_ACK_STEADY bytes acknowledges wait, and a timer looks whether
 * bytes go on coming meanwhile. If none come they are sent promptly again, until
 * so many bytes have come, and with each such pause twice as many: who pauses time
 * after time is hardly ever kept waiting. If bytes go on coming, but not so many, the
 * acknowledge goes at the timer's end: TCP at the other end takes the time for the
 * path's.
 */
#ifndef TERN_PROTO_IW_ACK_H
#define TERN_PROTO_IW_ACK_H

#include "proto/deps.h"

#define IW_ACK_STEADY		(4u << 20)
#define IW_ACK_MOST_PAUSES	9	/* that are counted */

struct iw_ack {
	u32 came;	/* bytes, modulo 2^32 */
	u32 seen;	/* of them when the timer began */
	u32 prompt;	/* bytes to come before acknowledges wait */
	u8 pauses;
	bool sent;	/* one was, since the timer began */
};

enum iw_ack_timer {
	IW_ACK_AGAIN,	/* the one that waits has not for long: the timer begins again */
	IW_ACK_DUE,	/* it has */
	IW_ACK_PAUSE,	/* nothing has come: it is due, and so are the next, at once */
};

static inline void iw_ack_init(struct iw_ack *a)
{
	memset(a, 0, sizeof(*a));
	a->prompt = IW_ACK_STEADY;
}

static inline void iw_ack_came(struct iw_ack *a, u32 bytes)
{
	a->came += bytes;
	a->prompt -= bytes < a->prompt ? bytes : a->prompt;
}

static inline bool iw_ack_may_wait(const struct iw_ack *a)
{
	return !a->prompt;
}

/* An acknowledge waits, and a timer begins. */
static inline void iw_ack_waits(struct iw_ack *a)
{
	a->seen = a->came;
	a->sent = false;
}

static inline void iw_ack_sent(struct iw_ack *a)
{
	a->sent = true;
}

/* The timer's end, and an acknowledge waits. */
static inline enum iw_ack_timer iw_ack_timer(struct iw_ack *a)
{
	if (a->came != a->seen)
		return a->sent ? IW_ACK_AGAIN : IW_ACK_DUE;
	a->prompt = IW_ACK_STEADY << a->pauses;
	if (a->pauses < IW_ACK_MOST_PAUSES)
		a->pauses++;
	return IW_ACK_PAUSE;
}

#endif
