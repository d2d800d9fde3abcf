// SPDX-License-Identifier: GPL-2.0
// RC and UC requester and responder under a hostile peer: any packets that the parser accepts, in
// any order that the headers allow for the calls. check() of each half and the code at each verdict
// test the invariants.
#include "fuzz.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "proto/rc_req.h"
#include "proto/rc_resp.h"

namespace {

// A length near a limit, or any.
u32 draw_length(Choices &in, u32 pmtu)
{
	switch (in.below(8)) {
	case 0:
		return 0;
	case 1:
		return in.byte();
	case 2:
		return pmtu;
	case 3:
		return pmtu * in.byte();
	case 4:
		return pmtu * in.byte() + 1;
	case 5:
		return pmtu * (in.byte() + 1u) - 1;
	case 6:
		return 0x80000000u - in.byte();
	default:
		return in.dword();
	}
}

// A PSN near an important one, or any.
u32 draw_psn(Choices &in, u32 near)
{
	u8 how = in.byte();

	if (how < 160)
		return near;
	if (how < 250)
		return psn_add(near, in.byte() - 100u);
	return in.dword() & PSN_MASK;
}

// As pkt_parse() or run_stretch() would fill it.
pkt draw_packet(Choices &in, u8 opcode, u32 psn, u32 pmtu)
{
	static const u8 syndromes[] = {0x1f, 0x00, 0x60, 0x61, 0x62, 0x63,
				       0x64, 0x21, 0x20, 0x7f, 0x40, 0x9f};
	pkt k = {};
	u8 how;

	k.opcode = opcode;
	k.op_flags = opcode_info(opcode)->flags;
	k.psn = psn;
	k.npkts = 1;
	how = in.byte();
	k.ack_req = how & 1;
	k.syndrome = in.below(4) ? syndromes[0] : syndromes[in.below(sizeof(syndromes))];
	k.msn = in.byte();
	k.va = in.below(16) * 8 + (in.below(16) == 0);
	k.rkey = in.below(2);
	k.swap_add = 1;
	k.feth = in.below(8) ? FETH_GLOBAL : in.byte() & 0x3f;
	k.dma_bytes = draw_length(in, pmtu);
	if (k.op_flags & OPF_PAYLOAD) {
		u32 n = draw_length(in, pmtu);

		// Usually what a correct peer sends.
		if (in.below(2))
			n = (k.op_flags & OPF_LAST) ? in.byte() : pmtu;
		if ((how & 6) == 6 && !(k.op_flags & OPF_ATOMIC_WRITE)) {
			// A stretch, usually of as many packets as its payload needs.
			if (n > 64 * pmtu)
				n = 64 * pmtu + (n & 1);
			k.npkts = n / pmtu + !!(n % pmtu) + (how >> 7);
			if (!k.npkts)
				k.npkts = 1;
			if ((how & 8) && !(k.op_flags & OPF_LAST))
				n = k.npkts * pmtu;
			k.payload_bytes = n;
		} else {
			k.payload_bytes = n > 4096 + pmtu ? 4096 + pmtu : n;
		}
		if (in.below(4) && (k.op_flags & OPF_FIRST) && (k.op_flags & OPF_LAST))
			k.dma_bytes = k.payload_bytes;
		if (k.op_flags & OPF_ATOMIC_WRITE && in.below(4))
			k.dma_bytes = k.payload_bytes = 8;
	}
	return k;
}

// By a choice.
constexpr u8 services[] = {BTH_UC, BTH_XRC, BTH_RC, BTH_RC};

class Requester {
public:
	explicit Requester(Choices &in) : in_(in)
	{
		rc_req_cfg cfg = {};

		cfg.service = services[in.below(4)];
		cfg.retry_cnt = static_cast<u8>(in.below(8));
		cfg.rnr_retry = static_cast<u8>(in.below(8));
		cfg.max_rd_atomic = static_cast<u8>(in.below(5));
		cfg.pmtu = 256u << in.below(5);
		cfg.sq_psn = psn_add(0xfffff0, in.byte());
		cfg.window = draw_window();
		cfg.max_window = in.below(2) ? draw_window() : 0;
		cfg.ack_timeout.first_ns = in.below(4) ? 1000 : 0;
		most_reads_ = cfg.max_rd_atomic;
		began_with_ = cfg.window;
		most_window_ = std::max(cfg.window, cfg.max_window);
		first_ = in.below(2) ? 0xfffffff0 : 0;
		rc_req_init(&q_, ring_, kEntries, first_, &cfg);
		reaped_ = first_;
	}

