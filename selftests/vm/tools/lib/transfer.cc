// SPDX-License-Identifier: GPL-2.0
// See transfer.h. The arena's first half holds the local buffers of our own work
// requests, its second half what the peer's requests read or write; each message has a
// slot in both. The rest of the arena is canary.
#include "transfer.h"

#include <algorithm>
#include <cstring>
#include <sched.h>
#include <unistd.h>

#include "pattern.h"
#include "post.h"

namespace vt {
namespace {

constexpr uint32_t kGuard = 64, kGap = 16, kGrhSlot = 64;
constexpr uint64_t kReceiveTag = 1ull << 63;
constexpr uint64_t kFateTag = 1ull << 62;

struct Piece {
	uint32_t logical, length;
	uint64_t offset;
};

uint64_t slot_stride(const Batch &b)
{
	uint32_t pieces = std::max(b.sges, b.recv_sges);
	uint64_t bytes = uint64_t{kGuard} + kGrhSlot + 8 + b.bytes + b.recv_extra + pieces * kGap;
	return (bytes + 63) / 64 * 64;
}

uint64_t half_bytes(const Batch &b)
{
	return slot_stride(b) * b.count + kGuard;
}

// Cuts a message into uneven pieces with gaps, at most as many as leaves no piece empty.
std::vector<Piece> cut(uint64_t offset, uint32_t bytes, uint32_t pieces)
{
	std::vector<Piece> list;
	uint32_t done = 0;
	for (uint32_t k = 1; k <= pieces; k++) {
		uint64_t even = uint64_t{bytes} * k / pieces + k * 7 % 5;
		uint32_t end = k == pieces ? bytes :
					     static_cast<uint32_t>(std::min<uint64_t>(even, bytes));
		if (end <= done)
			continue;
		list.push_back({done, end - done, offset});
		offset += end - done + (pieces > 1 ? kGap : 0);
		done = end;
	}
	return list;
}

class Transfer {
public:
	Transfer(const Setup &setup, const Batch &batch)
		: s_(setup), b_(batch), stride_(slot_stride(batch)), half_(half_bytes(batch)),
		  links_(static_cast<uint32_t>(setup.links.size())), state_(setup.links.size()),
		  slot_message_(batch.count, UINT32_MAX)
	{
		bool client_active = b_.both_ways || !b_.from_server;
		bool server_active = b_.both_ways || b_.from_server;
		active_ = s_.env.client ? client_active : server_active;
		passive_ = s_.env.client ? server_active : client_active;
		my_seed_ = mix(s_.env.seed + b_.seed + b_.bytes) + s_.env.client;
		peer_seed_ = mix(s_.env.seed + b_.seed + b_.bytes) + !s_.env.client;
		ud_ = s_.links[0]->options().type == IBV_QPT_UD;
		srq_ = s_.links[0]->options().srq != nullptr;
		require(s_.arena.size() >= arena_bytes_for(b_), "arena too small for the batch");
	}

	void run()
	{
		prepare();
		peer_ = s_.env.control.exchange(s_.arena.remote());
		pump();
		if (active_ && b_.opcode == IBV_WR_RDMA_WRITE && s_.env.device.is_iwarp())
			settle();
		s_.env.control.sync();
		if (passive_ && b_.opcode == IBV_WR_RDMA_WRITE &&
		    s_.links[0]->options().type == IBV_QPT_UC)
			await_arrival();
		verify();
		s_.env.control.sync();
	}

private:
	struct LinkState {
		uint32_t posted = 0, done = 0; // messages of this link
		uint32_t recv_posted = 0, recv_done = 0;
	};

	// -- where things are
	uint64_t local_at(uint32_t message) const
	{
		return message * stride_ + kGuard + kGrhSlot +
		       (b_.odd_offsets && !b_.is_atomic() ? message % 8 : 0);
	}
	uint64_t target_at(uint32_t message) const
	{
		return half_ + message * stride_ + kGuard + kGrhSlot +
		       (b_.odd_offsets && !b_.is_atomic() ? message * 3 % 8 : 0);
	}
	uint64_t grh_at(uint32_t message) const { return half_ + message * stride_ + kGuard; }
	uint64_t my_key(uint32_t message) const { return pattern_key(my_seed_, 0, message); }
	uint64_t peer_key(uint32_t message) const { return pattern_key(peer_seed_, 0, message); }
	uint32_t due(uint32_t link) const { return (b_.count + links_ - 1 - link) / links_; }

	// Atomics: the value before, what is compared or added, what is swapped in.
	static uint64_t before(uint64_t key) { return mix(key); }
	static uint64_t operand(uint64_t key) { return mix(key + 1); }

