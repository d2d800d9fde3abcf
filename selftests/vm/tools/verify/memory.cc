// SPDX-License-Identifier: GPL-2.0
// Memory regions of every kind as source and target of every RC opcode, and the effects
// of rereg.
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>

#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

void region_kind(Env &env, MrKind kind)
{
	// Both sides must be able to create one before the first message.
	bool able = true;
	std::string why;
	try {
		Pd pd = make_pd(env.device.context());
		Arena probe(pd.get(), 8192, kAllAccess, kind);
	} catch (const Skip &reason) {
		able = false;
		why = reason.what();
	}
	env.both_need(able, why.empty() ? "this kind of region" : why.c_str());
	Bench bench(env, {}, 3 << 20, {}, kind);
	Batch batch;
	for (ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
				     IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
		for (uint32_t bytes : {8u, 4097u, 300000u}) {
			batch.opcode = opcode;
			batch.bytes = batch.is_atomic() ? 8 : bytes;
			batch.seed++;
			bench.run(batch);
			if (batch.is_atomic())
				break;
		}
	}
}

// IBV_ACCESS_ZERO_BASED: remote addresses count from the region's start.
void zero_based_flag(Env &env)
{
	Pd pd = make_pd(env.device.context());
	Buffer buffer(3 * 4096 + 100);
	Mr mr(ibv_reg_mr(pd.get(), buffer.data() + 100, 2 * 4096,
			 unsigned{kAllAccess} | IBV_ACCESS_ZERO_BASED));
	int error = mr ? 0 : errno;
	env.both_need(mr || !means_unsupported(error), "IBV_ACCESS_ZERO_BASED");
	require(mr != nullptr, "ibv_reg_mr zero-based: %s", strerror(error));
	LinkOptions options;
	Cq cq(env.device, {});
	Link link(env.device, pd.get(), cq.get(), cq.get(), options);
	link.connect(env.control);
	uint32_t rkey = env.control.exchange(mr->rkey);
	Arena local(pd.get(), 4096);
	if (env.client) {
		pattern_fill(local.at(0), 1000, 7);
		Work w{.opcode = IBV_WR_RDMA_WRITE, .sges = {local.sge(0, 1000)}};
		w.remote_va = 50;
		w.rkey = rkey;
		post(link, w);
		expect_write(env, link, cq, 0, IBV_WC_SUCCESS);
	}
	env.control.sync();
	if (!env.client)
		require(pattern_check(buffer.data() + 150, 1000, 7) == 1000,
			"the data is not at offset 50 of the region");
	env.control.sync();
}

// A region that begins and ends inside pages gives access to no byte outside.
void unaligned(Env &env)
{
	Bench bench(env, {}, 1 << 20);
	Buffer buffer(4 * 4096);
	Mr mr(ibv_reg_mr(bench.pd.get(), buffer.data() + 4001, 4290, kAllAccess));
	require(mr != nullptr, "ibv_reg_mr: %m");
	pattern_fill(buffer.data(), buffer.size(), 1);
	Remote mine = {reinterpret_cast<uint64_t>(buffer.data()) + 4001, 4290, mr->rkey, 0};
	Remote theirs = env.control.exchange(mine);
	if (env.client) {
		pattern_fill(bench.arena.at(0), 4290, 2);
		Work w{.opcode = IBV_WR_RDMA_WRITE, .sges = {bench.arena.sge(0, 4290)}};
		w.remote_va = theirs.va;
		w.rkey = theirs.rkey;
		post(bench.link, w);
		expect_write(env, bench.link, bench.cq, 0, IBV_WC_SUCCESS);
	}
	env.control.sync();
	if (!env.client)
		require(pattern_check(buffer.data(), 4001, 1) == 4001 &&
				pattern_check(buffer.data() + 4001, 4290, 2) == 4290 &&
				pattern_check(buffer.data() + 8291, 4 * 4096 - 8291, 1, 8291) ==
					4 * 4096 - 8291,
			"the target or its neighbours are wrong");
	env.control.sync();
}

void write_there(Bench *bench, uint64_t va, uint32_t rkey, ibv_wc_status status)
{
	Work w{.opcode = IBV_WR_RDMA_WRITE, .id = 9, .sges = {bench->arena.sge(0, 64)}};
	w.remote_va = va;
	w.rkey = rkey;
	post(bench->link, w);
	expect_write(bench->env, bench->link, bench->cq, 9, status);
}

