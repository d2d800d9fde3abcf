/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The headers inside an FPDU: DDP (RFC 5041) and RDMAP (RFC 5040, with the atomics and immediate
 * data of RFC 7306), between wire and host-order fields, parsed with an explicit remaining length.
 * Only formats: iw_req and iw_resp decide whether a segment makes sense.
 */
#ifndef TERN_PROTO_DDP_H
#define TERN_PROTO_DDP_H

#include "deps.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	DDP_TAGGED_BYTES	= 14,
	DDP_UNTAGGED_BYTES	= 18,
	RDMAP_READ_BYTES	= 28,	/* payload of a Read Request */
	RDMAP_ATOMIC_BYTES	= 52,	/* of an Atomic Request */
	RDMAP_ATOMIC_RESP_BYTES	= 12,
	RDMAP_IMM_BYTES		= 8,
	RDMAP_TERM_BYTES	= 4,	/* of a Terminate, without what it quotes */
	/* A Terminate may quote a segment's length, its headers and a Read Request's payload. */
	RDMAP_TERM_MAX_BYTES	= RDMAP_TERM_BYTES + 2 + DDP_UNTAGGED_BYTES + RDMAP_READ_BYTES,
	/* Headers, and a payload that is itself a header. */
	DDP_CTRL_MAX_BYTES	= DDP_UNTAGGED_BYTES + RDMAP_ATOMIC_BYTES,
};

/* RFC 5040 4.1, figure 4; RFC 7306 4.1, figure 2. */
enum rdmap_opcode {
	RDMAP_WRITE		= 0x0,
	RDMAP_READ_REQ		= 0x1,
	RDMAP_READ_RESP		= 0x2,
	RDMAP_SEND		= 0x3,
	RDMAP_SEND_INV		= 0x4,
	RDMAP_SEND_SE		= 0x5,
	RDMAP_SEND_SE_INV	= 0x6,
	RDMAP_TERMINATE		= 0x7,
	RDMAP_IMM		= 0x8,
	RDMAP_IMM_SE		= 0x9,
	RDMAP_ATOMIC_REQ	= 0xa,
	RDMAP_ATOMIC_RESP	= 0xb,
	RDMAP_OPCODES
};

/* Untagged queues (RFC 5040 4.1, figure 4; RFC 7306 10.2). */
enum ddp_queue {
	DDP_QN_SEND		= 0,
	DDP_QN_READ_REQ		= 1,	/* and Atomic Requests */
	DDP_QN_TERMINATE	= 2,
	DDP_QN_ATOMIC_RESP	= 3,
	DDP_QUEUES
};

/* One DDP segment's headers. */
struct ddp_seg {
	u8  opcode;		/* enum rdmap_opcode */
	bool tagged;
	bool last;
	u32 stag;		/* tagged: where the payload goes */
	u64 to;
	u32 qn;			/* untagged */
	u32 msn;
	u32 mo;
	u32 inv_stag;		/* Sends with invalidate */
	u16 hdr_bytes;
	u16 payload_bytes;
};

/* ---- errors, as a Terminate names them (RFC 5040 4.8) ---- */

enum rdmap_layer {
	TERM_RDMAP	= 0,
	TERM_DDP	= 1,
	TERM_LLP	= 2,
};

/* Layer, type and code in one: layer << 12 | type << 8 | code, as on the wire. */
enum rdmap_term_code {
	TERM_NONE		= -1,
	/* RDMAP: local catastrophic, remote protection, remote operation */
	TERM_LOCAL		= 0x0000,
	TERM_PROT_STAG		= 0x0100,
	TERM_PROT_BOUNDS	= 0x0101,
	TERM_PROT_ACCESS	= 0x0102,
	TERM_PROT_STREAM	= 0x0103,
	TERM_PROT_WRAP		= 0x0104,
	TERM_PROT_INVALIDATE	= 0x0109,
	TERM_PROT_OTHER		= 0x01ff,
	TERM_OP_VERSION		= 0x0205,
	TERM_OP_OPCODE		= 0x0206,
	TERM_OP_STREAM		= 0x0207,
	TERM_OP_GLOBAL		= 0x0208,
	TERM_OP_OTHER		= 0x02ff,
	/* DDP: local catastrophic, tagged buffer, untagged buffer (RFC 5041 7.2) */
	TERM_DDP_LOCAL		= 0x1000,
	TERM_DDP_STAG		= 0x1100,
	TERM_DDP_BOUNDS		= 0x1101,
	TERM_DDP_STREAM		= 0x1102,
	TERM_DDP_WRAP		= 0x1103,
	TERM_DDP_VERSION	= 0x1104,
	TERM_DDP_QN		= 0x1201,
	TERM_DDP_NO_BUFFER	= 0x1202,
	TERM_DDP_MSN_RANGE	= 0x1203,
	TERM_DDP_MO		= 0x1204,
	TERM_DDP_TOO_LONG	= 0x1205,
	TERM_DDP_UT_VERSION	= 0x1206,
	/* MPA (RFC 5044 8; RFC 6581 8). Code 4, a bad start-up frame, ends the TCP connection. */
	TERM_MPA_CLOSED		= 0x2001,
	TERM_MPA_CRC		= 0x2002,
	TERM_MPA_MARKER		= 0x2003,
	TERM_MPA_LOCAL		= 0x2005,
	TERM_MPA_NO_IRD		= 0x2006,
	TERM_MPA_NO_RTR		= 0x2007,
};

