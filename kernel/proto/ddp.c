// SPDX-License-Identifier: GPL-2.0
/*
 * DDP and RDMAP headers; the contract is in ddp.h.
 */
#include "ddp.h"

enum ddp_bits {
	DDP_TAGGED	= 0x80,
	DDP_LAST	= 0x40,
	DDP_VERSION_MASK = 0x03,
	DDP_VERSION	= 0x01,
	RDMAP_VERSION_MASK = 0xc0,
	RDMAP_VERSION	= 0x40,
	RDMAP_OPCODE_MASK = 0x0f,
};

/* Where each message belongs (RFC 5040 4.1, figure 4; RFC 7306 4.1, figure 2). */
struct place {
	bool known;
	bool tagged;
	u8 qn;
	u8 payload_bytes;	/* of the whole message, if it has one size: then one segment */
};

static const struct place places[16] = {
	[RDMAP_WRITE] = { .known = true, .tagged = true },
	[RDMAP_READ_REQ] = { .known = true, .qn = DDP_QN_READ_REQ,
			     .payload_bytes = RDMAP_READ_BYTES },
	[RDMAP_READ_RESP] = { .known = true, .tagged = true },
	[RDMAP_SEND] = { .known = true, .qn = DDP_QN_SEND },
	[RDMAP_SEND_INV] = { .known = true, .qn = DDP_QN_SEND },
	[RDMAP_SEND_SE] = { .known = true, .qn = DDP_QN_SEND },
	[RDMAP_SEND_SE_INV] = { .known = true, .qn = DDP_QN_SEND },
	[RDMAP_TERMINATE] = { .known = true, .qn = DDP_QN_TERMINATE },
	[RDMAP_IMM] = { .known = true, .qn = DDP_QN_SEND, .payload_bytes = RDMAP_IMM_BYTES },
	[RDMAP_IMM_SE] = { .known = true, .qn = DDP_QN_SEND, .payload_bytes = RDMAP_IMM_BYTES },
	[RDMAP_ATOMIC_REQ] = { .known = true, .qn = DDP_QN_READ_REQ,
			       .payload_bytes = RDMAP_ATOMIC_BYTES },
	[RDMAP_ATOMIC_RESP] = { .known = true, .qn = DDP_QN_ATOMIC_RESP,
				.payload_bytes = RDMAP_ATOMIC_RESP_BYTES },
};

static int parse_tagged(const u8 *p, u32 ulpdu_bytes, struct ddp_seg *s)
{
	if (ulpdu_bytes < DDP_TAGGED_BYTES)
		return TERM_OP_OTHER;
	if ((p[0] & DDP_VERSION_MASK) != DDP_VERSION)
		return TERM_DDP_VERSION;
	s->stag = get_unaligned_be32(p + 2);
	s->to = get_unaligned_be64(p + 6);
	s->hdr_bytes = DDP_TAGGED_BYTES;
	return TERM_NONE;
}

static int parse_untagged(const u8 *p, u32 ulpdu_bytes, struct ddp_seg *s)
{
	if (ulpdu_bytes < DDP_UNTAGGED_BYTES)
		return TERM_OP_OTHER;
	if ((p[0] & DDP_VERSION_MASK) != DDP_VERSION)
		return TERM_DDP_UT_VERSION;
	s->inv_stag = get_unaligned_be32(p + 2);
	s->qn = get_unaligned_be32(p + 6);
	s->msn = get_unaligned_be32(p + 10);
	s->mo = get_unaligned_be32(p + 14);
	s->hdr_bytes = DDP_UNTAGGED_BYTES;
	if (s->qn >= DDP_QUEUES)
		return TERM_DDP_QN;
	return TERM_NONE;
}

