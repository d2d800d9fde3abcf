// SPDX-License-Identifier: GPL-2.0
/*
 * Responder of an iWARP stream; the contract is in iw_resp.h.
 */
#include "iw_resp.h"

/* A message is no longer than a WQE's byte count allows (and RoCE's are). */
#define IW_MAX_MSG_BYTES	0x80000000u

void iw_resp_init(struct iw_resp *r, struct iw_irq *irq, const struct iw_resp_cfg *cfg)
{
	*r = (struct iw_resp){
		.cfg = *cfg,
		.irq = irq,
		.irq_mask = iw_irq_entries(cfg->ird) - 1,
		.recv_msn = 1,
		.read_msn = 1,
		.atomic_resp_msn = 1,
		.term = TERM_NONE,
	};
}

/* ---- refusing ---- */

void iw_resp_terminate(struct iw_resp *r, int code, const u8 *p, u32 have, u32 ulpdu_bytes)
{
	if (r->in_error)
		return;
	r->in_error = true;
	r->term_due = true;
	r->term = code;
	r->term_bytes = (u16)rdmap_term_build(r->term_payload, code, p, have, ulpdu_bytes);
}

static void refuse_segment(struct iw_resp *r, const struct ddp_seg *s, const u8 *p, u32 have,
			   struct iw_act *act, int code)
{
	iw_resp_terminate(r, code, p, have, (u32)s->hdr_bytes + s->payload_bytes);
	act->kind = IW_ACT_FATAL;
	act->term = code;
}

/*
 * RFC 5040 4.8, figure 10: DDP reports errors of what it places, RDMAP those of what a request
 * names. DDP has no code for access rights (RFC 5041 7.2): it reports an invalid STag.
 */
static const int placed_terms[] = {
	[IW_FAIL_NO_RECV] = TERM_DDP_NO_BUFFER,
	[IW_FAIL_TOO_LONG] = TERM_DDP_TOO_LONG,
	[IW_FAIL_STAG] = TERM_DDP_STAG,
	[IW_FAIL_BOUNDS] = TERM_DDP_BOUNDS,
	[IW_FAIL_ACCESS] = TERM_DDP_STAG,
	[IW_FAIL_STREAM] = TERM_DDP_STREAM,
	[IW_FAIL_ALIGN] = TERM_OP_OTHER,
	[IW_FAIL_INVALIDATE] = TERM_PROT_INVALIDATE,
	[IW_FAIL_LOCAL] = TERM_LOCAL,
};

static const int named_terms[] = {
	[IW_FAIL_NO_RECV] = TERM_OP_OTHER,
	[IW_FAIL_TOO_LONG] = TERM_OP_OTHER,
	[IW_FAIL_STAG] = TERM_PROT_STAG,
	[IW_FAIL_BOUNDS] = TERM_PROT_BOUNDS,
	[IW_FAIL_ACCESS] = TERM_PROT_ACCESS,
	[IW_FAIL_STREAM] = TERM_PROT_STREAM,
	[IW_FAIL_ALIGN] = TERM_OP_STREAM,		/* RFC 7306 8.2 */
	[IW_FAIL_INVALIDATE] = TERM_PROT_INVALIDATE,
	[IW_FAIL_LOCAL] = TERM_LOCAL,
};

int iw_resp_fail(struct iw_resp *r, const struct ddp_seg *s, const u8 *p, u32 have,
		 enum iw_fail why)
{
	bool is_request = s->opcode == RDMAP_READ_REQ || s->opcode == RDMAP_ATOMIC_REQ;
	int code = is_request ? named_terms[why] : placed_terms[why];

	iw_resp_terminate(r, code, p, have, (u32)s->hdr_bytes + s->payload_bytes);
	return code;
}

/* Does the range go beyond the last address? */
static bool range_wraps(u64 to, u32 bytes)
{
	return bytes && to + (bytes - 1) < to;
}

/* ---- receiving: TERM_NONE, or what is wrong ---- */

