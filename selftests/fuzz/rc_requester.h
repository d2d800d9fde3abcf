/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A requester whose peer answers anything. check() and the code at each verdict test the
 * invariants.
 */
#ifndef TERN_FUZZ_RC_REQUESTER_H
#define TERN_FUZZ_RC_REQUESTER_H

#include <algorithm>
#include <vector>

#include "proto/rc_ack.h"
#include "rc_draws.h"

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
		cfg.ahead_pkts = in.below(2) ? in.below(64) : 0;
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

		if (!is_reliable())
			return;
		make_plausible(k);

		judge(k);
		resume();
	}

	// What was kept and has its turn; others tell what is missing.
	void resume()
	{
		for (size_t i = 0; i < kept_.size();) {
			const pkt k = kept_[i];

			if (!rc_req_ahead_is_next(&q_, k.psn)) {
				i++;
				continue;
			}
			kept_.erase(kept_.begin() + static_cast<long>(i));
			judge(k);
			i = 0;
		}
		if (rc_req_has_missing(&q_))
			rc_req_missing(&q_, now_, !kept_.empty(), first_kept());
	}

	u32 first_kept() const
	{
		u32 first = kept_.empty() ? 0 : kept_[0].psn;

		for (const pkt &k : kept_)
			if (psn_before(k.psn, first))
				first = k.psn;
		return first;
	}

	void judge(const pkt &k)
	{
		rc_req_act act;
		const u32 una = q_.psn_una;

		rc_req_rx(&q_, now_, &k, &act);
		if (is_reserved(k.syndrome))
			REQUIRE(act.kind == RC_REQ_DONE && q_.psn_una == una);
		if (act.kind == RC_REQ_KEEP) {
			REQUIRE(psn_after(k.psn, q_.psn_una));
			REQUIRE(((k.psn - q_.psn_una) & PSN_MASK) < q_.cfg.ahead_pkts);
			if (kept_.size() < 16)
				kept_.push_back(k);
		}
		if (act.kind == RC_REQ_DONE || act.kind == RC_REQ_KEEP)
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
	std::vector<pkt> kept_; // ahead of their turn
	rc_req q_;
	rc_sqe ring_[kEntries] = {};
	int local_runs_[kEntries] = {};
	u32 first_ = 0, reaped_ = 0;
	u32 most_reads_, most_window_; // the most there may ever have been under way
	u32 began_with_;	       // the present window
	u64 now_ = 1;
	bool failed_ = false;
};

#endif
