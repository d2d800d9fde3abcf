// SPDX-License-Identifier: GPL-2.0
/*
 * MPA start-up frames and stream arithmetic; the contract is in mpa.h.
 */
#include "mpa.h"

enum mpa_flags {
	MPA_F_MARKERS	= 0x80,
	MPA_F_CRC	= 0x40,
	MPA_F_REJECT	= 0x20,
	MPA_F_ENHANCED	= 0x10,		/* RFC 6581 6 */
	MPA_F_LONG	= 0x08,		/* a reserved bit that siw uses */
};

/* In the two 16-bit words before version 2's private data (RFC 6581 9). */
enum mpa_depth_bits {
	MPA_IRD_P2P	= 0x8000,
	MPA_IRD_SEND	= 0x4000,
	MPA_ORD_WRITE	= 0x8000,
	MPA_ORD_READ	= 0x4000,
	MPA_DEPTH_MASK	= 0x3fff,
};

enum { MPA_KEY_BYTES = 16 };

static const char request_key[] = "MPA ID Req Frame";
static const char reply_key[] = "MPA ID Rep Frame";

static_assert(sizeof(request_key) == MPA_KEY_BYTES + 1);
static_assert(sizeof(reply_key) == MPA_KEY_BYTES + 1);

static u32 min_u32(u32 a, u32 b)
{
	return a < b ? a : b;
}

/* ---- frames (RFC 5044 7.1.1) ---- */

static void parse_enhanced(const u8 *p, struct mpa_frame *f)
{
	u16 ird = get_unaligned_be16(p), ord = get_unaligned_be16(p + 2);

	f->p2p = ird & MPA_IRD_P2P;
	f->rtr = (u8)((ird & MPA_IRD_SEND ? MPA_RTR_SEND : 0) |
		      (ord & MPA_ORD_WRITE ? MPA_RTR_WRITE : 0) |
		      (ord & MPA_ORD_READ ? MPA_RTR_READ : 0));
	f->ird = ird & MPA_DEPTH_MASK;
	f->ord = ord & MPA_DEPTH_MASK;
}

enum mpa_error mpa_frame_parse(const u8 *p, u32 have, bool reply, struct mpa_frame *out)
{
	struct mpa_frame f = { .reply = reply, .bytes = MPA_FRAME_BYTES };
	u16 pd_bytes;

	*out = f;
	if (memcmp(p, reply ? reply_key : request_key, min_u32(have, MPA_KEY_BYTES)))
		return MPA_BAD_KEY;
	if (have < MPA_FRAME_BYTES)
		return MPA_MORE;

	f.markers = p[16] & MPA_F_MARKERS;
	f.crc = p[16] & MPA_F_CRC;
	f.reject = p[16] & MPA_F_REJECT;
	f.long_fpdus = p[16] & MPA_F_LONG;
	f.revision = p[17];
	pd_bytes = get_unaligned_be16(p + 18);
	if (f.revision < 1 || f.revision > 2)
		return MPA_BAD_REVISION;
	/* Version 1 reserves the bit and ignores it. */
	f.enhanced = f.revision == 2 && (p[16] & MPA_F_ENHANCED);
	if (pd_bytes > MPA_MAX_PRIVATE_BYTES || (f.enhanced && pd_bytes < MPA_ENHANCED_BYTES))
		return MPA_BAD_LENGTH;

	f.bytes = (u16)(MPA_FRAME_BYTES + pd_bytes);
	out->bytes = f.bytes;
	if (have < f.bytes)
		return MPA_MORE;

	f.private_at = MPA_FRAME_BYTES;
	f.private_bytes = pd_bytes;
	if (f.enhanced) {
		parse_enhanced(p + MPA_FRAME_BYTES, &f);
		f.private_at += MPA_ENHANCED_BYTES;
		f.private_bytes -= MPA_ENHANCED_BYTES;
	}
	*out = f;
	return MPA_OK;
}

