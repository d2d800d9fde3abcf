// SPDX-License-Identifier: GPL-2.0
/*
 * Input of an iWARP QP: whole FPDUs in the socket's queue are looked at where
 * they lie: CRC first, then headers, then the payload is copied to where it
 * belongs, once; then the socket may forget them. Nothing is believed, and no
 * byte placed, before its CRC was right.
 */
#include <net/tcp.h>

#include "crc.h"
#include "iwarp/iwarp.h"

/*
 * A place in the socket's receive queue; off may be beyond skb's end. What was
 * sent again may lie in two skbs, so from one to the next it is the sequence
 * number that counts. An skb is stretches of contiguous bytes: its head, its
 * pages, and the same of each skb in its list, as GRO makes them.
 */
struct cursor {
	struct sk_buff *skb;
	u32 off;			/* in skb */
	/* A stretch that off is not before: */
	const struct sk_buff *part;	/* skb, or one of its list; NULL: none known */
	u32 stretch;			/* 0: the head of part; then its pages */
	u32 begin;			/* in skb */
};

static u32 first_seq(const struct sk_buff *skb)
{
	return TCP_SKB_CB(skb)->seq + !!(TCP_SKB_CB(skb)->tcp_flags & TCPHDR_SYN);
}

/* To the skb that has the next byte. False: there is none. */
static bool cursor_settle(struct sock *sk, struct cursor *c)
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

/* held bytes behind what TCP takes for read. */
static bool cursor_begin(struct sock *sk, struct cursor *c, u32 held)
{
	c->skb = skb_peek(&sk->sk_receive_queue);
	if (!c->skb)
		return false;
	c->off = tcp_sk(sk)->copied_seq + held - first_seq(c->skb);
	c->part = NULL;
	return cursor_settle(sk, c);
}

/* Pages have addresses; so virtual DMA wants it, too. */
static_assert(!IS_ENABLED(CONFIG_HIGHMEM));

/* To the stretch that has c's byte. How many bytes are there, from *p on; 0: skb has too few. */
static u32 cursor_find(struct cursor *c, const u8 **p)
{
	const struct sk_buff *part = c->part ?: c->skb;
	const struct skb_shared_info *info = skb_shinfo(part);
	u32 i = c->part ? c->stretch : 0;
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
	c->stretch = i;
	c->begin = c->off - skip;
	*p = (i ? (u8 *)skb_frag_address(&info->frags[i - 1]) : part->data) + skip;
	return size - skip;
}

/* What one does with each stretch; an error ends the walk. */
typedef int (*stretch_fn)(void *arg, const u8 *p, u32 n);

/* The n bytes from c on, which are all there; c moves behind them. */
static int walk_skbs(struct sock *sk, struct cursor *c, u32 n, stretch_fn fn, void *arg)
{
	while (n) {
		const u8 *p;
		u32 here = cursor_settle(sk, c) ? min(n, cursor_find(c, &p)) : 0;
		int err = here ? fn(arg, p, here) : -EFAULT;

		if (err)
			return err;
		c->off += here;
		n -= here;
	}
	return 0;
}

/* The n bytes at c, if they are one stretch of an skb's head, as short FPDUs are; or NULL. */
static const u8 *in_head(const struct cursor *c, u32 n)
{
	return c->off + n <= skb_headlen(c->skb) ? c->skb->data + c->off : NULL;
}

static int to_memory(void *arg, const u8 *p, u32 n)
{
	u8 **at = arg;

	memcpy(*at, p, n);
	*at += n;
	return 0;
}

/*
 * The n bytes at c, which are all there: in the skb's head, or copied to buf, as pages may
 * be a sender's who writes to them. NULL: they are not there. c stays, but knows its stretch.
 */
static __always_inline const u8 *bytes_at(struct sock *sk, struct cursor *c, u32 n, u8 *buf)
{
	const u8 *p = in_head(c, n);
	struct cursor behind;
	u8 *at = buf;

	if (p)
		return p;
	if (cursor_find(c, &p) >= n)
		return memcpy(buf, p, n);
	behind = *c;
	return walk_skbs(sk, &behind, n, to_memory, &at) ? NULL : buf;
}

