// SPDX-License-Identifier: GPL-2.0
// Memory regions of every kind as source and target of every RC opcode, and the effects
// of rereg.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <set>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

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

// A region of the server, re-registered with some of the flags, and QPs of its old and new PDs.
class Rereg {
public:
	Rereg(Env &env, int flags)
		: env_(env),
		  flags_(flags), pd_{make_pd(env.device.context()), make_pd(env.device.context())},
		  place_{Buffer(8192), Buffer(16384)}, cq_(env.device, {}),
		  local_(pd_[0].get(), 16384),
		  old_(env.device, pd_[0].get(), cq_.get(), cq_.get(), {}),
		  new_(env.device, pd_[!env.client].get(), cq_.get(), cq_.get(), {})
	{
		Link::connect_all({&old_, &new_}, env.control);
		mr_.reset(ibv_reg_mr(pd_[0].get(), place_[0].data(), place_[0].size(), kAllAccess));
		require(mr_ != nullptr, "ibv_reg_mr: %m");
	}
	void run()
	{
		const Buffer &place = place_[has(IBV_REREG_MR_CHANGE_TRANSLATION)];
		pattern_fill(place.data(), place.size(), 4);
		int access = has(IBV_REREG_MR_CHANGE_ACCESS) ?
				     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ :
				     0;
		int error = ibv_rereg_mr(mr_.get(), flags_, pd_[1].get(), place_[1].data(),
					 place_[1].size(), access);
		require(!error, "ibv_rereg_mr with flags %d: %d, %m", flags_, error);
		require(mr_->length == place.size() && mr_->addr == place.data(),
			"the program's view was not changed");
		Remote mine = {reinterpret_cast<uint64_t>(place.data()), place.size(), mr_->rkey,
			       0};
		there_ = env_.control.exchange(mine);
		bool writable = !has(IBV_REREG_MR_CHANGE_ACCESS);
		if (env_.client)
			use(writable);
		env_.control.sync();
		if (!env_.client)
			require(pattern_check(place.data(), 64, writable ? 5 : 4) == 64,
				"flags %d: the target is wrong", flags_);
		env_.control.sync();
	}

private:
	bool has(int flag) const { return flags_ & flag; }
	void use(bool writable)
	{
		bool moved = has(IBV_REREG_MR_CHANGE_PD);
		Link &right = moved ? new_ : old_, &wrong = moved ? old_ : new_;
		auto bytes = static_cast<uint32_t>(there_.bytes);

		act(right, IBV_WR_RDMA_READ, 0, bytes, IBV_WC_SUCCESS);
		require(pattern_check(local_.at(0), bytes, 4) == bytes,
			"flags %d: what was read is wrong", flags_);
		pattern_fill(local_.at(0), 64, 5);
		act(right, IBV_WR_RDMA_WRITE, 0, 64,
		    writable ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
		if (writable)
			act(right, IBV_WR_RDMA_READ, 1, bytes, IBV_WC_REM_ACCESS_ERR);
		// The QPs of the client have one PD.
		act(wrong, IBV_WR_RDMA_READ, 0, 64, IBV_WC_REM_ACCESS_ERR);
	}
	void act(Link &link, ibv_wr_opcode opcode, uint64_t offset, uint32_t bytes,
		 ibv_wc_status status)
	{
		Work w{.opcode = opcode, .id = 1, .sges = {local_.sge(0, bytes)}};
		w.remote_va = there_.va + offset;
		w.rkey = there_.rkey;
		post(link, w);
		if (opcode == IBV_WR_RDMA_WRITE)
			expect_write(env_, link, cq_, 1, status);
		else
			cq_.expect(status, 1, env_.limit_s);
	}

	Env &env_;
	int flags_;
	Pd pd_[2];
	Buffer place_[2];
	Cq cq_;
	Arena local_;
	Link old_, new_;
	Mr mr_;
	Remote there_ = {};
};

// PD, place and rights, each alone and together.
void rereg_all(Env &env)
{
	Pd pd = make_pd(env.device.context());
	Buffer buffer(8192);
	Mr probe(ibv_reg_mr(pd.get(), buffer.data(), buffer.size(), kAllAccess));
	require(probe != nullptr, "ibv_reg_mr: %m");
	int error = ibv_rereg_mr(probe.get(), IBV_REREG_MR_CHANGE_ACCESS, pd.get(), buffer.data(),
				 buffer.size(), kAllAccess);
	env.both_need(!error || !means_unsupported(errno), "rereg");
	for (int flags = 1; flags <= IBV_REREG_MR_FLAGS_SUPPORTED; flags++)
		Rereg(env, flags).run();
}

// What fails leaves the region as it was.
void rereg_refused(Env &env)
{
	Bench bench(env, {}, 1 << 20);
	Buffer place(8192);
	int access = kAllAccess | IBV_ACCESS_MW_BIND;
	Mr mr(ibv_reg_mr(bench.pd.get(), place.data(), place.size(), access));
	require(mr != nullptr, "ibv_reg_mr: %m");
	auto refused = [&](const char *what, int flags, void *addr, size_t length, int rights) {
		require(ibv_rereg_mr(mr.get(), flags, bench.pd.get(), addr, length, rights) != 0,
			"%s was accepted", what);
	};
	int error = ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, bench.pd.get(), place.data(),
				 place.size(), access);
	env.both_need(!error || !means_unsupported(errno), "rereg");
	refused("memory that is not there", IBV_REREG_MR_CHANGE_TRANSLATION,
		reinterpret_cast<void *>(4096), 4096, 0);
	refused("a length that wraps", IBV_REREG_MR_CHANGE_TRANSLATION, place.data(), SIZE_MAX, 0);
	refused("REMOTE_WRITE without LOCAL_WRITE", IBV_REREG_MR_CHANGE_ACCESS, place.data(),
		place.size(), IBV_ACCESS_REMOTE_WRITE);
	refused("an unknown flag", IBV_REREG_MR_FLAGS_SUPPORTED + 1, place.data(), place.size(),
		access);
	refused("no flag", 0, place.data(), place.size(), access);
	pattern_fill(bench.arena.at(0), 64, 3);
	Remote mine = {reinterpret_cast<uint64_t>(place.data()), place.size(), mr->rkey, 0};
	Remote theirs = env.control.exchange(mine);
	if (env.client)
		write_there(&bench, theirs.va + 8000, theirs.rkey, IBV_WC_SUCCESS);
	env.control.sync();
	if (!env.client)
		require(pattern_check(place.data() + 8000, 64, 3) == 64,
			"the region is not as before");
	env.control.sync();
}

