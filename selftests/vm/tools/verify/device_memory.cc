// SPDX-License-Identifier: GPL-2.0
// Device memory as source and target of every opcode, by copies of its owner and by imports; its
// limits, and what is refused.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr size_t kBytes = 300000;
constexpr unsigned kAccess = unsigned{kAllAccess} | IBV_ACCESS_ZERO_BASED;

struct DmBench {
	explicit DmBench(Env &e, size_t bytes = kBytes, unsigned access = kAccess)
		: env(e), bench(e, {}, 1 << 20)
	{
		e.both_need(e.device.attr_ex().max_dm_size, "device memory");
		dm = make_dm(e.device.context(), bytes);
		mr.reset(ibv_reg_dm_mr(bench.pd.get(), dm.get(), 0, bytes, access));
		require(mr != nullptr, "ibv_reg_dm_mr: %m");
		there = e.control.exchange(Remote{0, bytes, mr->rkey, 0});
	}
	void fill(uint64_t key, size_t offset = 0, size_t bytes = kBytes)
	{
		std::vector<char> data(bytes);
		pattern_fill(data.data(), bytes, key);
		require(!ibv_memcpy_to_dm(dm.get(), offset, data.data(), bytes),
			"ibv_memcpy_to_dm");
	}
	void check(uint64_t key, size_t offset = 0, size_t bytes = kBytes)
	{
		std::vector<char> data(bytes);
		require(!ibv_memcpy_from_dm(data.data(), dm.get(), offset, bytes),
			"ibv_memcpy_from_dm");
		size_t good = pattern_check(data.data(), bytes, key);
		require(good == bytes, "byte %zu of the device memory is wrong", offset + good);
	}
	Work to_peer(ibv_wr_opcode opcode, uint64_t id, std::vector<ibv_sge> sges,
		     uint64_t offset = 0) const
	{
		Work w{.opcode = opcode, .id = id, .sges = std::move(sges)};
		w.remote_va = there.va + offset;
		w.rkey = there.rkey;
		return w;
	}
	ibv_sge sge(uint64_t offset, uint32_t bytes) const { return {offset, bytes, mr->lkey}; }

	Env &env;
	Bench bench;
	Dm dm;
	Mr mr;
	Remote there = {};
};

// One side acts, then the other. Each is from device memory to device memory.
void for_each_side(DmBench *b, ibv_wr_opcode opcode, uint32_t bytes, uint64_t from, uint64_t to)
{
	Env &env = b->env;
	for (bool client : {true, false}) {
		bool active = env.client == client, source = active != (opcode == IBV_WR_RDMA_READ);
		uint64_t key = from + to + opcode + client;

		b->fill(1);
		if (source)
			b->fill(key, active ? from : to, bytes);
		if (!active && opcode == IBV_WR_SEND)
			post_recv(b->bench.link, 2, {b->sge(to, bytes)});
		env.control.sync();
		if (active) {
			post(b->bench.link, b->to_peer(opcode, 1, {b->sge(from, bytes)}, to));
			if (opcode == IBV_WR_RDMA_WRITE)
				expect_write(env, b->bench.link, b->bench.cq, 1, IBV_WC_SUCCESS);
			else
				b->bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		} else if (opcode == IBV_WR_SEND) {
			b->bench.cq.expect(IBV_WC_SUCCESS, 2, env.limit_s);
		}
		env.control.sync();
		b->check(key, active ? from : to, bytes);
		env.control.sync();
	}
}

void data(Env &env)
{
	DmBench b(env);
	for (ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
		for_each_side(&b, opcode, 8, 4096, 8192);
		for_each_side(&b, opcode, 5001, 4093, 3);
		for_each_side(&b, opcode, kBytes, 0, 0);
	}
}

