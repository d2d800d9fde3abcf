// SPDX-License-Identifier: GPL-2.0
/*
 * Input of an iWARP QP: the loop over whole FPDUs in the socket's queue, which are looked at where
 * they lie (fpdu.c), and when TCP calls again. The socket gets back what was read in ack.c.
 */
#include <net/tcp.h>

#include "iwarp/stream/ack.h"
#include "iwarp/stream/defer.h"
#include "iwarp/stream/fpdu.h"
#include "iwarp/stream/part.h"
#include "iwarp/stream/rx.h"

/* What one iw_rx() has seen and taken. */
struct visit {
	struct iw_cursor c;
	u32 left;			/* bytes that came and were not read */
	u32 taken;
	u32 unfinished;			/* as qp->rx_unfinished */
};

/*
 * Is room for more, or the window, as good as used up? TCP asks the same before it reports
 * fewer bytes than the low water mark; so it reports each packet that makes it so.
 */
static bool is_full(const struct sock *sk)
{
	return tcp_epollin_ready(sk, INT_MAX);
}

/* Bytes that came and were not read; an urgent mark may hide those behind it. */
static u32 bytes_left(const struct iw_qp *qp, struct sock *sk)
{
	u32 there = tcp_inq(sk);

	return there > qp->rx_held ? there - qp->rx_held : 0;
}

/*
 * The socket shall report when the next n bytes, an FPDU's, are there; 0: any bytes. Below such a
 * low water mark TCP acknowledges what comes. Otherwise a sender that may send less than an FPDU
 * without an ACK would wait for TCP's delayed one, for each.
 */
static void want_bytes(struct iw_qp *qp, struct sock *sk, u32 n)
{
	WRITE_ONCE(sk->sk_rcvlowat, n && !iw_ack_may_wait(&qp->ack) ? qp->rx_held + n : 1);
}

/*
 * Does TCP report a packet that it dropped? Then there are no more bytes than at the last look, or
 * fewer than the low water mark, below which TCP is silent unless it is full (or a FIN came).
 */
static bool is_short(const struct iw_qp *qp, const struct sock *sk, u32 left)
{
	return left == qp->rx_left || qp->rx_held + left < (u32)sk->sk_rcvlowat;
}

/* More of the FPDU in parts. DONE: that one is dealt with. */
static enum iw_step take_part(struct iw_qp *qp, struct sock *sk, struct visit *v)
{
	u32 n = iw_part_fill(qp, sk, &v->c, v->left);
	struct sk_buff *part = qp->rx_part;
	struct iw_cursor c = { .skb = part };

	v->left -= n;
	v->taken += n;
	v->unfinished = iw_part_missing(part);
	if (v->unfinished)
		return IW_BLOCKED;
	if (iw_fpdu_rx(qp, sk, c, part->len - MPA_CRC_BYTES, get_unaligned_be16(part->data)) !=
	    IW_DONE) {
		WRITE_ONCE(qp->rx_pending, true);
		return IW_BLOCKED;
	}
	iw_part_drop(qp);
	return IW_DONE;
}

/* All FPDUs that are whole. BLOCKED: the next one is not, or waits for a receive WQE. */
static enum iw_step take_fpdus(struct iw_qp *qp, struct sock *sk, struct visit *v)
{
	u32 fpdus = 0;

	while (qp->base.state == IB_QPS_RTS || qp->base.state == IB_QPS_SQD) {
		u8 buf[MPA_LENGTH_BYTES];
		const u8 *length;
		u32 ulpdu, bytes;

		if (unlikely(qp->rx_part)) {
			if (take_part(qp, sk, v) != IW_DONE)
				return IW_BLOCKED;
			continue;
		}
		if (v->left < MPA_LENGTH_BYTES ||
		    !(v->c.skb ? iw_cursor_settle(sk, &v->c) :
				 iw_cursor_begin(sk, &v->c, qp->rx_held)))
			return IW_BLOCKED;
		length = iw_cursor_bytes(sk, &v->c, sizeof(buf), buf);
		if (!length)
			return IW_BLOCKED;
		ulpdu = get_unaligned_be16(length);
		bytes = mpa_fpdu_bytes(ulpdu);
		if (v->left < bytes) {
			v->unfinished = bytes;
			return IW_BLOCKED;
		}
		if (v->taken >= IW_BUDGET_BYTES || fpdus++ >= IW_BUDGET_WQES) {
			WRITE_ONCE(qp->rx_pending, true);
			return IW_MORE;
		}
		if (iw_fpdu_rx(qp, sk, v->c, bytes - MPA_CRC_BYTES, ulpdu) != IW_DONE) {
			WRITE_ONCE(qp->rx_pending, true);
			return IW_BLOCKED;
		}
		v->c.off += bytes;
		v->left -= bytes;
		v->taken += bytes;
	}
	return IW_DONE;
}

/* In ERR nothing is of interest, but the window must not stay shut, nor memory be kept. */
static void drop_rest(struct iw_qp *qp, struct visit *v)
{
	iw_part_drop(qp);
	v->taken += v->left;
	v->left = 0;
	WRITE_ONCE(qp->rx_pending, false);
}

/* The beginning of an FPDU leaves the queue, so that its end may come. */
static void begin_part(struct iw_qp *qp, struct sock *sk, struct visit *v)
{
	if (!qp->rx_part) {
		u32 n = iw_part_begin(qp, sk, &v->c, v->left);

		v->left -= n;
		v->taken += n;
		if (qp->rx_part)
			v->unfinished = iw_part_missing(qp->rx_part);
	}
	/* There is no memory for it, and nothing need come that starts a run. */
	if (v->left)
		iw_defer_retry(qp);
}

enum iw_step iw_rx(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	struct visit v = { .left = bytes_left(qp, sk) };
	bool told_short = why == IW_BYTES && is_short(qp, sk, v.left);
	bool settle = why == IW_SETTLE || told_short;
	enum iw_step step;

	WRITE_ONCE(qp->rx_pending, false);
	step = take_fpdus(qp, sk, &v);
	if (qp->base.state == IB_QPS_ERR) {
		drop_rest(qp, &v);
		settle = true;
	} else if (v.left && !qp->rx_pending &&
		   (qp->rx_part || unlikely(told_short || is_full(sk)))) {
		begin_part(qp, sk, &v);
		settle = true;
	}
	qp->rx_left = v.left;
	settle |= iw_ack_late(&qp->ack, qp->rx_held, (u32)jiffies);
	iw_ack_came(&qp->ack, v.taken);
	qp->rx_held += v.taken;
	qp->rx_settle = settle;
	qp->rx_unfinished = v.unfinished;
	return step == IW_MORE ? IW_MORE : IW_DONE;
}

void iw_rx_end(struct iw_qp *qp, struct sock *sk)
{
	iw_ack_give_back(qp, sk);
	want_bytes(qp, sk, qp->rx_unfinished);
}