	// -- phases
	void prepare()
	{
		s_.arena.fill_canary();
		for (uint32_t m = 0; m < b_.count; m++) {
			if (active_ && !b_.is_atomic() && b_.opcode != IBV_WR_RDMA_READ)
				for (const Piece &p : cut(local_at(m), b_.bytes, b_.sges))
					pattern_fill(s_.arena.at(p.offset), p.length, my_key(m),
						     p.logical);
			if (passive_ && b_.opcode == IBV_WR_RDMA_READ)
				pattern_fill(s_.arena.at(target_at(m)), b_.bytes, peer_key(m));
			if (passive_ && b_.is_atomic()) {
				uint64_t value = before(peer_key(m));
				memcpy(s_.arena.at(target_at(m)), &value, 8);
			}
		}
		if (passive_ && b_.takes_receive())
			for (uint32_t l = 0; l < links_; l++)
				refill_receives(l);
	}

	void refill_receives(uint32_t l)
	{
		LinkState &state = state_[l];
		const Link &link = *s_.links[l];
		uint32_t depth = srq_ ? UINT32_MAX : link.options().recv_wr;
		while (state.recv_posted < due(l) && state.recv_posted - state.recv_done < depth) {
			uint32_t m = state.recv_posted * links_ + l;
			std::vector<ibv_sge> sges;
			if (ud_)
				sges.push_back(s_.arena.sge(grh_at(m), 40));
			std::vector<Piece> pieces = cut(target_at(m), b_.bytes, b_.recv_sges);
			if (b_.is_send()) {
				for (const Piece &p : pieces)
					sges.push_back(s_.arena.sge(p.offset, p.length));
				if (pieces.empty())
					sges.push_back(s_.arena.sge(target_at(m), b_.recv_extra));
				else
					sges.back().length += b_.recv_extra;
			}
			post_recv(link, kReceiveTag | m, sges);
			state.recv_posted++;
		}
	}

	bool is_signalled(const Link &link, uint32_t l, uint32_t j) const
	{
		return (j + 1) % std::min(b_.signal_every, link.options().send_wr) == 0 ||
		       j + 1 == due(l);
	}

	void refill_sends(uint32_t l)
	{
		LinkState &state = state_[l];
		const Link &link = *s_.links[l];
		while (state.posted < due(l) &&
		       state.posted - state.done < link.options().send_wr) {
			uint32_t m = state.posted * links_ + l;
			Work w;
			w.opcode = b_.opcode;
			w.id = m;
			w.flags = (is_signalled(link, l, state.posted) ? IBV_SEND_SIGNALED : 0) |
				  (b_.inlined ? IBV_SEND_INLINE : 0) |
				  (b_.fence ? IBV_SEND_FENCE : 0);
			w.imm = m;
			w.srqn = b_.srqn;
			w.rkey = peer_.rkey;
			w.remote_va = peer_.va + target_at(m);
			if (b_.is_atomic())
				w.sges.push_back(s_.arena.sge(local_at(m), 8));
			else
				for (const Piece &p : cut(local_at(m), b_.bytes, b_.sges))
					w.sges.push_back(local_sge(p));
			w.compare_add = operand(my_key(m));
			if (b_.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
				// Every second one must not match.
				w.swap = operand(my_key(m));
				w.compare_add = before(my_key(m)) + m % 2;
			}
			post(link, w);
			state.posted++;
		}
	}

	ibv_sge local_sge(const Piece &p) const
	{
		if (!b_.inlined)
			return s_.arena.sge(p.offset, p.length);
		// Inline data is copied by the CPU, without a look at the key.
		return {reinterpret_cast<uint64_t>(s_.arena.at(p.offset)), p.length, 0xdead};
	}

	void pump()
	{
		uint32_t sends_left = active_ ? b_.count : 0;
		uint32_t recvs_left = passive_ && b_.takes_receive() ? b_.count : 0;
		for (uint32_t l = 0; active_ && l < links_; l++)
			refill_sends(l);
		bool same_cq = &s_.send_cq == &s_.recv_cq;
		double deadline = now_s() + s_.env.limit_s;
		uint32_t idle = 0;
		while (sends_left || recvs_left) {
			Completion c;
			if (!s_.send_cq.poll(&c) && (same_cq || !s_.recv_cq.poll(&c))) {
				if (++idle % 64 == 0 && now_s() > deadline)
					fail("%u sends and %u receives of %u did not complete in "
					     "%g s",
					     sends_left, recvs_left, b_.count, s_.env.limit_s);
				sched_yield();
				continue;
			}
			require_success(c, opcode_name(b_.opcode));
			if (c.wr_id & kReceiveTag)
				recvs_left -= take_receive(c);
			else
				sends_left -= take_send(c);
			deadline = now_s() + s_.env.limit_s;
		}
	}