static int rx_send(struct iw_resp *r, const struct ddp_seg *s, struct iw_act *act)
{
	/* One message at a time, from its start, without gaps: TCP keeps the order. */
	if (s->msn != r->recv_msn)
		return TERM_DDP_MSN_RANGE;
	if (s->mo != (r->in_msg ? r->msg_bytes : 0))
		return TERM_DDP_MO;
	if (r->in_msg && s->opcode != r->msg_opcode)
		return TERM_OP_OPCODE;
	if (s->payload_bytes > IW_MAX_MSG_BYTES - s->mo)
		return TERM_DDP_TOO_LONG;
	/* It would have no effect, and a peer could send it without end. */
	if (!s->payload_bytes && !s->last)
		return TERM_OP_OTHER;
	act->kind = IW_ACT_RECV;
	act->begin = !r->in_msg;
	act->end = s->last;
	act->offset = s->mo;
	act->bytes = s->payload_bytes;
	act->length = s->mo + s->payload_bytes;
	act->solicited = s->opcode == RDMAP_SEND_SE || s->opcode == RDMAP_SEND_SE_INV;
	act->invalidate = s->opcode == RDMAP_SEND_INV || s->opcode == RDMAP_SEND_SE_INV;
	act->inv_stag = s->inv_stag;
	return TERM_NONE;
}

static int rx_imm(struct iw_resp *r, const struct ddp_seg *s, const u8 *payload,
		  struct iw_act *act)
{
	if (s->msn != r->recv_msn)
		return TERM_DDP_MSN_RANGE;
	if (r->in_msg)
		return TERM_OP_OPCODE;
	act->kind = IW_ACT_IMM;
	act->begin = true;
	act->end = true;
	act->solicited = s->opcode == RDMAP_IMM_SE;
	/* In verbs, immediate data come with a Write and tell its length. */
	act->length = r->in_write ? 0 : r->write_bytes;
	memcpy(&act->imm, payload, sizeof(act->imm));
	return TERM_NONE;
}

static int rx_write(struct iw_resp *r, const struct ddp_seg *s, struct iw_act *act)
{
	r->write_bytes = s->payload_bytes + (r->in_write ? r->write_bytes : 0);
	r->in_write = !s->last;
	/* Zero bytes name no memory (RFC 5041 5.2; the first message of peer-to-peer mode). */
	if (!s->payload_bytes)
		return s->last ? TERM_NONE : TERM_OP_OTHER;
	if (!(r->cfg.access & IW_ACCESS_WRITE))
		return placed_terms[IW_FAIL_ACCESS];
	if (range_wraps(s->to, s->payload_bytes))
		return TERM_DDP_WRAP;
	act->kind = IW_ACT_WRITE;
	act->stag = s->stag;
	act->va = s->to;
	act->bytes = s->payload_bytes;
	return TERM_NONE;
}

/* The peer knows how long the queue of requests is, and must respect it. */
static int rx_request(const struct iw_resp *r, const struct ddp_seg *s)
{
	if (s->msn != r->read_msn)
		return TERM_DDP_MSN_RANGE;
	return r->irq_head - r->irq_tail >= r->cfg.ird ? TERM_DDP_NO_BUFFER : TERM_NONE;
}

static int rx_read(const struct iw_resp *r, const struct ddp_seg *s, const u8 *payload,
		   struct iw_act *act)
{
	int code = rx_request(r, s);
	struct rdmap_read rd;

	if (code != TERM_NONE)
		return code;
	rdmap_read_parse(payload, &rd);
	if (range_wraps(rd.src_to, rd.bytes))
		return TERM_PROT_WRAP;
	if (rd.bytes && !(r->cfg.access & IW_ACCESS_READ))
		return TERM_PROT_ACCESS;
	act->kind = IW_ACT_READ;
	act->stag = rd.src_stag;
	act->va = rd.src_to;
	act->length = rd.bytes;
	return TERM_NONE;
}

static int rx_atomic(const struct iw_resp *r, const struct ddp_seg *s, const u8 *payload,
		     struct iw_act *act)
{
	int code = rx_request(r, s);
	struct rdmap_atomic a;

