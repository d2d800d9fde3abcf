// SPDX-License-Identifier: GPL-2.0
// iWARP requester and responder under a hostile peer: any ULPDUs, as bytes of the input or close to
// what the engines expect, parsed and passed on as in the module, with requests posted, segments
// sent or lent, loans returned and placements that fail in between. check() of each half and the
// code at each verdict test the invariants.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "fuzz.h"
#include "proto/iw_req.h"
#include "proto/iw_resp.h"

namespace {

// The connection's, until pages or the path get another size.
u16 draw_max_ulpdu(Choices &in)
{
	static const u16 ulpdus[] = {DDP_CTRL_MAX_BYTES, 100, 1454, 8942, 0xffff};

	return ulpdus[in.below(5)];
}

// A length near a limit, or any.
u32 draw_length(Choices &in, u32 max_ulpdu)
{
	switch (in.below(7)) {
	case 0:
		return 0;
	case 1:
		return in.byte();
	case 2:
		return max_ulpdu - DDP_UNTAGGED_BYTES;
	case 3:
		return (max_ulpdu - DDP_TAGGED_BYTES) * in.byte();
	case 4:
		return max_ulpdu * in.byte() + 1;
	case 5:
		return 0x80000000u - in.byte();
	default:
		return in.dword() & 0x7fffffff;
	}
}

// Our own segment: correct, and within the longest ULPDU.
ddp_seg parse_own(const iw_seg &seg, u32 max_ulpdu)
{
	ddp_seg s;

	REQUIRE(seg.hdr_bytes <= sizeof(seg.hdr) && seg.hdr_bytes + seg.bytes <= max_ulpdu);
	REQUIRE(ddp_parse(seg.hdr, seg.hdr_bytes, seg.hdr_bytes + seg.bytes, &s) == TERM_NONE);
	REQUIRE(s.last == seg.last);
	return s;
}

void require_same(const iw_seg &a, const iw_seg &b)
{
	REQUIRE(a.kind == b.kind && a.last == b.last && a.bytes == b.bytes);
	REQUIRE(a.hdr_bytes == b.hdr_bytes && memcmp(a.hdr, b.hdr, a.hdr_bytes) == 0);
}

class Requester {
public:
	Requester(Choices &in, u16 max_ulpdu) : in_(in)
	{
		iw_req_cfg cfg = {};

		cfg.ord = static_cast<u16>(in.below(5));
		cfg.max_ulpdu = max_ulpdu;
		cfg.max_lent_bytes = kMaxLent;
		reaped_ = in.below(2) ? 0xfffffff0 : 0;
		iw_req_init(&q, ring_, kEntries, reaped_, &cfg);
		if (in.below(2))
			q.send_msn = q.read_msn = send_msn_ = read_msn_ = 0xfffffffe;
	}

	iw_req q;
	iw_resp *other = nullptr; // half of the stream

	void post()
	{
		struct wr wr = {};
		bool room = q.head - q.tail < kEntries;

		wr.op = static_cast<u8>(in_.below(WR_LOCAL + 1));
		if (wr_is_placement(&wr)) // RoCE's
			wr.op = WR_WRITE;
		wr.flags = in_.byte() & 0x1f;
		wr.length = draw_length(in_, q.cfg.max_ulpdu);
		if (wr.op == WR_CMP_SWAP || wr.op == WR_FETCH_ADD)
			wr.length = 8;
		if (wr.op == WR_LOCAL)
			wr.length = 0;
		if (!q.cfg.ord && wr.op >= WR_READ && wr.op <= WR_FETCH_ADD)
			wr.op = WR_SEND;
		REQUIRE(iw_req_post(&q, &wr) == room);
		if (room)
			moved(q.head - 1) = 0;
	}

	void send()
	{
		for (u32 n = in_.below(8); n; n--) {
			iw_seg seg = {}, again = {};

			if (!next(&seg))
				return;
			REQUIRE(!iw_req_in_error(&q) && next(&again));
			REQUIRE(seg.slot == q.cur && is_posted(seg.slot));
			if (seg.kind == IW_SEG_LOCAL) {
				run_local(seg);
				continue;
			}
			require_same(seg, again);
			look(seg);
			if (in_.below(16))
				took(seg);
		}
	}

