// SPDX-License-Identifier: GPL-2.0
// Null regions between other SGEs: what is gathered from them is zeros, what is scattered to them
// is discarded, and the bytes before and behind are where they belong.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

// A message: data, a gap that is the null region's, data.
constexpr uint32_t kBefore = 100, kGap = 70001, kBehind = 333;
constexpr uint32_t kWhole = kBefore + kGap + kBehind;
// Where the data of the list is in the arena; the whole message is behind it.
constexpr uint64_t kFirst = 50, kSecond = 4096 + 7, kMessage = 8192;
constexpr uint64_t kAnywhere[] = {0, 0x123456789001, UINT64_MAX - 10};

struct NullBench {
	explicit NullBench(Env &e, ibv_qp_type type = IBV_QPT_RC)
		: env(e), bench(e, options(type), 1 << 20), null(ibv_alloc_null_mr(bench.pd.get()))
	{
		int error = null ? 0 : errno;
		env.both_need(null || !means_unsupported(error), "null regions");
		require(null != nullptr, "ibv_alloc_null_mr: %s", strerror(error));
		bench.arena.fill_canary();
	}
	static LinkOptions options(ibv_qp_type type)
	{
		LinkOptions o;
		o.type = type;
		o.sges = 3;
		return o;
	}
	std::vector<ibv_sge> list(uint64_t gap_at, uint32_t gap = kGap) const
	{
		return {bench.arena.sge(kFirst, kBefore),
			{gap_at, gap, null->lkey},
			bench.arena.sge(kSecond, kBehind)};
	}
	// The parts of the message with that key, into the list's memory.
	void fill_list(uint64_t key, uint32_t gap = kGap) const
	{
		pattern_fill(bench.arena.at(kFirst), kBefore, key);
		pattern_fill(bench.arena.at(kSecond), kBehind, key, kBefore + gap);
	}
	// It is there, and nothing else.
	void check_list(uint64_t key) const
	{
		const Arena &a = bench.arena;

		require(pattern_check(a.at(kFirst), kBefore, key) == kBefore &&
				pattern_check(a.at(kSecond), kBehind, key, kBefore + kGap) ==
					kBehind,
			"the data around the gap is wrong");
		require(a.check_canary(0, kFirst) == kFirst &&
				a.check_canary(kFirst + kBefore, kSecond - kFirst - kBefore) ==
					kSecond - kFirst - kBefore &&
				a.check_canary(kSecond + kBehind, kMessage - kSecond - kBehind) ==
					kMessage - kSecond - kBehind,
			"what should have been discarded was written");
	}
	void check_message(uint64_t key, uint64_t at = kMessage, uint32_t gap = kGap) const
	{
		const char *p = bench.arena.at(at);

		require(pattern_check(p, kBefore, key) == kBefore &&
				pattern_check(p + kBefore + gap, kBehind, key, kBefore + gap) ==
					kBehind,
			"the data around the gap is wrong");
		require(std::all_of(p + kBefore, p + kBefore + gap, [](char c) { return !c; }),
			"the gap is not of zeros");
	}

	Env &env;
	Bench bench;
	Mr null;
};

// Both send, so that both gather.
void gather_send(Env &env)
{
	NullBench b(env);
	for (uint64_t at : kAnywhere) {
		b.fill_list(at);
		post_recv(b.bench.link, 1, {b.bench.arena.sge(kMessage, kWhole)});
		env.control.sync();
		post(b.bench.link, {.id = 2, .sges = b.list(at)});
		for (int i = 0; i < 2; i++)
			require_success(b.bench.cq.next(env.limit_s), "a SEND");
		b.check_message(at);
		env.control.sync();
	}
}

void gather_write(Env &env)
{
	NullBench b(env);
	Remote there = env.control.exchange(b.bench.arena.remote());
	for (uint64_t at : kAnywhere) {
		b.fill_list(at);
		Work w{.opcode = IBV_WR_RDMA_WRITE, .id = 1, .sges = b.list(at)};
		w.remote_va = there.va + kMessage;
		w.rkey = there.rkey;
		post(b.bench.link, w);
		expect_write(env, b.bench.link, b.bench.cq, 1, IBV_WC_SUCCESS);
		env.control.sync();
		b.check_message(at);
		env.control.sync();
	}
}

void scatter_recv(Env &env)
{
	NullBench b(env);
	for (uint64_t at : kAnywhere) {
		b.bench.arena.fill_canary();
		pattern_fill(b.bench.arena.at(kMessage), kWhole, at);
		post_recv(b.bench.link, 1, b.list(at));
		env.control.sync();
		post(b.bench.link, {.id = 2, .sges = {b.bench.arena.sge(kMessage, kWhole)}});
		for (int i = 0; i < 2; i++)
			require_success(b.bench.cq.next(env.limit_s), "a SEND");
		b.check_list(at);
		env.control.sync();
	}
}

