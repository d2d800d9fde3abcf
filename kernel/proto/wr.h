/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A work request as both requesters, rc_req.c and iw_req.c, take it, and the status with which
 * they complete it. What comes of it on the wire is theirs to decide.
 */
#ifndef TERN_PROTO_WR_H
#define TERN_PROTO_WR_H

#include "deps.h"

enum wr_op {
	WR_SEND,
	WR_WRITE,
	WR_READ,
	WR_CMP_SWAP,
	WR_FETCH_ADD,
	WR_FLUSH,		/* RoCE, as the next */
	WR_ATOMIC_WRITE,
	WR_LOCAL,		/* executed by the caller in send queue order */
};

enum wr_flags {
	WR_F_IMM	= 1u << 0,	/* SEND (RoCE), WRITE: with immediate data */
	WR_F_INV	= 1u << 1,	/* SEND: the peer invalidates inv_rkey */
	WR_F_SOLICITED	= 1u << 2,
	WR_F_FENCE	= 1u << 3,	/* wait for all prior wr_has_response() (IBTA 10.8.3.3) */
	WR_F_WAIT_ALL	= 1u << 4,	/* LOCAL: wait until every prior request is complete */
};

/* Completion status of a work request; values of enum ib_wc_status. */
enum wr_status {
	WR_ST_SUCCESS		= 0,
	WR_ST_LOC_LEN_ERR	= 1,
	WR_ST_LOC_QP_OP_ERR	= 2,
	WR_ST_LOC_PROT_ERR	= 4,
	WR_ST_WR_FLUSH_ERR	= 5,
	WR_ST_MW_BIND_ERR	= 6,
	WR_ST_BAD_RESP_ERR	= 7,
	WR_ST_REM_INV_REQ_ERR	= 9,
	WR_ST_REM_ACCESS_ERR	= 10,
	WR_ST_REM_OP_ERR	= 11,
	WR_ST_RETRY_EXC_ERR	= 12,
	WR_ST_RNR_RETRY_EXC_ERR	= 13,
};

struct wr {
	u8  op;			/* enum wr_op */
	u8  flags;		/* enum wr_flags */
	u8  feth;		/* FLUSH: enum feth_bits */
	u32 length;		/* bytes, at most 2^31; 8 for atomics and ATOMIC_WRITE; FLUSH: 0 */
	u32 rkey;		/* of the memory at the peer */
	__be32 imm;
	u64 va;			/* in rkey's memory */
	u64 compare;		/* CMP_SWAP */
	u64 swap_add;		/* atomics */
	u32 inv_rkey;
	u32 flush_bytes;	/* FLUSH: of the range, at most 2^31 */
	u32 srqn;		/* XRC: the peer's SRQ, which stands for its PD too */
};

/* FLUSH and ATOMIC_WRITE: answered as a READ of 0 bytes is. */
static inline bool wr_is_placement(const struct wr *wr)
{
	return wr->op == WR_FLUSH || wr->op == WR_ATOMIC_WRITE;
}

/* READs, atomics, FLUSH, ATOMIC_WRITE: complete with the response, and limited in number. */
static inline bool wr_has_response(const struct wr *wr)
{
	return wr->op == WR_READ || wr->op == WR_CMP_SWAP || wr->op == WR_FETCH_ADD ||
	       wr_is_placement(wr);
}

/* SENDs and WRITEs: the request carries payload. */
static inline bool wr_has_payload(const struct wr *wr)
{
	return wr->op == WR_SEND || wr->op == WR_WRITE;
}

#endif