static inline enum rdmap_layer rdmap_term_layer(int code)
{
	return (enum rdmap_layer)(code >> 12 & 0xf);
}

/* RDMAP's types, as far as they matter for what is quoted. */
enum rdmap_term_types {
	TERM_TYPE_LOCAL	= 0,
	TERM_TYPE_PROT	= 1,
};

static inline u32 rdmap_term_type(int code)
{
	return (u32)code >> 8 & 0xf;
}

/*
 * Parse a ULPDU of ulpdu_bytes, of which the first have (at least min(ulpdu_bytes,
 * DDP_CTRL_MAX_BYTES)) are readable at p. TERM_NONE, or the code to terminate the stream with:
 * wrong version, unknown opcode, opcode on the wrong kind of buffer or queue. There is no code for
 * one that is too short for its headers.
 */
int ddp_parse(const u8 *p, u32 have, u32 ulpdu_bytes, struct ddp_seg *out);

/* Write the headers of s at p (room for DDP_UNTAGGED_BYTES); sets and returns hdr_bytes. */
u32 ddp_build(u8 *p, struct ddp_seg *s);

/* ---- RDMAP messages that are headers themselves ---- */

struct rdmap_read {
	u32 sink_stag;
	u64 sink_to;
	u32 bytes;
	u32 src_stag;
	u64 src_to;
};

void rdmap_read_parse(const u8 *p, struct rdmap_read *r);
void rdmap_read_build(u8 *p, const struct rdmap_read *r);

enum rdmap_atomic_op {
	RDMAP_FETCH_ADD	= 0x0,
	RDMAP_CMP_SWAP	= 0x2,
};

/* RFC 7306 5.2.1. The masks are those of proto/atomic.h; an add's compare_mask is all ones. */
struct rdmap_atomic {
	u8  op;			/* enum rdmap_atomic_op, or an unknown one, which is refused */
	u32 id;
	u32 stag;
	u64 to;
	u64 swap_add;
	u64 swap_add_mask;
	u64 compare;
	u64 compare_mask;
};

void rdmap_atomic_parse(const u8 *p, struct rdmap_atomic *a);
void rdmap_atomic_build(u8 *p, const struct rdmap_atomic *a);

struct rdmap_term {
	int code;		/* enum rdmap_term_code, or any other */
	bool has_length, has_ddp, has_rdmap;	/* what it quotes */
};

/* bytes of payload at p; false if they are too few for a code. Ignores what is quoted. */
bool rdmap_term_parse(const u8 *p, u32 bytes, struct rdmap_term *t);

/* The wrong segment, as a Terminate quotes it. */
struct rdmap_quote {
	struct ddp_seg seg;	/* its header alone: no payload_bytes */
	bool has_read;		/* a Read Request's own header, too */
	struct rdmap_read read;
};

/*
 * What a Terminate with bytes of payload at p quotes; false if that is nothing, or no DDP header.
 * The peer may quote what was never sent.
 */
bool rdmap_term_quote(const u8 *p, u32 bytes, struct rdmap_quote *quote);

/*
 * Write the payload of a Terminate for code at p (room for RDMAP_TERM_MAX_BYTES). It quotes the
 * wrong ULPDU of ulpdu_bytes, of which have are readable at seg, as its layer and type allow (RFC
 * 5040 4.8, figure 10). seg NULL: quotes nothing.
 */
u32 rdmap_term_build(u8 *p, int code, const u8 *seg, u32 have, u32 ulpdu_bytes);

/*
 * Write the DDP header of a Terminate at p (room for DDP_UNTAGGED_BYTES): the first message of its
 * queue.
 */
u32 rdmap_term_header(u8 *p);

#ifdef __cplusplus
}
#endif

#endif
