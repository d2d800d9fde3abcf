// SPDX-License-Identifier: GPL-2.0
/*
 * Output of an iWARP QP: WQEs into the engine, its segments into FPDUs, these
 * back to back into pages that the socket takes as they are, several at once of
 * long messages, for each time TCP sends is a doorbell of the NIC. Payload is
 * copied once, there; so an application that changes its buffer after the CRC
 * was computed harms itself only. Without CRCs some is lent instead (lend.h).
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "crc.h"
#include "iwarp/iwarp.h"
#include "iwarp/stream/zerocopy.h"
#include "mem/page.h"

static_assert(TERN_PAGE_BYTES >= IW_MAX_FPDU_BYTES);

/* ---- WQEs into the engine ---- */

static const u8 iw_op_of[TERN_WR_OPCODES] = {
	[TERN_WR_RDMA_WRITE] = IW_OP_WRITE,
	[TERN_WR_RDMA_WRITE_WITH_IMM] = IW_OP_WRITE,
	[TERN_WR_SEND] = IW_OP_SEND,
	[TERN_WR_SEND_WITH_IMM] = IW_OP_LOCAL,		/* no such message: fails in its turn */
	[TERN_WR_RDMA_READ] = IW_OP_READ,
	[TERN_WR_ATOMIC_CMP_AND_SWP] = IW_OP_CMP_SWAP,
	[TERN_WR_ATOMIC_FETCH_AND_ADD] = IW_OP_FETCH_ADD,
	[TERN_WR_LOCAL_INV] = IW_OP_LOCAL,
	[TERN_WR_BIND_MW] = IW_OP_LOCAL,
	[TERN_WR_SEND_WITH_INV] = IW_OP_SEND,
	[TERN_WR_REG_MR] = IW_OP_LOCAL,
	[TERN_WR_RDMA_READ_WITH_INV] = IW_OP_READ,
};

static void sqe_from_wqe(const struct tern_send_wqe *wqe, struct iw_sqe *s)
{
	*s = (struct iw_sqe){ .op = iw_op_of[wqe->opcode] };

	if (wqe->flags & TERN_SEND_FENCE)
		s->flags |= IW_SQE_FENCE;
	if (wqe->flags & TERN_SEND_SOLICITED)
		s->flags |= IW_SQE_SOLICITED;
	if (s->op != IW_OP_LOCAL)
		s->length = tern_wqe_bytes(wqe);
	if (wqe->opcode == TERN_WR_RDMA_WRITE_WITH_IMM) {
		s->flags |= IW_SQE_IMM;
		s->imm = wqe->imm;
	} else if (wqe->opcode == TERN_WR_SEND_WITH_INV) {
		s->flags |= IW_SQE_INV;
		s->inv_stag = wqe->inv_key;
	} else if (wqe->opcode == TERN_WR_LOCAL_INV) {
		/* A READ's sink may be of the region. */
		s->flags |= IW_SQE_WAIT_ALL;
	}

	switch (s->op) {
	case IW_OP_WRITE:
	case IW_OP_READ:
		s->va = wqe->rdma.remote_addr;
		s->rkey = wqe->rdma.rkey;
		break;
	case IW_OP_CMP_SWAP:
	case IW_OP_FETCH_ADD:
		s->va = wqe->atomic.remote_addr;
		s->rkey = wqe->atomic.rkey;
		s->compare = wqe->atomic.compare_add;
		s->swap_add = s->op == IW_OP_CMP_SWAP ? wqe->atomic.swap :
							wqe->atomic.compare_add;
		break;
	default:
		break;
	}
}

static bool may_begin(const struct iw_qp *qp, u8 op)
{
	return qp->req.cfg.ord ||
	       (op != IW_OP_READ && op != IW_OP_CMP_SWAP && op != IW_OP_FETCH_ADD);
}

/* At the end only what was posted before is sent. */
static bool is_posted(const struct iw_qp *qp)
{
	const struct tern_sq *sq = &qp->base.sq;

	return tern_sq_pending(sq) && (!qp->tx.closing || (s32)(qp->tx.take_end - sq->head) > 0);
}

