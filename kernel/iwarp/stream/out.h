/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages that FPDUs are written to, and their way into TCP. Socket and run_lock held, except in
 * iw_out_uninit().
 */
#ifndef TERN_IWARP_STREAM_OUT_H
#define TERN_IWARP_STREAM_OUT_H

#include <linux/mm.h>
#include <linux/tcp.h>

#include "iwarp/stream/state.h"
#include "iwarp/stream/step.h"

/* The engines make segments for TCP's, which have this size from now on. */
void iw_out_set_mss(struct iw_qp *qp, u32 mss);

static inline void iw_out_follow_mss(struct iw_qp *qp, const struct sock *sk)
{
	u32 mss = tcp_sk(sk)->mss_cache;

	if (unlikely(mss != qp->tx.mss))
		iw_out_set_mss(qp, mss);
}

/* As iw_out_has_room(), where the page that is written to is full. */
bool iw_out_next_page(struct iw_qp *qp);
/*
 * What is sent without a copy, and then what is written, to the socket. DONE: it has taken all.
 * BLOCKED: it takes no more now (and a run follows when it does), or never.
 */
enum iw_step iw_out_push(struct iw_qp *qp, struct sock *sk);
/* TCP has no room: ask it to report some. */
void iw_out_wait_for_room(struct iw_qp *qp, struct sock *sk);
/* The QP is gone. */
void iw_out_uninit(struct iw_tx *tx);

/* Is there room for an FPDU of the largest size? False: not now, or first push what is there. */
static inline bool iw_out_has_room(struct iw_qp *qp)
{
	const struct iw_tx *tx = &qp->tx;
	const struct bio_vec *last = &tx->out[tx->last];

	if (last->bv_page && tx->page_bytes - last->bv_offset - last->bv_len >= tx->fpdu_bytes)
		return true;
	return iw_out_next_page(qp);
}

/* Where the next FPDU is written, if there is room. */
static inline u8 *iw_out_at(const struct iw_tx *tx)
{
	const struct bio_vec *last = &tx->out[tx->last];

	return (u8 *)page_address(last->bv_page) + last->bv_offset + last->bv_len;
}

static inline void iw_out_written(struct iw_tx *tx, u32 bytes)
{
	tx->out[tx->last].bv_len += bytes;
	tx->unsent += bytes;
	tx->pos += bytes;
}

#endif
