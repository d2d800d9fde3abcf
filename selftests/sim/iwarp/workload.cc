// SPDX-License-Identifier: GPL-2.0
#include "workload.h"

#include <algorithm>

namespace sim {

int expected_term(const Work &w, uint8_t opcode)
{
	bool tagged = opcode == RDMAP_WRITE || opcode == RDMAP_READ_RESP;
	bool write = w.wr.op == WR_WRITE;

	switch (w.fault) {
	case FAULT_KEY:
		return write ? TERM_DDP_STAG : TERM_PROT_STAG;
	case FAULT_BOUNDS:
		return write ? TERM_DDP_BOUNDS : TERM_PROT_BOUNDS;
	case FAULT_ACCESS:
		return write ? TERM_DDP_STAG : TERM_PROT_ACCESS;
	case FAULT_READ_GONE:
		return TERM_PROT_STAG;
	case FAULT_STREAM:
		return write ? TERM_DDP_STREAM : TERM_PROT_STREAM;
	case FAULT_WRAP:
		return write ? TERM_DDP_WRAP : w.wr.op == WR_READ ? TERM_PROT_WRAP : TERM_OP_STREAM;
	case FAULT_NO_RECV:
	case FAULT_ORD:
		return TERM_DDP_NO_BUFFER;
	case FAULT_TOO_LONG:
	case FAULT_LAST:
		return TERM_DDP_TOO_LONG;
	case FAULT_INVALIDATE:
		return TERM_PROT_INVALIDATE;
	case FAULT_RECV_LOCAL:
	case FAULT_GATHER:
	case FAULT_SINK:
	case FAULT_LOCAL:
		return TERM_LOCAL;
	case FAULT_MSN:
	case FAULT_ANSWER_MSN:
		return TERM_DDP_MSN_RANGE;
	case FAULT_MO:
		return TERM_DDP_MO;
	case FAULT_QN:
		return TERM_DDP_QN;
	case FAULT_VERSION:
		return tagged ? TERM_DDP_VERSION : TERM_DDP_UT_VERSION;
	case FAULT_RDMAP_VERSION:
		return TERM_OP_VERSION;
	case FAULT_OPCODE:
	case FAULT_ANSWER_ID:
		return TERM_OP_OPCODE;
	case FAULT_SHORT:
		return TERM_OP_OTHER;
	case FAULT_ANSWER_STAG:
		return TERM_DDP_STAG;
	case FAULT_ANSWER_TO:
	case FAULT_ANSWER_LAST:
		return TERM_DDP_BOUNDS;
	case FAULT_CRC:
		return TERM_MPA_CRC;
	default:
		return TERM_NONE;
	}
}

Workload::Workload(const EndCfg &cfg, Ledger &ledger, Arena &arena, uint64_t seed)
	: cfg_(cfg), ledger_(ledger), arena_(arena), rng_(seed)
{}

void Workload::start(uint32_t ord, uint32_t max_ulpdu)
{
	ord_ = ord;
	max_ulpdu_ = max_ulpdu;
}

uint8_t Workload::draw_op()
{
	uint32_t r = rng_.below(ord_ ? 100 : 60);

	if (cfg_.only_op != 0xff)
		return cfg_.only_op;
	if (r < 26)
		return WR_SEND;
	if (r < 55)
		return WR_WRITE;
	if (r < 60)
		return WR_LOCAL;
	if (r < 80)
		return WR_READ;
	return r < 89 ? WR_CMP_SWAP : WR_FETCH_ADD;
}

uint32_t Workload::draw_length(uint8_t op)
{
	uint32_t header = op == WR_SEND ? DDP_UNTAGGED_BYTES : DDP_TAGGED_BYTES;
	uint32_t most = max_ulpdu_ - header, r = rng_.below(1000), n;

	if (op == WR_LOCAL)
		return 0;
	if (is_atomic(op))
		return 8;
	if (r < 80)
		return 0;
	if (r < 500)
		return rng_.range(1, 64);
	if (r < 820)
		return rng_.range(1, std::min(most, 600u));
	if (r < 920)
		n = rng_.range(1, 4) * most + rng_.below(3) - 1; /* about a boundary */
	else if (r < 980)
		n = rng_.range(1, 4 * most);
	else
		n = rng_.range(1, 16 * most);
	return std::min(n, LAYOUT.area_bytes);
}

bool Workload::fault_fits(uint8_t op) const
{
	switch (cfg_.fault) {
	case FAULT_KEY:
	case FAULT_BOUNDS:
	case FAULT_ACCESS:
	case FAULT_STREAM:
	case FAULT_WRAP:
	case FAULT_LAST:
		return op == WR_WRITE || is_rd(op);
	case FAULT_NO_RECV:
	case FAULT_GATHER:
		return op == WR_SEND || op == WR_WRITE;
	case FAULT_TOO_LONG:
	case FAULT_INVALIDATE:
	case FAULT_RECV_LOCAL:
		return op == WR_SEND;
	case FAULT_ANSWER_STAG:
	case FAULT_ANSWER_TO:
	case FAULT_ANSWER_LAST:
	case FAULT_READ_GONE:
	case FAULT_SINK:
		return op == WR_READ;
	case FAULT_ANSWER_MSN:
	case FAULT_ANSWER_ID:
		return is_atomic(op);
	case FAULT_LOCAL:
		return op == WR_LOCAL;
	case FAULT_NONE:
	case FAULT_ORD:
		return false;
	default:
		return op != WR_LOCAL;
	}
}

/* Make the work request itself wrong. */
void Workload::spoil(Work &w)
{
	switch (w.fault) {
	case FAULT_KEY:
		w.wr.rkey += KEY_NONE;
		break;
	case FAULT_BOUNDS:
		w.wr.va = ledger_.va_base + LAYOUT.bytes() + 8 * rng_.below(8);
		break;
	case FAULT_ACCESS:
		w.wr.rkey += KEY_NO_RIGHTS;
		break;
	case FAULT_STREAM:
		w.wr.rkey += KEY_OTHER_PD;
		break;
	case FAULT_WRAP:
		w.wr.va = is_atomic(w.wr.op) ? w.wr.va + rng_.range(1, 7) : ~0ull;
		break;
	case FAULT_INVALIDATE:
		w.wr.flags |= WR_F_INV;
		break;
	case FAULT_NO_RECV:
	case FAULT_MSN:
	case FAULT_MO:
	case FAULT_QN:
	case FAULT_LAST:
		if (w.wr.op == WR_WRITE)
			w.wr.flags |= WR_F_IMM;
		break;
	default:
		break;
	}
}

Work *Workload::draw()
{
	Work w = {};
	uint8_t op;

	if (!ledger_.has_room())
		return nullptr;
	if (!held_) {
		held_op_ = draw_op();
		held_length_ = draw_length(held_op_);
		held_ = true;
	}
	op = held_op_;
	w.number = ledger_.posted;
	w.area = NO_AREA;
	w.wr.op = op;
	w.wr.length = held_length_;
	w.key = mix64(ledger_.static_key + 1 + w.number);
	if (!faulted_ && w.number >= cfg_.fault_from && fault_fits(op)) {
		w.fault = cfg_.fault;
		if (w.wr.length < 2 && op != WR_LOCAL)
			w.wr.length = 100;
	}
	if (op != WR_LOCAL) {
		int pieces = arena_.cut(rng_, w.wr.length, is_rd(op), w.key, w.piece, &w.arena_end);

		if (!pieces)
			return nullptr;
		w.pieces = (uint8_t)pieces;
	}
	held_ = false;
	faulted_ = faulted_ || w.fault;

	if (rng_.one_in(16))
		w.wr.flags |= WR_F_FENCE;
	if (rng_.one_in(4))
		w.wr.flags |= WR_F_SOLICITED;
	switch (op) {
	case WR_SEND:
		if (rng_.one_in(4))
			w.wr.flags |= WR_F_INV;
		break;
	case WR_WRITE:
		if (rng_.one_in(4))
			w.wr.flags |= WR_F_IMM;
		ledger_.aim_write(rng_, w, WR_F_FENCE);
		break;
	case WR_READ:
		ledger_.aim_read(rng_, w);
		break;
	case WR_CMP_SWAP:
	case WR_FETCH_ADD:
		ledger_.aim_atomic(rng_, w, WR_FETCH_ADD);
		break;
	default:
		if (rng_.one_in(2))
			w.wr.flags |= WR_F_WAIT_ALL;
		break;
	}
	spoil(w);
	/* Zero bytes use no memory: any key is fine. */
	if (!w.wr.length && rng_.one_in(2)) {
		w.wr.rkey = (uint32_t)rng_.next();
		w.wr.va = rng_.next();
	}
	w.wr.imm = (__be32)(uint32_t)w.key;
	w.wr.inv_rkey = (uint32_t)(w.key >> 32);
	w.net = ledger_.net_posted;
	ledger_.net_posted += op != WR_LOCAL;
	return &ledger_.append(w);
}

Work *Workload::draw_rtr(uint8_t op)
{
	Work w = {};

	w.number = ledger_.posted;
	w.area = NO_AREA;
	w.wr.op = op;
	w.rtr = true;
	w.net = ledger_.net_posted++;
	return &ledger_.append(w);
}

void Workload::release(const Work &w)
{
	ledger_.read_done(w);
	if (w.wr.op != WR_LOCAL && !w.rtr)
		arena_.put_until(w.arena_end);
	if (ledger_.reaped == ledger_.posted)
		arena_.put_all();
}

} /* namespace sim */
