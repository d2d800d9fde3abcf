/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a device's QPs may write to TCP. A stream keeps two segments or more
 * in the netdev's queue, however slow it is; with hundreds of them the queue's
 * discipline drops what stayed too long (RFC 8289), TCP sends it again, and the
 * receiver gets, and acknowledges, a segment of each at a time. So some QPs write
 * and the others wait, in turn, each for a turn that is worth a large batch, yet
 * short enough for TCP not to forget the path before the next.
 *
 * A turn is over once the QP writes no more and what it wrote has left the stack:
 * TCP tells nobody of that, so whoever comes by looks, and while QPs ask for a turn
 * a timer does. What waits for the peer's window, or for acknowledgements, is not
 * in the stack: it keeps nobody. A QP with a turn waits for acknowledgements itself when
 * it has its share of what all should have under way, while others have turns, too.
 */
#ifndef TERN_IWARP_GATE_H
#define TERN_IWARP_GATE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>

struct iw_qp;
struct net_device;

/* Per device. */
struct iw_gate {
	const struct net_device *netdev;
	spinlock_t lock;
	struct list_head holders;	/* struct iw_turn, under lock */
	struct list_head waiters;	/* in turn */
	u32 num_holders;
	u32 num_asking;			/* WAITS, USED_UP */
	u32 turn_bytes;			/* of the next turns; read without the lock, too */
	u32 little_tick;		/* in which num_little QPs wrote a little without a turn: */
	u32 num_little;			/* about, and not under lock */
	struct timer_list timer;	/* runs while QPs ask */
};

enum iw_turn_state {
	IW_TURN_NONE,
	IW_TURN_WAITS,
	IW_TURN_HAS,
	IW_TURN_USED_UP,	/* it leaves the stack; then the QP waits for the next */
};

/* Per QP. */
struct iw_turn {
	struct iw_gate *gate;
	struct list_head link;		/* the rest: under gate->lock */
	u8 state;			/* enum iw_turn_state; read without it, too */
	bool told;			/* it has a turn, and has not run since */
	bool writing;			/* it is running */
	unsigned long since;		/* jiffies: WAITS, or HAS and USED_UP */
	u64 end;			/* stream position; 0: it has written nothing */
	u32 little_tick;		/* in which it may write a little without a turn; */
	u32 came;			/* so many bytes (qp->ack) had come at its first */
};

void iw_gate_init(struct iw_gate *gate, const struct net_device *netdev);
/* No turn is left. May sleep. */
void iw_gate_uninit(struct iw_gate *gate);

void iw_turn_init(struct iw_turn *turn, struct iw_gate *gate);
/* After it the QP is told of no turn any more. */
void iw_turn_uninit(struct iw_turn *turn);

/* By the owner of the QP's socket and run lock: */
/* Around what it writes. End: there may be turns for others. */
void iw_turn_begin(struct iw_turn *turn);
void iw_turn_end(struct iw_turn *turn);
/*
 * Must the QP wait before it writes so much more? True: its work item is queued
 * when it has a turn; or it has one, and enough under way: SOCK_NOSPACE is to be set.
 */
bool iw_turn_waits(struct iw_turn *turn, u32 bytes);

#endif
