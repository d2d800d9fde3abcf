// SPDX-License-Identifier: GPL-2.0
/*
 * The beginning of an FPDU that has left the socket's queue. When that happens is rx.c's decision.
 */
#include <linux/skbuff.h>

#include "iwarp/stream/part.h"

u32 iw_part_missing(const struct sk_buff *part)
{
	if (part->len < MPA_LENGTH_BYTES)
		return MPA_LENGTH_BYTES - part->len;
	return mpa_fpdu_bytes(get_unaligned_be16(part->data)) - part->len;
}

static bool add_bytes(struct sk_buff *part, struct sock *sk, struct iw_cursor *c, u32 n)
{
	u32 room = skb_tailroom(part);

	if (n > room && pskb_expand_head(part, 0, n - room, GFP_ATOMIC | __GFP_NOWARN))
		return false;
	if (!iw_cursor_copy(sk, c, n, skb_put(part, n)))
		return true;
	skb_trim(part, part->len - n);
	return false;
}

u32 iw_part_fill(struct iw_qp *qp, struct sock *sk, struct iw_cursor *c, u32 left)
{
	struct sk_buff *part = qp->rx_part;
	u32 taken = 0;
	u32 n;

	if (!c->skb && !iw_cursor_begin(sk, c, qp->rx_held))
		return 0;
	while ((n = min(iw_part_missing(part), left - taken)) && add_bytes(part, sk, c, n))
		taken += n;
	return taken;
}

u32 iw_part_begin(struct iw_qp *qp, struct sock *sk, struct iw_cursor *c, u32 left)
{
	/* Not of the size that the length field claims: a peer need never send it. */
	qp->rx_part = alloc_skb(max_t(u32, left, MPA_LENGTH_BYTES), GFP_ATOMIC | __GFP_NOWARN);
	return qp->rx_part ? iw_part_fill(qp, sk, c, left) : 0;
}

void iw_part_drop(struct iw_qp *qp)
{
	kfree_skb(qp->rx_part);
	qp->rx_part = NULL;
}
