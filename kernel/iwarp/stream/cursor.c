// SPDX-License-Identifier: GPL-2.0
/*
 * A walk along the bytes in a socket's receive queue. What the bytes mean is fpdu.c's part.
 */
#include <net/tcp.h>

#include "iwarp/stream/cursor.h"

static u32 first_seq(const struct sk_buff *skb)
{
	return TCP_SKB_CB(skb)->seq + !!(TCP_SKB_CB(skb)->tcp_flags & TCPHDR_SYN);
}

bool iw_cursor_next_skb(struct sock *sk, struct iw_cursor *c)
{
	while (c->off >= c->skb->len) {
		u32 seq = first_seq(c->skb) + c->off;

		if (skb_queue_is_last(&sk->sk_receive_queue, c->skb))
			return false;
		c->skb = skb_queue_next(&sk->sk_receive_queue, c->skb);
		c->off = seq - first_seq(c->skb);
		c->part = NULL;
	}
	return true;
}

bool iw_cursor_begin(struct sock *sk, struct iw_cursor *c, u32 held)
{
	c->skb = skb_peek(&sk->sk_receive_queue);
	if (!c->skb)
		return false;
	c->off = tcp_sk(sk)->copied_seq + held - first_seq(c->skb);
	c->part = NULL;
	return iw_cursor_settle(sk, c);
}

/* Pages have addresses; so virtual DMA wants it, too. */
static_assert(!IS_ENABLED(CONFIG_HIGHMEM));

u32 iw_cursor_chunk(struct iw_cursor *c, const u8 **p)
{
	const struct sk_buff *part = c->part ?: c->skb;
	const struct skb_shared_info *info = skb_shinfo(part);
	u32 i = c->part ? c->chunk : 0;
	u32 skip = c->off - (c->part ? c->begin : 0);
	u32 size;

	for (;;) {
		size = i ? skb_frag_size(&info->frags[i - 1]) : skb_headlen(part);
		if (skip < size)
			break;
		skip -= size;
		if (i < info->nr_frags) {
			i++;
			continue;
		}
		/* Those in a list have none of their own. */
		part = part == c->skb ? info->frag_list : part->next;
		if (!part)
			return 0;
		info = skb_shinfo(part);
		i = 0;
	}
	c->part = part;
	c->chunk = i;
	c->begin = c->off - skip;
	*p = (i ? (u8 *)skb_frag_address(&info->frags[i - 1]) : part->data) + skip;
	return size - skip;
}

static int copy_chunk(void *arg, const u8 *p, u32 n)
{
	u8 **at = arg;

	memcpy(*at, p, n);
	*at += n;
	return 0;
}

int iw_cursor_copy(struct sock *sk, struct iw_cursor *c, u32 n, u8 *to)
{
	return iw_cursor_walk(sk, c, n, copy_chunk, &to);
}

const u8 *iw_cursor_gather(struct sock *sk, struct iw_cursor *c, u32 n, u8 *buf)
{
	struct iw_cursor behind;
	const u8 *p;

	if (iw_cursor_chunk(c, &p) >= n)
		return memcpy(buf, p, n);
	behind = *c;
	return iw_cursor_copy(sk, &behind, n, buf) ? NULL : buf;
}
