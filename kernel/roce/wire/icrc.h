/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ICRC of skbs. Which header fields count, and in which order, is in proto/icrc.c.
 */
#ifndef TERN_ROCE_WIRE_ICRC_H
#define TERN_ROCE_WIRE_ICRC_H

#include <rdma/ib_verbs.h>

#include "proto/icrc.h"

struct roce_rx;

/*
 * Register over the masked headers: network header (no IP options; of IPv6 or a GRH, the next
 * header is UDP's or the BTH's), UDP, BTH. The first word tells packets of one network from those
 * of others, so they may share a memo.
 */
u32 roce_icrc_start(const u8 *headers, enum rdma_network_type network, struct icrc_memo *memo);

/* Is the ICRC right that ends rx's packet? It is in an skb. BHs off. */
bool roce_icrc_ok(const struct roce_rx *rx);

#endif