u32 mpa_frame_build(u8 *p, struct mpa_frame *f)
{
	u32 n = MPA_FRAME_BYTES;

	memcpy(p, f->reply ? reply_key : request_key, MPA_KEY_BYTES);
	p[16] = (u8)((f->markers ? MPA_F_MARKERS : 0) | (f->crc ? MPA_F_CRC : 0) |
		     (f->reject ? MPA_F_REJECT : 0) | (f->enhanced ? MPA_F_ENHANCED : 0) |
		     (f->long_fpdus ? MPA_F_LONG : 0));
	p[17] = f->revision;
	put_unaligned_be16((u16)(f->private_bytes + (f->enhanced ? MPA_ENHANCED_BYTES : 0)),
			   p + 18);
	if (f->enhanced) {
		put_unaligned_be16((u16)((f->ird & MPA_DEPTH_MASK) |
					 (f->p2p ? MPA_IRD_P2P : 0) |
					 (f->rtr & MPA_RTR_SEND ? MPA_IRD_SEND : 0)), p + n);
		put_unaligned_be16((u16)((f->ord & MPA_DEPTH_MASK) |
					 (f->rtr & MPA_RTR_WRITE ? MPA_ORD_WRITE : 0) |
					 (f->rtr & MPA_RTR_READ ? MPA_ORD_READ : 0)), p + n + 2);
		n += MPA_ENHANCED_BYTES;
	}
	f->private_at = (u16)n;
	f->bytes = (u16)(n + f->private_bytes);
	return n;
}

/* ---- negotiation ---- */

/* One that both know: the Write costs the peer least, the Read most. */
static u8 choose_rtr(u8 both)
{
	if (both & MPA_RTR_WRITE)
		return MPA_RTR_WRITE;
	if (both & MPA_RTR_SEND)
		return MPA_RTR_SEND;
	return both & MPA_RTR_READ;
}

/* How many requests we may send to a peer that accepts `theirs`. */
static u16 fit_depth(u16 ours, u16 theirs)
{
	return theirs == MPA_DEPTH_ANY || ours < theirs ? ours : theirs;
}

void mpa_request(const struct mpa_offer *mine, struct mpa_frame *f)
{
	*f = (struct mpa_frame){
		.crc = mine->crc,
		.revision = mine->revision,
		.enhanced = mine->revision == 2,
		.long_fpdus = mine->long_fpdus,
	};
	if (f->enhanced) {
		f->p2p = mine->p2p;
		f->rtr = mine->p2p ? mine->rtr : 0;
		f->ird = mine->ird;
		f->ord = mine->ord;
	}
}

static void reply_base(const struct mpa_offer *mine, const struct mpa_frame *request,
		       struct mpa_frame *reply)
{
	*reply = (struct mpa_frame){
		.reply = true,
		.crc = mine->crc || request->crc,
		.revision = request->revision,
		.enhanced = request->enhanced,
		.long_fpdus = mine->long_fpdus && request->long_fpdus,
		.ird = mine->ird,
		.ord = mine->ord,
	};
}

enum mpa_verdict mpa_accept(const struct mpa_offer *mine, const struct mpa_frame *request,
			    struct mpa_terms *terms, struct mpa_frame *reply)
{
	reply_base(mine, request, reply);
	*terms = (struct mpa_terms){
		.revision = request->revision,
		.crc = reply->crc,
		.tx_markers = request->markers,
		.enhanced = request->enhanced,
		.long_fpdus = reply->long_fpdus,
		.ird = mine->ird,
		.ord = mine->ord,
	};
	if (!request->enhanced)
		return MPA_AGREED;

	/* Never more than the initiator accepts, nor offer more than it will use. */
	terms->ord = fit_depth(mine->ord, request->ird);
	reply->ord = request->ird == MPA_DEPTH_ANY ? MPA_DEPTH_ANY : terms->ord;
	if (request->ord == MPA_DEPTH_ANY)
		reply->ird = MPA_DEPTH_ANY;
	if (!request->p2p)
		return MPA_AGREED;
	reply->p2p = true;
	terms->p2p = true;
	/* The initiator chooses one that both know: accept any of them. */
	terms->rtr = request->rtr & mine->rtr;
	reply->rtr = terms->rtr;
	/* A Read takes a place in the queue, even if the program wants none (RFC 6581 9.1). */
	if (terms->rtr & MPA_RTR_READ && !terms->ird) {
		terms->ird = 1;
		if (reply->ird != MPA_DEPTH_ANY)
			reply->ird = 1;
	}
	if (terms->rtr)
		return MPA_AGREED;
	/* The initiator learns our choices and ends the stream with a Terminate (RFC 6581 9.2). */
	reply->rtr = mine->rtr;
	return MPA_NO_RTR;
}