static void take_posted(struct iw_qp *qp)
{
	struct tern_sq *sq = &qp->base.sq;
	struct tern_send_wqe *wqe;
	struct iw_sqe s;
	u32 n = 0;
	int ret;

	/* No more than one run begins with. */
	while (qp->req.head - qp->req.cur < IW_BUDGET_WQES && is_posted(qp) &&
	       (ret = tern_sq_take(sq, qp->base.type, &wqe)) != 0) {
		if (ret == -EOVERFLOW) {
			iw_qp_fatal(qp, IB_EVENT_QP_FATAL);
			return;
		}
		if (ret > 0)
			sqe_from_wqe(wqe, &s);
		if (ret < 0 || wqe->opcode == TERN_WR_SEND_WITH_IMM || !may_begin(qp, s.op)) {
			wqe = tern_sq_wqe(sq, sq->head - 1);
			wqe->opcode = TERN_WR_OPCODES;
			s = (struct iw_sqe){ .op = IW_OP_LOCAL, .flags = IW_SQE_WAIT_ALL };
		}
		iw_req_post(&qp->req, &s);
		n++;
	}
	if (n)
		tern_count_add(qp->base.dev, TERN_CNT_REQ_SENT, n);
}

/* ---- pages ---- */

void iw_tx_uninit(struct iw_tx *tx)
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
static void tx_fit(struct iw_qp *qp)
{
	struct iw_tx *tx = &qp->tx;
	u32 most = min_t(u32, tx->page_bytes, IW_MAX_FPDU_BYTES);
	u32 ulpdu = mpa_longest_ulpdu(&qp->terms, tx->mss, most);

	tx->fpdu_bytes = mpa_fpdu_most(ulpdu, qp->terms.tx_markers);
	qp->req.cfg.max_ulpdu = ulpdu;
	qp->resp.cfg.max_ulpdu = ulpdu;
}

static void follow_mss(struct iw_qp *qp, const struct sock *sk)
{
	u32 mss = tcp_sk(sk)->mss_cache;

	if (likely(mss == qp->tx.mss))
		return;
	qp->tx.mss = mss;
	tx_fit(qp);
}

/* The page that is written to is full: the next, if there is one. */
static bool tx_next_page(struct iw_qp *qp)
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
		tx_fit(qp);
	}
	return true;
}

/* Room for an FPDU of the largest size; false: not now. */
static inline bool tx_room(struct iw_qp *qp)
{
	const struct iw_tx *tx = &qp->tx;
	const struct bio_vec *last = &tx->out[tx->last];

	if (last->bv_page && tx->page_bytes - last->bv_offset - last->bv_len >= tx->fpdu_bytes)
		return true;
	return tx_next_page(qp);
}

/* Where the next FPDU goes, if there is room. */
static inline u8 *tx_at(const struct iw_tx *tx)
{
	const struct bio_vec *last = &tx->out[tx->last];

	return (u8 *)page_address(last->bv_page) + last->bv_offset + last->bv_len;
}

static inline void tx_written(struct iw_tx *tx, u32 bytes)
{
	tx->out[tx->last].bv_len += bytes;
	tx->unsent += bytes;
	tx->pos += bytes;
}

/* The socket has them. The page that is written to stays. */
static void tx_taken(struct iw_tx *tx, u32 bytes)
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

static inline u32 tx_left_lent(const struct iw_tx *tx)
{
	return tx->lender ? iw_lend_left(tx->lender) : 0;
}

/* TCP has none. With nothing under way, and no timer, so that nothing will come, it has no memory. */
static void wait_for_room(struct iw_qp *qp, struct sock *sk)
{
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	if (!tcp_sk(sk)->packets_out && !inet_csk(sk)->icsk_pending && !qp->base.dead)
		mod_delayed_work(iw_wq, &qp->retry, 1);
}

/* Has TCP, which returned ret, taken some? */
static bool tx_progress(struct iw_qp *qp, struct sock *sk, int ret)
{
	if (ret <= 0) {
		if (ret == -EAGAIN)
			wait_for_room(qp, sk);
		return false;
	}
	tern_count(qp->base.dev, TERN_CNT_TX_PKTS);
	tern_count_add(qp->base.dev, TERN_CNT_TX_BYTES, ret);
	return true;
}