	// A response, as close to correct as the input wants.
	ddp_seg draw_response(u8 *payload)
	{
		const iw_sqe &s = at(q.resp);
		ddp_seg h = {};

		if (in_.below(2)) {
			u32 left = s.wr.length - s.done_bytes;
			u32 n = in_.below(4) ? std::min<u32>(left, in_.word()) : in_.word();

			h.opcode = RDMAP_READ_RESP;
			h.tagged = true;
			h.stag = in_.near(q.resp);
			h.to = in_.near(s.done_bytes);
			h.payload_bytes = static_cast<u16>(n);
			h.last = in_.below(16) ? n == left : in_.below(2);
			return h;
		}
		h.opcode = RDMAP_ATOMIC_RESP;
		h.last = true;
		h.qn = DDP_QN_ATOMIC_RESP;
		h.msn = in_.near(q.atomic_resp_msn);
		h.payload_bytes = RDMAP_ATOMIC_RESP_BYTES;
		put_unaligned_be32(in_.near(q.resp), payload);
		return h;
	}

	// The code to terminate with, or TERM_NONE.
	int rx(const ddp_seg &s, const u8 *payload)
	{
		iw_req_act act;

		iw_req_rx(&q, &s, payload, &act);
		if (act.kind == IW_REQ_FATAL) {
			REQUIRE(act.term >= 0);
			iw_req_flush(&q);
			return act.term;
		}
		REQUIRE(!iw_req_in_error(&q) && q.rd_out && act.slot == q.resp);
		const iw_sqe &sqe = at(act.slot);
		REQUIRE(sqe.state == IW_SQE_SENT);
		REQUIRE((act.kind == IW_REQ_PLACE) == (sqe.wr.op == WR_READ));
		REQUIRE((act.kind == IW_REQ_PLACE_ATOMIC) == (s.opcode == RDMAP_ATOMIC_RESP));
		if (act.kind == IW_REQ_PLACE) {
			REQUIRE(act.offset == moved(act.slot) && act.bytes == s.payload_bytes);
			REQUIRE(act.bytes <= sqe.wr.length - act.offset);
		} else {
			REQUIRE(act.bytes == 8 && act.offset == 0);
		}
		if (!in_.below(32)) {
			fail(act.slot, WR_ST_LOC_PROT_ERR);
			REQUIRE(iw_req_in_error(&q));
			return TERM_NONE;
		}
		moved(act.slot) += act.bytes;
		iw_req_placed(&q, &act, s.last);
		return TERM_NONE;
	}

	// The peer is told, unless the stream is over.
	void fail(u32 slot, wr_status status)
	{
		bool was_over = iw_req_in_error(&q) || other->in_error;

		iw_req_fail(&q, other, slot, status);
		REQUIRE(was_over || other->in_error == iw_req_in_error(&q));
		REQUIRE(was_over || !other->in_error ||
			(other->term_due && other->term == TERM_LOCAL));
	}

	void fail() { fail(q.una + in_.near(0), WR_ST_LOC_LEN_ERR); }

	// Payload is lent from now on, or copied.
	void set_lending(bool lending) { lending_ = lending; }

	// What is lent from now on is returned after all that was lent before.
	void begin_loan() { loan_++; }

	// Return some loans, the oldest first, or all, including the unfinished one.
	void return_loans(u32 most)
	{
		returned_ += std::min(most, loan_ + 1 - returned_);
		loan_ = std::max(loan_, returned_);
		iw_req_return(&q, returned_);
	}

	void reap()
	{
		wr_status status;
		u32 slot;

		while (iw_req_reap(&q, &slot, &status)) {
			REQUIRE(slot == reaped_++);
			REQUIRE(!is_lent(slot));
			lent_[slot & (kEntries - 1)] = 0;
			if (status == WR_ST_SUCCESS)
				REQUIRE(at(slot).wr.op == WR_LOCAL ||
					moved(slot) == at(slot).wr.length);
			else
				REQUIRE(iw_req_in_error(&q));
		}
		// What is complete and not reaped waits only for its memory.
		if (q.tail != (iw_req_in_error(&q) ? q.head : q.una))
			REQUIRE(is_lent(q.tail));
	}