static int to_crc(void *arg, const u8 *p, u32 n)
{
	u32 *crc = arg;

	*crc = tern_crc32c(*crc, p, n);
	return 0;
}

/* ---- payload ---- */

/* Where it goes: one of the two. */
struct sink {
	struct tern_sgl *sgl;
	struct tern_span *span;
	u64 off;
};

static int to_sink(void *arg, const u8 *p, u32 n)
{
	struct sink *sink = arg;
	int err = 0;

	if (sink->sgl)
		err = tern_sgl_write(sink->sgl, sink->off, p, n);
	else
		tern_span_write(sink->span, sink->off, p, n);
	sink->off += n;
	return err;
}

static int place_sgl(struct iw_qp *qp, struct sock *sk, struct cursor *c, const struct tern_sge *sge,
		     u32 num_sge, u64 off, u32 n)
{
	struct tern_sgl sgl;
	struct sink sink = { .sgl = &sgl, .off = off };
	const u8 *p = in_head(c, n);
	int err;

	if (!n)
		return 0;
	if (p)
		return tern_sges_write(&qp->base.mem, sge, num_sge, off, p, n);
	tern_sgl_begin(&sgl, &qp->base.mem, sge, num_sge, IB_ACCESS_LOCAL_WRITE);
	err = walk_skbs(sk, c, n, to_sink, &sink);
	tern_sgl_end(&sgl);
	return err;
}

/* ---- one FPDU ---- */

/* All that is known of it. */
struct fpdu {
	struct ddp_seg seg;
	struct cursor payload;
	u32 have;			/* at head */
	const u8 *head;			/* in the socket's queue, or buf */
	u8 buf[DDP_CTRL_MAX_BYTES];
};

/* The stream ends with this. */
static void fatal(struct iw_qp *qp, int code)
{
	tern_count(qp->base.dev, TERN_CNT_RESP_REFUSED);
	iw_qp_fatal(qp, (code & 0xff00) == 0x0100 || (code & 0xff00) == 0x1100 ?
				IB_EVENT_QP_ACCESS_ERR : IB_EVENT_QP_REQ_ERR);
}

static void refuse(struct iw_qp *qp, const struct fpdu *f, enum iw_fail fail)
{
	fatal(qp, iw_resp_fail(&qp->resp, &f->seg, f->head, f->have, fail));
}

static void fail_recv(struct iw_qp *qp, const struct fpdu *f, enum ib_wc_status status,
		      enum iw_fail fail)
{
	struct tern_cqe cqe = { .opcode = TERN_WC_RECV };

	iw_complete_recv(qp, &cqe, status, true);
	refuse(qp, f, fail);
}

/*
 * A receive WQE in hand: as tern_qp_take_recv(), but -EAGAIN: there is none,
 * and the FPDU stays where it is for a while.
 */
static int take_recv(struct iw_qp *qp)
{
	struct tern_qp *base = &qp->base;
	int ret = tern_qp_take_recv(base);

	if (!ret && !qp->rx_waits) {
		qp->rx_waits = true;
		qp->rx_wait_until = jiffies + IW_NO_RECV_WAIT;
		tern_count(base->dev, TERN_CNT_RNR_NAK_TX);
		if (!base->srq) {
			tern_rq_kick_wanted(&base->rq, true);
			ret = tern_qp_take_recv(base);
		}
	}
	if (!ret && time_before(jiffies, qp->rx_wait_until)) {
		/* Who posts to a shared queue rings for nobody. */
		queue_delayed_work(iw_wq, &qp->retry,
				   base->srq ? 1 : qp->rx_wait_until - jiffies);
		return -EAGAIN;
	}
	if (qp->rx_waits && !base->srq)
		tern_rq_kick_wanted(&base->rq, false);
	qp->rx_waits = false;
	return ret;
}