/* What is lent, and then what is written, to the socket. False: it takes no more now, or never. BHs off. */
static bool tx_push(struct iw_qp *qp, struct sock *sk)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	struct iw_tx *tx = &qp->tx;

	/* In the middle of a message more is sure to follow: TCP waits for full segments. */
	if (iw_req_in_message(&qp->req) || iw_resp_in_message(&qp->resp))
		flags |= MSG_MORE;
	while (tx_left_lent(tx))
		if (!tx_progress(qp, sk, iw_lend_push(tx->lender, sk, flags)))
			return false;
	while (tx->unsent) {
		/* The last may have nothing yet. */
		u32 pages = tx->last + !!tx->out[tx->last].bv_len;
		int ret = tern_tcp_send_pages(sk, tx->out, pages, tx->unsent, flags,
					      iw_sends_packets(qp->base.dev->netdev));

		if (!tx_progress(qp, sk, ret))
			return false;
		tx_taken(tx, ret);
	}
	return true;
}

/* ---- FPDUs ---- */

/* The payload of seg to dst. 0, or what is wrong with its memory. */
static int copy_payload(struct iw_qp *qp, const struct iw_seg *seg, u8 *dst)
{
	struct tern_send_wqe *wqe;

	if (!seg->bytes)
		return 0;
	if (seg->kind == IW_SEG_READ_RESP)
		return tern_span_read_once(&qp->base.mem, seg->stag, seg->va, seg->bytes,
					   IB_ACCESS_REMOTE_READ, 0, dst, seg->bytes);
	wqe = tern_sq_wqe(&qp->base.sq, seg->slot);
	if (wqe->flags & TERN_SEND_INLINE) {
		memcpy(dst, (u8 *)tern_wqe_inline(wqe) + seg->offset, seg->bytes);
		return 0;
	}
	return tern_sges_read(&qp->base.mem, tern_wqe_sge(wqe), wqe->num_sge, seg->offset, dst,
			      seg->bytes);
}

/*
 * An FPDU, whose ULPDU is in its place at p, to `to`, at pos of the stream: the same place, if
 * there are no markers. How many bytes.
 */
static u32 finish_fpdu(const struct mpa_terms *terms, u8 *to, u8 *p, u32 ulpdu, u64 pos)
{
	u32 pad = mpa_pad_bytes(ulpdu);
	u32 n = MPA_LENGTH_BYTES + ulpdu + pad;
	__le32 crc = 0;

	put_unaligned_be16(ulpdu, p);
	memset(p + MPA_LENGTH_BYTES + ulpdu, 0, pad);
	if (terms->tx_markers)
		n = mpa_insert_markers(to, p, n, pos);
	if (terms->crc)
		crc = cpu_to_le32(~tern_crc32c(~0, to, n));
	memcpy(to + n, &crc, MPA_CRC_BYTES);
	return n + MPA_CRC_BYTES;
}

static int write_fpdu(struct iw_qp *qp, const struct iw_seg *seg)
{
	struct iw_tx *tx = &qp->tx;
	u8 *at = tx_at(tx);
	u8 *p = qp->terms.tx_markers ? tx->bounce : at;
	int err;

	memcpy(p + MPA_LENGTH_BYTES, seg->hdr, seg->hdr_bytes);
	err = copy_payload(qp, seg, p + MPA_LENGTH_BYTES + seg->hdr_bytes);
	if (err)
		return err;
	tx_written(tx, finish_fpdu(&qp->terms, at, p, seg->hdr_bytes + seg->bytes, tx->pos));
	return 0;
}

int iw_tx_say_terminate(struct socket *sock, const struct mpa_terms *terms, int code)
{
	u8 p[MPA_LENGTH_BYTES + DDP_UNTAGGED_BYTES + RDMAP_TERM_BYTES + 3 + MPA_CRC_BYTES];
	u8 marked[sizeof(p) + MPA_MARKER_BYTES];
	u8 *to = terms->tx_markers ? marked : p;
	u32 n = rdmap_term_header(p + MPA_LENGTH_BYTES);

	n += rdmap_term_build(p + MPA_LENGTH_BYTES + n, code, NULL, 0, 0);
	return iw_sock_send(sock, to, finish_fpdu(terms, to, p, n, 0), NULL, 0);
}

static enum iw_status execute_local(struct iw_qp *qp, u32 slot)
{
	/* enum iw_status has the values of enum ib_wc_status */
	return (enum iw_status)tern_qp_execute_local(&qp->base, tern_sq_wqe(&qp->base.sq, slot));
}