[[noreturn]] void scribble(const Arena &arena)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int value = 0;; value++)
		memset(arena.at(0), value, arena.size());
}

// Children inherit a copy of registered memory, or with RDMAV_FORK_SAFE none. What they do to it
// does not reach the peer, and the parent's own pages remain those that are registered.
void forked(Env &env)
{
	require(ibv_is_fork_initialized() != IBV_FORK_DISABLED, "programs may not fork");
	Bench bench(env, {}, 2 << 20);
	Batch batch;
	for (ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
		pid_t child = fork();
		require(child >= 0, "fork: %m");
		if (!child)
			scribble(bench.arena);
		batch.opcode = opcode;
		batch.bytes = 100000;
		batch.both_ways = true;
		std::exception_ptr failure;
		try {
			for (int round = 0; round < 20; round++, batch.seed++)
				bench.run(batch);
		} catch (...) {
			failure = std::current_exception();
		}
		kill(child, SIGKILL);
		waitpid(child, nullptr, 0);
		if (failure)
			std::rethrow_exception(failure);
	}
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
	list.push_back(
		{"mr/relaxed-ordering", [](Env &env) { region_kind(env, MrKind::kRelaxed); }});
	list.push_back({"mr/dma-buf", [](Env &env) { region_kind(env, MrKind::kDmaBuf); }});
	list.push_back(
		{"mr/dma-buf-moves", [](Env &env) { region_kind(env, MrKind::kMovingDmaBuf); }});
	list.push_back({"mr/udmabuf", [](Env &env) { region_kind(env, MrKind::kUdmabuf); }});
	list.push_back({"mr/dma-heap", [](Env &env) { region_kind(env, MrKind::kHeap); }});
	list.push_back({"mr/zero-based", zero_based_flag});
	list.push_back({"mr/unaligned", unaligned});
	list.push_back({"mr/rereg", rereg});
	list.push_back({"mr/rereg-all", rereg_all});
	list.push_back({"mr/rereg-refused", rereg_refused});
	list.push_back({"mr/rereg-busy", rereg_busy});
	list.push_back({"mr/fork", forked});
	list.push_back({"mr/many", many_regions});
});

} // namespace
} // namespace vt
