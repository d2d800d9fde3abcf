// SPDX-License-Identifier: GPL-2.0
/*
 * Requester of an iWARP stream; the contract is in iw_req.h.
 *
 *   tail ... una ... resp ... cur ... head
 *   done,    READs and      to     free
 *   to reap  atomics out    send
 */
#include "iw_resp.h"

void iw_req_init(struct iw_req *q, struct iw_sqe *ring, u32 entries, u32 first,
		 const struct iw_req_cfg *cfg)
{
	*q = (struct iw_req){
		.cfg = *cfg,
		.ring = ring,
		.mask = entries - 1,
		.head = first,
		.cur = first,
		.una = first,
		.tail = first,
		.resp = first,
		.send_msn = 1,
		.read_msn = 1,
		.atomic_resp_msn = 1,
		.state = IW_REQ_READY,
	};
}

bool iw_req_post(struct iw_req *q, const struct wr *wr)
{
	struct iw_sqe *s;

	if (q->head - q->tail > q->mask)
		return false;
	s = iw_req_sqe(q, q->head);
	s->wr = *wr;
	s->state = IW_SQE_QUEUED;
	s->status = WR_ST_SUCCESS;
	s->body_sent = false;
	s->lent = false;
	s->msn = 0;
	s->done_bytes = 0;
	q->others += s->wr.op != WR_READ;
	if (wr_has_payload(&s->wr) && q->state == IW_REQ_READY)
		q->unsent_bytes += s->wr.length;
	q->head++;
	return true;
}

/* Does it take a receive at the peer? Then it is an untagged message of the first queue. */
static bool takes_receive(const struct wr *wr)
{
	return wr->op == WR_SEND || (wr->op == WR_WRITE && (wr->flags & WR_F_IMM));
}

/* ---- sending ---- */

static void next_turn(struct iw_req *q)
{
	q->others -= iw_req_sqe(q, q->cur)->wr.op != WR_READ;
	q->cur++;
}

/* May the queued work request begin now? */
static bool sqe_begin(struct iw_req *q, struct iw_sqe *s)
{
	if ((s->wr.flags & WR_F_FENCE) && q->rd_out)
		return false;
	if (s->wr.op == WR_LOCAL)
		return !(s->wr.flags & WR_F_WAIT_ALL) || q->una == q->cur;
	if (wr_has_response(&s->wr)) {
		if (q->rd_out >= q->cfg.ord)
			return false;
		s->msn = q->read_msn++;
	} else if (takes_receive(&s->wr)) {
		s->msn = q->send_msn++;
	}
	s->state = IW_SQE_ACTIVE;
	return true;
}

static u8 send_opcode(const struct iw_sqe *s)
{
	bool solicited = s->wr.flags & WR_F_SOLICITED;

	if (s->wr.flags & WR_F_INV)
		return solicited ? RDMAP_SEND_SE_INV : RDMAP_SEND_INV;
	return solicited ? RDMAP_SEND_SE : RDMAP_SEND;
}

static u32 min_u32(u32 a, u32 b)
{
	return a < b ? a : b;
}

static void seg_header(struct iw_seg *seg, struct ddp_seg *s)
{
	seg->last = s->last;
	seg->hdr_bytes = (u16)ddp_build(seg->hdr, s);
}

static void send_seg(const struct iw_sqe *s, u32 most, struct iw_seg *seg)
{
	struct ddp_seg h = {
		.opcode = send_opcode(s),
		.qn = DDP_QN_SEND,
		.msn = s->msn,
		.mo = s->done_bytes,
		.inv_stag = s->wr.flags & WR_F_INV ? s->wr.inv_rkey : 0,
	};

	seg->offset = s->done_bytes;
	seg->bytes = (u16)min_u32(s->wr.length - s->done_bytes, most);
	h.last = s->done_bytes + seg->bytes == s->wr.length;
	seg_header(seg, &h);
}