/* False: not now. */
static bool do_recv(struct iw_qp *qp, struct sock *sk, struct fpdu *f, const struct iw_act *act)
{
	struct tern_cqe cqe = { .opcode = TERN_WC_RECV, .byte_len = act->length };
	struct tern_rwqe *rwqe = &qp->base.rwqe;

	if (act->begin) {
		int ret = take_recv(qp);

		if (ret == -EAGAIN)
			return false;
		if (ret == -EINVAL) {
			fail_recv(qp, f, IB_WC_LOC_QP_OP_ERR, IW_FAIL_LOCAL);
			return true;
		}
		if (ret <= 0) {
			refuse(qp, f, ret ? IW_FAIL_LOCAL : IW_FAIL_NO_RECV);
			return true;
		}
	}
	if ((u64)act->offset + act->bytes > rwqe->bytes) {
		fail_recv(qp, f, IB_WC_LOC_LEN_ERR, IW_FAIL_TOO_LONG);
		return true;
	}
	if (place_sgl(qp, sk, &f->payload, rwqe->sge, rwqe->num_sge, act->offset, act->bytes)) {
		fail_recv(qp, f, IB_WC_LOC_PROT_ERR, IW_FAIL_LOCAL);
		return true;
	}
	if (act->end && act->invalidate &&
	    tern_mem_invalidate(&qp->base.mem, act->inv_stag, true)) {
		fail_recv(qp, f, IB_WC_LOC_PROT_ERR, IW_FAIL_INVALIDATE);
		return true;
	}
	iw_resp_commit(&qp->resp, &f->seg, act, f->head, 0);
	if (!act->end)
		return true;
	tern_count(qp->base.dev, TERN_CNT_RDMA_SENDS);
	if (act->invalidate) {
		cqe.wc_flags |= TERN_WC_WITH_INV;
		cqe.inv_key = act->inv_stag;
	} else if (act->kind == IW_ACT_IMM) {
		cqe.opcode = TERN_WC_RECV_RDMA_WITH_IMM;
		cqe.wc_flags |= TERN_WC_WITH_IMM;
		cqe.imm = act->imm;
	}
	iw_complete_recv(qp, &cqe, IB_WC_SUCCESS, act->solicited);
	return true;
}

static void do_write(struct iw_qp *qp, struct sock *sk, struct fpdu *f, const struct iw_act *act)
{
	const u8 *p = in_head(&f->payload, act->bytes);
	struct tern_span span;
	struct sink sink = { .span = &span };
	int err;

	if (p) {
		err = tern_span_write_once(&qp->base.mem, act->stag, act->va, act->bytes,
					   IB_ACCESS_REMOTE_WRITE, 0, p, act->bytes);
	} else {
		err = tern_span_get(&qp->base.mem, act->stag, act->va, act->bytes,
				    IB_ACCESS_REMOTE_WRITE, &span);
		if (!err) {
			err = walk_skbs(sk, &f->payload, act->bytes, to_sink, &sink);
			tern_span_put(&span);
		}
	}
	if (err) {
		refuse(qp, f, iw_fail_of(err));
		return;
	}
	if (f->seg.last)
		tern_count(qp->base.dev, TERN_CNT_RDMA_WRITES);
}

static void do_read(struct iw_qp *qp, const struct fpdu *f, const struct iw_act *act)
{
	struct tern_span span;
	int err;

	/* The responses look again; this is the answer to the request as a whole. */
	err = tern_span_get(&qp->base.mem, act->stag, act->va, act->length, IB_ACCESS_REMOTE_READ,
			    &span);
	if (err) {
		refuse(qp, f, iw_fail_of(err));
		return;
	}
	tern_span_put(&span);
	tern_count(qp->base.dev, TERN_CNT_RDMA_READS);
	iw_resp_commit(&qp->resp, &f->seg, act, f->head, 0);
}

