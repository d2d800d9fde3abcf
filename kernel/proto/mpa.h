/* SPDX-License-Identifier: GPL-2.0 */
/*
 * MPA, the framing of iWARP on TCP (RFC 5044, and RFC 6581 for version 2): the frames that start a
 * connection, what the two ends agree on, and where FPDUs, padding, CRCs and markers are in the
 * stream. Only formats and arithmetic.
 */
#ifndef TERN_PROTO_MPA_H
#define TERN_PROTO_MPA_H

#include "deps.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	MPA_FRAME_BYTES		= 20,	/* key, flags, revision, private data's length */
	MPA_ENHANCED_BYTES	= 4,	/* RFC 6581 9: IRD and ORD, before the private data */
	MPA_MAX_PRIVATE_BYTES	= 512,
	MPA_LENGTH_BYTES	= 2,
	MPA_CRC_BYTES		= 4,
	MPA_MARKER_BYTES	= 4,
	MPA_MARKER_SPACING	= 512,
	MPA_MAX_ULPDU_BYTES	= 0xffff,
	MPA_LEAST_MULPDU	= 128,	/* even if TCP's segments are shorter (RFC 5044 4.5) */
	/* RFC 6581 9.1: 14 bits; all ones say "not negotiated here". */
	MPA_DEPTH_MAX		= 0x3ffe,
	MPA_DEPTH_ANY		= 0x3fff,
};

/* What the first FPDU of a peer-to-peer initiator may be (RFC 6581 9.2). */
enum mpa_rtr {
	MPA_RTR_SEND	= 1u << 0,	/* zero-length Send */
	MPA_RTR_WRITE	= 1u << 1,	/* zero-length RDMA Write */
	MPA_RTR_READ	= 1u << 2,	/* zero-length RDMA Read */
};

/* A start-up frame, request or reply. */
struct mpa_frame {
	bool reply;
	bool markers;		/* M: the sender wants to receive markers */
	bool crc;		/* C: the sender wants CRCs */
	bool reject;		/* R: replies only */
	bool enhanced;		/* S: version 2 and the four fields below */
	bool long_fpdus;	/* a reserved bit of siw's: takes FPDUs longer than a segment */
	u8  revision;		/* 1 or 2 */
	bool p2p;
	u8  rtr;		/* enum mpa_rtr */
	u16 ird;
	u16 ord;
	u16 private_bytes;	/* the application's, without the enhanced part */
	u16 private_at;		/* parse: where they begin */
	u16 bytes;		/* of the whole frame */
};

enum mpa_error {
	MPA_OK			= 0,
	MPA_MORE		= 1,	/* not all there yet */
	MPA_BAD_KEY		= -1,	/* not MPA, or a frame of the other direction */
	MPA_BAD_REVISION	= -2,
	MPA_BAD_LENGTH		= -3,	/* private data too long, or too short for S */
};

/*
 * Parse a request (or, if reply, a reply) of which have bytes are readable at p. A wrong byte is
 * reported as soon as it is there, even if most are missing. MPA_MORE: out->bytes is the least
 * number of bytes needed.
 */
enum mpa_error mpa_frame_parse(const u8 *p, u32 have, bool reply, struct mpa_frame *out);

/*
 * Write all but the private data at p (room for MPA_FRAME_BYTES + MPA_ENHANCED_BYTES) and return
 * the length; sets f->bytes to the length of the whole frame.
 */
u32 mpa_frame_build(u8 *p, struct mpa_frame *f);

/* ---- negotiation ---- */

/* What one end wants and can do. */
struct mpa_offer {
	u8  revision;		/* the highest it knows: 1 or 2 */
	bool crc;		/* wants CRCs; they are used if either side does */
	bool p2p;		/* initiator: requests it */
	u8  rtr;		/* what it can send (initiator) or receive (responder) */
	bool long_fpdus;
	u16 ird;
	u16 ord;
	u16 ird_most;		/* initiator: its limit, if that is higher */
};

/* What a connection uses. */
struct mpa_terms {
	u8  revision;
	bool crc;
	bool tx_markers;	/* the peer requires them */
	bool enhanced;
	bool long_fpdus;	/* both accept them */
	bool p2p;
	u8  rtr;		/* one of enum mpa_rtr: what the initiator sends first; 0: none */
	u16 ird;		/* the peer's READs and atomics under way, at most */
	u16 ord;		/* ours */
};

enum mpa_verdict {
	MPA_AGREED,
	MPA_REJECTED,		/* by the peer */
	MPA_NO_IRD,		/* the peer's ORD is above our limit (RFC 6581 9.1) */
	MPA_NO_RTR,		/* no first message that both know */
};

/* The initiator's request. */
void mpa_request(const struct mpa_offer *mine, struct mpa_frame *f);

/*
 * The responder's view of a request: the terms if mine is accepted, and the reply that says so.
 * MPA_NO_RTR: the initiator will refuse it and end the stream; send the reply all the same.
 */
enum mpa_verdict mpa_accept(const struct mpa_offer *mine, const struct mpa_frame *request,
			    struct mpa_terms *terms, struct mpa_frame *reply);
/* The reply that refuses. */
void mpa_reject(const struct mpa_offer *mine, const struct mpa_frame *request,
		struct mpa_frame *reply);

/* The initiator's view of the reply to the request that mpa_request() made from mine. */
enum mpa_verdict mpa_finish(const struct mpa_offer *mine, const struct mpa_frame *reply,
			    struct mpa_terms *terms);

/* ---- FPDUs ---- */

static inline u32 mpa_pad_bytes(u32 ulpdu_bytes)
{
	return -(MPA_LENGTH_BYTES + ulpdu_bytes) & 3;
}

/* Bytes of stream, without markers. */
static inline u32 mpa_fpdu_bytes(u32 ulpdu_bytes)
{
	return MPA_LENGTH_BYTES + ulpdu_bytes + mpa_pad_bytes(ulpdu_bytes) + MPA_CRC_BYTES;
}

/*
 * The longest ULPDU to send (RFC 5044 4.5, MULPDU): its FPDU, with as many markers as it may have,
 * fits into a TCP segment of emss bytes, unless that is very short.
 */
u32 mpa_mulpdu(u32 emss, bool markers);

/*
 * The same on these terms: longer than a segment if both ends accept that, at most `most` bytes of
 * stream.
 */
static inline u32 mpa_longest_ulpdu(const struct mpa_terms *t, u32 emss, u32 most)
{
	return mpa_mulpdu(t->long_fpdus || emss > most ? most : emss, t->tx_markers);
}

/* Bytes of stream, with as many markers as there may be. */
static inline u32 mpa_fpdu_most(u32 ulpdu_bytes, bool markers)
{
	u32 n = mpa_fpdu_bytes(ulpdu_bytes);

	return markers ? n + MPA_MARKER_BYTES *
				 ((n - 1) / (MPA_MARKER_SPACING - MPA_MARKER_BYTES) + 1) :
			 n;
}

/* Markers in [pos, pos + bytes) of the stream; bytes does not count the markers. */
u32 mpa_marker_count(u64 pos, u32 bytes);

/*
 * Copy an FPDU without its CRC to dst and insert the markers due from stream position pos on, where
 * it begins, including one that is due right before the CRC: the CRC covers all of this. Returns
 * the bytes written: bytes plus MPA_MARKER_BYTES for each of mpa_marker_count(pos, bytes +
 * MPA_CRC_BYTES). bytes and pos are multiples of 4.
 */
u32 mpa_insert_markers(u8 *dst, const u8 *src, u32 bytes, u64 pos);

#ifdef __cplusplus
}
#endif

#endif