int ddp_parse(const u8 *p, u32 have, u32 ulpdu_bytes, struct ddp_seg *out)
{
	struct ddp_seg s = { .opcode = RDMAP_OPCODES };
	const struct place *place;
	int code;

	*out = s;
	if (have < 2 || ulpdu_bytes < 2 || ulpdu_bytes > 0xffff)
		return TERM_OP_OTHER;
	s.tagged = p[0] & DDP_TAGGED;
	s.last = p[0] & DDP_LAST;
	code = s.tagged ? parse_tagged(p, ulpdu_bytes, &s) : parse_untagged(p, ulpdu_bytes, &s);
	if (code != TERM_NONE)
		return code;
	if ((p[1] & RDMAP_VERSION_MASK) != RDMAP_VERSION)
		return TERM_OP_VERSION;
	s.opcode = p[1] & RDMAP_OPCODE_MASK;
	s.payload_bytes = (u16)(ulpdu_bytes - s.hdr_bytes);

	place = &places[s.opcode];
	if (!place->known || place->tagged != s.tagged || (!s.tagged && place->qn != s.qn))
		return TERM_OP_OPCODE;
	if (place->payload_bytes) {
		if (s.mo)
			return TERM_DDP_MO;
		if (!s.last || s.payload_bytes > place->payload_bytes)
			return TERM_DDP_TOO_LONG;
		if (s.payload_bytes < place->payload_bytes)
			return TERM_OP_OTHER;
	}
	*out = s;
	return TERM_NONE;
}

u32 ddp_build(u8 *p, struct ddp_seg *s)
{
	p[0] = (u8)((s->tagged ? DDP_TAGGED : 0) | (s->last ? DDP_LAST : 0) | DDP_VERSION);
	p[1] = (u8)(RDMAP_VERSION | s->opcode);
	if (s->tagged) {
		put_unaligned_be32(s->stag, p + 2);
		put_unaligned_be64(s->to, p + 6);
		s->hdr_bytes = DDP_TAGGED_BYTES;
	} else {
		put_unaligned_be32(s->inv_stag, p + 2);
		put_unaligned_be32(s->qn, p + 6);
		put_unaligned_be32(s->msn, p + 10);
		put_unaligned_be32(s->mo, p + 14);
		s->hdr_bytes = DDP_UNTAGGED_BYTES;
	}
	return s->hdr_bytes;
}

/* ---- Read Request (RFC 5040 4.4), atomics (RFC 7306 5.2.1) ---- */

void rdmap_read_parse(const u8 *p, struct rdmap_read *r)
{
	r->sink_stag = get_unaligned_be32(p);
	r->sink_to = get_unaligned_be64(p + 4);
	r->bytes = get_unaligned_be32(p + 12);
	r->src_stag = get_unaligned_be32(p + 16);
	r->src_to = get_unaligned_be64(p + 20);
}

void rdmap_read_build(u8 *p, const struct rdmap_read *r)
{
	put_unaligned_be32(r->sink_stag, p);
	put_unaligned_be64(r->sink_to, p + 4);
	put_unaligned_be32(r->bytes, p + 12);
	put_unaligned_be32(r->src_stag, p + 16);
	put_unaligned_be64(r->src_to, p + 20);
}

void rdmap_atomic_parse(const u8 *p, struct rdmap_atomic *a)
{
	a->op = p[3] & 0xf;
	a->id = get_unaligned_be32(p + 4);
	a->stag = get_unaligned_be32(p + 8);
	a->to = get_unaligned_be64(p + 12);
	a->swap_add = get_unaligned_be64(p + 20);
	a->swap_add_mask = get_unaligned_be64(p + 28);
	a->compare = get_unaligned_be64(p + 36);
	a->compare_mask = get_unaligned_be64(p + 44);
}

void rdmap_atomic_build(u8 *p, const struct rdmap_atomic *a)
{
	put_unaligned_be32(a->op, p);
	put_unaligned_be32(a->id, p + 4);
	put_unaligned_be32(a->stag, p + 8);
	put_unaligned_be64(a->to, p + 12);
	put_unaligned_be64(a->swap_add, p + 20);
	put_unaligned_be64(a->swap_add_mask, p + 28);
	put_unaligned_be64(a->compare, p + 36);
	put_unaligned_be64(a->compare_mask, p + 44);
}

/* ---- Terminate (RFC 5040 4.8) ---- */