	if (code != TERM_NONE)
		return code;
	rdmap_atomic_parse(payload, &a);
	if (!(r->cfg.access & IW_ACCESS_ATOMIC))
		return TERM_PROT_ACCESS;
	if (a.op != RDMAP_FETCH_ADD && a.op != RDMAP_CMP_SWAP)
		return TERM_OP_OTHER;
	act->kind = IW_ACT_ATOMIC;
	act->stag = a.stag;
	act->va = a.to;		/* the memory there must be aligned (RFC 7306 5.2.1) */
	act->length = 8;
	act->atomic = (struct atomic_op){
		.cmp_swap = a.op == RDMAP_CMP_SWAP,
		.compare = a.compare,
		.compare_mask = a.compare_mask,
		.swap_add = a.swap_add,
		.swap_add_mask = a.swap_add_mask,
	};
	return TERM_NONE;
}

static int rx_terminate(const struct ddp_seg *s, const u8 *payload, u32 have, struct iw_act *act)
{
	struct rdmap_term t;

	/* Whatever it says, it ends the stream; it is never answered. */
	if (have < RDMAP_TERM_BYTES || !rdmap_term_parse(payload, s->payload_bytes, &t))
		t.code = TERM_OP_OTHER;
	act->kind = IW_ACT_TERMINATED;
	act->term = t.code;
	return TERM_NONE;
}

void iw_resp_rx(struct iw_resp *r, const struct ddp_seg *s, const u8 *p, u32 have,
		struct iw_act *act)
{
	const u8 *payload = p + s->hdr_bytes;
	int code;

	*act = (struct iw_act){ .term = TERM_NONE };
	if (s->opcode == RDMAP_TERMINATE) {
		rx_terminate(s, payload, have - s->hdr_bytes, act);
		r->in_error = true;
		r->term_due = false;
		return;
	}
	if (r->in_error)
		return;

	switch (s->opcode) {
	case RDMAP_WRITE:
		code = rx_write(r, s, act);
		break;
	case RDMAP_READ_REQ:
		code = rx_read(r, s, payload, act);
		break;
	case RDMAP_ATOMIC_REQ:
		code = rx_atomic(r, s, payload, act);
		break;
	case RDMAP_IMM:
	case RDMAP_IMM_SE:
		code = rx_imm(r, s, payload, act);
		break;
	case RDMAP_SEND:
	case RDMAP_SEND_INV:
	case RDMAP_SEND_SE:
	case RDMAP_SEND_SE_INV:
		code = rx_send(r, s, act);
		break;
	default:
		code = TERM_OP_OPCODE;
		break;
	}
	if (code != TERM_NONE)
		refuse_segment(r, s, p, have, act, code);
}

void iw_resp_commit(struct iw_resp *r, const struct ddp_seg *s, const struct iw_act *act,
		    const u8 *p, u64 atomic_orig)
{
	struct iw_irq *irq;

	switch (act->kind) {
	case IW_ACT_RECV:
		r->in_msg = !act->end;
		r->msg_opcode = s->opcode;
		r->msg_bytes = act->length;
		if (act->end)
			r->recv_msn++;
		return;
	case IW_ACT_IMM:
		r->recv_msn++;
		r->write_bytes = 0;
		return;
	case IW_ACT_READ:
	case IW_ACT_ATOMIC:
		break;
	default:
		return;
	}

	r->read_msn++;
	irq = &r->irq[r->irq_head++ & r->irq_mask];
	*irq = (struct iw_irq){ .stag = act->stag, .to = act->va, .bytes = act->length };
	if (act->kind == IW_ACT_READ) {
		struct rdmap_read rd;

		rdmap_read_parse(p + s->hdr_bytes, &rd);
		irq->sink_stag = rd.sink_stag;
		irq->sink_to = rd.sink_to;
	} else {
		struct rdmap_atomic a;

		rdmap_atomic_parse(p + s->hdr_bytes, &a);
		irq->is_atomic = true;
		irq->id = a.id;
		irq->orig = atomic_orig;
	}
}

/* ---- answering ---- */

static void term_seg(const struct iw_resp *r, struct iw_seg *seg)
{
	seg->hdr_bytes = (u16)rdmap_term_header(seg->hdr);
	memcpy(seg->hdr + seg->hdr_bytes, r->term_payload, r->term_bytes);
	seg->hdr_bytes += r->term_bytes;
}