static void write_seg(const struct iw_sqe *s, u32 most, struct iw_seg *seg)
{
	struct ddp_seg h = {
		.opcode = RDMAP_WRITE,
		.tagged = true,
		.stag = s->wr.rkey,
		.to = s->wr.va + s->done_bytes,
	};

	seg->offset = s->done_bytes;
	seg->bytes = (u16)min_u32(s->wr.length - s->done_bytes, most);
	h.last = s->done_bytes + seg->bytes == s->wr.length;
	seg_header(seg, &h);
}

/* RFC 7306 6.2: eight bytes, the four of verbs and then zeros. */
static void imm_seg(const struct iw_sqe *s, struct iw_seg *seg)
{
	struct ddp_seg h = {
		.opcode = s->wr.flags & WR_F_SOLICITED ? RDMAP_IMM_SE : RDMAP_IMM,
		.last = true,
		.qn = DDP_QN_SEND,
		.msn = s->msn,
	};

	seg_header(seg, &h);
	memset(seg->hdr + seg->hdr_bytes, 0, RDMAP_IMM_BYTES);
	memcpy(seg->hdr + seg->hdr_bytes, &s->wr.imm, sizeof(s->wr.imm));
	seg->hdr_bytes += RDMAP_IMM_BYTES;
}

static void read_seg(const struct iw_req *q, const struct iw_sqe *s, struct iw_seg *seg)
{
	struct ddp_seg h = {
		.opcode = RDMAP_READ_REQ,
		.last = true,
		.qn = DDP_QN_READ_REQ,
		.msn = s->msn,
	};
	struct rdmap_read r = {
		.sink_stag = q->cur,
		.bytes = s->wr.length,
		.src_stag = s->wr.rkey,
		.src_to = s->wr.va,
	};

	seg_header(seg, &h);
	rdmap_read_build(seg->hdr + seg->hdr_bytes, &r);
	seg->hdr_bytes += RDMAP_READ_BYTES;
}

static void atomic_seg(const struct iw_req *q, const struct iw_sqe *s, struct iw_seg *seg)
{
	struct ddp_seg h = {
		.opcode = RDMAP_ATOMIC_REQ,
		.last = true,
		.qn = DDP_QN_READ_REQ,
		.msn = s->msn,
	};
	struct rdmap_atomic a = {
		.op = s->wr.op == WR_CMP_SWAP ? RDMAP_CMP_SWAP : RDMAP_FETCH_ADD,
		.id = q->cur,
		.stag = s->wr.rkey,
		.to = s->wr.va,
		.swap_add = s->wr.swap_add,
		.swap_add_mask = s->wr.op == WR_CMP_SWAP ? ~0ull : 0,
		.compare = s->wr.op == WR_CMP_SWAP ? s->wr.compare : 0,
		.compare_mask = ~0ull,
	};

	seg_header(seg, &h);
	rdmap_atomic_build(seg->hdr + seg->hdr_bytes, &a);
	seg->hdr_bytes += RDMAP_ATOMIC_BYTES;
}

/* The longest payload of a segment with hdr_bytes of header. */
static u32 most_bytes(const struct iw_req *q, bool lent, u32 hdr_bytes)
{
	return lent ? q->cfg.max_lent_bytes : q->cfg.max_ulpdu - hdr_bytes;
}

