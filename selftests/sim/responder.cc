// SPDX-License-Identifier: GPL-2.0
#include "responder.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "pattern.h"
#include "wire.h"
#include "world.h"

namespace sim {

Responder::Responder(World &world, int endpoint, const QpCfg &cfg, Ledger &ledger, uint64_t seed)
	: world_(world), ep_(endpoint), cfg_(cfg), ledger_(ledger), rng_(seed),
	  partial_(Rng::chance(cfg.partial)), stretch_(Rng::chance(cfg.stretch)),
	  rq_dry_(Rng::chance(cfg.rq_dry)), mem_(ledger.fresh()),
	  recv_(std::max(LAYOUT.area_bytes, cfg.write_max) + GUARD_BYTES),
	  res_(std::max<size_t>(1, cfg.max_rd_atomic)), res_work_(res_.size())
{
	struct rc_resp_cfg rc = {};

	rc.service = cfg.service();
	rc.max_rd_atomic = cfg.max_rd_atomic;
	rc.min_rnr_timer = cfg.rnr_field;
	rc.access = RC_ACCESS_WRITE | RC_ACCESS_READ | RC_ACCESS_ATOMIC | RC_ACCESS_FLUSH_GLOBAL |
		    RC_ACCESS_FLUSH_PERSISTENT;
	rc.pkey = PKEY_DEFAULT;
	rc.dqpn = 0x100 + ((uint32_t)endpoint ^ 1);
	rc.pmtu = cfg.pmtu;
	rc.rq_psn = cfg.psn;
	rc.recv_wait_ns = cfg.recv_wait_ns;
	rc.ahead_pkts = cfg.keep_requests;
	ahead_.limit(cfg.keep_room);
	rc_resp_init(&r, res_.data(), &rc);
	recvs_ = cfg.rq_entries;
}

/* The memory behind a key; ends the run for any target that is not in the ledger. */
uint8_t *Responder::at(uint64_t va, uint32_t bytes, uint32_t rkey)
{
	uint64_t offset = va - ledger_.va_base;

	if (rkey != ledger_.rkey || offset > mem_.size() || bytes > mem_.size() - offset)
		fail(ep_, "access outside the region: %u bytes at offset %" PRIx64, bytes, offset);
	return &mem_[offset];
}

void Responder::refill()
{
	refilling_ = false;
	recvs_ += rng_.range(1, cfg_.rq_entries);
}

bool Responder::take_recv(const Work &w)
{
	if (w.fault == FAULT_NO_RECV)
		return false;
	if (!recvs_) {
		if (!refilling_) {
			refilling_ = true;
			world_.at(world_.now_ns + rng_.below(30000), EV_REFILL, (uint32_t)ep_);
		}
		return false;
	}
	if (--recvs_ == 0 && !rng_.hit(rq_dry_ * 8))
		recvs_ = cfg_.rq_entries;
	else if (rng_.hit(rq_dry_))
		recvs_ = 0;
	return true;
}

/* The work request that an accepted packet belongs to; RC: the next in order, only once. */
Work &Responder::expected(const struct pkt &k, const Packet &p)
{
	if (cfg_.uc) {
		if (p.number < last_delivered_ || p.number >= ledger_.posted)
			fail(ep_, "UC message %" PRIu64 " again or out of order", p.number);
		if (ledger_.at(p.number).number != p.number)
			fail(ep_, "UC message %" PRIu64 " came too late to be checked", p.number);
		return ledger_.at(p.number);
	}
	if (!ledger_.live(p.number))
		fail(ep_, "work request %" PRIu64 " executed after its completion", p.number);

	Work &w = ledger_.at(p.number);

	if (w.net != ledger_.net_executed)
		fail(ep_,
		     "work request %" PRIu64 " (message %" PRIu64 ") executed, expected %" PRIu64,
		     w.number, w.net, ledger_.net_executed);
	if (k.srqn != w.wr.srqn)
		fail(ep_, "work request %" PRIu64 " with SRQ %u, expected %u", w.number, k.srqn,
		     w.wr.srqn);
	return w;
}

void Responder::executed(Work &w)
{
	if (w.executed)
		fail(ep_, "work request %" PRIu64 " executed twice", w.number);
	w.executed = true;
	ledger_.net_executed = w.net + 1;
	delivered++;
}

void Responder::refuse(const struct pkt &k, uint8_t fault)
{
	rc_resp_fail(&r, &k,
		     fault == FAULT_ACCESS  ? RC_FAIL_ACCESS :
		     fault == FAULT_INVALID ? RC_FAIL_INVALID_REQ :
		     fault == FAULT_OP	    ? RC_FAIL_OP :
					      RC_FAIL_RNR);
	if (fault != FAULT_NO_RECV)
		fatal = true;
}

void Responder::begin(Work &w, const struct rc_act &act)
{
	if (holding_recv_)
		fail(ep_, "a receive WQE of the message before is lost");
	in_msg_ = true;
	number_ = w.number;
	placed_ = 0;
	if (act.kind == RC_ACT_WRITE &&
	    (act.va != w.wr.va || act.rkey != w.wr.rkey || act.length != w.wr.length))
		fail(ep_, "WRITE %" PRIu64 " with a wrong RETH", w.number);
}

void Responder::finish(Work &w, const struct pkt &k, const struct rc_act &act)
{
	bool imm = w.wr.flags & WR_F_IMM, inv = w.wr.flags & WR_F_INV;
	bool recv = w.wr.op == WR_SEND || imm;

	if (placed_ != w.wr.length || act.length != w.wr.length)
		fail(ep_, "message %" PRIu64 " of %u bytes ends after %u (reported %u)", w.number,
		     w.wr.length, placed_, act.length);
	if (act.complete_recv != recv || holding_recv_ != recv)
		fail(ep_, "message %" PRIu64 ": receive completion %d, WQE taken %d", w.number,
		     act.complete_recv, holding_recv_);
	if (imm != !!(k.op_flags & OPF_IMM) || (imm && k.imm != w.wr.imm))
		fail(ep_, "message %" PRIu64 ": wrong immediate data", w.number);
	if (inv != !!(k.op_flags & OPF_IETH) || (inv && k.inv_rkey != w.wr.inv_rkey))
		fail(ep_, "message %" PRIu64 ": wrong key to invalidate", w.number);
	if (k.solicited != !!(w.wr.flags & WR_F_SOLICITED))
		fail(ep_, "message %" PRIu64 ": wrong solicited event bit", w.number);
	if (w.wr.op == WR_SEND && !pattern_matches(w.key, 0, recv_.data(), w.wr.length))
		fail(ep_, "message %" PRIu64 ": wrong contents", w.number);
	if (w.wr.op == WR_WRITE &&
	    !pattern_matches(w.key, 0, at(w.wr.va, w.wr.length, w.wr.rkey), w.wr.length))
		fail(ep_, "WRITE %" PRIu64 ": wrong contents", w.number);
	received += recv;
	holding_recv_ = false;
	in_msg_ = false;
	last_delivered_ = w.number + 1;
	executed(w);
}

void Responder::place(const struct pkt &k, const Packet &p, const struct rc_act &act)
{
	Work &w = expected(k, p);
	bool write = act.kind == RC_ACT_WRITE;

	if (write != (w.wr.op == WR_WRITE) || is_rd(w.wr.op))
		fail(ep_, "operation %u executed as %s", w.wr.op, write ? "WRITE" : "SEND");
	if (act.begin)
		begin(w, act);
	if (!in_msg_ || number_ != w.number)
		fail(ep_, "packet of message %" PRIu64 " placed into message %" PRIu64, w.number,
		     number_);
	if (act.offset != placed_ || act.offset != p.offset || act.bytes != k.payload_bytes ||
	    act.bytes > w.wr.length - placed_)
		fail(ep_, "%u bytes of message %" PRIu64 " at %u, expected at %u (sent for %u)",
		     act.bytes, w.number, act.offset, placed_, p.offset);
	if (w.fault && w.fault != FAULT_NO_RECV && (act.end || act.offset >= w.wr.length / 2)) {
		refuse(k, w.fault);
		return;
	}
	if (act.take_recv) {
		if (holding_recv_)
			fail(ep_, "second receive WQE for message %" PRIu64, w.number);
		if (!take_recv(w)) {
			if (rc_resp_recv_may_wait(&r, world_.now_ns)) {
				in_msg_ = in_msg_ && !act.begin;
				waits_ = true;
				return;
			}
			rc_resp_fail(&r, &k, RC_FAIL_RNR);
			/* UC drops the message; RC sends this packet again */
			in_msg_ = in_msg_ && !act.begin && !cfg_.uc;
			return;
		}
		holding_recv_ = true;
	}
	memcpy(write ? at(act.va + act.offset, act.bytes, act.rkey) : &recv_[act.offset],
	       p.payload(k), act.bytes);
	placed_ += act.bytes;
	if (act.end)
		finish(w, k, act);
	rc_resp_commit(&r, &k, &act, 0);
}

void Responder::read(const struct pkt &k, const Packet &p, const struct rc_act &act)
{
	Work &w = expected(k, p);

	/* A large READ comes as several consecutive requests. */
	if (w.wr.op != WR_READ || act.va != w.wr.va + asked_ || act.length > w.wr.length - asked_ ||
	    (!act.length && w.wr.length) || act.rkey != w.wr.rkey)
		fail(ep_, "READ %" PRIu64 " with a wrong RETH", w.number);
	if (w.fault == FAULT_ACCESS) {
		refuse(k, w.fault);
		return;
	}
	at(act.va, act.length, act.rkey);
	if (w.fault == FAULT_READ_GONE) {
		gone_psn_ = k.psn;
		gone_pkts_ = std::max(1u, (act.length + cfg_.pmtu - 1) / cfg_.pmtu);
	}
	asked_ += act.length;
	if (asked_ == w.wr.length) {
		asked_ = 0;
		executed(w);
	} else {
		extra_requests++;
	}
	res_work_[r.res_next] = w.number;
	rc_resp_commit(&r, &k, &act, 0);
}

void Responder::atomic(const struct pkt &k, const Packet &p, const struct rc_act &act)
{
	Work &w = expected(k, p);
	uint64_t orig, *v;
	uint8_t *mem;

	if (!is_atomic(w.wr.op) || act.cmp_swap != (w.wr.op == WR_CMP_SWAP) || act.va != w.wr.va ||
	    act.rkey != w.wr.rkey || act.swap_add != w.wr.swap_add ||
	    (act.cmp_swap && act.compare != w.wr.compare))
		fail(ep_, "atomic %" PRIu64 " with a wrong header", w.number);
	if (w.fault == FAULT_ACCESS) {
		refuse(k, w.fault);
		return;
	}
	mem = at(act.va, 8, act.rkey);
	memcpy(&orig, mem, 8);
	v = w.shared ? &world_.shared.value : &orig;
	uint64_t old = *v, now;

	now = act.cmp_swap ? (old == act.compare ? act.swap_add : old) : old + act.swap_add;
	if (w.shared)
		world_.shared.value = now;
	else
		memcpy(mem, &now, 8);
	executed(w);
	rc_resp_commit(&r, &k, &act, old);
}

void Responder::store(const struct pkt &k, const Packet &p, const struct rc_act &act)
{
	Work &w = expected(k, p);

	if (w.wr.op != WR_ATOMIC_WRITE || act.va != w.wr.va || act.rkey != w.wr.rkey ||
	    act.length != 8 || act.bytes != 8 || !pattern_matches(w.key, 0, p.payload(k), 8))
		fail(ep_, "ATOMIC WRITE %" PRIu64 " is wrong", w.number);
	if (w.fault == FAULT_ACCESS) {
		refuse(k, w.fault);
		return;
	}
	memcpy(at(act.va, 8, act.rkey), p.payload(k), 8);
	executed(w);
	res_work_[r.res_next] = w.number;
	rc_resp_commit(&r, &k, &act, 0);
}

/* In parts: until it is done, nothing behind it is executed. */
void Responder::flush(const struct pkt &k, const Packet &p, const struct rc_act &act)
{
	Work &w = expected(k, p);

	if (w.wr.op != WR_FLUSH || act.va != w.wr.va || act.rkey != w.wr.rkey ||
	    act.length != w.wr.flush_bytes || act.feth != w.wr.feth)
		fail(ep_, "FLUSH %" PRIu64 " with wrong headers", w.number);
	if (w.fault == FAULT_ACCESS) {
		refuse(k, w.fault);
		return;
	}
	if (!rng_.one_in(2)) {
		waits_ = true;
		again_ns_ = world_.now_ns + 1 + rng_.below(500);
		return;
	}
	executed(w);
	res_work_[r.res_next] = w.number;
	rc_resp_commit(&r, &k, &act, 0);
}

bool Responder::rx(const struct pkt &k, Packet *p)
{
	if (kept_.empty()) {
		bool stays = judge(k, p);

		if (!waits_)
			return stays;
	}
	kept_.emplace_back(k, p);
	return true;
}

void Responder::resume()
{
	while (!kept_.empty()) {
		auto [k, p] = kept_.front();
		bool stays = judge(k, p);

		if (waits_)
			return;
		waited += !r.nak_due && k.op_flags & (OPF_SEND | OPF_WRITE);
		kept_.pop_front();
		if (!stays)
			world_.pool.put(p);
	}
	resume_ahead();
}

/* Those whose turn has come. One that waits goes in front of all. */
void Responder::resume_ahead()
{
	if (ledger_.failed || r.in_error)
		ahead_.purge(world_.pool);
	while (kept_.empty() && !ahead_.empty() && rc_resp_ahead_is_next(&r, ahead_.first_psn())) {
		auto [k, p] = ahead_.take();

		if (!rx(k, p))
			world_.pool.put(p);
	}
}

/* True: it is kept until its turn comes. */
bool Responder::judge(const struct pkt &k, Packet *packet)
{
	const Packet &p = *packet;

	waits_ = false;
	again_ns_ = 0;
	struct rc_act act;

	if (ledger_.failed)
		return false;
	if (cfg_.uc)
		uc_resp_rx(&r, &k, &act);
	else
		rc_resp_rx(&r, &k, &act);
	world_.trace.add(world_.now_ns, ep_, "rx request", k.opcode, k.psn, p.number,
			 (uint64_t)act.kind << 8 | act.event);
	if (act.restart) {
		if (!in_msg_ || !cfg_.uc)
			fail(ep_, "restart without a message");
		in_msg_ = false;
		recvs_ += holding_recv_;
		holding_recv_ = false;
	}
	switch (act.kind) {
	case RC_ACT_NONE:
		duplicates += act.event == RC_EV_DUPLICATE;
		break;
	case RC_ACT_RECV:
	case RC_ACT_WRITE:
		place(k, p, act);
		break;
	case RC_ACT_READ:
		read(k, p, act);
		break;
	case RC_ACT_ATOMIC:
		atomic(k, p, act);
		break;
	case RC_ACT_ATOMIC_WRITE:
		store(k, p, act);
		break;
	case RC_ACT_FLUSH:
		flush(k, p, act);
		break;
	case RC_ACT_KEEP:
		if (!ahead_.add(k, packet))
			break;
		kept++;
		return true;
	default:
		fail(ep_, "packet of work request %" PRIu64 " refused", p.number);
	}
	return false;
}

void Responder::hand_over(Wire &wire, const struct run &run)
{
	Packet *p = world_.pool.get();

	frame_stretch(p, run, [&](uint8_t *to, uint32_t n) {
		if (n)
			memcpy(to, at(run.va + run.offset, n, run.rkey), n);
	});
	world_.trace.add(world_.now_ns, ep_, "tx stretch", p->stretch->k.opcode, run.psn, run.msn,
			 run.npkts);
	wire.send(world_.now_ns, p);
}

/* A READ's responses are read through the PD of the SRQ that the request named. */
void Responder::check_srqn(const struct run &run)
{
	const uint64_t number = res_work_[run.slot];

	if (ledger_.live(number) && run.srqn != ledger_.at(number).wr.srqn)
		fail(ep_, "responses to READ %" PRIu64 " with SRQ %u", number, run.srqn);
}

/* Is a READ's memory gone? Either taken away during the READ, or the READ is complete. */
bool Responder::is_gone(const struct run &run) const
{
	if (run.kind != RUN_READ_RESP || !run.bytes)
		return false;
	return (cfg_.forget && !ledger_.live(res_work_[run.slot])) ||
	       (run.last && psn_within(run.psn, gone_psn_, gone_pkts_));
}

uint32_t Responder::send(Wire &wire, uint32_t budget, uint64_t *again_ns)
{
	uint32_t sent = 0;
	struct run run;
	struct pkt k;

	while (sent < budget) {
		uint32_t max_pkts = rng_.range(1, cfg_.max_batch), n;

		if (!rc_resp_next(&r, max_pkts, &run))
			break;
		if (cfg_.uc)
			fail(ep_, "a UC responder answers");
		if (!run.npkts || run.npkts > max_pkts)
			fail(ep_, "run of %u packets, at most %u wanted", run.npkts, max_pkts);
		if (run.kind != RUN_CONTROL && run.kind != RUN_READ_RESP)
			fail(ep_, "run of kind %u from the responder", run.kind);
		if (run.kind == RUN_READ_RESP)
			check_srqn(run);
		*again_ns = wire.busy_until(world_.now_ns);
		if (*again_ns)
			break;
		if (is_gone(run)) {
			if (rc_resp_read_failed(&r, &run))
				fatal = true;
			else
				forgotten++;
			if (fatal && !ledger_.live(res_work_[run.slot]))
				fail(ep_, "a late duplicate of a READ ends the QP");
			continue;
		}
		n = run.npkts;
		if (rng_.hit(partial_)) {
			n = rng_.below(n + 1);
			*again_ns = world_.now_ns + 500;
		}
		if (n == run.npkts && rng_.hit(stretch_)) {
			hand_over(wire, run);
			rc_resp_sent(&r, &run, n);
			sent += n;
			continue;
		}
		for (uint32_t i = 0; i < n; i++) {
			Packet *p = world_.pool.get();
			uint8_t *to;

			run_pkt(&run, i, &k);
			to = frame_begin(p, &k);
			if (k.payload_bytes) {
				if (run.kind != RUN_READ_RESP)
					fail(ep_, "acknowledge with payload");
				memcpy(to,
				       at(run.va + run.offset + (uint64_t)i * run.pmtu,
					  k.payload_bytes, run.rkey),
				       k.payload_bytes);
			}
			frame_end(p, &k);
			world_.trace.add(world_.now_ns, ep_, "tx response", k.opcode, k.psn,
					 k.syndrome, k.msn);
			wire.send(world_.now_ns, p);
		}
		rc_resp_sent(&r, &run, n);
		sent += n;
		if (*again_ns)
			break;
	}
	return sent;
}

void Responder::end()
{
	ahead_.purge(world_.pool);
}

/* All memory is as the ledger says, and nothing around it was touched. */
void Responder::check_end()
{
	ledger_.check_untouched(ep_, mem_);
	if (cfg_.uc || cfg_.fault || cfg_.flush_at || world_.expects_failure())
		return;
	ledger_.check_outcome(ep_, mem_);
}

} /* namespace sim */