	// iWARP's WRITEs complete before they have arrived. READs behind them do not.
	void settle()
	{
		for (const Link *link : s_.links) {
			post(*link, {.opcode = IBV_WR_RDMA_READ, .id = kFateTag});
			s_.send_cq.expect(IBV_WC_SUCCESS, kFateTag, s_.env.limit_s);
		}
	}

	// A UC WRITE completes at the sender before it has arrived, and no event shows its arrival.
	void await_arrival() const
	{
		double deadline = now_s() + s_.env.limit_s;
		for (uint32_t m = 0; m < b_.count; m++)
			while (!has_arrived(m) && now_s() < deadline)
				usleep(1000);
	}

	bool has_arrived(uint32_t m) const
	{
		return pattern_check(s_.arena.at(target_at(m)), b_.bytes, peer_key(m), 0) ==
		       b_.bytes;
	}

	uint32_t take_send(const Completion &c)
	{
		uint32_t m = static_cast<uint32_t>(c.wr_id), l = m % links_, j = m / links_;
		LinkState &state = state_[l];
		const Link &link = *s_.links[l];
		require(c.wr_id < b_.count && j < state.posted && j >= state.done,
			"completion of wr %llu out of order or twice",
			static_cast<unsigned long long>(c.wr_id));
		require(is_signalled(link, l, j), "an unsignalled wr completed");
		for (uint32_t k = state.done; k < j; k++)
			require(!is_signalled(link, l, k), "a signalled wr did not complete");
		require(c.qp_num == link.qp()->qp_num, "completion names another QP");
		require(c.opcode == completion_of(b_.opcode), "completion opcode %d for %s",
			c.opcode, opcode_name(b_.opcode));
		uint32_t finished = j + 1 - state.done;
		state.done = j + 1;
		refill_sends(l);
		return finished;
	}

	uint32_t take_receive(const Completion &c)
	{
		uint32_t slot = static_cast<uint32_t>(c.wr_id), l = slot % links_;
		require(slot < b_.count && slot_message_[slot] == UINT32_MAX,
			"receive %u completed twice", slot);
		require(c.opcode == (b_.is_send() ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM),
			"receive opcode %d", c.opcode);
		require(c.bytes == b_.bytes + (ud_ ? 40 : 0), "received %u bytes, sent were %u",
			c.bytes, b_.bytes);
		require(b_.has_imm() == !!(c.flags & IBV_WC_WITH_IMM), "immediate flag is wrong");
		uint32_t message = b_.has_imm() ? c.imm : slot;
		require(srq_ ? message < b_.count : message == slot, "immediate %u in receive %u",
			message, slot);
		slot_message_[slot] = message;
		if (!srq_) {
			require(c.qp_num == s_.links[l]->qp()->qp_num, "receive names another QP");
			require(slot / links_ == state_[l].recv_done, "receives out of order");
		}
		if (ud_)
			require(c.src_qp == s_.links[l]->peer().qpn && (c.flags & IBV_WC_GRH),
				"UD receive: source QP %u, flags %#x", c.src_qp, c.flags);
		state_[l].recv_done++;
		if (!srq_)
			refill_receives(l);
		return 1;
	}

	// -- the memory afterwards
	void verify()
	{
		for (uint32_t m = 0; m < b_.count; m++) {
			if (passive_)
				verify_target(m);
			if (active_)
				verify_local(m);
		}
	}

	void check_slot(uint64_t slot, const std::vector<Piece> &pieces, uint64_t key, uint32_t m,
			uint64_t canary_from) const
	{
		uint64_t at = canary_from, end = slot + stride_;
		for (const Piece &p : pieces) {
			check_gap(at, p.offset, m);
			size_t good =
				pattern_check(s_.arena.at(p.offset), p.length, key, p.logical);
			require(good == p.length, "%s of %u bytes: message %u is wrong at byte %zu",
				opcode_name(b_.opcode), b_.bytes, m, p.logical + good);
			at = p.offset + p.length;
		}
		check_gap(at, end, m);
	}

	void check_gap(uint64_t from, uint64_t to, uint32_t m) const
	{
		size_t good = s_.arena.check_canary(from, to - from);
		require(good == to - from, "%s of %u bytes: a byte beside message %u was written",
			opcode_name(b_.opcode), b_.bytes, m);
	}

