/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ICRC of skbs. Which header fields count, and in which order, is in proto/icrc.c.
 */
#ifndef TERN_ROCE_WIRE_ICRC_H
#define TERN_ROCE_WIRE_ICRC_H

#include "proto/icrc.h"

struct roce_rx;

/* Register over the masked headers: network header (no IP options), UDP, BTH. */
u32 roce_icrc_start(const u8 *headers, bool ipv6, struct icrc_memo *memo);

/* Is the ICRC right that ends rx's packet? It is in an skb. BHs off. */
bool roce_icrc_ok(const struct roce_rx *rx);

#endif
