/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ICRC of skbs. Which header fields count, and in which order, is in proto/icrc.c.
 */
#ifndef TERN_ROCE_ICRC_H
#define TERN_ROCE_ICRC_H

#include <linux/skbuff.h>

#include "proto/icrc.h"
#include "proto/pkt.h"

/* Register over the masked headers at skb's network header (no IP options), BTH included. */
u32 roce_icrc_start(const struct sk_buff *skb, bool ipv6, struct icrc_memo *memo);

/*
 * Is the ICRC right that ends the skb, whose headers are in k? skb->data is at the BTH, of which
 * 12 bytes are linear, as are the headers right before it; skb->len ends with the ICRC. BHs off.
 */
bool roce_icrc_ok(struct sk_buff *skb, const struct pkt *k, bool ipv6);

#endif
