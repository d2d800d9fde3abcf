/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The BTH opcodes, and which headers and payload each has (opcode.c has the table). pkt.h has the
 * fields of the headers.
 */
#ifndef TERN_PROTO_OPCODE_H
#define TERN_PROTO_OPCODE_H

#include "deps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lengths of the headers (IBTA 9.2, 9.3) and of the ICRC. */
enum {
	BTH_BYTES		= 12,
	RETH_BYTES		= 16,
	AETH_BYTES		= 4,
	DETH_BYTES		= 8,
	ATOMICETH_BYTES		= 28,
	ATOMICACKETH_BYTES	= 8,
	IMMDT_BYTES		= 4,
	IETH_BYTES		= 4,
	FETH_BYTES		= 4,
	XRCETH_BYTES		= 4,
	ICRC_BYTES		= 4,
	CNP_RESERVED_BYTES	= 16,
	GRH_BYTES		= 40,
	/* RETH + ImmDt is less than AtomicETH. */
	PKT_HDR_MAX_BYTES	= BTH_BYTES + XRCETH_BYTES + ATOMICETH_BYTES,
};

/* Opcode byte: service in the top three bits, operation below (IBTA table 35). */
enum bth_service {
	BTH_RC	= 0x00,
	BTH_UC	= 0x20,
	BTH_RD	= 0x40,
	BTH_UD	= 0x60,
	BTH_CNP	= 0x80,		/* RoCEv2 annex A17.9.3: 0x81 only */
	BTH_XRC	= 0xa0,		/* annex A14 */
	BTH_SERVICE_MASK = 0xe0,
	BTH_CNP_OPCODE	= 0x81,
};

enum bth_op {
	OP_SEND_FIRST		= 0x00,
	OP_SEND_MIDDLE		= 0x01,
	OP_SEND_LAST		= 0x02,
	OP_SEND_LAST_IMM	= 0x03,
	OP_SEND_ONLY		= 0x04,
	OP_SEND_ONLY_IMM	= 0x05,
	OP_WRITE_FIRST		= 0x06,
	OP_WRITE_MIDDLE		= 0x07,
	OP_WRITE_LAST		= 0x08,
	OP_WRITE_LAST_IMM	= 0x09,
	OP_WRITE_ONLY		= 0x0a,
	OP_WRITE_ONLY_IMM	= 0x0b,
	OP_READ_REQUEST		= 0x0c,
	OP_READ_RESP_FIRST	= 0x0d,
	OP_READ_RESP_MIDDLE	= 0x0e,
	OP_READ_RESP_LAST	= 0x0f,
	OP_READ_RESP_ONLY	= 0x10,
	OP_ACK			= 0x11,
	OP_ATOMIC_ACK		= 0x12,
	OP_CMP_SWAP		= 0x13,
	OP_FETCH_ADD		= 0x14,
	OP_SEND_LAST_INV	= 0x16,
	OP_SEND_ONLY_INV	= 0x17,
	OP_FLUSH		= 0x1c,		/* IBTA annex A19, as the next */
	OP_ATOMIC_WRITE		= 0x1d,
	BTH_OP_MASK		= 0x1f,
};

/* What an opcode has; opcode_info() looks it up. */
enum opcode_flags {
	OPF_VALID	= 1u << 0,
	OPF_REQUEST	= 1u << 1,	/* for the responder; without it, for the requester */
	OPF_FIRST	= 1u << 2,	/* starts a message (ONLY has FIRST and LAST) */
	OPF_LAST	= 1u << 3,
	OPF_SEND	= 1u << 4,
	OPF_WRITE	= 1u << 5,
	OPF_READ	= 1u << 6,	/* READ request or response */
	OPF_ATOMIC	= 1u << 7,	/* request or acknowledge */
	OPF_ACK		= 1u << 8,	/* plain acknowledge */
	OPF_RETH	= 1u << 9,
	OPF_AETH	= 1u << 10,
	OPF_DETH	= 1u << 11,
	OPF_ATOMICETH	= 1u << 12,
	OPF_ATOMICACK	= 1u << 13,
	OPF_IMM		= 1u << 14,
	OPF_IETH	= 1u << 15,
	OPF_PAYLOAD	= 1u << 16,	/* may carry payload */
	OPF_CNP		= 1u << 17,
	OPF_FETH	= 1u << 18,
	OPF_FLUSH	= 1u << 19,
	OPF_ATOMIC_WRITE = 1u << 20,
	OPF_XRCETH	= 1u << 21,

	/* requests of which max_rd_atomic limits the number, or their answers */
	OPF_LIMITED	= OPF_READ | OPF_ATOMIC | OPF_FLUSH | OPF_ATOMIC_WRITE,
};

struct opcode_info {
	u32 flags;		/* 0: no such opcode */
	u8  hdr_bytes;		/* BTH and extended headers */
};

extern const struct opcode_info opcode_infos[256];

/* Never NULL; flags is 0 for opcodes that IBTA reserves or that tern does not support (RD). */
static inline const struct opcode_info *opcode_info(u8 opcode)
{
	return &opcode_infos[opcode];
}

#ifdef __cplusplus
}
#endif

#endif
