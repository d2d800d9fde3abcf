/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a device's QPs may put packets into the IP stack. All of them together have some hundred
 * KiB there for each transmit queue of the netdev: enough that none runs dry, and little enough
 * that queueing disciplines neither overflow nor drop what stayed too long (RFC 8289). QPs beyond
 * that wait outside, in line, and each grant is worth a large batch, however many wait.
 *
 * What a QP has there may be kept: the neighbour does not answer, or one queue is stopped of
 * several. While others wait that counts for a time only. Then the QP is a slow one: it sends
 * nothing until that is gone, and a little at a time until a little has left soon.
 */
#ifndef TERN_ROCE_WIRE_GATE_H
#define TERN_ROCE_WIRE_GATE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

struct net_device;
struct sock;

/*
 * What may be in the stack for a transmit queue, charged as skbs are: at 60 MB/s it lasts
 * for 5 ms, the delay that CoDel tolerates, at 10 GB/s for longer than netdevs put off
 * telling what they sent. The packets of one QP go by one queue.
 */
#define ROCE_GATE_QUEUE_BYTES	(512 << 10)
/* A grant. A batch of 64 KiB in packets of 1 KiB is charged with 110 KiB or so. */
#define ROCE_GATE_GRANT_BYTES	(128 << 10)
/* An skb on its end, in sock_wfree(), still counts 1. There will be fewer at a time. */
#define ROCE_GATE_ENDS_BYTES	63

/* A packet is charged with no less: small ones take a netdev about as long as larger ones. */
#define ROCE_GATE_PKT_BYTES	2048

/*
 * A slow QP's payload in the stack: a packet of the largest path MTU, with which every QP can go
 * on.
 */
#define ROCE_GATE_SLOW_BYTES	4096

/* Per device. Bytes are those that skbs are charged with: truesize. */
struct roce_gate {
	struct net_device *netdev;
	atomic_t bytes;			/* in the stack, or granted */
	spinlock_t lock;
	struct list_head waiters;	/* struct roce_grant, the oldest first */
	struct list_head grants;	/* all of them, the next to be looked at first */
	struct timer_list timer;	/* looks at them while there are waiters */
};

/* Per QP. */
struct roce_grant {
	struct roce_gate *gate;
	struct list_head wait;		/* under gate->lock */
	struct list_head node;		/* in gate->grants, under gate->lock */
	atomic64_t in_stack;		/* of gate->bytes, and, above that, too old for it */
	atomic_t left_bytes;		/* of gate->bytes, what may be sent yet */
	/* jiffies, and read by others: */
	unsigned long moved;		/* when the first or last in the stack came or went */
	unsigned long began;		/* since when something is in the stack */
	unsigned long given_at;
	bool slow;
	bool missed;			/* the last grant was taken back; under gate->lock */
	void (*space)(void *arg);
	void *arg;
};

/* netdev stays as long as the gate does. */
void roce_gate_init(struct roce_gate *gate, struct net_device *netdev);
/* No grant is left. Sleeps. */
void roce_gate_uninit(struct roce_gate *gate);

/*
 * space(arg) is called when the QP has a grant, with the gate's lock held. A run of
 * the QP must follow, and end with roce_grant_end().
 */
void roce_grant_init(struct roce_grant *grant, struct roce_gate *gate, void (*space)(void *arg),
		     void *arg);
/* After it space() is not called any more, and what is in the stack does not count. */
void roce_grant_uninit(struct roce_grant *grant);

/*
 * Must the QP wait, with this many bytes of payload? True: space() comes. By the
 * owner of the QP's run lock, as roce_grant_sends() and roce_grant_end().
 */
bool roce_grant_ask(struct roce_grant *grant, u32 bytes);
static inline bool roce_grant_must_wait(struct roce_grant *grant, u32 bytes)
{
	/* No less than that is the budget of any netdev. */
	if (likely(list_empty(&grant->gate->waiters) &&
		   atomic_read(&grant->gate->bytes) < ROCE_GATE_QUEUE_BYTES))
		return false;
	return roce_grant_ask(grant, bytes);	/* the same answer; takes the gate's lock */
}

/* Has what it sent been kept for long? Then it may have ROCE_GATE_SLOW_BYTES in the stack. */
static inline bool roce_grant_is_slow(const struct roce_grant *grant)
{
	return READ_ONCE(grant->slow);
}

/* An skb of sk, the QP's socket, goes to the stack: charged, not there yet. In RCU. */
void roce_grant_sends(struct roce_grant *grant, const struct sock *sk, u32 truesize);
/* Skbs of sk ended. In RCU, any context. */
void roce_grant_freed(struct roce_grant *grant, const struct sock *sk);
/* The QP's run is over: what is left of its grant is for the next one in line. */
void roce_grant_give_back(struct roce_grant *grant);
static inline void roce_grant_end(struct roce_grant *grant)
{
	if (unlikely(atomic_read(&grant->left_bytes)))
		roce_grant_give_back(grant);
}

#endif