	void check()
	{
		REQUIRE(q.head - q.tail <= kEntries && q.una - q.tail <= q.head - q.tail);
		REQUIRE(q.cur - q.una <= q.head - q.una || iw_req_in_error(&q));
		REQUIRE(q.rd_out <= q.cfg.ord);
		if (q.rd_out) {
			REQUIRE(q.resp == q.una && q.resp - q.tail < q.cur - q.tail);
			REQUIRE(at(q.resp).state == IW_SQE_SENT);
		}
		u32 under_way = 0;
		for (u32 i = q.una; i != q.head; i++)
			under_way += at(i).state == IW_SQE_SENT;
		REQUIRE(iw_req_in_error(&q) || under_way == q.rd_out);
		u64 unsent = 0;
		for (u32 i = q.cur; i != q.head; i++)
			if (at(i).wr.op == WR_SEND || at(i).wr.op == WR_WRITE)
				unsent += at(i).wr.length - moved(i);
		REQUIRE(q.unsent_bytes == (iw_req_in_error(&q) ? 0 : unsent));
		REQUIRE(q.num_lent == kEntries - std::count(lent_, lent_ + kEntries, 0u));
	}

private:
	static constexpr u32 kEntries = 8, kMaxLent = 32 * 1024;

	bool next(iw_seg *seg)
	{
		return lending_ ? iw_req_next_lent(&q, seg) : iw_req_next(&q, seg);
	}

	// Does the stream have memory of it?
	bool is_lent(u32 slot) const { return lent_[slot & (kEntries - 1)] > returned_; }

	iw_sqe &at(u32 slot) { return ring_[slot & (kEntries - 1)]; }
	u32 &moved(u32 slot) { return moved_[slot & (kEntries - 1)]; }
	bool is_posted(u32 slot) const { return slot - q.tail < q.head - q.tail; }

	void run_local(const iw_seg &seg)
	{
		const iw_sqe &s = at(seg.slot);

		REQUIRE(s.wr.op == WR_LOCAL);
		REQUIRE(!(s.wr.flags & WR_F_WAIT_ALL) || seg.slot == q.una);
		REQUIRE(!(s.wr.flags & WR_F_FENCE) || !q.rd_out);
		iw_req_local_done(&q, other, seg.slot,
				  in_.below(8) ? WR_ST_SUCCESS : WR_ST_MW_BIND_ERR);
		REQUIRE(s.state == IW_SQE_DONE);
	}

	// Bytes of an ULPDU.
	u32 longest() const
	{
		return lending_ ? std::max<u32>(q.cfg.max_ulpdu, kMaxLent + DDP_UNTAGGED_BYTES) :
				  q.cfg.max_ulpdu;
	}

	void look(const iw_seg &seg)
	{
		ddp_seg h = parse_own(seg, longest());
		const iw_sqe &s = at(seg.slot);

		REQUIRE(seg.kind == IW_SEG_REQUEST);
		REQUIRE(!lending_ || seg.bytes <= kMaxLent);
		REQUIRE(seg.bytes <= s.wr.length && seg.offset <= s.wr.length - seg.bytes);
		if (h.qn == DDP_QN_READ_REQ) {
			REQUIRE(h.msn == read_msn_ && q.rd_out < q.cfg.ord && !seg.bytes);
		} else if (!h.tagged) {
			REQUIRE(h.qn == DDP_QN_SEND && h.msn == send_msn_);
			REQUIRE(s.wr.op == WR_WRITE ||
				(h.mo == seg.offset && h.mo == moved(seg.slot)));
		} else {
			REQUIRE(s.wr.op == WR_WRITE && h.opcode == RDMAP_WRITE);
			REQUIRE(h.stag == s.wr.rkey && h.to == s.wr.va + seg.offset);
			REQUIRE(seg.offset == moved(seg.slot));
		}
		REQUIRE(!(s.wr.flags & WR_F_FENCE) || !q.rd_out);
		// Progress, or the last.
		REQUIRE(seg.bytes || seg.last);
	}

	void took(const iw_seg &seg)
	{
		ddp_seg h = parse_own(seg, longest());

		if (lending_ && seg.bytes) {
			iw_req_lend(&q, seg.slot, loan_);
			lent_[seg.slot & (kEntries - 1)] = loan_ + 1;
		}
		iw_req_sent(&q, &seg);
		moved(seg.slot) += seg.bytes;
		if (h.tagged || !h.last)
			return;
		if (h.qn == DDP_QN_READ_REQ)
			read_msn_++;
		else
			send_msn_++;
	}

