/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A responder whose peer asks for anything. check() and the code at each verdict test the
 * invariants.
 */
#ifndef TERN_FUZZ_RC_RESPONDER_H
#define TERN_FUZZ_RC_RESPONDER_H

#include <array>
#include <cstring>
#include <tuple>

#include "proto/rc_resp.h"
#include "rc_draws.h"

class Responder {
public:
	explicit Responder(Choices &in) : in_(in)
	{
		rc_resp_cfg cfg = {};

		cfg.service = services[in.below(3)];
		cfg.max_rd_atomic = static_cast<u8>(in.below(kRes + 1));
		cfg.min_rnr_timer = 1;
		cfg.access = in.below(4) ? 31 : in.below(32);
		cfg.pmtu = 256u << in.below(5);
		cfg.rq_psn = psn_add(0xfffff0, in.byte());
		cfg.recv_wait_ns = 20000;
		cfg.ahead_pkts = in.below(2) ? in.below(64) : 0;
		rc_resp_init(&r_, res_->data(), &cfg);
	}

	void step()
	{
		if (in_.below(4))
			rx();
		else if (in_.below(8))
			send();
		else
			modify();
		check();
	}

private:
	enum { kRes = 4 };
	using Table = std::array<rc_res, kRes>;

	u32 count() const { return r_.cfg.max_rd_atomic ? r_.cfg.max_rd_atomic : 1; }

	void modify()
	{
		if (in_.below(2)) {
			r_.cfg.access = in_.below(32);
			r_.cfg.min_rnr_timer = in_.below(32);
		} else if (r_.cfg.service != BTH_UC) {
			resize(in_.below(kRes + 1));
		}
	}

	static bool is_same(const rc_res &a, const rc_res &b)
	{
		auto all = [](const rc_res &r) {
			return std::tuple(r.state, r.kind, r.answered, r.first_psn, r.npkts,
					  r.start_pkt, r.next_pkt, r.end_pkt, r.then_pkt,
					  r.then_end, r.msn, r.va, r.rkey, r.length, r.srqn,
					  r.orig);
		};

		return all(a) == all(b);
	}

	// What is kept does not change; what is unanswered is kept.
	void resize(u32 max)
	{
		Table &now = *res_, &then = tables_[res_ == &tables_[0]];
		const u32 had = count();
		std::array<bool, kRes> answered = {};
		u32 kept = 0, owed = 0, owed_then = 0;

		for (u32 i = 0; i < had; i++)
			owed += is_owed(now, i);
		memset(static_cast<void *>(&then), 0x55, sizeof(then));
		if (!rc_resp_resize(&r_, then.data(), static_cast<u8>(max))) {
			REQUIRE(owed > (max ? max : 1u) && count() == had && r_.res == now.data());
			return;
		}
		REQUIRE(r_.cfg.max_rd_atomic == max && r_.res == then.data());
		for (u32 i = 0; i < count(); i++) {
			u32 was = 0;

			if (then[i].state == RC_RES_FREE)
				continue;
			while (was < had && !is_same(now[was], then[i]))
				was++;
			REQUIRE(was < had);
			answered[i] = answered_[was];
			kept++;
		}
		res_ = &then;
		answered_ = answered;
		for (u32 i = 0; i < count(); i++)
			owed_then += is_owed(then, i);
		REQUIRE(kept <= had && owed_then == owed);
	}

	bool is_owed(const Table &table, u32 i) const
	{
		return table[i].state == RC_RES_PENDING && !answered_[i];
	}