static bool next_seg(struct iw_req *q, bool lent, struct iw_seg *seg)
{
	for (; q->state == IW_REQ_READY && q->cur != q->head; next_turn(q)) {
		struct iw_sqe *s = iw_req_sqe(q, q->cur);

		if (s->state > IW_SQE_ACTIVE)
			continue;
		if (s->state == IW_SQE_QUEUED && !sqe_begin(q, s))
			return false;
		seg->kind = IW_SEG_REQUEST;
		seg->slot = q->cur;
		seg->offset = 0;
		seg->bytes = 0;
		switch (s->wr.op) {
		case WR_LOCAL:
			seg->kind = IW_SEG_LOCAL;
			seg->hdr_bytes = 0;
			seg->last = true;
			break;
		case WR_SEND:
			send_seg(s, most_bytes(q, lent, DDP_UNTAGGED_BYTES), seg);
			break;
		case WR_WRITE:
			if (s->body_sent)
				imm_seg(s, seg);
			else
				write_seg(s, most_bytes(q, lent, DDP_TAGGED_BYTES), seg);
			break;
		case WR_READ:
			read_seg(q, s, seg);
			break;
		default:
			atomic_seg(q, s, seg);
			break;
		}
		return true;
	}
	return false;
}

bool iw_req_next(struct iw_req *q, struct iw_seg *seg)
{
	return next_seg(q, false, seg);
}

bool iw_req_next_lent(struct iw_req *q, struct iw_seg *seg)
{
	return next_seg(q, true, seg);
}

static void advance_una(struct iw_req *q)
{
	while (q->una != q->head && iw_req_sqe(q, q->una)->state == IW_SQE_DONE)
		q->una++;
}

static void sqe_complete(struct iw_req *q, struct iw_sqe *s, enum wr_status status)
{
	s->state = IW_SQE_DONE;
	s->status = (u8)status;
	advance_una(q);
}

void iw_req_sent(struct iw_req *q, const struct iw_seg *seg)
{
	struct iw_sqe *s = iw_req_sqe(q, q->cur);

	if (seg->slot != q->cur || q->state != IW_REQ_READY || s->state != IW_SQE_ACTIVE)
		return;
	if (wr_has_response(&s->wr)) {
		if (!q->rd_out++)
			q->resp = q->cur;
		if (s->wr.op == WR_READ)
			q->rd_bytes += s->wr.length;
		s->state = IW_SQE_SENT;
		next_turn(q);
		return;
	}
	s->done_bytes += seg->bytes;
	q->unsent_bytes -= seg->bytes;
	if (!seg->last)
		return;
	if (s->wr.op == WR_WRITE && (s->wr.flags & WR_F_IMM) && !s->body_sent) {
		s->body_sent = true;
		return;
	}
	next_turn(q);
	sqe_complete(q, s, WR_ST_SUCCESS);
}

void iw_req_lend(struct iw_req *q, u32 slot, u32 loan)
{
	struct iw_sqe *s = iw_req_sqe(q, slot);

	q->num_lent += !s->lent;
	s->lent = true;
	s->loan = loan;
}

void iw_req_local_done(struct iw_req *q, struct iw_resp *r, u32 slot, enum wr_status status)
{
	struct iw_sqe *s = iw_req_sqe(q, slot);

	if (slot != q->cur || s->wr.op != WR_LOCAL || s->state != IW_SQE_QUEUED)
		return;
	if (status != WR_ST_SUCCESS) {
		iw_req_fail(q, r, slot, status);
		return;
	}
	next_turn(q);
	sqe_complete(q, s, WR_ST_SUCCESS);
}

/* ---- responses ---- */

static void set_fatal(struct iw_req_act *act, int term)
{
	act->kind = IW_REQ_FATAL;
	act->term = term;
}

static void rx_read_resp(struct iw_req *q, const struct ddp_seg *seg, struct iw_req_act *act)
{
	const struct iw_sqe *s = iw_req_sqe(q, q->resp);
	u32 left;

	if (!q->rd_out || s->wr.op != WR_READ) {
		set_fatal(act, TERM_OP_OPCODE);
		return;
	}
	/* It would have no effect, and a peer could send it without end. */
	if (!seg->payload_bytes && !seg->last) {
		set_fatal(act, TERM_OP_OTHER);
		return;
	}
	left = s->wr.length - s->done_bytes;
	/* Zero bytes name no memory (RFC 5041 5.2): STag and offset do not matter. */
	if (seg->payload_bytes && seg->stag != q->resp) {
		set_fatal(act, TERM_DDP_STAG);
		return;
	}
	if ((seg->payload_bytes && seg->to != s->done_bytes) || seg->payload_bytes > left ||
	    seg->last != (seg->payload_bytes == left)) {
		set_fatal(act, TERM_DDP_BOUNDS);
		return;
	}
	act->kind = IW_REQ_PLACE;
	act->slot = q->resp;
	act->offset = s->done_bytes;
	act->bytes = seg->payload_bytes;
}

