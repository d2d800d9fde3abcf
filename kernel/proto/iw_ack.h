/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For how many bytes the acknowledge of a steady stream may wait. The sender may have to wait for
 * it: how much it may send without one depends on its congestion window and its buffer, and a
 * receiver knows neither. So the receiver tries. After IW_ACK_STEADY bytes acknowledges wait, and a
 * timer limits the wait.
 *
 * A late acknowledge was for fewer bytes than it might have waited for: the sender, the path or a
 * CPU paused or is slow, or the sender may not send more. After the third in close succession, for
 * about as many bytes, acknowledges wait for half of these bytes, so that such a sender can send
 * the other half meanwhile. If that is too few, acknowledges are prompt. They wait for more again,
 * as a trial, after a number of bytes that doubles each time. The first late acknowledge for as
 * many bytes as before ends a trial. So a sender with a small window hardly ever waits.
 */
#ifndef TERN_PROTO_IW_ACK_H
#define TERN_PROTO_IW_ACK_H

#include "deps.h"
#include "tuning.h"

struct iw_ack {
	u32 came;	/* bytes, modulo 2^32 */
	u32 since;	/* ticks, modulo 2^32: when the acknowledge began to wait */
	u32 wait;	/* bytes that acknowledges wait for; 0: they are prompt */
	u32 trial;	/* bytes to come before they wait for more */
	u32 late_at;	/* value of came when the last one was late */
	u32 late_bytes;	/* bytes of the first of the late ones */
	u8 lates;	/* late ones in close succession, for about as many bytes */
	u8 setbacks;
	bool tries;	/* a trial: they wait for more than was too much */
	bool waits;	/* an acknowledge waits */
};

static inline void iw_ack_init(struct iw_ack *a)
{
	memset(a, 0, sizeof(*a));
	a->trial = IW_ACK_STEADY;
}

static inline bool iw_ack_may_wait(const struct iw_ack *a)
{
	return a->wait;
}

/*
 * An acknowledge for this many bytes does not wait. streams: how many streams' acknowledges wait,
 * with or without this one. Senders keep what is not acknowledged, so all share IW_ACK_MOST.
 */
static inline u32 iw_ack_due_bytes(const struct iw_ack *a, u32 streams)
{
	u32 share = streams ? IW_ACK_MOST / streams : IW_ACK_MOST;

	if (share < IW_ACK_LEAST)
		share = IW_ACK_LEAST;
	return a->wait && a->wait < share ? a->wait : share;
}

static inline void iw_ack_came(struct iw_ack *a, u32 bytes)
{
	a->came += bytes;
	if (a->wait == IW_ACK_MOST && !a->tries)
		return;
	if (bytes < a->trial) {
		a->trial -= bytes;
		return;
	}
	a->tries = a->setbacks && a->wait < IW_ACK_MOST;
	a->wait = a->wait && a->wait < IW_ACK_MOST / 2 ? a->wait * 2 : IW_ACK_MOST;
	a->trial = IW_ACK_STEADY << a->setbacks;
}

/* An acknowledge waits, from now on or already. */
static inline void iw_ack_waits(struct iw_ack *a, u32 now)
{
	if (a->waits)
		return;
	a->waits = true;
	a->since = now;
}

static inline void iw_ack_sent(struct iw_ack *a)
{
	a->waits = false;
}

/* Acknowledges wait for `wait` bytes only; a trial follows later. */
static inline void iw_ack_set_back(struct iw_ack *a, u32 wait)
{
	a->wait = wait;
	a->lates = 0;
	a->tries = false;
	a->trial = IW_ACK_STEADY << a->setbacks;
	if (a->setbacks < IW_ACK_MOST_SETBACKS)
		a->setbacks++;
}

static inline bool iw_ack_is_about(u32 bytes, u32 as_many)
{
	return bytes >= as_many - as_many / 4 && bytes <= as_many + as_many / 4;
}

/*
 * Has an acknowledge, of held bytes, waited for the whole time? Then it is due. Call it when the
 * timer fires, and before new bytes are counted: a sender that waited that long may have probed
 * (RFC 8985 7), and TCP has acknowledged the probe.
 */
static inline bool iw_ack_late(struct iw_ack *a, u32 held, u32 now)
{
	if (!a->waits || now - a->since < IW_ACK_TICKS)
		return false;
	a->waits = false;
	if (!iw_ack_is_about(held, a->late_bytes)) {
		a->late_bytes = held;
		a->lates = 0;
	} else if (a->tries) {
		a->lates = IW_ACK_LATES - 1;
	} else if (a->came - a->late_at >= IW_ACK_LATES_APART) {
		a->lates = 0;
	}
	a->late_at = a->came;
	if (++a->lates == IW_ACK_LATES)
		iw_ack_set_back(a, held < 2 * IW_ACK_LEAST ? 0 : held / 2);
	return true;
}

/* Ticks until it is late. */
static inline u32 iw_ack_ticks_left(const struct iw_ack *a, u32 now)
{
	return a->waits ? a->since + IW_ACK_TICKS - now : IW_ACK_TICKS;
}

#endif
