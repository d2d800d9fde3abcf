/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much of a QP may be in the IP stack: its accounting socket, its turn at the
 * device's gate, and the call when there is room again.
 */
#ifndef TERN_ROCE_WIRE_ROOM_H
#define TERN_ROCE_WIRE_ROOM_H

#include <linux/types.h>

struct roce_tx;
struct tern_dev;

/*
 * space(arg) is called in softirq or with BHs off, when roce_tx_full() said yes, or
 * the local queue refused, and there is room again. That can be inside roce_tx_flush()
 * (the stack freed the skb), and with a transmit queue's lock held, so it must not
 * send. A run of the QP must follow, with roce_tx_end_turn(). May sleep.
 */
int roce_tx_init(struct roce_tx *tx, struct tern_dev *dev, void (*space)(void *arg), void *arg);
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
u32 roce_tx_pkts(const struct roce_tx *tx, u32 pmtu, u32 budget);
/* At the end of each run of the QP. */
void roce_tx_end_turn(struct roce_tx *tx);

/* The local queue refused a packet: space() comes when any packet of tx has left. */
void roce_tx_refused(struct roce_tx *tx);
/* An skb of tx's socket goes to the stack: charged, not there yet. In RCU. */
void roce_tx_charge(struct roce_tx *tx, u32 truesize);

#endif