// The peer and the owner's CPU count at the same place, and the result comes to device memory.
void atomics(Env &env)
{
	DmBench b(env);
	uint64_t value = 40;
	require(!ibv_memcpy_to_dm(b.dm.get(), 64, &value, sizeof(value)), "ibv_memcpy_to_dm");
	env.control.sync();
	Work add = b.to_peer(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, {b.sge(128, 8)}, 64);
	add.compare_add = 2;
	post(b.bench.link, add);
	b.bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	Work swap = b.to_peer(IBV_WR_ATOMIC_CMP_AND_SWP, 2, {b.sge(136, 8)}, 64);
	swap.compare_add = 42;
	swap.swap = 77;
	post(b.bench.link, swap);
	b.bench.cq.expect(IBV_WC_SUCCESS, 2, env.limit_s);
	env.control.sync();
	uint64_t before[2];
	require(!ibv_memcpy_from_dm(before, b.dm.get(), 128, sizeof(before)) &&
			!ibv_memcpy_from_dm(&value, b.dm.get(), 64, sizeof(value)),
		"ibv_memcpy_from_dm");
	require(before[0] == 40 && before[1] == 42 && value == 77,
		"the results are %llu and %llu, the target is %llu",
		static_cast<unsigned long long>(before[0]),
		static_cast<unsigned long long>(before[1]), static_cast<unsigned long long>(value));
	env.control.sync();
}

// A region in the middle begins at address 0 and ends at its last byte.
void part(Env &env)
{
	constexpr uint32_t kFrom = 4096 + 4, kLength = 5000;
	DmBench b(env);
	b.fill(1, 0, kFrom);
	b.fill(3, kFrom + kLength, 4096);
	Mr some(ibv_reg_dm_mr(b.bench.pd.get(), b.dm.get(), kFrom, kLength, kAccess));
	require(some != nullptr, "ibv_reg_dm_mr: %m");
	b.there = env.control.exchange(Remote{0, kLength, some->rkey, 0});
	if (env.client) {
		pattern_fill(b.bench.arena.at(0), kLength, 2);
		post(b.bench.link,
		     b.to_peer(IBV_WR_RDMA_WRITE, 1, {b.bench.arena.sge(0, kLength)}));
		expect_write(env, b.bench.link, b.bench.cq, 1, IBV_WC_SUCCESS);
		post(b.bench.link,
		     b.to_peer(IBV_WR_RDMA_WRITE, 2, {b.bench.arena.sge(0, kLength)}, 1));
		expect_write(env, b.bench.link, b.bench.cq, 2, IBV_WC_REM_ACCESS_ERR);
	}
	env.control.sync();
	if (!env.client) {
		b.check(1, 0, kFrom);
		b.check(2, kFrom, kLength);
		b.check(3, kFrom + kLength, 4096);
	}
	env.control.sync();
}

// Without the right the peer cannot write, nor the owner receive.
void rights(Env &env, bool by_owner)
{
	DmBench b(env, kBytes, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_READ);
	b.fill(1);
	if (by_owner && !env.client)
		post_recv(b.bench.link, 3, {b.sge(0, 64)});
	env.control.sync();
	if (env.client && by_owner) {
		post(b.bench.link, {.id = 1, .sges = {b.bench.arena.sge(0, 64)}});
		b.bench.cq.next(env.limit_s);
	} else if (env.client) {
		post(b.bench.link, b.to_peer(IBV_WR_RDMA_READ, 1, {b.bench.arena.sge(0, 4096)}));
		b.bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		require(pattern_check(b.bench.arena.at(0), 4096, 1) == 4096,
			"what was read is wrong");
		post(b.bench.link, b.to_peer(IBV_WR_RDMA_WRITE, 2, {b.bench.arena.sge(0, 64)}));
		expect_write(env, b.bench.link, b.bench.cq, 2, IBV_WC_REM_ACCESS_ERR);
	} else if (by_owner) {
		b.bench.cq.expect(IBV_WC_LOC_PROT_ERR, 3, env.limit_s);
	}
	env.control.sync();
	b.check(1);
	env.control.sync();
}