	Choices &in_;
	iw_sqe ring_[kEntries] = {};
	u32 moved_[kEntries] = {};
	u32 lent_[kEntries] = {}; // the loan's number and 1, or 0
	bool lending_ = false;
	u32 loan_ = 0, returned_ = 0;
	u32 reaped_ = 0;
	u32 send_msn_ = 1, read_msn_ = 1;
};

class Responder {
public:
	Responder(Choices &in, u16 max_ulpdu) : in_(in)
	{
		iw_resp_cfg cfg = {};

		cfg.ird = static_cast<u16>(in.below(6));
		cfg.max_ulpdu = max_ulpdu;
		cfg.access = in.below(4) ? 7 : in.byte() & 7;
		irq_.resize(iw_irq_entries(cfg.ird));
		iw_resp_init(&r, irq_.data(), &cfg);
		if (in.below(2))
			r.irq_head = r.irq_tail = 0xfffffffd;
		if (in.below(2))
			r.recv_msn = r.read_msn = 0xffffffff;
	}

	iw_resp r;

	ddp_seg draw_request(u8 *payload)
	{
		static const u8 opcodes[] = {RDMAP_WRITE,  RDMAP_READ_REQ,    RDMAP_SEND,
					     RDMAP_SEND,   RDMAP_SEND_SE_INV, RDMAP_IMM,
					     RDMAP_IMM_SE, RDMAP_ATOMIC_REQ,  RDMAP_TERMINATE};
		ddp_seg h = {};

		h.opcode = opcodes[in_.below(in_.below(8) ? 8 : 9)];
		h.last = in_.below(2);
		h.payload_bytes = in_.below(2) ? in_.byte() : in_.word() % 0xff00;
		switch (h.opcode) {
		case RDMAP_WRITE:
			h.tagged = true;
			h.to = in_.below(8) ? in_.byte() : ~0ull - in_.byte();
			return h;
		case RDMAP_READ_REQ: {
			rdmap_read rd = {};

			rd.bytes = draw_length(in_, r.cfg.max_ulpdu) + !in_.below(16);
			rd.src_to = in_.below(8) ? 0x1000 : ~0ull - in_.dword();
			rdmap_read_build(payload, &rd);
			fixed(&h, DDP_QN_READ_REQ, RDMAP_READ_BYTES, r.read_msn);
			return h;
		}
		case RDMAP_ATOMIC_REQ: {
			rdmap_atomic a = {};

			a.op = in_.below(4) ? RDMAP_FETCH_ADD : in_.byte() & 0xf;
			a.swap_add_mask = a.compare_mask = in_.below(4) ? ~0ull : in_.dword();
			a.to = in_.below(8) ? 0x1000 : in_.byte();
			rdmap_atomic_build(payload, &a);
			fixed(&h, DDP_QN_READ_REQ, RDMAP_ATOMIC_BYTES, r.read_msn);
			return h;
		}
		case RDMAP_IMM:
		case RDMAP_IMM_SE:
			fixed(&h, DDP_QN_SEND, RDMAP_IMM_BYTES, r.recv_msn);
			return h;
		case RDMAP_TERMINATE:
			put_unaligned_be16(in_.word(), payload);
			fixed(&h, DDP_QN_TERMINATE, static_cast<u16>(in_.below(8)), 1);
			return h;
		default:
			h.qn = DDP_QN_SEND;
			h.msn = in_.near(r.recv_msn);
			h.mo = in_.near(r.in_msg ? r.msg_bytes : 0);
			if (r.in_msg && in_.below(16))
				h.opcode = r.msg_opcode;
			return h;
		}
	}

	// True if the stream is over for the requester; *terminated: how, if the peer said so.
	bool rx(const ddp_seg &s, const u8 *p, u32 have, int *terminated)
	{
		bool was_in_error = r.in_error;
		iw_act act;

		iw_resp_rx(&r, &s, p, have, &act);
		*terminated = TERM_NONE;
		switch (act.kind) {
		case IW_ACT_TERMINATED:
			REQUIRE(s.opcode == RDMAP_TERMINATE && r.in_error && !r.term_due);
			*terminated = act.term;
			return true;
		case IW_ACT_FATAL:
			REQUIRE(!was_in_error && r.in_error && r.term == act.term);
			return true;
		case IW_ACT_NONE:
			REQUIRE(was_in_error || (s.opcode == RDMAP_WRITE && !s.payload_bytes));
			return false;
		default:
			REQUIRE(!was_in_error && !r.in_error);
			look(s, act);
		}
		if (!in_.below(16)) {
			iw_fail why = iw_fail(in_.below(IW_FAIL_LOCAL + 1));

			REQUIRE(iw_resp_fail(&r, &s, p, have, why) == r.term && r.in_error);
			return true;
		}
		iw_resp_commit(&r, &s, &act, p, in_.byte());
		if (act.kind == IW_ACT_READ || act.kind == IW_ACT_ATOMIC)
			owed_.push_back({act.kind == IW_ACT_ATOMIC, act.va, act.length, 0});
		in_message_ = act.kind == IW_ACT_RECV ? !act.end : in_message_;
		message_bytes_ = act.kind == IW_ACT_RECV ? act.length : message_bytes_;
		return false;
	}

