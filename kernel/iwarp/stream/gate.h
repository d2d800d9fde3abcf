/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a device's QPs may write to TCP. A stream keeps two segments or more in the netdev's
 * queue, however slow it is. With hundreds of streams the queue's discipline drops what stayed too
 * long (RFC 8289), TCP sends it again, and the receiver gets, and acknowledges, a segment of each
 * at a time. So some QPs have a grant to write, and the others wait in line. A grant is worth a
 * large batch.
 *
 * A grant is over when the QP writes no more and what it wrote has left the stack. TCP does not
 * report that, so each context that comes by looks, and while QPs ask for a grant a timer does.
 * What waits for the peer's window, or for acknowledgements, is not in the stack and keeps no
 * grant. A QP with a grant waits for acknowledgements itself when it has its share of what all
 * holders should have under way, while there are other holders.
 */
#ifndef TERN_IWARP_STREAM_GATE_H
#define TERN_IWARP_STREAM_GATE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>

struct net_device;

/* Per device. */
struct iw_gate {
	const struct net_device *netdev;
	spinlock_t lock;
	struct list_head holders;	/* struct iw_grant, under lock */
	struct list_head waiters;	/* oldest first */
	u32 num_holders;
	u32 num_asking;			/* WAITS, USED_UP */
	struct timer_list timer;	/* runs while QPs ask */
};

enum iw_grant_state {
	IW_GRANT_NONE,
	IW_GRANT_WAITS,
	IW_GRANT_HELD,
	IW_GRANT_USED_UP,	/* what was written leaves the stack, then the QP waits again */
};

/* Per QP. */
struct iw_grant {
	struct iw_gate *gate;
	struct list_head link;		/* this and the rest: under gate->lock */
	u8 state;			/* enum iw_grant_state; also read without the lock */
	bool told;			/* the QP has the grant, and has not run since */
	bool writing;			/* the QP is running */
	unsigned long since;		/* jiffies: HELD, USED_UP */
	u64 end;			/* stream position; 0: it has written nothing */
};

void iw_gate_init(struct iw_gate *gate, const struct net_device *netdev);
/* All grants are uninit. May sleep. */
void iw_gate_uninit(struct iw_gate *gate);

void iw_grant_init(struct iw_grant *grant, struct iw_gate *gate);
/* After it the QP is told of no grant any more. */
void iw_grant_uninit(struct iw_grant *grant);

/* ---- socket and run_lock of the QP held ---- */

/* Around what it writes. iw_grant_end(): others may get grants. */
void iw_grant_begin(struct iw_grant *grant);
void iw_grant_end(struct iw_grant *grant);
/*
 * Must the QP wait before it writes this number of bytes more? True: either it has no grant, and
 * its work item is queued when it gets one; or it has enough under way: the caller sets
 * SOCK_NOSPACE.
 */
bool iw_grant_must_wait(struct iw_grant *grant, u32 bytes);

#endif