// rereg to another place, then to fewer rights. The very next message sees each.
void rereg(Env &env)
{
	Bench bench(env, {}, 1 << 20);
	Buffer first(8192), second(16384);
	Mr mr(ibv_reg_mr(bench.pd.get(), first.data(), first.size(), kAllAccess));
	require(mr != nullptr, "ibv_reg_mr: %m");
	pattern_fill(bench.arena.at(0), 64, 3);

	int error = ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, bench.pd.get(),
				 second.data(), second.size(), 0);
	error = error ? errno : 0;
	env.both_need(!means_unsupported(error), "rereg of the translation");
	require(!error, "ibv_rereg_mr: %s", strerror(error));
	Remote mine = {reinterpret_cast<uint64_t>(second.data()), second.size(), mr->rkey, 0};
	Remote theirs = env.control.exchange(mine);
	if (env.client)
		write_there(&bench, theirs.va + 12000, theirs.rkey, IBV_WC_SUCCESS);
	env.control.sync();
	if (!env.client)
		require(pattern_check(second.data() + 12000, 64, 3) == 64,
			"the write did not reach the new place");

	error = ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, bench.pd.get(), second.data(),
			     second.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	require(!error, "ibv_rereg_mr of access: %s", strerror(error));
	theirs.rkey = env.control.exchange(mr->rkey);
	if (env.client)
		write_there(&bench, theirs.va, theirs.rkey, IBV_WC_REM_ACCESS_ERR);
	env.control.sync();
}

// A message during a rereg uses the old or the new region. Here both are the same
// memory, with all rights that the peer needs.
void rereg_busy(Env &env)
{
	constexpr uint32_t kWrites = 20000, kDepth = 32, kRegs = 2000;
	Bench bench(env, {}, 1 << 20);
	Buffer target(8192);
	Mr mr(ibv_reg_mr(bench.pd.get(), target.data(), target.size(), kAllAccess));
	require(mr != nullptr, "ibv_reg_mr: %m");
	Remote mine = {reinterpret_cast<uint64_t>(target.data()), target.size(), mr->rkey, 0};
	Remote theirs = env.control.exchange(mine);
	int error = 0;
	uint32_t n = 0;

	auto rereg_once = [&] {
		bool place = n % 2 == 0;
		if (ibv_rereg_mr(
			    mr.get(),
			    place ? IBV_REREG_MR_CHANGE_TRANSLATION : IBV_REREG_MR_CHANGE_ACCESS,
			    bench.pd.get(), target.data(), target.size(), place ? 0 : kAllAccess))
			error = errno;
		n++;
	};
	if (!env.client)
		rereg_once();
	env.both_need(!means_unsupported(error), "rereg of the translation");
	{
		std::jthread registrar;
		if (!env.client)
			registrar = std::jthread([&](const std::stop_token &stop) {
				while (!error && (!stop.stop_requested() || n < kRegs))
					rereg_once();
			});
		for (uint32_t i = 0, done = 0; env.client && done < kWrites; done++) {
			for (; i < kWrites && i - done < kDepth; i++) {
				Work w{.opcode = i % 4 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
				       .id = i,
				       .sges = {bench.arena.sge(0, 64)}};
				w.remote_va = theirs.va + 64 * (i % 64);
				w.rkey = theirs.rkey;
				post(bench.link, w);
			}
			bench.cq.expect(IBV_WC_SUCCESS, done, env.limit_s);
		}
		env.control.sync();
	}
	require(!error, "rereg %u: %s", n, strerror(error));
	env.control.sync();
}

// More regions than a driver's shortest lookup holds: keys differ, and each reaches its own 64
// bytes, also after a third of the regions is gone. The keys of those no longer work.
void many_regions(Env &env)
{
	constexpr uint32_t kRegions = 600, kBytes = 64;
	Bench bench(env, {}, 1 << 20);
	std::vector<Mr> regions;
	std::set<uint32_t> seen;
	std::array<uint32_t, kRegions> keys;
	for (uint32_t i = 0; i < kRegions; i++) {
		Mr mr(ibv_reg_mr(bench.pd.get(), bench.arena.at(kBytes * i), kBytes, kAllAccess));
		require(mr != nullptr, "region %u: %m", i);
		require(seen.insert(mr->rkey).second, "two regions with one key");
		keys[i] = mr->rkey;
		regions.push_back(std::move(mr));
	}
	Remote theirs = env.control.exchange(bench.arena.remote());
	keys = env.control.exchange(keys);
	auto write_to = [&](uint32_t i, ibv_wc_status status) {
		if (env.client)
			write_there(&bench, theirs.va + kBytes * i, keys[i], status);
	};
	for (uint32_t i = 0; i < kRegions; i++)
		write_to(i, IBV_WC_SUCCESS);
	env.control.sync();
	for (uint32_t i = 0; i < kRegions; i += 3)
		regions[i].reset();
	env.control.sync();
	for (uint32_t i = 0; i < kRegions; i++)
		if (i % 3)
			write_to(i, IBV_WC_SUCCESS);
	write_to(300, IBV_WC_REM_ACCESS_ERR);
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"mr/iova", [](Env &env) { region_kind(env, MrKind::kIova); }});
	list.push_back({"mr/iova-zero", [](Env &env) { region_kind(env, MrKind::kZeroBased); }});
	list.push_back({"mr/huge-pages", [](Env &env) { region_kind(env, MrKind::kHuge); }});
	list.push_back({"mr/zero-based", zero_based_flag});
	list.push_back({"mr/unaligned", unaligned});
	list.push_back({"mr/rereg", rereg});
	list.push_back({"mr/rereg-busy", rereg_busy});
	list.push_back({"mr/many", many_regions});
});

} // namespace
} // namespace vt
