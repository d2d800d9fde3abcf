// SPDX-License-Identifier: GPL-2.0
/*
 * Packet headers of a run: which opcode the i-th packet has, which extended headers, and how much
 * payload. rc_req.c and rc_resp.c decide what is in a run.
 */
#include "psn.h"
#include "run.h"
#include "wr.h"

/* SEND and WRITE opcodes by position in the message. */
static u8 send_opcode(const struct run *run, bool first, bool last)
{
	if (!last)
		return first ? OP_SEND_FIRST : OP_SEND_MIDDLE;
	if (run->has_inv)
		return first ? OP_SEND_ONLY_INV : OP_SEND_LAST_INV;
	if (run->has_imm)
		return first ? OP_SEND_ONLY_IMM : OP_SEND_LAST_IMM;
	return first ? OP_SEND_ONLY : OP_SEND_LAST;
}

static u8 write_opcode(const struct run *run, bool first, bool last)
{
	if (!last)
		return first ? OP_WRITE_FIRST : OP_WRITE_MIDDLE;
	if (run->has_imm)
		return first ? OP_WRITE_ONLY_IMM : OP_WRITE_LAST_IMM;
	return first ? OP_WRITE_ONLY : OP_WRITE_LAST;
}

static u8 read_resp_opcode(bool first, bool last)
{
	if (!last)
		return first ? OP_READ_RESP_FIRST : OP_READ_RESP_MIDDLE;
	return first ? OP_READ_RESP_ONLY : OP_READ_RESP_LAST;
}

static u8 request_opcode(const struct run *run, bool first, bool last)
{
	switch (run->op) {
	case WR_SEND:
		return send_opcode(run, first, last);
	case WR_WRITE:
		return write_opcode(run, first, last);
	case WR_READ:
		return OP_READ_REQUEST;
	case WR_CMP_SWAP:
		return OP_CMP_SWAP;
	case WR_FLUSH:
		return OP_FLUSH;
	case WR_ATOMIC_WRITE:
		return OP_ATOMIC_WRITE;
	default:
		return OP_FETCH_ADD;
	}
}

/* Headers of packets [i, i + npkts) of the run, without their payload. */
static __always_inline void fill_headers(const struct run *run, u32 i, u32 npkts,
					  struct pkt *k)
{
	bool final = i + npkts == run->npkts;
	bool first = run->first && i == 0;
	bool last = run->last && final;
	u8 op;

	switch (run->kind) {
	case RUN_REQUEST:
		op = request_opcode(run, first, last);
		break;
	case RUN_READ_RESP:
		op = read_resp_opcode(first, last);
		break;
	default:
		op = run->op;
		break;
	}

	/* Setting each member is cheaper than clearing all. */
	k->opcode = (u8)(run->service | op);
	k->solicited = last && run->solicited;
	k->migrated = true;	/* no path migration: always in state Migrated (IBTA 17.2.8) */
	k->ack_req = final && run->ack_req;
	k->fecn = false;
	k->becn = false;
	k->pad_bytes = 0;
	k->pkey = run->pkey;
	k->dqpn = run->dqpn;
	k->psn = psn_add(run->psn, i);
	k->syndrome = run->syndrome;
	k->feth = run->feth;
	k->msn = run->msn;
	k->va = run->va;
	k->rkey = run->rkey;
	k->dma_bytes = run->dma_bytes;
	k->swap_add = run->swap_add;
	k->compare = run->compare;
	k->atomic_orig = run->atomic_orig;
	k->qkey = 0;
	k->sqpn = 0;
	k->imm = run->imm;
	k->inv_rkey = run->inv_rkey;
	k->srqn = run->srqn;
	k->hdr_bytes = 0;
	k->payload_bytes = 0;
	k->npkts = npkts;
	k->op_flags = 0;
}

void run_pkt(const struct run *run, u32 i, struct pkt *k)
{
	fill_headers(run, i, 1, k);
	if (run->bytes)
		k->payload_bytes = i + 1 == run->npkts ? run->bytes - i * run->pmtu : run->pmtu;
}

void run_stretch(const struct run *run, struct pkt *k)
{
	fill_headers(run, 0, run->npkts, k);
	k->payload_bytes = run->bytes;
	k->op_flags = opcode_info(k->opcode)->flags;
}