	void send()
	{
		for (u32 n = in_.below(8); n; n--) {
			iw_seg seg = {}, again = {};

			if (!iw_resp_next(&r, &seg))
				return;
			REQUIRE(iw_resp_next(&r, &again));
			require_same(seg, again);
			ddp_seg h =
				parse_own(seg, std::max<u32>(r.cfg.max_ulpdu, DDP_CTRL_MAX_BYTES));
			if (r.in_error) {
				REQUIRE(h.opcode == RDMAP_TERMINATE && h.msn == 1);
				REQUIRE(!terminates_++);
				iw_resp_sent(&r, &seg);
				REQUIRE(!iw_resp_next(&r, &again));
				return;
			}
			REQUIRE(!owed_.empty());
			answer(seg, h);
			if (r.in_error)
				return;
		}
	}

	void check() const
	{
		REQUIRE(r.irq_head - r.irq_tail <= r.cfg.ird);
		REQUIRE(r.irq_head - r.irq_tail == owed_.size());
		REQUIRE(r.in_error || r.in_msg == in_message_);
		REQUIRE(!r.term_due || (r.in_error && !terminates_));
	}

private:
	struct Owed {
		bool is_atomic;
		u64 va;
		u32 bytes, sent;
	};

	void fixed(ddp_seg *h, u32 qn, u16 bytes, u32 msn)
	{
		h->qn = qn;
		h->msn = in_.near(msn);
		h->last = in_.below(32) != 0;
		h->payload_bytes = bytes;
	}

	void look(const ddp_seg &s, const iw_act &act)
	{
		switch (act.kind) {
		case IW_ACT_RECV:
			REQUIRE(act.begin == !in_message_ && act.end == s.last);
			REQUIRE(act.offset == (in_message_ ? message_bytes_ : 0));
			REQUIRE(act.length == act.offset + act.bytes && act.length <= 0x80000000u);
			break;
		case IW_ACT_IMM:
			REQUIRE(act.begin && act.end && !act.bytes && !in_message_);
			break;
		case IW_ACT_WRITE:
			REQUIRE(act.bytes && act.va + (act.bytes - 1) >= act.va);
			REQUIRE(r.cfg.access & IW_ACCESS_WRITE);
			break;
		case IW_ACT_READ:
			REQUIRE(owed_.size() < r.cfg.ird);
			REQUIRE(!act.length || act.va + (act.length - 1) >= act.va);
			REQUIRE(!act.length || (r.cfg.access & IW_ACCESS_READ));
			break;
		case IW_ACT_ATOMIC:
			REQUIRE(owed_.size() < r.cfg.ird && act.length == 8);
			REQUIRE(r.cfg.access & IW_ACCESS_ATOMIC);
			break;
		default:
			abort();
		}
	}

	void answer(const iw_seg &seg, const ddp_seg &h)
	{
		Owed &o = owed_.front();

		if (o.is_atomic) {
			REQUIRE(h.opcode == RDMAP_ATOMIC_RESP && seg.kind == IW_SEG_RESP);
		} else {
			REQUIRE(h.opcode == RDMAP_READ_RESP && seg.kind == IW_SEG_READ_RESP);
			REQUIRE(seg.va == o.va + o.sent && seg.bytes <= o.bytes - o.sent);
			REQUIRE(seg.last == (o.sent + seg.bytes == o.bytes));
			REQUIRE(seg.bytes || seg.last);
			if (!in_.below(32)) {
				iw_resp_read_failed(&r, &seg,
						    iw_fail(in_.below(IW_FAIL_LOCAL + 1)));
				REQUIRE(r.in_error && r.term_due);
				return;
			}
		}
		if (!in_.below(16))
			return;
		iw_resp_sent(&r, &seg);
		o.sent += seg.bytes;
		if (seg.last)
			owed_.pop_front();
	}