	void step()
	{
		switch (in_.below(12)) {
		case 0:
		case 1:
		case 2:
			post();
			break;
		case 3:
		case 4:
		case 5:
			send();
			break;
		case 6:
		case 7:
		case 8:
		case 9:
			rx();
			break;
		case 10:
			time_passes();
			break;
		default:
			rare();
			break;
		}
		reap();
		check();
	}

private:
	enum { kEntries = 8 };

	u32 draw_window()
	{
		static const u32 windows[] = {1, 2, 3, 7, 64, 1u << 22};

		return windows[in_.below(6)];
	}

	bool is_reliable() const { return q_.cfg.service != BTH_UC; }
	rc_sqe &at(u32 slot) { return ring_[slot & (kEntries - 1)]; }
	bool is_posted(u32 slot) const { return slot - q_.tail < q_.head - q_.tail; }

	void post()
	{
		struct wr wr = {};
		bool room = q_.head - q_.tail < kEntries;

		wr.op = static_cast<u8>(is_reliable()	 ? in_.below(WR_LOCAL + 1) :
					in_.below(3) < 2 ? in_.below(WR_WRITE + 1) :
							   static_cast<u32>(WR_LOCAL));
		// The send queue refuses them before an engine sees them.
		if (q_.cfg.service == BTH_XRC && wr_is_placement(&wr))
			wr.op = WR_WRITE;
		wr.flags = in_.byte() & 0x1f;
		wr.length = draw_length(in_, q_.cfg.pmtu);
		if (wr.length > 0x80000000u)
			wr.length = 0x80000000u;
		if (wr.op == WR_CMP_SWAP || wr.op == WR_FETCH_ADD || wr.op == WR_ATOMIC_WRITE)
			wr.length = 8;
		if (wr.op == WR_LOCAL || wr.op == WR_FLUSH)
			wr.length = 0;
		if (wr.op == WR_FLUSH) {
			wr.feth = in_.byte() & 0x3f;
			wr.flush_bytes = draw_length(in_, q_.cfg.pmtu);
		}
		REQUIRE(rc_req_post(&q_, &wr) == room);
		if (room)
			local_runs_[(q_.head - 1) & (kEntries - 1)] = 0;
	}

	void run_local(const run &r)
	{
		REQUIRE(at(r.slot).wr.op == WR_LOCAL);
		REQUIRE(local_runs_[r.slot & (kEntries - 1)]++ == 0);
		rc_req_local_done(&q_, r.slot, in_.below(8) ? WR_ST_SUCCESS : WR_ST_MW_BIND_ERR);
		reap();
	}

	void send()
	{
		u32 runs = in_.below(16);

		while (runs--) {
			u32 max = in_.below(64) + 1, n;
			run r, again;

			if (!rc_req_next(&q_, now_, max, &r))
				return;
			REQUIRE(q_.state != RC_REQ_ERROR && now_ >= q_.rnr_until_ns);
			REQUIRE(is_posted(r.slot));
			if (r.kind == RUN_LOCAL) {
				run_local(r);
				continue;
			}
			REQUIRE(r.kind == RUN_REQUEST && r.npkts >= 1 && r.npkts <= max);
			REQUIRE(rc_req_next(&q_, now_, max, &again) && again.psn == r.psn &&
				again.npkts == r.npkts && again.bytes == r.bytes);
			check_run(r);
			n = in_.below(4) ? r.npkts : in_.below(r.npkts + 1);
			rc_req_sent(&q_, now_, &r, n);
			if (n < r.npkts && in_.below(2)) {
				rc_req_fail(&q_, r.slot, WR_ST_LOC_PROT_ERR);
				reap();
			}
			if (!is_reliable())
				reap();
		}
	}

	void check_run(const run &r)
	{
		u32 length = at(r.slot).wr.length;

		REQUIRE(r.offset + r.bytes <= length);
		for (u32 i = 0; i < r.npkts; i++) {
			u8 bytes[PKT_HDR_MAX_BYTES];
			pkt k;

			run_pkt(&r, i, &k);
			REQUIRE(opcode_info(k.opcode)->flags & OPF_VALID || !is_reliable());
			REQUIRE(k.payload_bytes <= q_.cfg.pmtu);
			REQUIRE(r.offset + static_cast<u64>(i) * r.pmtu + k.payload_bytes <=
				length);
			pkt_build(bytes, &k);
		}
		check_stretch(r);
	}

