/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A walk along the bytes in a socket's receive queue, which stay where they are. All functions: the
 * socket is locked. Bytes in pages may belong to a sender on this host who still writes to them:
 * headers are copied before they are looked at.
 */
#ifndef TERN_IWARP_STREAM_CURSOR_H
#define TERN_IWARP_STREAM_CURSOR_H

#include <linux/skbuff.h>
#include <net/sock.h>

/*
 * A place in the queue; off may be beyond skb's end. Bytes that were sent twice may lie in two
 * skbs, so the sequence number counts from one skb to the next. An skb consists of chunks of
 * contiguous bytes: its head, its pages, and the same of each skb in its list, as GRO makes them.
 */
struct iw_cursor {
	struct sk_buff *skb;		/* NULL: not begun */
	u32 off;			/* in skb */
	/* A chunk that off is not before: */
	const struct sk_buff *part;	/* skb, or one of its list; NULL: none known */
	u32 chunk;			/* 0: the head of part; then its pages */
	u32 begin;			/* in skb */
};

/* To the byte `held` bytes behind what TCP takes for read. False: it is not there. */
bool iw_cursor_begin(struct sock *sk, struct iw_cursor *c, u32 held);
/* As iw_cursor_settle(), where off is at skb's end or beyond it. */
bool iw_cursor_next_skb(struct sock *sk, struct iw_cursor *c);

/*
 * To the chunk that has c's byte. Returns the number of bytes from *p to its end; 0: the skb has
 * too few.
 */
u32 iw_cursor_chunk(struct iw_cursor *c, const u8 **p);

/* To the skb that has the next byte. False: there is none. */
static inline bool iw_cursor_settle(struct sock *sk, struct iw_cursor *c)
{
	return likely(c->off < c->skb->len) || iw_cursor_next_skb(sk, c);
}

/* What is done with each chunk; an error ends the walk. */
typedef int (*iw_chunk_fn)(void *arg, const u8 *p, u32 n);

/*
 * Over the n bytes from c on, which are all there; c moves behind them. 0, fn's error, or -EFAULT.
 * Inline, so that fn is called directly.
 */
static __always_inline int iw_cursor_walk(struct sock *sk, struct iw_cursor *c, u32 n,
					  iw_chunk_fn fn, void *arg)
{
	while (n) {
		const u8 *p;
		u32 here = iw_cursor_settle(sk, c) ? min(n, iw_cursor_chunk(c, &p)) : 0;
		int err = here ? fn(arg, p, here) : -EFAULT;

		if (err)
			return err;
		c->off += here;
		n -= here;
	}
	return 0;
}

/* Copies the n bytes from c on to `to`; otherwise the same. */
int iw_cursor_copy(struct sock *sk, struct iw_cursor *c, u32 n, u8 *to);
/* As iw_cursor_bytes(), where they are not in an skb's head. */
const u8 *iw_cursor_gather(struct sock *sk, struct iw_cursor *c, u32 n, u8 *buf);

/* The n bytes at c, if they are contiguous in an skb's head, as short FPDUs are; or NULL. */
static inline const u8 *iw_cursor_in_head(const struct iw_cursor *c, u32 n)
{
	return c->off + n <= skb_headlen(c->skb) ? c->skb->data + c->off : NULL;
}

/*
 * The n bytes at c, which are all there: in the skb's head, or copied to buf. NULL: they are not
 * there. c stays, but knows its chunk.
 */
static inline const u8 *iw_cursor_bytes(struct sock *sk, struct iw_cursor *c, u32 n, u8 *buf)
{
	return iw_cursor_in_head(c, n) ?: iw_cursor_gather(sk, c, n, buf);
}

#endif