	Choices &in_;
	std::vector<iw_irq> irq_;
	std::deque<Owed> owed_;
	bool in_message_ = false;
	u32 message_bytes_ = 0;
	u32 terminates_ = 0;
};

class Stream {
public:
	Stream(Choices &in, u16 max_ulpdu) : in_(in), req_(in, max_ulpdu), resp_(in, max_ulpdu)
	{
		req_.other = &resp_.r;
	}

	void step()
	{
		switch (in_.below(16)) {
		case 0:
		case 1:
		case 2:
			req_.post();
			break;
		case 3:
		case 4:
		case 5:
			req_.send();
			break;
		case 6:
		case 7:
			resp_.send();
			break;
		case 8:
			rx_bytes();
			break;
		case 9:
			rare();
			break;
		default:
			rx_drawn();
		}
		req_.reap();
		req_.check();
		resp_.check();
	}

private:
	// As many bytes as the input says; the rest of a long ULPDU is payload.
	void rx_bytes()
	{
		u32 n = in_.byte(), extra = n >= DDP_CTRL_MAX_BYTES ? in_.word() : 0;
		std::vector<u8> b(n);

		for (u8 &c : b)
			c = in_.byte();
		rx(b, n + extra);
	}

	void rx_drawn()
	{
		u8 payload[RDMAP_ATOMIC_BYTES] = {}, hdr[DDP_UNTAGGED_BYTES];
		ddp_seg h =
			in_.below(2) ? req_.draw_response(payload) : resp_.draw_request(payload);
		u32 n = ddp_build(hdr, &h);
		std::vector<u8> b(hdr, hdr + n);

		b.insert(b.end(), payload,
			 payload + std::min<u32>(h.payload_bytes, sizeof(payload)));
		if (!in_.below(32))
			b[in_.below(static_cast<u32>(b.size()))] ^= in_.byte();
		rx(b, n + h.payload_bytes);
	}

	void rx(const std::vector<u8> &b, u32 ulpdu_bytes)
	{
		u32 have = std::min<u32>(static_cast<u32>(b.size()), DDP_CTRL_MAX_BYTES);
		std::unique_ptr<u8[]> p(new u8[have]);
		int code, terminated;
		ddp_seg s;

		std::copy_n(b.begin(), have, p.get());
		code = ddp_parse(p.get(), have, ulpdu_bytes, &s);
		if (code == TERM_NONE) {
			REQUIRE(u32(s.hdr_bytes) + s.payload_bytes == ulpdu_bytes);
			if (s.opcode != RDMAP_READ_RESP && s.opcode != RDMAP_ATOMIC_RESP) {
				if (!resp_.rx(s, p.get(), have, &terminated))
					return;
				if (terminated == TERM_NONE)
					iw_req_flush(&req_.q);
				else
					iw_req_terminated(&req_.q, terminated,
							  p.get() + s.hdr_bytes,
							  have - s.hdr_bytes);
				REQUIRE(iw_req_in_error(&req_.q));
				return;
			}
			code = req_.rx(s, p.get() + s.hdr_bytes);
		}
		if (code == TERM_NONE)
			return;
		iw_resp_terminate(&resp_.r, code, p.get(), have, ulpdu_bytes);
		iw_req_flush(&req_.q);
	}

	void rare()
	{
		switch (in_.below(16)) {
		case 0:
			iw_req_flush(&req_.q);
			break;
		case 1:
			iw_req_terminated(&req_.q, in_.word(), nullptr, 0);
			break;
		case 2:
			iw_resp_terminate(&resp_.r, TERM_MPA_CRC, nullptr, 0, 0);
			break;
		case 3:
			req_.fail();
			break;
		case 4:
		case 5:
			req_.set_lending(true);
			break;
		case 6:
			req_.set_lending(false);
			break;
		case 7:
			req_.begin_loan();
			break;
		case 8:
		case 9:
			req_.return_loans(in_.byte());
			break;
		case 10:
		case 11:
			resp_.r.cfg.max_ulpdu = req_.q.cfg.max_ulpdu = draw_max_ulpdu(in_);
			break;
		default:
			break;
		}
	}

	Choices &in_;
	Requester req_;
	Responder resp_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Choices in(data, std::min<size_t>(size, 4096));
	Stream stream(in, draw_max_ulpdu(in));

	while (in.more())
		stream.step();
	return 0;
}