	static void check_stretch(const run &r)
	{
		pkt first, last, k;

		run_stretch(&r, &k);
		run_pkt(&r, 0, &first);
		run_pkt(&r, r.npkts - 1, &last);
		REQUIRE(k.npkts == r.npkts && k.psn == r.psn && k.payload_bytes == r.bytes);
		REQUIRE(k.ack_req == last.ack_req && k.solicited == last.solicited);
		if (!k.op_flags)
			return;
		REQUIRE((k.op_flags & OPF_FIRST) == (opcode_info(first.opcode)->flags & OPF_FIRST));
		REQUIRE((k.op_flags & OPF_LAST) == (opcode_info(last.opcode)->flags & OPF_LAST));
		REQUIRE(r.npkts > 1 || k.opcode == first.opcode);
	}

	void rx()
	{
		static const u8 ops[] = {OP_ACK,
					 OP_READ_RESP_FIRST,
					 OP_READ_RESP_MIDDLE,
					 OP_READ_RESP_LAST,
					 OP_READ_RESP_ONLY,
					 OP_ATOMIC_ACK};
		pkt k = draw_packet(in_, ops[in_.below(sizeof(ops))], draw_psn(in_, q_.psn_una),
				    q_.cfg.pmtu);
		rc_req_act act;

		if (!is_reliable())
			return;
		make_plausible(k);

		const u32 una = q_.psn_una;

		rc_req_rx(&q_, now_, &k, &act);
		if (is_reserved(k.syndrome))
			REQUIRE(act.kind == RC_REQ_DONE && q_.psn_una == una);
		if (act.kind == RC_REQ_DONE)
			return;
		REQUIRE(act.slot == q_.una && q_.una != q_.head && q_.state != RC_REQ_ERROR);

		const rc_sqe &s = at(act.slot);

		REQUIRE(s.state == RC_SQE_ACTIVE);
		if (act.kind == RC_REQ_PLACE) {
			const u32 length = s.wr.op == WR_READ ? s.wr.length : 0;

			REQUIRE(s.wr.op == WR_READ || wr_is_placement(&s.wr));
			REQUIRE(act.bytes == k.payload_bytes);
			REQUIRE(act.npkts == k.npkts && act.npkts);
			REQUIRE(act.offset <= length && act.bytes <= length - act.offset);
		} else {
			REQUIRE(act.kind == RC_REQ_PLACE_ATOMIC);
			REQUIRE(s.wr.op == WR_CMP_SWAP || s.wr.op == WR_FETCH_ADD);
		}
		if (in_.below(16))
			rc_req_placed(&q_, now_, &act);
		else
			rc_req_fail(&q_, act.slot, WR_ST_LOC_PROT_ERR);
	}

	// Neither an ACK, nor an RNR NAK, nor a NAK with a known reason.
	static bool is_reserved(u8 syndrome)
	{
		return syndrome >= 0x64 || (syndrome >= 0x40 && syndrome < 0x60);
	}

	// Sometimes the response that the oldest request waits for, so that a run makes progress.
	void make_plausible(pkt &k)
	{
		const rc_sqe &s = at(q_.una);
		u32 i = (q_.psn_una - s.first_psn) & PSN_MASK, left, end;

		if (!in_.below(3) || q_.una == q_.head || s.state != RC_SQE_ACTIVE)
			return;
		k.psn = q_.psn_una;
		k.opcode = s.wr.op == WR_READ	   ? OP_READ_RESP_MIDDLE :
			   s.wr.op == WR_CMP_SWAP  ? OP_ATOMIC_ACK :
			   s.wr.op == WR_FETCH_ADD ? OP_ATOMIC_ACK :
			   wr_is_placement(&s.wr)  ? OP_READ_RESP_ONLY :
						     OP_ACK;
		if (s.wr.op == WR_READ) {
			left = s.wr.length - i * q_.cfg.pmtu;
			end = i - i % s.read_pkts + s.read_pkts;
			if (end > s.npkts)
				end = s.npkts;
			if (k.npkts > end - i)
				k.npkts = end - i;
			if (i + k.npkts == end)
				k.opcode = OP_READ_RESP_LAST;
			k.payload_bytes = i + k.npkts == s.npkts ? left : k.npkts * q_.cfg.pmtu;
		} else {
			k.npkts = 1;
			k.payload_bytes = 0;
		}
		k.op_flags = opcode_info(k.opcode)->flags;
	}

	void time_passes()
	{
		u64 at = rc_req_deadline(&q_);

		now_ += in_.word();
		if (at && in_.below(2) && at > now_)
			now_ = at;
		if (at && now_ >= at)
			rc_req_timeout(&q_, now_);
	}

