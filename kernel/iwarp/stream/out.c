// SPDX-License-Identifier: GPL-2.0
/*
 * The pages that FPDUs are written to, and their way into TCP: several at once of long messages, as
 * each time TCP sends is a doorbell of the NIC. What is written is tx.c's part.
 */
#include <net/tcp.h>

#include "core/stats.h"
#include "iwarp/stream/defer.h"
#include "iwarp/stream/frame.h"
#include "iwarp/stream/out.h"
#include "iwarp/stream/tcp.h"
#include "iwarp/stream/zerocopy.h"
#include "mem/page.h"

static_assert(TERN_PAGE_BYTES >= IW_MAX_FPDU_BYTES);

void iw_out_uninit(struct iw_tx *tx)
{
	u32 i;

	for (i = 0; i < IW_TX_PAGES; i++) {
		if (tx->out[i].bv_page)
			put_page(tx->out[i].bv_page);
		tx->out[i].bv_page = NULL;
	}
	kvfree(tx->bounce);
	tx->bounce = NULL;
}

/*
 * The engines make segments for TCP's, as long as these are now (RFC 5044 4.5, RFC 5041 5.2), and
 * for the page that is written to, which is small if memory for large ones is short.
 */
static void fit_segments(struct iw_qp *qp)
{
	struct iw_tx *tx = &qp->tx;
	u32 most = min_t(u32, tx->page_bytes, IW_MAX_FPDU_BYTES);
	u32 ulpdu = mpa_longest_ulpdu(&qp->terms, tx->mss, most);

	tx->fpdu_bytes = mpa_fpdu_most(ulpdu, qp->terms.tx_markers);
	iw_req_set_max_ulpdu(&qp->req, (u16)ulpdu);
	iw_resp_set_max_ulpdu(&qp->resp, (u16)ulpdu);
}

void iw_out_set_mss(struct iw_qp *qp, u32 mss)
{
	qp->tx.mss = mss;
	fit_segments(qp);
}

bool iw_out_next_page(struct iw_qp *qp)
{
	struct iw_tx *tx = &qp->tx;
	struct bio_vec *last = &tx->out[tx->last];

	if (last->bv_len) {
		if (tx->last + 1 == IW_TX_PAGES)
			return false;	/* first what is there */
		last++;
	} else if (last->bv_page) {
		tern_page_put(last->bv_page);
	}
	*last = (struct bio_vec){ .bv_page = tern_page_get() };
	if (!last->bv_page)
		return false;
	tx->last = last - tx->out;
	if (unlikely(page_size(last->bv_page) != tx->page_bytes)) {
		tx->page_bytes = page_size(last->bv_page);
		fit_segments(qp);
	}
	return true;
}

/* The socket has taken these bytes. The page that is written to stays. */
static void drop_taken(struct iw_tx *tx, u32 bytes)
{
	u32 pages = 0;

	tx->unsent -= bytes;
	while (pages < tx->last && bytes >= tx->out[pages].bv_len) {
		bytes -= tx->out[pages].bv_len;
		tern_page_put(tx->out[pages].bv_page);
		pages++;
	}
	tx->out[pages].bv_offset += bytes;
	tx->out[pages].bv_len -= bytes;
	if (!pages)
		return;
	memmove(tx->out, tx->out + pages, (tx->last + 1 - pages) * sizeof(*tx->out));
	memset(tx->out + tx->last + 1 - pages, 0, pages * sizeof(*tx->out));
	tx->last -= pages;
}

/*
 * With nothing under way, and no timer, nothing will come that reports room: then TCP has no
 * memory, and is asked again.
 */
void iw_out_wait_for_room(struct iw_qp *qp, struct sock *sk)
{
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	if (!tcp_sk(sk)->packets_out && !inet_csk(sk)->icsk_pending && !qp->base.dead)
		iw_defer_retry(qp);
}

/* TCP returned ret: has it taken some? */
static bool count_taken(struct iw_qp *qp, struct sock *sk, int ret)
{
	if (ret <= 0) {
		if (ret == -EAGAIN)
			iw_out_wait_for_room(qp, sk);
		return false;
	}
	tern_qp_count(&qp->base, TERN_CNT_TX_PKTS);
	tern_qp_count_add(&qp->base, TERN_CNT_TX_BYTES, ret);
	return true;
}

enum iw_step iw_out_push(struct iw_qp *qp, struct sock *sk)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	struct iw_tx *tx = &qp->tx;

	/* In the middle of a message more is sure to follow: TCP waits for full segments. */
	if (iw_req_in_message(&qp->req) || iw_resp_in_message(&qp->resp))
		flags |= MSG_MORE;
	while (tx->zc && iw_zc_left(tx->zc))
		if (!count_taken(qp, sk, iw_zc_push(tx->zc, sk, flags)))
			return IW_BLOCKED;
	while (tx->unsent) {
		/* The last may have nothing yet. */
		u32 pages = tx->last + !!tx->out[tx->last].bv_len;
		int ret = tern_tcp_send_pages(sk, tx->out, pages, tx->unsent, flags,
					      iw_sends_packets(qp->base.dev->netdev));

		if (!count_taken(qp, sk, ret))
			return IW_BLOCKED;
		drop_taken(tx, ret);
	}
	return IW_DONE;
}
