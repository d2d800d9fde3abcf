/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much of a QP may be in the IP stack: its accounting socket, its grant from the
 * device's gate, and the call when there is room again. It also bounds the received
 * datagrams that wait for their program.
 */
#ifndef TERN_ROCE_WIRE_ROOM_H
#define TERN_ROCE_WIRE_ROOM_H

#include <linux/minmax.h>
#include <linux/rcupdate.h>

#include "roce/wire/gate.h"
#include "roce/wire/tx.h"

struct sk_buff;
struct sock;
struct tern_dev;

/*
 * What the accounting socket's sk_user_data points at. It ends with roce_tx, a grace period after
 * it; the socket may live on until the stack has freed the last skb.
 */
struct roce_tx_room {
	struct rcu_head rcu;
	struct roce_grant grant;
	unsigned long waits;		/* when to call space(): bits of enum tx_waits in room.c */
	int refused_at_bytes;		/* what was in the stack at the last refusal */
	void (*default_write_space)(struct sock *sk);
};

/*
 * space(arg) is called in softirq or with BHs off, when roce_tx_full() said yes, or
 * the local queue refused, and there is room again. That can be inside roce_tx_flush()
 * (the stack freed the skb), and with a transmit queue's lock held, so it must not
 * send. A run of the QP must follow, with roce_tx_run_ends(). May sleep.
 */
int roce_tx_init(struct roce_tx *tx, const struct tern_qp *qp, void (*space)(void *arg), void *arg);
/*
 * After it returns space() is not called any more; skbs in the stack drain by
 * themselves. May sleep. Not from space(). Nothing is sent by tx after it.
 */
void roce_tx_uninit(struct roce_tx *tx);

/*
 * By the owner of the run lock, BHs off, as the rest. True: others are to send before this
 * QP sends `bytes` of payload (gate.h), or it has enough in the stack; space() comes.
 */
bool roce_tx_full(struct roce_tx *tx, u32 bytes);
/* Packets that the next run may have, of a budget. */
static inline u32 roce_tx_pkts(const struct roce_tx *tx, u32 pmtu, u32 budget)
{
	if (likely(!roce_grant_is_slow(&tx->room->grant)))
		return budget;
	return min(budget, max(ROCE_GATE_SLOW_BYTES / pmtu, 1u));
}

/* At the end of each run of the QP. */
static inline void roce_tx_run_ends(struct roce_tx *tx)
{
	roce_grant_end(&tx->room->grant);
}

/*
 * The local queue refused a packet. When any other of tx has left, space() comes; until then it is
 * full. The end of any is as good a moment as another.
 */
void roce_tx_refused(struct roce_tx *tx);
/* Does space() come after a refusal? */
bool roce_tx_is_called(const struct roce_tx *tx);
/* It has taken too long: do not wait for it. */
void roce_tx_try_again(struct roce_tx *tx);
/* After refusals the local queue has taken a packet. */
void roce_tx_accepted(struct roce_tx *tx);

/*
 * skb, which came for the QP, is to wait for its program for as long as it may take: charge it to
 * the program, until its end, as what waits in a UDP socket. One that waits again is charged
 * already. False: as much as a socket's receive buffer may have (net.core.rmem_default) waits, or
 * the program's cgroup has no memory left. Under the run lock, as is its end.
 */
bool roce_tx_charge_datagram(struct roce_tx *tx, struct sk_buff *skb);
/*
 * The same for skb that came before its turn: as much as a TCP socket may receive without being
 * read (net.ipv4.tcp_rmem) may wait, and less when all sockets together have too much.
 */
bool roce_tx_charge_ahead(struct roce_tx *tx, struct sk_buff *skb);
/* An skb of tx's socket goes to the stack: charged, not there yet. In RCU. */
static inline void roce_tx_charge(struct roce_tx *tx, u32 truesize)
{
	roce_grant_sends(&tx->room->grant, tx->sk, truesize);
}

#endif