/* One segment of a response, if there is one. */
static bool send_response(struct iw_qp *qp)
{
	struct iw_seg seg;
	int err;

	if (!iw_resp_next(&qp->resp, &seg))
		return false;
	err = write_fpdu(qp, &seg);
	if (err) {
		iw_resp_read_failed(&qp->resp, &seg, iw_fail_of(err));
		tern_count(qp->base.dev, TERN_CNT_RESP_REFUSED);
		iw_qp_fatal(qp, IB_EVENT_QP_ACCESS_ERR);
		return true;
	}
	iw_resp_sent(&qp->resp, &seg);
	return true;
}

/*
 * The QP is dead. What is written has completed, and a Terminate that is due is to be said: the
 * socket is to have them, whether there is room or not. False: it does not take them.
 */
bool iw_tx_hand_over(struct iw_qp *qp, struct sock *sk)
{
	int most = sk->sk_wmem_queued + (IW_TX_PAGES + 1) * TERN_PAGE_BYTES;

	if (sk->sk_sndbuf < most)
		WRITE_ONCE(sk->sk_sndbuf, most);
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, U32_MAX);
	follow_mss(qp, sk);
	if (qp->resp.term_due && !qp->tx.hold &&
	    (tx_room(qp) || (tx_push(qp, sk) && tx_room(qp))))
		send_response(qp);
	return tx_push(qp, sk);
}

/* Segments of the request whose turn it is, that lie in one SGE. False: none. */
static bool lend_request(struct iw_qp *qp)
{
	struct iw_tx *tx = &qp->tx;
	struct iw_seg seg;
	bool any = false;

	if (!iw_lend_begin(qp))
		return false;
	while (iw_req_next_lent(&qp->req, &seg)) {
		/* Only what frames it is in the page that is written to. */
		u32 used = iw_lend_fpdu(qp, &seg, tx_at(tx));

		if (!used)
			break;
		tx->out[tx->last].bv_offset += used;
		tx->pos += used + seg.bytes;
		iw_req_sent(&qp->req, &seg);
		any = true;
		/* The end of a message, if that is short, is copied. */
		if (!iw_req_in_message(&qp->req) || iw_req_next_bytes(&qp->req) < PAGE_SIZE ||
		    !iw_lend_has_room(tx->lender))
			break;
	}
	return any;
}

/* Requests without a copy, as many as TCP is given at a time. False: none. */
static bool lend_requests(struct iw_qp *qp, struct sock *sk)
{
	struct iw_tx *tx = &qp->tx;
	bool any;

	if (!iw_lend_wanted(qp, sk) || !tx_push(qp, sk))
		return false;
	do {
		any = lend_request(qp);
	} while (any && iw_lend_has_room(tx->lender) && iw_lend_wanted(qp, sk) &&
		 !iw_turn_waits(&qp->turn, iw_req_next_bytes(&qp->req)));
	any = iw_lend_left(tx->lender);
	if (any)
		tx_push(qp, sk);
	iw_lend_end(tx->lender);
	return any;
}

/* Segments of a request, or a local operation, if there is one. */
static bool send_request(struct iw_qp *qp, struct sock *sk)
{
	struct iw_seg seg;

	if (qp->tx.lender && lend_requests(qp, sk))
		return true;
	if (!iw_req_next(&qp->req, &seg))
		return false;
	if (seg.kind == IW_SEG_LOCAL) {
		iw_req_local_done(&qp->req, &qp->resp, seg.slot, execute_local(qp, seg.slot));
		return true;
	}
	if (write_fpdu(qp, &seg)) {
		iw_req_fail(&qp->req, &qp->resp, seg.slot, IW_ST_LOC_PROT_ERR);
		return true;
	}
	iw_req_sent(&qp->req, &seg);
	return true;
}

static bool may_send(const struct iw_qp *qp)
{
	return (qp->base.state == IB_QPS_RTS || qp->base.state == IB_QPS_SQD) && !qp->tx.hold;
}

/*
 * RFC 5041 5.3: a message goes out whole before the next begins; between two
 * tagged ones a peer could not even tell which a segment is of. A Terminate
 * waits for nothing: what it cuts off will not be missed.
 */
static bool may_respond(const struct iw_qp *qp)
{
	return !qp->tx.hold && (!iw_req_in_message(&qp->req) || qp->base.state == IB_QPS_ERR);
}

static bool may_request(const struct iw_qp *qp)
{
	return may_send(qp) && !iw_resp_in_message(&qp->resp);
}

