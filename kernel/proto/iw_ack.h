/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For how many bytes the acknowledge of a stream that goes on and on may wait. Who
 * sends may have to wait for it: how much it may send without one, its congestion
 * window and its buffer say, and a receiver knows neither. So it is tried: after
 * IW_ACK_STEADY bytes acknowledges wait, and a timer sees to it that none does for
 * long.
 *
 * One that is late was for fewer bytes than it might have waited for: the sender, the
 * path or a CPU had a rest, or is slow, or the sender may send no more than those. With
 * the third soon after another, of about as many bytes, acknowledges wait for half of
 * these, so that a sender that may send no more has the other half to send; if that is
 * little, they are prompt. They may wait for more, to try it again, when so many bytes
 * have come, with each time twice as many, and the first that is late with as many
 * bytes as before ends a trial: who is short of window is hardly ever kept waiting.
 */
#ifndef TERN_PROTO_IW_ACK_H
#define TERN_PROTO_IW_ACK_H

#include "deps.h"
#include "tuning.h"

struct iw_ack {
	u32 came;	/* bytes, modulo 2^32 */
	u32 since;	/* ticks, modulo 2^32: one waits */
	u32 wait;	/* bytes that they wait for; 0: they are prompt */
	u32 trial;	/* bytes to come before they wait for more */
	u32 late_at;	/* bytes that had come when the last one was late, */
	u32 late_bytes;	/* and of how many the first of these was */
	u8 lates;	/* soon after one another, of about as many bytes */
	u8 setbacks;
	bool tries;	/* for more than was too much */
	bool waits;	/* one does */
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

/* Bytes that have come, modulo 2^32: it moves whenever something comes. */
static inline u32 iw_ack_num_came(const struct iw_ack *a)
{
	return a->came;
}

/*
 * So many bytes' acknowledge does not wait, with those of so many streams waiting, this one
 * among them or not: who sends keeps what is not acknowledged.
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

/* One waits, now at the latest. */
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

/* They wait for so many bytes only; it is tried again. */
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
 * Has one, of so many bytes, waited for the whole time? It is due then. To be asked when the timer
 * goes off, and before bytes that come are counted: a sender that has waited as long as that
 * may have probed (RFC 8985 7), and TCP has acknowledged the probe.
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

/* It is not late: the ticks until then. */
static inline u32 iw_ack_ticks_left(const struct iw_ack *a, u32 now)
{
	return a->waits ? a->since + IW_ACK_TICKS - now : IW_ACK_TICKS;
}

#endif
