// SPDX-License-Identifier: GPL-2.0
#include "workload.h"

#include <algorithm>

namespace sim {

Workload::Workload(const QpCfg &cfg, Ledger &ledger, Arena &arena, uint64_t seed)
	: cfg_(cfg), ledger_(ledger), arena_(arena), rng_(seed)
{}

uint8_t Workload::draw_op()
{
	uint32_t r;

	if (cfg_.only_op != 0xff)
		return cfg_.only_op;
	r = rng_.below(100);
	if (cfg_.uc)
		return r < 50 ? WR_SEND : r < 95 || !cfg_.locals ? WR_WRITE : WR_LOCAL;
	if (r < 26)
		return WR_SEND;
	if (r < 58)
		return WR_WRITE;
	/* XRC has no FLUSH and no ATOMIC WRITE. */
	if (r < (cfg_.xrc ? 83u : 75u))
		return WR_READ;
	if (r < 79)
		return WR_FLUSH;
	if (r < 83)
		return WR_ATOMIC_WRITE;
	if (r < 89)
		return WR_CMP_SWAP;
	if (r < 95 || !cfg_.locals)
		return WR_FETCH_ADD;
	return WR_LOCAL;
}

uint32_t Workload::draw_length(uint8_t op)
{
	uint32_t most = op == WR_READ ? cfg_.read_max : cfg_.write_max;
	uint32_t r = rng_.below(1000), n;

	if (op == WR_LOCAL || op == WR_FLUSH)
		return 0;
	if (is_atomic(op) || op == WR_ATOMIC_WRITE)
		return 8;
	if (r < 80)
		return 0;
	if (r < 560)
		return rng_.range(1, 64);
	if (r < 860)
		return rng_.range(1, std::min(cfg_.pmtu, 512u));
	if (r < 940)
		n = rng_.range(1, 4) * cfg_.pmtu + rng_.below(3) - 1; /* about a boundary */
	else if (r < 980)
		n = rng_.range(1, 4 * cfg_.pmtu);
	else if (r < 999 || !cfg_.big_max || op == WR_SEND || !rng_.one_in(4))
		n = rng_.range(1, 16 * cfg_.pmtu);
	else
		return rng_.range(1, op == WR_READ ? std::min(cfg_.big_max, 128 * cfg_.pmtu) :
						     cfg_.big_max);
	return std::min(n, most);
}

bool Workload::fault_fits(uint8_t op) const
{
	switch (cfg_.fault) {
	case FAULT_ACCESS:
		return op == WR_WRITE || is_rd(op);
	case FAULT_INVALID:
	case FAULT_OP:
	case FAULT_NO_RECV:
		return op == WR_SEND;
	case FAULT_READ_GONE:
	case FAULT_SINK:
		return op == WR_READ;
	case FAULT_GATHER:
		return op == WR_SEND || op == WR_WRITE || op == WR_ATOMIC_WRITE;
	case FAULT_LOCAL:
		return op == WR_LOCAL;
	default:
		return false;
	}
}

Work *Workload::draw()
{
	Work w = {};
	uint8_t op;

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
	if (!faulted_ && cfg_.fault && w.number >= cfg_.fault_from && fault_fits(op)) {
		w.fault = cfg_.fault;
		if (!w.wr.length && op != WR_LOCAL && op != WR_FLUSH)
			w.wr.length = 100;
	}
	if (op != WR_LOCAL) {
		int pieces =
			arena_.cut(rng_, w.wr.length, has_sink(op), w.key, w.piece, &w.arena_end);

		if (!pieces)
			return nullptr;
		w.pieces = (uint8_t)pieces;
	}
	held_ = false;
	if (w.fault)
		faulted_ = true;

	w.rd_before = ledger_.rd_posted;
	if (rng_.one_in(16))
		w.wr.flags |= WR_F_FENCE;
	if (rng_.one_in(4))
		w.wr.flags |= WR_F_SOLICITED;
	switch (op) {
	case WR_SEND:
		if (rng_.one_in(4))
			w.wr.flags |= WR_F_IMM;
		else if (!cfg_.uc && rng_.one_in(4))
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
	case WR_ATOMIC_WRITE:
		ledger_.aim_store(rng_, w);
		break;
	case WR_FLUSH:
		w.wr.va = rng_.next();
		w.wr.rkey = ledger_.rkey;
		w.wr.flush_bytes = rng_.below(1u << 31);
		w.wr.feth = (uint8_t)rng_.range(1, 3) | (rng_.one_in(2) ? FETH_REGION : FETH_RANGE);
		break;
	default:
		if (rng_.one_in(2))
			w.wr.flags |= WR_F_WAIT_ALL;
		break;
	}
	w.wr.imm = (__be32)(uint32_t)w.key;
	w.wr.inv_rkey = (uint32_t)(w.key >> 32);
	if (cfg_.xrc)
		w.wr.srqn = rng_.range(1, 3);
	w.net = ledger_.net_posted;
	ledger_.net_posted += op != WR_LOCAL;
	ledger_.rd_posted += is_rd(op);

	Work &kept = ledger_.append();

	kept = w;
	return &kept;
}

void Workload::release(const Work &w)
{
	ledger_.read_done(w);
	if (w.wr.op != WR_LOCAL)
		arena_.put_until(w.arena_end);
	if (ledger_.reaped == ledger_.posted)
		arena_.put_all();
}

} /* namespace sim */