static void rx_atomic_resp(struct iw_req *q, const struct ddp_seg *seg, const u8 *p,
			   struct iw_req_act *act)
{
	const struct iw_sqe *s = iw_req_sqe(q, q->resp);

	if (seg->msn != q->atomic_resp_msn) {
		set_fatal(act, TERM_DDP_MSN_RANGE);
		return;
	}
	if (!q->rd_out || s->wr.op == WR_READ || get_unaligned_be32(p) != q->resp) {
		set_fatal(act, TERM_OP_OPCODE);
		return;
	}
	q->atomic_resp_msn++;
	act->kind = IW_REQ_PLACE_ATOMIC;
	act->slot = q->resp;
	act->bytes = 8;
	act->value = get_unaligned_be64(p + 4);
}

void iw_req_rx(struct iw_req *q, const struct ddp_seg *s, const u8 *p, struct iw_req_act *act)
{
	*act = (struct iw_req_act){ .term = TERM_NONE };
	if (q->state != IW_REQ_READY)
		set_fatal(act, TERM_OP_STREAM);
	else if (s->opcode == RDMAP_READ_RESP)
		rx_read_resp(q, s, act);
	else
		rx_atomic_resp(q, s, p, act);
}

/* Move resp to the next slot that waits for a response, if there is one. */
static void advance_resp(struct iw_req *q)
{
	if (!--q->rd_out)
		return;
	do {
		q->resp++;
	} while (iw_req_sqe(q, q->resp)->state != IW_SQE_SENT);
}

void iw_req_placed(struct iw_req *q, const struct iw_req_act *act, bool last)
{
	struct iw_sqe *s = iw_req_sqe(q, act->slot);

	if (q->state != IW_REQ_READY || !q->rd_out || act->slot != q->resp)
		return;
	s->done_bytes += act->bytes;
	if (!last)
		return;
	if (s->wr.op == WR_READ)
		q->rd_bytes -= s->wr.length;
	advance_resp(q);
	sqe_complete(q, s, WR_ST_SUCCESS);
}

/* ---- completion, errors ---- */

/* The QP is in error, for what became of slot. */
static void fail_slot(struct iw_req *q, u32 slot, enum wr_status status)
{
	struct iw_sqe *s = iw_req_sqe(q, slot);
	u32 i;

	/*
	 * Requests before it that wait for a response get none any more; what is done behind those
	 * is flushed, too.
	 */
	for (i = q->una; i != slot; i++) {
		struct iw_sqe *before = iw_req_sqe(q, i);

		before->state = IW_SQE_DONE;
		before->status = WR_ST_WR_FLUSH_ERR;
	}
	s->state = IW_SQE_DONE;
	s->status = (u8)status;
	q->una = slot + 1;
	iw_req_flush(q);
}

void iw_req_fail(struct iw_req *q, struct iw_resp *r, u32 slot, enum wr_status status)
{
	if ((s32)(slot - q->una) < 0 || (s32)(slot - q->head) >= 0 ||
	    iw_req_sqe(q, slot)->state == IW_SQE_DONE || q->state == IW_REQ_ERROR)
		return;
	fail_slot(q, slot, status);
	iw_resp_terminate(r, TERM_LOCAL, NULL, 0, 0);
}