	void rx()
	{
		static const u8 ops[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
					 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x16, 0x17, 0x1c, 0x1d};
		u8 opcode = static_cast<u8>(r_.cfg.service | ops[in_.below(sizeof(ops))]);
		pkt k = draw_packet(in_, opcode, draw_psn(in_, r_.epsn), r_.cfg.pmtu);
		const rc_resp before = r_;
		const Table kept = *res_;

		if (k.op_flags & OPF_XRCETH)
			k.srqn = in_.below(16) ? 1 : 2;

		if (r_.cfg.service != BTH_UC && in_.below(4) == 0)
			k = duplicate();
		u32 took;
		rc_act act;

		if (!(k.op_flags & OPF_VALID))
			return;
		if (r_.cfg.service != BTH_UC)
			rc_resp_rx(&r_, &k, &act);
		else
			uc_resp_rx(&r_, &k, &act);
		if (act.restart)
			in_msg_ = false;
		if (act.kind == RC_ACT_NONE || act.kind == RC_ACT_FATAL) {
			REQUIRE(act.kind == RC_ACT_NONE || r_.in_error);
			for (u32 i = 0; i < count(); i++) {
				const rc_res &res = (*res_)[i];

				if (res.kind == RC_ACT_READ && (kept[i].state != res.state ||
								kept[i].next_pkt != res.next_pkt ||
								kept[i].end_pkt != res.end_pkt))
					check_replay(k, res);
			}
			return;
		}
		if (act.kind == RC_ACT_KEEP) {
			// Nothing but a NAK comes of it.
			REQUIRE(psn_after(k.psn, r_.epsn) && r_.epsn == before.epsn);
			REQUIRE(((k.psn - r_.epsn) & PSN_MASK) < r_.cfg.ahead_pkts);
			return;
		}
		REQUIRE(!before.in_error);
		REQUIRE(k.psn == r_.epsn);
		check_act(k, act);
		if (in_.below(8) == 0) {
			auto why = static_cast<rc_fail>(in_.below(RC_FAIL_OP + 1));

			if (why == RC_FAIL_RNR && act.take_recv && waits_for_recv())
				return;
			rc_resp_fail(&r_, &k, why);
			if (r_.cfg.service == BTH_UC)
				in_msg_ = false;
			else
				REQUIRE(r_.epsn == k.psn);
			return;
		}
		if (k.op_flags & OPF_LIMITED)
			answered_[r_.res_next] = false;
		rc_resp_commit(&r_, &k, &act, in_.byte());
		took = act.kind == RC_ACT_READ ? (act.length + (u64)r_.cfg.pmtu - 1) / r_.cfg.pmtu :
		       k.op_flags & OPF_LIMITED ? 1 :
						  k.npkts;
		REQUIRE(r_.epsn == psn_add(k.psn, took ? took : 1));
		in_msg_ = !act.end;
		if (in_msg_) {
			placed_ = act.offset + act.bytes;
			kind_ = act.kind;
			length_ = act.length;
			srqn_ = k.srqn;
		}
	}

	// A duplicate is answered with what it asks for.
	void check_replay(const pkt &k, const rc_res &res)
	{
		const u64 pmtu = r_.cfg.pmtu, begin = res.next_pkt * pmtu, end = res.end_pkt * pmtu;

		REQUIRE(res.state == RC_RES_PENDING &&
			psn_add(res.first_psn, res.next_pkt) == k.psn);
		REQUIRE((end < res.length ? end : res.length) - begin == k.dma_bytes);
	}

	// An earlier request with an answer again: the whole, a part, or something beside it.
	pkt duplicate()
	{
		const rc_res &res = (*res_)[in_.below(count())];
		u32 at = in_.below(4) ? 0 : in_.below(res.npkts < 255 ? res.npkts + 1 : 255);
		pkt k = {};

		k.opcode = r_.cfg.service | (res.kind == RC_ACT_ATOMIC	     ? OP_FETCH_ADD :
					     res.kind == RC_ACT_ATOMIC_WRITE ? OP_ATOMIC_WRITE :
					     res.kind == RC_ACT_FLUSH	     ? OP_FLUSH :
									       OP_READ_REQUEST);
		k.op_flags = opcode_info(k.opcode)->flags;
		k.psn = psn_add(res.first_psn, at);
		k.npkts = 1;
		k.va = res.va + at * r_.cfg.pmtu;
		k.rkey = res.rkey;
		k.srqn = res.srqn;
		k.dma_bytes = res.length - at * r_.cfg.pmtu;
		if (in_.below(4) == 0)
			k.dma_bytes = draw_length(in_, r_.cfg.pmtu);
		return k;
	}

	void check_act(const pkt &k, const rc_act &act)
	{
		REQUIRE(act.begin == !in_msg_);
		switch (act.kind) {
		case RC_ACT_RECV:
		case RC_ACT_WRITE:
			REQUIRE(act.bytes == k.payload_bytes &&
				act.bytes <= (u64)k.npkts * r_.cfg.pmtu);
			REQUIRE(act.offset == (in_msg_ ? placed_ : 0));
			REQUIRE(static_cast<u64>(act.offset) + act.bytes <= act.length);
			REQUIRE(act.length <= 0x80000000u);
			if (act.kind == RC_ACT_WRITE && act.end)
				REQUIRE(act.offset + act.bytes == act.length);
			if (in_msg_)
				REQUIRE(act.kind == kind_ && k.srqn == srqn_ &&
					(act.kind != RC_ACT_WRITE || act.length == length_));
			break;
		case RC_ACT_READ:
			REQUIRE(act.length <= 0x80000000u);
			break;
		case RC_ACT_FLUSH:
			// Of a whole region address and length are ignored.
			REQUIRE(act.length <= 0x80000000u || act.feth & FETH_REGION);
			REQUIRE(act.feth & 3 && !(act.feth & 0xec));
			break;
		case RC_ACT_ATOMIC_WRITE:
			REQUIRE(act.length == 8 && act.bytes == 8 && !(act.va & 7));
			break;
		default:
			REQUIRE(act.kind == RC_ACT_ATOMIC && !(act.va & 7));
			break;
		}
	}