/* Peer-to-peer mode: before anything else a Write of nothing (RFC 6581 9.2). */
static void send_rtr(struct iw_qp *qp)
{
	struct ddp_seg h = { .opcode = RDMAP_WRITE, .tagged = true, .last = true };
	struct iw_seg seg = { .kind = IW_SEG_RESP, .last = true };

	seg.hdr_bytes = (u16)ddp_build(seg.hdr, &h);
	/* No memory is looked at: it cannot fail. */
	write_fpdu(qp, &seg);
	qp->tx.rtr = false;
}

/* The payload of the message that goes on next, or of either. */
static u32 next_bytes(const struct iw_qp *qp)
{
	return max(iw_req_next_bytes(&qp->req), iw_resp_next_bytes(&qp->resp));
}

/* Room in the page and in the socket for an FPDU. False: somebody will call again. */
static bool have_room(struct iw_qp *qp, struct sock *sk)
{
	/* An end is bounded in time, and all others' turns may take longer. */
	bool waits = !qp->tx.closing && iw_turn_waits(&qp->turn, next_bytes(qp));

	if (!waits && tx_room(qp) && sk_stream_memory_free(sk))
		return true;
	if (!tx_push(qp, sk))
		return false;
	if (waits) {
		/* What is acknowledged brings us back. Not before: TCP tells of room when it sends. */
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		return false;
	}
	if (!sk_stream_memory_free(sk)) {
		wait_for_room(qp, sk);
		return false;
	}
	if (tx_room(qp))
		return true;
	mod_delayed_work(iw_wq, &qp->retry, 1);	/* no memory: again */
	return false;
}

/* Is there anything to send, now or when its turn comes? */
static inline bool is_due(const struct iw_qp *qp)
{
	return tern_sq_pending(&qp->base.sq) || qp->req.cur != qp->req.head ||
	       iw_resp_pending(&qp->resp) || qp->tx.rtr;
}

/* Is it a READ's turn that leaves later, with more of them? Something will come for it. */
static bool read_waits(const struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	if (!iw_req_may_wait(&qp->req))
		return false;
	return why == IW_ROOM || (iw_req_far_ahead(&qp->req) && !iw_ack_due(qp, sk));
}

static bool tx_run(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	struct iw_tx *tx = &qp->tx;
	u64 budget_end = tx->pos + IW_BUDGET_BYTES;
	u32 budget = IW_BUDGET_WQES;

	if (tx->fin)
		return false;
	/* As most often when something has come in. */
	if (!qp->base.sq.draining && !tx->closing && !tx->unsent && !tx_left_lent(tx) &&
	    !is_due(qp))
		return false;
	tern_sq_draining(&qp->base.sq, true);
	for (;;) {
		bool any = false;

		follow_mss(qp, sk);
		if (may_send(qp))
			take_posted(qp);
		/* Draining stays on: the work item goes on, or room brings us back. */
		if (!budget-- || (s64)(tx->pos - budget_end) >= 0)
			return tx_push(qp, sk);
		if (!have_room(qp, sk))
			return false;	/* the same; room brings us back */
		if (tx->rtr && may_request(qp) && !iw_req_in_message(&qp->req)) {
			send_rtr(qp);
			continue;
		}
		/* Turn by turn, so that neither direction starves the other. */
		if (iw_resp_pending(&qp->resp) && may_respond(qp))
			any = send_response(qp);
		if (may_request(qp) && !read_waits(qp, sk, why) &&
		    (!any || have_room(qp, sk)))
			any |= send_request(qp, sk);
		if (any && is_due(qp))
			continue;
		if (!tx_push(qp, sk))
			return false;
		/* What waits for a response, and all behind it, goes on when that comes. */
		if (qp->req.cur != qp->req.head)
			break;
		tern_sq_draining(&qp->base.sq, false);
		if (!is_posted(qp) || !may_send(qp))
			break;
		tern_sq_draining(&qp->base.sq, true);
	}
	/* In SQD, what was posted before is sent and answered first. */
	if (tx->closing && (qp->base.state == IB_QPS_ERR ||
			    (qp->req.una == qp->req.head && !is_posted(qp)))) {
		tx->fin = true;
		iw_ep_kick(qp->ep);
	}
	return false;
}

bool iw_tx_run(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	bool more;

	iw_turn_begin(&qp->turn);
	more = tx_run(qp, sk, why);
	if (qp->tx.lender)
		iw_lend_close(qp->tx.lender);
	iw_turn_end(&qp->turn);
	return more;
}