static void do_atomic(struct iw_qp *qp, const struct fpdu *f, const struct iw_act *act)
{
	struct tern_span span;
	u64 orig = 0;
	int err;

	err = tern_span_get(&qp->base.mem, act->stag, act->va, act->length,
			    IB_ACCESS_REMOTE_ATOMIC, &span);
	if (err) {
		refuse(qp, f, iw_fail_of(err));
		return;
	}
	err = tern_span_atomic(&span, &act->atomic, &orig);
	tern_span_put(&span);
	if (err) {
		refuse(qp, f, IW_FAIL_ALIGN);
		return;
	}
	tern_count(qp->base.dev, TERN_CNT_RDMA_ATOMICS);
	iw_resp_commit(&qp->resp, &f->seg, act, f->head, orig);
}

/* False: not now. */
static bool rx_request(struct iw_qp *qp, struct sock *sk, struct fpdu *f)
{
	struct iw_act act;

	iw_resp_rx(&qp->resp, &f->seg, f->head, f->have, &act);
	switch (act.kind) {
	case IW_ACT_RECV:
	case IW_ACT_IMM:
		return do_recv(qp, sk, f, &act);
	case IW_ACT_WRITE:
		do_write(qp, sk, f, &act);
		break;
	case IW_ACT_READ:
		do_read(qp, f, &act);
		break;
	case IW_ACT_ATOMIC:
		do_atomic(qp, f, &act);
		break;
	case IW_ACT_TERMINATED:
		tern_count(qp->base.dev, TERN_CNT_REQ_REMOTE_ERR);
		iw_req_terminated(&qp->req, act.term);
		iw_qp_fatal(qp, IB_EVENT_QP_FATAL);
		break;
	case IW_ACT_FATAL:
		fatal(qp, act.term);
		break;
	default:
		break;
	}
	return true;
}

/*
 * The READ was one with invalidate: its sink's key ends with it. Not the key that
 * the work request names: rdma_rw_ctx_init() leaves that of the registration before.
 */
static int invalidate_sink(struct iw_qp *qp, struct tern_send_wqe *wqe)
{
	if (wqe->opcode != TERN_WR_RDMA_READ_WITH_INV)
		return 0;
	return tern_mem_invalidate(&qp->base.mem, tern_wqe_sge(wqe)->lkey, false);
}

static void terminate(struct iw_qp *qp, int code, const struct fpdu *f, u32 ulpdu)
{
	iw_resp_terminate(&qp->resp, code, f ? f->head : NULL, f ? f->have : 0, ulpdu);
	fatal(qp, code);
}

static void rx_response(struct iw_qp *qp, struct sock *sk, struct fpdu *f)
{
	struct tern_send_wqe *wqe;
	struct iw_req_act act;
	u32 ulpdu = f->seg.hdr_bytes + f->seg.payload_bytes;
	int err;

	iw_req_rx(&qp->req, &f->seg, f->head + f->seg.hdr_bytes, &act);
	if (act.kind == IW_REQ_FATAL) {
		terminate(qp, act.term, f, ulpdu);
		return;
	}
	wqe = tern_sq_wqe(&qp->base.sq, act.slot);
	if (act.kind == IW_REQ_PLACE_ATOMIC) {
		err = tern_sges_write(&qp->base.mem, tern_wqe_sge(wqe), wqe->num_sge, 0,
				      &act.value, sizeof(act.value));
	} else {
		err = place_sgl(qp, sk, &f->payload, tern_wqe_sge(wqe), wqe->num_sge, act.offset,
				act.bytes);
	}
	if (!err && f->seg.last)
		err = invalidate_sink(qp, wqe);
	if (err) {
		iw_req_fail(&qp->req, &qp->resp, act.slot, IW_ST_LOC_PROT_ERR);
		return;
	}
	iw_req_placed(&qp->req, &act, f->seg.last);
}

/* CRC of what c points at, over n bytes and then the field itself. */
static bool crc_right(struct sock *sk, struct cursor c, u32 n)
{
	const u8 *p = in_head(&c, n + MPA_CRC_BYTES);
	u8 buf[MPA_CRC_BYTES];
	u32 crc = ~0;

	if (p)
		return get_unaligned_le32(p + n) == ~tern_crc32c(~0, p, n);
	if (walk_skbs(sk, &c, n, to_crc, &crc))
		return false;
	p = bytes_at(sk, &c, sizeof(buf), buf);
	return p && get_unaligned_le32(p) == ~crc;
}