	void rare()
	{
		switch (in_.below(9)) {
		case 0:
			rc_req_flush(&q_);
			break;
		case 8: {
			const pacer_rate rate = {in_.below(4) * in_.word(),
						 in_.below(2) * in_.word()};

			rc_req_set_rate(&q_, &rate);
			break;
		}
		case 1:
		case 2:
			rc_req_drain(&q_, in_.below(2));
			break;
		case 3:
			rc_req_fail(&q_, q_.tail + in_.below(kEntries + 1), WR_ST_LOC_PROT_ERR);
			break;
		case 4:
			rc_req_set_retries(&q_, in_.below(8), in_.below(8));
			break;
		case 5: {
			const rc_ack_timeout timeout = {.first_ns = in_.below(4) * u64{in_.word()},
							.least_ns = in_.below(2) * u64{in_.word()},
							.all_ns = in_.below(2) * u64{in_.word()}};

			rc_req_set_ack_timeout(&q_, now_, &timeout);
			break;
		}
		case 6:
			change_window();
			break;
		default:
			q_.cfg.max_rd_atomic = static_cast<u8>(in_.below(5));
			most_reads_ = std::max<u32>(most_reads_, q_.cfg.max_rd_atomic);
			break;
		}
		rc_req_is_drained(&q_);
	}

	// Another window, as when a path changes between wire and memory; or another limit, as of
	// another path.
	void change_window()
	{
		rc_window window = q_.window;

		if (in_.below(2)) {
			began_with_ = draw_window();
			rc_window_init(&window, began_with_, in_.below(2) ? draw_window() : 0);
		} else {
			rc_window_limit(&window, std::max(draw_window(), began_with_));
		}
		rc_req_set_window(&q_, &window);
		most_window_ = std::max(most_window_, window.max);
	}

	// In order, each once; after a failure only a LOCAL that was executed succeeds.
	void reap()
	{
		wr_status status;
		u32 slot;

		while (rc_req_reap(&q_, &slot, &status)) {
			const rc_sqe &s = at(slot);

			REQUIRE(slot == reaped_);
			reaped_++;
			if (status == WR_ST_SUCCESS)
				REQUIRE(!failed_ || s.wr.op == WR_LOCAL);
			else if (failed_)
				REQUIRE(status == WR_ST_WR_FLUSH_ERR);
			if (status != WR_ST_SUCCESS)
				failed_ = true;
			if (s.wr.op == WR_LOCAL && status == WR_ST_SUCCESS)
				REQUIRE(local_runs_[slot & (kEntries - 1)] == 1);
		}
	}

	void check()
	{
		u32 rd = 0;

		REQUIRE(q_.head - q_.tail <= kEntries);
		REQUIRE(q_.una - q_.tail <= q_.head - q_.tail);
		REQUIRE(q_.cur - q_.tail <= q_.head - q_.tail);
		REQUIRE(q_.cur - q_.tail >= q_.una - q_.tail);
		REQUIRE(reaped_ == q_.tail);
		if (q_.state == RC_REQ_ERROR) {
			REQUIRE(rc_req_deadline(&q_) == 0 && q_.head == q_.tail);
			return;
		}
		for (u32 slot = q_.una; slot != q_.head; slot++)
			rd += at(slot).rd_held;
		REQUIRE(rd == q_.rd_out && q_.rd_out <= most_reads_);
		// What was sent fits the burst.
		if (q_.pacer.kbps)
			REQUIRE(q_.pacer.full_ns <= now_ + q_.pacer.burst_ns);
		if (!is_reliable())
			return;
		REQUIRE(q_.window.pkts && q_.window.pkts <= q_.window.max);
		REQUIRE(((q_.psn_max - q_.psn_una) & PSN_MASK) <= most_window_);
		// A message begins within the window and may be half the PSN space long.
		REQUIRE(((q_.psn_next - q_.psn_una) & PSN_MASK) <= most_window_ + PSN_HALF);
	}

	Choices &in_;
	rc_req q_;
	rc_sqe ring_[kEntries] = {};
	int local_runs_[kEntries] = {};
	u32 first_ = 0, reaped_ = 0;
	u32 most_reads_, most_window_; // the most there may ever have been under way
	u32 began_with_;	       // the present window
	u64 now_ = 1;
	bool failed_ = false;
};

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
					  r.start_pkt, r.next_pkt, r.end_pkt, r.msn, r.va, r.rkey,
					  r.length, r.srqn, r.orig);
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
			REQUIRE(act.length <= 0x80000000u && act.feth & 3 && !(act.feth & 0xec));
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
			if (r.kind == RUN_READ_RESP && r.last && n == r.npkts)
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

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Choices in(data, size);

	if (in.byte() & 1) {
		for (Requester q(in); in.more();)
			q.step();
	} else {
		for (Responder r(in); in.more();)
			r.step();
	}
	return 0;
}
