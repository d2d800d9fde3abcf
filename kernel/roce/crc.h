/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The CRC-32 that roce/ feeds the ICRC with. One place to choose the
 * implementation; crc32_le() for now.
 */
#ifndef TERN_ROCE_CRC_H
#define TERN_ROCE_CRC_H

#include <linux/skbuff.h>

#include "proto/icrc.h"

/* A crc32_fn (proto/icrc.h). Any context. */
u32 roce_crc32(u32 crc, const u8 *p, size_t n);

/* Register over the masked headers and BTH at skb's network header (no IP options). */
u32 roce_icrc_start(const struct sk_buff *skb, const u8 *bth, bool ipv6);

/*
 * Is the ICRC right that ends the skb? skb->data is at the BTH, of which (as
 * of the headers before it) 12 bytes are linear; skb->len ends with the ICRC.
 */
bool roce_icrc_ok(struct sk_buff *skb, bool ipv6);

#endif