/*
 * An FPDU of n bytes, its CRC not counted, at c: whole in the queue. False: it
 * stays there for now.
 */
static bool rx_fpdu(struct iw_qp *qp, struct sock *sk, struct cursor c, u32 n, u32 ulpdu)
{
	struct fpdu f;
	int code;

	/* The initiator has spoken: RFC 5044 7.1.2; or the responder is there. */
	qp->tx.hold = false;
	qp->tx.rtr_repeats = 0;
	if (qp->terms.crc && !crc_right(sk, c, n)) {
		tern_count(qp->base.dev, TERN_CNT_RX_ICRC_ERR);
		terminate(qp, TERM_MPA_CRC, NULL, 0);
		return true;
	}
	c.off += MPA_LENGTH_BYTES;
	f.payload = c;
	f.have = min_t(u32, ulpdu, sizeof(f.buf));
	f.head = bytes_at(sk, &f.payload, f.have, f.buf);
	if (!f.head) {
		terminate(qp, TERM_LOCAL, NULL, 0);
		return true;
	}
	code = ddp_parse(f.head, f.have, ulpdu, &f.seg);
	if (code != TERM_NONE) {
		tern_count(qp->base.dev, TERN_CNT_RX_MALFORMED);
		terminate(qp, code, &f, ulpdu);
		return true;
	}
	f.payload.off += f.seg.hdr_bytes;
	if (f.seg.opcode == RDMAP_READ_RESP || f.seg.opcode == RDMAP_ATOMIC_RESP)
		rx_response(qp, sk, &f);
	else if (!rx_request(qp, sk, &f))
		return false;
	tern_count(qp->base.dev, TERN_CNT_RX_PKTS);
	tern_count_add(qp->base.dev, TERN_CNT_RX_BYTES, f.seg.payload_bytes);
	return true;
}

/*
 * ---- an FPDU in parts ----
 *
 * TCP that is short of memory may drop each packet that would complete an FPDU, as long as
 * the rest is in the socket's queue; a packet that finds that empty it takes always. And it counts
 * packets with all the memory that they take: what is there of an FPDU may fill the receive buffer,
 * and the window stays shut until it is read. So if TCP tells of bytes and there are no more
 * than before, or if it has no room for more, what is there of the FPDU leaves the queue, and more
 * is added as it comes.
 */

/*
 * Is room for more, or the window, as good as used up? TCP asks the same before it tells of
 * fewer bytes than the low water mark; so it tells of each packet that makes it so.
 */
static bool is_full(const struct sock *sk)
{
	return tcp_epollin_ready(sk, INT_MAX);
}

/* Bytes of the FPDU, or of its length, that are not there yet. */
static u32 part_missing(const struct sk_buff *part)
{
	if (part->len < MPA_LENGTH_BYTES)
		return MPA_LENGTH_BYTES - part->len;
	return mpa_fpdu_bytes(get_unaligned_be16(part->data)) - part->len;
}

static bool part_add(struct sk_buff *part, struct sock *sk, struct cursor *c, u32 n)
{
	u32 room = skb_tailroom(part);
	u8 *at;

	if (n > room && pskb_expand_head(part, 0, n - room, GFP_ATOMIC | __GFP_NOWARN))
		return false;
	at = skb_put(part, n);
	if (!walk_skbs(sk, c, n, to_memory, &at))
		return true;
	skb_trim(part, part->len - n);
	return false;
}

/* From c on, as far as it is there; how many bytes. */
static u32 part_fill(struct sk_buff *part, struct sock *sk, struct cursor *c, u32 held, u32 left)
{
	u32 taken = 0;
	u32 n;

	if (!c->skb && !cursor_begin(sk, c, held))
		return 0;
	while ((n = min(part_missing(part), left - taken)) && part_add(part, sk, c, n))
		taken += n;
	return taken;
}