void window(Env &env)
{
	DmBench b(env, kBytes, kAccess | IBV_ACCESS_MW_BIND);
	Mw mw(ibv_alloc_mw(b.bench.pd.get(), IBV_MW_TYPE_2));
	require(mw != nullptr, "ibv_alloc_mw: %m");
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	Work bind{.opcode = IBV_WR_BIND_MW, .id = 1, .mw = mw.get()};
	bind.new_rkey = rkey;
	bind.bind = {b.mr.get(), 1000, 5000, IBV_ACCESS_REMOTE_WRITE};
	post(b.bench.link, bind);
	b.bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	b.there.rkey = env.control.exchange(rkey);
	if (env.client) {
		pattern_fill(b.bench.arena.at(0), 5000, 4);
		post(b.bench.link,
		     b.to_peer(IBV_WR_RDMA_WRITE, 2, {b.bench.arena.sge(0, 5000)}, 1000));
		expect_write(env, b.bench.link, b.bench.cq, 2, IBV_WC_SUCCESS);
		post(b.bench.link,
		     b.to_peer(IBV_WR_RDMA_WRITE, 3, {b.bench.arena.sge(0, 64)}, 999));
		expect_write(env, b.bench.link, b.bench.cq, 3, IBV_WC_REM_ACCESS_ERR);
	}
	env.control.sync();
	if (!env.client)
		b.check(4, 1000, 5000);
	env.control.sync();
	// Its QP first: then the window is free, and the region can be deregistered.
	b.bench.link.destroy();
}

void refused(Env &env)
{
	env.both_need(env.device.attr_ex().max_dm_size, "device memory");
	ibv_context *context = env.device.context();
	const size_t most = env.device.attr_ex().max_dm_size;
	auto alloc = [&](int want, size_t bytes, uint32_t align, uint32_t mask) {
		ibv_alloc_dm_attr attr = {bytes, align, mask};
		errno = 0;
		Dm dm(ibv_alloc_dm(context, &attr));
		require(!dm && errno == want, "%zu bytes, alignment %u, mask %u: %s", bytes, align,
			mask, dm ? "accepted" : strerror(errno));
	};
	alloc(EINVAL, 0, 0, 0);
	alloc(EINVAL, 4096, 13, 0);
	alloc(EINVAL, 4096, UINT32_MAX, 0);
	alloc(EINVAL, 4096, 0, 1);
	alloc(ENOMEM, most + 1, 0, 0);
	alloc(ENOMEM, SIZE_MAX, 0, 0);

	Pd pd = make_pd(context);
	ibv_alloc_dm_attr attr = {5000, 12, 0};
	Dm dm(ibv_alloc_dm(context, &attr));
	require(dm != nullptr, "ibv_alloc_dm: %m");
	auto reg = [&](int want, uint64_t offset, size_t bytes, unsigned access) {
		errno = 0;
		Mr mr(ibv_reg_dm_mr(pd.get(), dm.get(), offset, bytes, access));
		// What the core of older kernels says for memory on demand, if a device has none.
		if (!mr && access & IBV_ACCESS_ON_DEMAND && errno == EINVAL)
			errno = want;
		require(!mr && errno == want, "bytes %zu at %llu, access 0x%x: %s", bytes,
			static_cast<unsigned long long>(offset), access,
			mr ? "accepted" : strerror(errno));
	};
	reg(EINVAL, 0, 5001, kAccess);
	reg(EINVAL, 1, 5000, kAccess);
	reg(EINVAL, 5001, 0, kAccess);
	reg(EINVAL, UINT64_MAX, 2, kAccess);
	reg(EINVAL, 0, 5000, kAllAccess);
	reg(EINVAL, 0, 5000, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE);
	reg(EOPNOTSUPP, 0, 5000, kAccess | IBV_ACCESS_ON_DEMAND);
	char byte = 1;
	require(ibv_memcpy_to_dm(dm.get(), 5000, &byte, 1) == EFAULT &&
			ibv_memcpy_from_dm(&byte, dm.get(), 5000, 1) == EFAULT,
		"a copy behind the end");
	Mr mr(ibv_reg_dm_mr(pd.get(), dm.get(), 0, 5000, kAccess));
	require(mr != nullptr, "ibv_reg_dm_mr: %m");
	require(ibv_free_dm(dm.get()) == EBUSY, "freed while it is registered");
	require(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, pd.get(), nullptr, 0,
			     IBV_ACCESS_LOCAL_WRITE) != 0,
		"re-registration was accepted");
	// It still works.
	require(!ibv_memcpy_from_dm(&byte, dm.get(), 4999, 1) && !byte, "its last byte");
	env.control.sync();
}