static void atomic_resp_seg(const struct iw_resp *r, const struct iw_irq *irq, struct iw_seg *seg)
{
	struct ddp_seg h = {
		.opcode = RDMAP_ATOMIC_RESP,
		.last = true,
		.qn = DDP_QN_ATOMIC_RESP,
		.msn = r->atomic_resp_msn,
	};

	seg->hdr_bytes = (u16)ddp_build(seg->hdr, &h);
	put_unaligned_be32(irq->id, seg->hdr + seg->hdr_bytes);
	put_unaligned_be64(irq->orig, seg->hdr + seg->hdr_bytes + 4);
	seg->hdr_bytes += RDMAP_ATOMIC_RESP_BYTES;
}

static void read_resp_seg(const struct iw_resp *r, const struct iw_irq *irq, struct iw_seg *seg)
{
	struct ddp_seg h = {
		.opcode = RDMAP_READ_RESP,
		.tagged = true,
		.stag = irq->sink_stag,
		.to = irq->sink_to + irq->sent_bytes,
	};
	u32 left = irq->bytes - irq->sent_bytes;
	u32 max = r->cfg.max_ulpdu - DDP_TAGGED_BYTES;

	seg->kind = IW_SEG_READ_RESP;
	seg->stag = irq->stag;
	seg->va = irq->to + irq->sent_bytes;
	seg->bytes = (u16)(left < max ? left : max);
	seg->last = seg->bytes == left;
	h.last = seg->last;
	seg->hdr_bytes = (u16)ddp_build(seg->hdr, &h);
}

bool iw_resp_next(struct iw_resp *r, struct iw_seg *seg)
{
	const struct iw_irq *irq;

	seg->kind = IW_SEG_RESP;
	seg->last = true;
	seg->bytes = 0;
	if (!iw_resp_pending(r))
		return false;
	if (r->in_error) {
		term_seg(r, seg);
		return true;
	}
	irq = &r->irq[r->irq_tail & r->irq_mask];
	if (irq->is_atomic)
		atomic_resp_seg(r, irq, seg);
	else
		read_resp_seg(r, irq, seg);
	return true;
}

void iw_resp_sent(struct iw_resp *r, const struct iw_seg *seg)
{
	struct iw_irq *irq;

	if (r->in_error) {
		/* A segment that was being sent when the stream failed is not the Terminate. */
		if ((seg->hdr[1] & 0xf) == RDMAP_TERMINATE)
			r->term_due = false;
		return;
	}
	irq = &r->irq[r->irq_tail & r->irq_mask];
	if (irq->is_atomic)
		r->atomic_resp_msn++;
	irq->sent_bytes += seg->bytes;
	if (seg->last)
		r->irq_tail++;
}

/* Quotes the request as it stands, without what is answered (RFC 5040 4.8). */
void iw_resp_read_failed(struct iw_resp *r, const struct iw_seg *seg, enum iw_fail why)
{
	const struct iw_irq *irq = &r->irq[r->irq_tail & r->irq_mask];
	struct ddp_seg h = {
		.opcode = RDMAP_READ_REQ,
		.last = true,
		.qn = DDP_QN_READ_REQ,
		.msn = r->read_msn - (r->irq_head - r->irq_tail),
	};
	struct rdmap_read rd = {
		.sink_stag = irq->sink_stag,
		.sink_to = irq->sink_to + irq->sent_bytes,
		.bytes = irq->bytes - irq->sent_bytes,
		.src_stag = irq->stag,
		.src_to = irq->to + irq->sent_bytes,
	};
	u8 request[DDP_UNTAGGED_BYTES + RDMAP_READ_BYTES];

	if (seg->kind != IW_SEG_READ_RESP || r->irq_tail == r->irq_head)
		return;
	ddp_build(request, &h);
	rdmap_read_build(request + DDP_UNTAGGED_BYTES, &rd);
	iw_resp_terminate(r, named_terms[why], request, sizeof(request), sizeof(request));
}