void scatter_read(Env &env)
{
	NullBench b(env);
	Remote there = env.control.exchange(b.bench.arena.remote());
	for (uint64_t at : kAnywhere) {
		b.bench.arena.fill_canary();
		pattern_fill(b.bench.arena.at(kMessage), kWhole, at);
		env.control.sync();
		Work w{.opcode = IBV_WR_RDMA_READ, .id = 1, .sges = b.list(at)};
		w.remote_va = there.va + kMessage;
		w.rkey = there.rkey;
		post(b.bench.link, w);
		b.bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		b.check_list(at);
		env.control.sync();
	}
}

// The result goes nowhere, the effect remains.
void atomic_result(Env &env)
{
	NullBench b(env);
	uint64_t value = 40;
	memcpy(b.bench.arena.at(0), &value, sizeof(value));
	Remote there = env.control.exchange(b.bench.arena.remote());
	Work w{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = 1, .sges = {{3, 8, b.null->lkey}}};
	w.remote_va = there.va;
	w.rkey = there.rkey;
	w.compare_add = 2;
	post(b.bench.link, w);
	b.bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	env.control.sync();
	memcpy(&value, b.bench.arena.at(0), sizeof(value));
	require(value == 42, "the target is %llu", static_cast<unsigned long long>(value));
	env.control.sync();
}

void datagram(Env &env)
{
	constexpr uint32_t kSmallGap = 500;
	NullBench b(env, IBV_QPT_UD);
	const uint32_t bytes = kBefore + kSmallGap + kBehind;

	b.fill_list(9, kSmallGap);
	post_recv(b.bench.link, 1, {b.bench.arena.sge(kMessage, 40 + bytes)});
	post_recv(b.bench.link, 3, {{77, 40 + bytes, b.null->lkey}});
	env.control.sync();
	post(b.bench.link, {.id = 2, .sges = b.list(77, kSmallGap)});
	post(b.bench.link, {.id = 2, .sges = b.list(77, kSmallGap)});
	for (int i = 0; i < 4; i++)
		require_success(b.bench.cq.next(env.limit_s), "a datagram");
	b.check_message(9, kMessage + 40, kSmallGap);
	env.control.sync();
}

// Its lkey is no rkey; it cannot be changed or bound, and belongs to its PD.
void refused(Env &env)
{
	NullBench b(env);
	Mr other(ibv_alloc_null_mr(b.bench.pd.get()));
	require(other != nullptr, "a second one: %m");
	require(ibv_rereg_mr(other.get(), IBV_REREG_MR_CHANGE_ACCESS, b.bench.pd.get(), nullptr, 0,
			     IBV_ACCESS_LOCAL_WRITE) != 0,
		"re-registration was accepted");
	ibv_pd *pd = ibv_alloc_pd(env.device.context());
	require(pd != nullptr, "ibv_alloc_pd: %m");
	Mr last(ibv_alloc_null_mr(pd));
	require(last && ibv_dealloc_pd(pd) == EBUSY, "its PD does not know of it");
	last.reset();
	require(!ibv_dealloc_pd(pd), "its PD cannot be deallocated");
	Mw window(ibv_alloc_mw(b.bench.pd.get(), IBV_MW_TYPE_2));
	require(window != nullptr, "ibv_alloc_mw: %m");
	env.control.sync();
	if (env.client) {
		Work bind{.opcode = IBV_WR_BIND_MW, .id = 1, .mw = window.get()};
		bind.new_rkey = ibv_inc_rkey(window->rkey);
		bind.bind = {b.null.get(), 0, 64, IBV_ACCESS_REMOTE_READ};
		if (!try_post(b.bench.link, bind))
			b.bench.cq.expect(IBV_WC_MW_BIND_ERR, 1, env.limit_s);
	}
	env.control.sync();
}

void no_rkey(Env &env)
{
	NullBench b(env);
	uint32_t key = env.control.exchange(b.null->lkey);
	if (env.client) {
		Work w{.opcode = IBV_WR_RDMA_WRITE,
		       .id = 1,
		       .sges = {b.bench.arena.sge(0, 64)},
		       .remote_va = 4096,
		       .rkey = key};
		post(b.bench.link, w);
		expect_write(env, b.bench.link, b.bench.cq, 1, IBV_WC_REM_ACCESS_ERR);
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"null-mr/gather-send", gather_send});
	list.push_back({"null-mr/gather-write", gather_write});
	list.push_back({"null-mr/scatter-recv", scatter_recv});
	list.push_back({"null-mr/scatter-read", scatter_read});
	list.push_back({"null-mr/atomic-result", atomic_result});
	list.push_back({"ud/null-mr", datagram});
	list.push_back({"null-mr/refused", refused});
	list.push_back({"null-mr/no-rkey", no_rkey});
});

} // namespace
} // namespace vt