/* The left bytes at c, of an FPDU of *unfinished. How many have left; *unfinished: more to come. */
static u32 part_begin(struct iw_qp *qp, struct sock *sk, struct cursor *c, u32 left,
		      u32 *unfinished)
{
	/* Not for what the length claims: a peer need never send it. */
	struct sk_buff *part = alloc_skb(max_t(u32, left, MPA_LENGTH_BYTES),
					 GFP_ATOMIC | __GFP_NOWARN);
	u32 n;

	if (!part)
		return 0;
	n = part_fill(part, sk, c, qp->rx_held, left);
	*unfinished = part_missing(part);
	qp->rx_part = part;
	return n;
}

/* False: it is not whole, or stays for now. */
static bool rx_part(struct iw_qp *qp, struct sock *sk)
{
	struct sk_buff *part = qp->rx_part;
	struct cursor c = { .skb = part };

	if (part_missing(part))
		return false;
	if (!rx_fpdu(qp, sk, c, part->len - MPA_CRC_BYTES, get_unaligned_be16(part->data))) {
		WRITE_ONCE(qp->rx_pending, true);
		return false;
	}
	kfree_skb(part);
	qp->rx_part = NULL;
	return true;
}

/* Bytes that came and were not read; an urgent mark may hide those behind it. */
static u32 bytes_left(const struct iw_qp *qp, struct sock *sk)
{
	u32 there = tcp_inq(sk);

	return there > qp->rx_held ? there - qp->rx_held : 0;
}

void iw_ack_wait(struct iw_qp *qp, u32 ticks)
{
	iw_ack_waits(&qp->ack, (u32)jiffies);
	if (queue_delayed_work(iw_wq, &qp->acker, ticks))
		atomic_inc(&iw_dev(qp->base.dev)->acks_waiting);
}

void iw_ack_waited(struct iw_qp *qp)
{
	atomic_dec(&iw_dev(qp->base.dev)->acks_waiting);
}

/*
 * Bytes that are as good as all: so many, or what leaves the peer most of its window; any, if
 * TCP needs the memory.
 */
static u32 ack_bytes(const struct iw_qp *qp, struct sock *sk)
{
	u32 waiting = (u32)atomic_read(&iw_dev(qp->base.dev)->acks_waiting);

	if (unlikely(tcp_under_memory_pressure(sk)))
		return 0;
	return min(iw_ack_due_bytes(&qp->ack, waiting), tcp_sk(sk)->rcv_wnd / 4);
}

/*
 * Is what was read to go back to TCP now, which sends an ACK for it? If not, and it is a bulk
 * transfer's, then when the work item comes to it; in a steady stream (proto/iw_ack.h) after a
 * time. Softirqs would do so for each packet, and a sender that gets few bytes acknowledged at a
 * time sends few at a time.
 */
bool iw_ack_due(const struct iw_qp *qp, struct sock *sk)
{
	u32 n = qp->rx_held;

	return qp->rx_settle || n <= inet_csk(sk)->icsk_ack.rcv_mss || n >= ack_bytes(qp, sk);
}

/* What was read to TCP, which sends an ACK for it. */
static void give_back(struct iw_qp *qp, struct sock *sk)
{
	u32 n = qp->rx_held;

	if (!n)
		return;
	if (!iw_ack_due(qp, sk)) {
		if (iw_ack_may_wait(&qp->ack))
			iw_ack_wait(qp, IW_ACK_TICKS);
		else
			queue_work(iw_wq, &qp->work);
		return;
	}
	qp->rx_held = 0;
	iw_ack_sent(&qp->ack);
	tcp_read_done(sk, n);
}

void iw_rx_settle(struct iw_qp *qp)
{
	struct sock *sk = qp->sk;

	if (!sk)
		return;
	iw_sock_lock(sk);
	spin_lock(&qp->base.run_lock);
	qp->rx_settle = true;
	/* A reset for what nobody wants to read would overtake the Terminate. */
	if (qp->resp.term != TERM_NONE)
		qp->rx_held = tcp_inq(sk);
	give_back(qp, sk);
	spin_unlock(&qp->base.run_lock);
	iw_sock_unlock(sk);
}

