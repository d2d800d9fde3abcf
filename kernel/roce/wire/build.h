/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets into a batch: headers, pad, ICRC. Everything here: by the owner of the QP's
 * run lock, BHs off.
 */
#ifndef TERN_ROCE_WIRE_BUILD_H
#define TERN_ROCE_WIRE_BUILD_H

#include <linux/netdevice.h>

#include "proto/pkt.h"
#include "roce/wire/tx.h"

/* The bytes of a list. tx.c says how many packets it may have. */
#define ROCE_TX_BATCH_BYTES	(U16_MAX - MAX_HEADER)

/* Has a batch that is a list, or is none yet, room for one more of this payload? */
static inline bool roce_tx_list_fits(const struct roce_tx_batch *batch, u32 payload_bytes)
{
	return !batch->head ||
	       (batch->npkts < roce_tx_list_pkts &&
		batch->bytes + PKT_HDR_MAX_BYTES + payload_bytes + 3 + ICRC_BYTES <=
			ROCE_TX_BATCH_BYTES);
}

/* The same for a batch that the netdev cuts. */
bool roce_tx_cut_fits(const struct roce_tx *tx, const struct pkt *k);

/* Has the batch room for this packet too? */
static inline bool roce_tx_fits(const struct roce_tx *tx, const struct pkt *k)
{
	return tx->batch.cut_bytes ? roce_tx_cut_fits(tx, k) :
				     roce_tx_list_fits(&tx->batch, k->payload_bytes);
}

/*
 * Begin a packet, which has the batch's path and fits it: k's headers are built, and
 * there is room for k->payload_bytes at the address returned. The caller fills it, then
 * calls roce_tx_end(), or roce_tx_cancel() to forget it. NULL: no memory.
 */
void *roce_tx_begin(struct roce_tx *tx, const struct roce_path *path, struct pkt *k);
/* ICRC, UDP, IP: the packet joins the batch. */
void roce_tx_end(struct roce_tx *tx, const struct roce_path *path, const struct pkt *k);
void roce_tx_cancel(struct roce_tx *tx);

#endif