enum term_bits {
	TERM_HAS_LENGTH	= 0x80,
	TERM_HAS_DDP	= 0x40,
	TERM_HAS_RDMAP	= 0x20,
};

bool rdmap_term_parse(const u8 *p, u32 bytes, struct rdmap_term *t)
{
	*t = (struct rdmap_term){ .code = TERM_NONE };
	if (bytes < RDMAP_TERM_BYTES)
		return false;
	t->code = get_unaligned_be16(p);
	t->has_length = p[2] & TERM_HAS_LENGTH;
	t->has_ddp = p[2] & TERM_HAS_DDP;
	t->has_rdmap = p[2] & TERM_HAS_RDMAP;
	return true;
}

bool rdmap_term_quote(const u8 *p, u32 bytes, struct rdmap_quote *quote)
{
	struct ddp_seg *s = &quote->seg;
	struct rdmap_term t;
	u32 at;
	int code;

	*quote = (struct rdmap_quote){ .seg.opcode = RDMAP_OPCODES };
	if (!rdmap_term_parse(p, bytes, &t) || !t.has_ddp)
		return false;
	at = RDMAP_TERM_BYTES + (t.has_length ? 2 : 0);
	if (bytes < at + 2)
		return false;
	s->tagged = p[at] & DDP_TAGGED;
	s->last = p[at] & DDP_LAST;
	code = s->tagged ? parse_tagged(p + at, bytes - at, s) :
			   parse_untagged(p + at, bytes - at, s);
	if (code != TERM_NONE)
		return false;
	s->opcode = p[at + 1] & RDMAP_OPCODE_MASK;
	at += s->hdr_bytes;
	quote->has_read = t.has_rdmap && s->opcode == RDMAP_READ_REQ &&
			  bytes >= at + RDMAP_READ_BYTES;
	if (quote->has_read)
		rdmap_read_parse(p + at, &quote->read);
	return true;
}

/* Figure 10: quote the DDP header? A Read Request's header? */
static bool term_quotes(int code)
{
	return rdmap_term_layer(code) == TERM_DDP ||
	       (rdmap_term_layer(code) == TERM_RDMAP && rdmap_term_type(code) != TERM_TYPE_LOCAL);
}

static bool term_quotes_read(int code)
{
	return rdmap_term_layer(code) == TERM_RDMAP && rdmap_term_type(code) == TERM_TYPE_PROT;
}

u32 rdmap_term_header(u8 *p)
{
	struct ddp_seg h = {
		.opcode = RDMAP_TERMINATE,
		.last = true,
		.qn = DDP_QN_TERMINATE,
		.msn = 1,
	};

	return ddp_build(p, &h);
}

u32 rdmap_term_build(u8 *p, int code, const u8 *seg, u32 have, u32 ulpdu_bytes)
{
	u32 n = RDMAP_TERM_BYTES;
	u32 hdr;

	put_unaligned_be16((u16)code, p);
	p[2] = 0;
	p[3] = 0;
	if (!seg || !term_quotes(code) || have < 2)
		return n;
	/* What is not a DDP segment cannot be quoted as one. */
	hdr = seg[0] & DDP_TAGGED ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES;
	if (have < hdr || ulpdu_bytes < hdr)
		return n;

	p[2] |= TERM_HAS_LENGTH | TERM_HAS_DDP;
	put_unaligned_be16((u16)ulpdu_bytes, p + n);
	n += 2;
	memcpy(p + n, seg, hdr);
	n += hdr;
	if (term_quotes_read(code) && hdr == DDP_UNTAGGED_BYTES &&
	    (seg[1] & RDMAP_OPCODE_MASK) == RDMAP_READ_REQ && have >= hdr + RDMAP_READ_BYTES &&
	    ulpdu_bytes >= hdr + RDMAP_READ_BYTES) {
		p[2] |= TERM_HAS_RDMAP;
		memcpy(p + n, seg + hdr, RDMAP_READ_BYTES);
		n += RDMAP_READ_BYTES;
	}
	return n;
}