/*
 * The socket shall tell when the next n bytes are there, an FPDU's; 0: when any are.
 * Below such a low water mark TCP acknowledges what comes. Else a sender that may
 * send less than an FPDU without an ACK would wait for TCP's delayed one, for each.
 */
static void want_bytes(struct iw_qp *qp, struct sock *sk, u32 n)
{
	WRITE_ONCE(sk->sk_rcvlowat, n && !iw_ack_may_wait(&qp->ack) ? qp->rx_held + n : 1);
}

/*
 * TCP tells of a packet that it dropped: there are no more bytes than at the last look, or fewer
 * than the low water mark, below which it is silent unless it is full (or a FIN came).
 */
static bool is_short(const struct iw_qp *qp, const struct sock *sk, u32 left)
{
	return left == qp->rx_left || qp->rx_held + left < (u32)sk->sk_rcvlowat;
}

bool iw_rx(struct iw_qp *qp, struct sock *sk, enum iw_why why)
{
	u32 left = bytes_left(qp, sk);
	bool told_short = why == IW_BYTES && is_short(qp, sk, left);
	bool settle = why == IW_SETTLE || told_short;
	struct cursor c = {};
	u32 unfinished = 0;
	u32 fpdus = 0;
	u32 taken = 0;
	bool more = false;

	WRITE_ONCE(qp->rx_pending, false);
	while (qp->base.state == IB_QPS_RTS || qp->base.state == IB_QPS_SQD) {
		u8 buf[MPA_LENGTH_BYTES];
		const u8 *length;
		u32 ulpdu, bytes;

		if (unlikely(qp->rx_part)) {
			bytes = part_fill(qp->rx_part, sk, &c, qp->rx_held, left);
			left -= bytes;
			taken += bytes;
			if (rx_part(qp, sk))
				continue;
			unfinished = part_missing(qp->rx_part);
			break;
		}
		if (left < MPA_LENGTH_BYTES ||
		    !(c.skb ? cursor_settle(sk, &c) : cursor_begin(sk, &c, qp->rx_held)))
			break;
		length = bytes_at(sk, &c, sizeof(buf), buf);
		if (!length)
			break;
		ulpdu = get_unaligned_be16(length);
		bytes = mpa_fpdu_bytes(ulpdu);
		if (left < bytes) {
			unfinished = bytes;
			break;
		}
		more = taken >= IW_BUDGET_BYTES || fpdus++ >= IW_BUDGET_WQES;
		if (more || !rx_fpdu(qp, sk, c, bytes - MPA_CRC_BYTES, ulpdu)) {
			WRITE_ONCE(qp->rx_pending, true);
			break;
		}
		c.off += bytes;
		left -= bytes;
		taken += bytes;
	}
	/* After the end nothing is of interest, but the window must not stay shut. */
	if (qp->base.state == IB_QPS_ERR) {
		/* Nor is its memory to stay until the program destroys the QP. */
		kfree_skb(qp->rx_part);
		qp->rx_part = NULL;
		taken += left;
		left = 0;
		WRITE_ONCE(qp->rx_pending, false);
		settle = true;
	} else if (left && !qp->rx_pending && (qp->rx_part || unlikely(told_short || is_full(sk)))) {
		u32 n = qp->rx_part ? 0 : part_begin(qp, sk, &c, left, &unfinished);

		left -= n;
		taken += n;
		settle = true;
		/* There is no memory for it, and nothing need come that has us look again. */
		if (left)
			mod_delayed_work(iw_wq, &qp->retry, 1);
	}
	qp->rx_left = left;
	settle |= iw_ack_late(&qp->ack, qp->rx_held, (u32)jiffies);
	iw_ack_came(&qp->ack, taken);
	qp->rx_held += taken;
	qp->rx_settle = settle;
	qp->rx_unfinished = unfinished;
	return more;
}

void iw_rx_end(struct iw_qp *qp, struct sock *sk)
{
	give_back(qp, sk);
	want_bytes(qp, sk, qp->rx_unfinished);
}