	void verify_target(uint32_t slot) const
	{
		uint64_t start = half_ + slot * stride_;
		uint32_t m = slot;
		if (b_.is_atomic()) {
			verify_atomic_target(slot);
			return;
		}
		if (b_.is_send() && srq_)
			m = slot_message_[slot];
		uint64_t canary_from = start;
		if (ud_) {
			check_gap(start, grh_at(slot), slot);
			check_grh(slot);
			canary_from = grh_at(slot) + 40;
		}
		check_slot(start, cut(target_at(slot), b_.bytes, b_.is_send() ? b_.recv_sges : 1),
			   peer_key(m), slot, canary_from);
	}

	void verify_local(uint32_t m) const
	{
		if (b_.is_atomic()) {
			uint64_t got, want = before(my_key(m));
			memcpy(&got, s_.arena.at(local_at(m)), 8);
			require(got == want, "%s %u returned %#llx instead of %#llx",
				opcode_name(b_.opcode), m, static_cast<unsigned long long>(got),
				static_cast<unsigned long long>(want));
			check_gap(m * stride_, local_at(m), m);
			check_gap(local_at(m) + 8, (m + 1) * stride_, m);
			return;
		}
		// Sources must be unchanged; READ sinks must be equal to the peer's memory.
		check_slot(m * stride_, cut(local_at(m), b_.bytes, b_.sges), my_key(m), m,
			   m * stride_);
	}

	void verify_atomic_target(uint32_t m) const
	{
		uint64_t key = peer_key(m), got, want = before(key);
		if (b_.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			want += operand(key);
		else if (m % 2 == 0)
			want = operand(key);
		memcpy(&got, s_.arena.at(target_at(m)), 8);
		require(got == want, "%s %u left %#llx instead of %#llx", opcode_name(b_.opcode), m,
			static_cast<unsigned long long>(got),
			static_cast<unsigned long long>(want));
		check_gap(half_ + m * stride_, target_at(m), m);
		check_gap(target_at(m) + 8, half_ + (m + 1) * stride_, m);
	}

	// An IPv4 header is in the last 20 of the 40 bytes; an IPv6 header, or RoCEv1's, fills
	// them.
	void check_grh(uint32_t slot) const
	{
		auto *grh = reinterpret_cast<const uint8_t *>(s_.arena.at(grh_at(slot)));
		const uint8_t *peer = s_.links[0]->peer().gid.raw;
		bool v4 = peer[10] == 0xff && peer[11] == 0xff && !peer[0] &&
			  !s_.env.device.is_roce_v1();
		bool right = v4 ? grh[20] >> 4 == 4 && !memcmp(grh + 32, peer + 12, 4) :
				  grh[0] >> 4 == 6 && !memcmp(grh + 8, peer, 16);
		require(right, "the GRH area of message %u does not name its sender", slot);
	}

	const Setup &s_;
	const Batch &b_;
	uint64_t stride_, half_;
	uint32_t links_;
	std::vector<LinkState> state_;
	std::vector<uint32_t> slot_message_;
	uint64_t my_seed_ = 0, peer_seed_ = 0;
	bool active_ = false, passive_ = false, ud_ = false, srq_ = false;
	Remote peer_ = {};
};

} // namespace

size_t arena_bytes_for(const Batch &batch)
{
	return 2 * half_bytes(batch);
}

void expect_write(Env &env, const Link &link, Cq &cq, uint64_t id, ibv_wc_status status)
{
	if (!env.device.is_iwarp()) {
		cq.expect(status, id, env.limit_s);
		return;
	}
	cq.expect(IBV_WC_SUCCESS, id, env.limit_s);
	post(link, {.opcode = IBV_WR_RDMA_READ, .id = kFateTag | id});
	Completion c = cq.next(env.limit_s);
	require(c.wr_id == (kFateTag | id), "completion of wr %llu, not of the READ behind %llu",
		static_cast<unsigned long long>(c.wr_id), static_cast<unsigned long long>(id));
	// It was flushed if the rejection arrived before it was posted.
	require(c.status == status || (status != IBV_WC_SUCCESS && c.status == IBV_WC_WR_FLUSH_ERR),
		"the READ behind wr %llu completed with '%s' instead of '%s'",
		static_cast<unsigned long long>(id), ibv_wc_status_str(c.status),
		ibv_wc_status_str(status));
}

void run_batch(const Setup &setup, const Batch &batch)
{
	Transfer(setup, batch).run();
}

Bench::Bench(Env &e, const LinkOptions &options, size_t arena_bytes, const CqOptions &cq_options,
	     MrKind kind)
	: env(e), pd(make_pd(e.device.context())), cq(e.device, cq_options),
	  arena(pd.get(), arena_bytes, kAllAccess, kind),
	  link(e.device, pd.get(), cq.get(), cq.get(), options)
{
	link.connect(e.control);
}

void Bench::run(const Batch &batch)
{
	run_batch({env, {&link}, cq, cq, arena}, batch);
}

} // namespace vt