	void send()
	{
		u32 runs = in_.below(16);

		while (runs--) {
			u32 max = in_.below(64) + 1;
			run r, again;

			if (!rc_resp_next(&r_, max, &r))
				return;
			REQUIRE(r_.cfg.service != BTH_UC);
			REQUIRE(r.npkts >= 1 && r.npkts <= max);
			REQUIRE(rc_resp_next(&r_, max, &again) && again.psn == r.psn &&
				again.npkts == r.npkts && again.kind == r.kind);
			if (r.kind == RUN_READ_RESP) {
				REQUIRE(r.slot < count());
				const rc_res &res = (*res_)[r.slot];

				REQUIRE(res.kind != RC_ACT_ATOMIC);
				REQUIRE(r.rkey == res.rkey && r.va == res.va && r.srqn == res.srqn);
				REQUIRE(r.offset + r.bytes <= res.length);
				for (u32 i = 0; i < r.npkts; i++) {
					pkt k;

					run_pkt(&r, i, &k);
					REQUIRE(k.payload_bytes <= r_.cfg.pmtu);
					REQUIRE(r.offset + static_cast<u64>(i) * r.pmtu +
							k.payload_bytes <=
						res.length);
				}
				if (in_.below(answered_[r.slot] ? 4 : 64) == 0) {
					memory_gone(r);
					continue;
				}
			} else {
				REQUIRE(r.kind == RUN_CONTROL && !r.bytes);
			}

			u32 n = in_.below(4) ? r.npkts : in_.below(r.npkts + 1);

			const Table before = *res_;

			rc_resp_sent(&r_, &r, n);
			if (r.kind == RUN_READ_RESP && (*res_)[r.slot].state != RC_RES_PENDING)
				answered_[r.slot] = true;
			for (u32 i = 0; i < count(); i++)
				if (before[i].kind == RC_ACT_ATOMIC &&
				    before[i].state != (*res_)[i].state)
					answered_[i] = true;
		}
	}

	// Nobody may still wait for what was answered: then it is harmless.
	void memory_gone(const run &r)
	{
		const rc_resp before = r_;
		bool fatal = rc_resp_read_failed(&r_, &r);

		REQUIRE(fatal == !answered_[r.slot]);
		if (fatal) {
			REQUIRE(r_.in_error && r_.nak_due && r_.nak_psn == r.psn && !r_.npending);
			return;
		}
		REQUIRE(r_.in_error == before.in_error && r_.nak_due == before.nak_due &&
			r_.nak_syndrome == before.nak_syndrome && r_.nak_psn == before.nak_psn);
		REQUIRE(r_.npending == before.npending - 1);
	}

	void check()
	{
		u32 pending = 0;

		for (u32 i = 0; i < count(); i++) {
			const rc_res &res = (*res_)[i];

			pending += res.state == RC_RES_PENDING;
			if (res.state == RC_RES_FREE)
				continue;
			REQUIRE(res.next_pkt <= res.end_pkt && res.end_pkt <= res.npkts);
			REQUIRE(res.start_pkt <= res.next_pkt);
			REQUIRE(res.state != RC_RES_PENDING || res.next_pkt < res.end_pkt);
		}
		// A pending replay stays when the table shrinks to none.
		REQUIRE(pending == r_.npending && pending <= count());
		REQUIRE(r_.res_next < count());
	}

	// It ends in time, and changes nothing else. Here the request is lost then.
	bool waits_for_recv()
	{
		const rc_resp before = r_;
		u64 most = r_.cfg.service != BTH_UC ? r_.cfg.recv_wait_ns : 0, look;
		bool waits;

		now_ += 1 + 50 * in_.byte();
		waits = rc_resp_recv_may_wait(&r_, now_);
		look = rc_resp_recv_look_ns(&r_);
		REQUIRE(waits == !!look);
		REQUIRE(!waits || (look > now_ && look <= r_.recv_since_ns + most));
		REQUIRE(waits || !most || now_ - before.recv_since_ns >= most);
		REQUIRE(r_.epsn == before.epsn && r_.nak_due == before.nak_due &&
			r_.ack_due == before.ack_due && r_.in_error == before.in_error);
		return waits;
	}

	Choices &in_;
	rc_resp r_;
	u64 now_ = 0;
	Table tables_[2] = {};
	Table *res_ = &tables_[0];
	std::array<bool, kRes> answered_ = {}; // sent to its end once
	bool in_msg_ = false;
	u8 kind_ = 0;
	u32 placed_ = 0, length_ = 0, srqn_ = 0;
};

#endif