/* What a Terminate's code says of our request. WR_ST_WR_FLUSH_ERR: nothing. */
static enum wr_status status_of_term(int code)
{
	switch (code & 0xff00) {
	case 0x0100:		/* RDMAP: remote protection */
	case 0x1100:		/* DDP: tagged buffer */
		return WR_ST_REM_ACCESS_ERR;
	case 0x1200:		/* DDP: untagged buffer */
		return WR_ST_REM_INV_REQ_ERR;
	case 0x0000:
	case 0x0200:
	case 0x1000:
		return WR_ST_REM_OP_ERR;
	default:
		return WR_ST_WR_FLUSH_ERR;
	}
}

/* Was a segment of the request in slot quoted? */
static bool is_quoted(const struct iw_sqe *s, u32 slot, const struct rdmap_quote *quote)
{
	const struct ddp_seg *seg = &quote->seg;

	if (s->state == IW_SQE_QUEUED || (s->state == IW_SQE_ACTIVE && !iw_sqe_half_sent(s)))
		return false;
	switch (seg->opcode) {
	case RDMAP_WRITE:
		return s->wr.op == WR_WRITE && seg->tagged && seg->stag == s->wr.rkey &&
		       seg->to - s->wr.va < s->wr.length;
	case RDMAP_READ_REQ:
	case RDMAP_ATOMIC_REQ:
		/* siw quotes a READ that it began to answer by the right sink, but a wrong MSN. */
		return wr_has_response(&s->wr) &&
		       (quote->has_read ? slot == quote->read.sink_stag : s->msn == seg->msn);
	case RDMAP_SEND:
	case RDMAP_SEND_INV:
	case RDMAP_SEND_SE:
	case RDMAP_SEND_SE_INV:
	case RDMAP_IMM:
	case RDMAP_IMM_SE:
		return takes_receive(&s->wr) && s->msn == seg->msn;
	default:
		return false;
	}
}

/* Which of our requests does the peer mean? It may be complete, as far as its sender can tell. */
static bool find_blamed(const struct iw_req *q, const u8 *p, u32 bytes, u32 *slot)
{
	struct rdmap_quote quote;

	if (rdmap_term_quote(p, bytes, &quote)) {
		if (quote.seg.opcode == RDMAP_READ_RESP || quote.seg.opcode == RDMAP_ATOMIC_RESP)
			return false;
		for (*slot = q->una; *slot != q->head; ++*slot)
			if (is_quoted(iw_req_sqe(q, *slot), *slot, &quote))
				return true;
	}
	*slot = q->rd_out ? q->resp : q->una;
	return q->rd_out || (q->una != q->head && iw_sqe_half_sent(iw_req_sqe(q, q->una)));
}

void iw_req_terminated(struct iw_req *q, int code, const u8 *p, u32 bytes)
{
	enum wr_status status = status_of_term(code);
	u32 slot;

	if (q->state != IW_REQ_READY)
		return;
	if (status != WR_ST_WR_FLUSH_ERR && find_blamed(q, p, bytes, &slot))
		fail_slot(q, slot, status);
	else
		iw_req_flush(q);
}

bool iw_req_reap(struct iw_req *q, u32 *slot, enum wr_status *status)
{
	struct iw_sqe *s;

	if (!iw_req_completed(q))
		return false;
	s = iw_req_sqe(q, q->tail);
	q->num_lent -= s->lent;
	s->lent = false;
	*slot = q->tail;
	/* Requests behind the failed one may be done: they are flushed, too. */
	*status = (s32)(q->tail - q->una) < 0 ? (enum wr_status)s->status : WR_ST_WR_FLUSH_ERR;
	q->tail++;
	if ((s32)(q->tail - q->una) > 0)
		q->una = q->tail;
	if ((s32)(q->tail - q->cur) > 0)
		q->cur = q->tail;
	return true;
}

void iw_req_flush(struct iw_req *q)
{
	q->state = IW_REQ_ERROR;
	q->rd_out = 0;
	q->rd_bytes = 0;
	q->unsent_bytes = 0;
}