// Up to the limit, not a page more; freed memory can be had again, and is zeros. The other end of
// the test may be on the same device: one after the other.
void limit(Env &env)
{
	env.both_need(env.device.attr_ex().max_dm_size, "device memory");
	constexpr size_t kEach = size_t{16} << 20;
	const size_t most = env.device.attr_ex().max_dm_size;
	for (bool client : {true, false}) {
		for (int round = 0; client == env.client && round < 2; round++) {
			std::vector<Dm> all;
			for (size_t sum = 0; sum < most; sum += kEach) {
				all.push_back(make_dm(env.device.context(), kEach));
				char first[4096];
				require(!ibv_memcpy_from_dm(first, all.back().get(), kEach - 4096,
							    sizeof(first)) &&
						std::all_of(first, std::end(first),
							    [](char c) { return !c; }),
					"fresh memory is not of zeros");
				memset(first, 1, sizeof(first));
				require(!ibv_memcpy_to_dm(all.back().get(), kEach - 4096, first,
							  sizeof(first)),
					"ibv_memcpy_to_dm");
			}
			ibv_alloc_dm_attr attr = {1, 0, 0};
			errno = 0;
			Dm more(ibv_alloc_dm(env.device.context(), &attr));
			require(!more && errno == ENOMEM, "a page more: %s",
				more ? "accepted" : strerror(errno));
		}
		env.control.sync();
	}
}

struct ContextCloser {
	void operator()(ibv_context *context) const { ibv_close_device(context); }
};

// Another user of the context sees the same memory, by copies and by its own region.
void import(Env &env)
{
	DmBench b(env);
	std::unique_ptr<ibv_context, ContextCloser> other(
		ibv_import_device(dup(env.device.context()->cmd_fd)));
	require(other != nullptr, "ibv_import_device: %m");
	ibv_dm *theirs = ibv_import_dm(other.get(), b.dm->handle);
	require(theirs != nullptr, "ibv_import_dm: %m");
	std::vector<char> bytes(kBytes);
	b.fill(5);
	require(!ibv_memcpy_from_dm(bytes.data(), theirs, 0, kBytes) &&
			pattern_check(bytes.data(), kBytes, 5) == kBytes,
		"the importer sees other memory");
	require(ibv_memcpy_from_dm(bytes.data(), theirs, 1, kBytes) == EFAULT,
		"a copy behind the end");
	pattern_fill(bytes.data(), kBytes, 6);
	require(!ibv_memcpy_to_dm(theirs, 0, bytes.data(), kBytes), "ibv_memcpy_to_dm");
	b.check(6);
	errno = 0;
	require(!ibv_import_dm(other.get(), 0x7fffffff) && errno == ENOENT,
		"a handle that is not there: %m");
	Pd pd = make_pd(other.get());
	Mr mr(ibv_reg_dm_mr(pd.get(), theirs, 0, kBytes, kAccess));
	require(mr != nullptr, "ibv_reg_dm_mr of the importer: %m");
	b.mr.reset();
	require(ibv_free_dm(b.dm.get()) == EBUSY, "freed while an importer has registered it");
	mr.reset();
	ibv_unimport_dm(theirs);
	b.check(6);
	env.control.sync();
}

// Traffic between device memories for a time, for tests that end a process in the middle.
void busy(Env &env)
{
	DmBench b(env);
	double end = now_s() + env.seconds;
	for (uint32_t over = 0; !over;) {
		for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND})
			for_each_side(&b, opcode, kBytes, 0, 0);
		uint32_t mine = env.client && now_s() > end;
		over = env.control.exchange(mine) || mine;
	}
}

Register cases([](Cases &list) {
	list.push_back({"dm/data", data});
	list.push_back({"dm/atomics", atomics});
	list.push_back({"dm/part", part});
	list.push_back({"dm/rights-of-peer", [](Env &env) { rights(env, false); }});
	list.push_back({"dm/rights-of-owner", [](Env &env) { rights(env, true); }});
	list.push_back({"dm/window", window});
	list.push_back({"dm/refused", refused});
	list.push_back({"dm/limit", limit});
	list.push_back({"dm/import", import});
	list.push_back({"dm/busy", busy, true});
});

} // namespace
} // namespace vt