void mpa_reject(const struct mpa_offer *mine, const struct mpa_frame *request,
		struct mpa_frame *reply)
{
	reply_base(mine, request, reply);
	reply->reject = true;
}

enum mpa_verdict mpa_finish(const struct mpa_offer *mine, const struct mpa_frame *reply,
			    struct mpa_terms *terms)
{
	*terms = (struct mpa_terms){
		.revision = reply->revision,
		.crc = mine->crc || reply->crc,
		.tx_markers = reply->markers,
		.enhanced = reply->enhanced,
		.long_fpdus = mine->long_fpdus && reply->long_fpdus,
		.ird = mine->ird,
		.ord = mine->ord,
	};
	if (reply->reject)
		return MPA_REJECTED;
	if (!reply->enhanced)
		return mine->revision == 2 && mine->p2p ? MPA_NO_RTR : MPA_AGREED;

	terms->ord = fit_depth(mine->ord, reply->ird);
	if (reply->ord != MPA_DEPTH_ANY && reply->ord > terms->ird) {
		if (reply->ord > mine->ird_most)
			return MPA_NO_IRD;
		terms->ird = reply->ord;
	}
	if (mine->p2p) {
		if (reply->p2p)
			terms->rtr = choose_rtr(reply->rtr & mine->rtr);
		if (!terms->rtr)
			return MPA_NO_RTR;
		terms->p2p = true;
	}
	return MPA_AGREED;
}

/* ---- stream arithmetic (RFC 5044 4) ---- */

/* Data bytes from pos to the next marker; 0: a marker is due at pos. */
static u32 to_marker(u64 pos)
{
	u32 in = (u32)(pos % MPA_MARKER_SPACING);

	return in ? MPA_MARKER_SPACING - in : 0;
}

u32 mpa_marker_count(u64 pos, u32 bytes)
{
	u32 first = to_marker(pos);

	if (bytes <= first)
		return 0;
	/* There are 508 bytes of data between two markers. */
	return 1 + (bytes - first - 1) / (MPA_MARKER_SPACING - MPA_MARKER_BYTES);
}

u32 mpa_mulpdu(u32 emss, bool markers)
{
	u32 overhead = MPA_LENGTH_BYTES + MPA_CRC_BYTES + emss % 4;

	if (markers)
		overhead += MPA_MARKER_BYTES *
			    (emss / MPA_MARKER_SPACING + !!(emss % MPA_MARKER_SPACING));
	if (emss < overhead + MPA_LEAST_MULPDU)
		return MPA_LEAST_MULPDU;
	return min_u32(emss - overhead, MPA_MAX_ULPDU_BYTES - 1);
}

u32 mpa_insert_markers(u8 *dst, const u8 *src, u32 bytes, u64 pos)
{
	u64 start = pos;
	bool begun = false;
	u8 *to = dst;

	for (;;) {
		u32 n = to_marker(pos);

		if (n && !bytes)
			break;
		n = min_u32(bytes, n);
		if (!n) {
			/* 16 reserved bits, then the distance to the length field (RFC 5044 4.3) */
			put_unaligned_be16(0, to);
			put_unaligned_be16((u16)(pos - start), to + 2);
			to += MPA_MARKER_BYTES;
			pos += MPA_MARKER_BYTES;
			/* A marker right before that field says 0; later ones do not count it. */
			if (!begun)
				start = pos;
			continue;
		}
		begun = true;
		memcpy(to, src, n);
		to += n;
		src += n;
		pos += n;
		bytes -= n;
	}
	return (u32)(to - dst);
}
