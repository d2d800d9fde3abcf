// SPDX-License-Identifier: GPL-2.0
// FLUSH and ATOMIC WRITE (IBTA annex A19) among other requests: what they promise about the
// requests before them, and the order of completions. opcodes.cc has ATOMIC WRITEs alone.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr int kFlushable = kAllAccess | kAccessFlushGlobal;

void need(Env &env, bool here, const char *what)
{
	if (env.device.is_iwarp())
		skip("there is no such message in iWARP");
	env.both_need(here, what);
}

LinkOptions with_placement(const Device &device)
{
	LinkOptions options;
	if (has_cap(device, kCapFlushGlobal))
		options.access |= kAccessFlush;
	options.modern = options.placement = true;
	options.send_wr = 256;
	return options;
}

// A bench whose peer has a region of its own.
struct PlacementBench {
	PlacementBench(Env &e, size_t bytes, int access)
		: env(e), bench(e, with_placement(e.device), 1 << 20),
		  target(bench.pd.get(), bytes, access)
	{
		target.fill_canary();
		there = e.control.exchange(target.remote());
	}

	Work to_target(ibv_wr_opcode opcode, uint64_t id, uint64_t target_at, uint64_t local_at,
		       uint32_t bytes) const
	{
		Work w{.opcode = opcode, .id = id};
		if (opcode != kWrFlush)
			w.sges = {bench.arena.sge(local_at, bytes)};
		w.remote_va = there.va + target_at;
		w.rkey = there.rkey;
		w.flush.bytes = bytes;
		return w;
	}

	Env &env;
	Bench bench;
	Arena target;
	Remote there;
};

// A program that reads the word finds all that was written before, and never half a word.
void atomic_write_behind_writes(Env &env)
{
	constexpr uint32_t kMessages = 60, kBytes = 9001, kWordAt = kMessages * 16384;
	constexpr uint64_t kBothHalves = 0x100000001;

	need(env, placement_ops(env.device) & kWithAtomicWrite, "ATOMIC WRITE");
	PlacementBench b(env, kWordAt + 4096, kAllAccess);
	std::atomic_ref<uint64_t> word(*reinterpret_cast<uint64_t *>(b.target.at(kWordAt)));
	word = 0;
	env.control.sync();
	if (env.client) {
		for (uint32_t m = 0; m < kMessages; m++) {
			uint64_t value = (m + 1) * kBothHalves;
			pattern_fill(b.bench.arena.at(m * 16384), kBytes, m);
			memcpy(b.bench.arena.at(m * 16384 + 16376), &value, 8);
			post(b.bench.link,
			     b.to_target(IBV_WR_RDMA_WRITE, 2 * m, m * 16384, m * 16384, kBytes));
			post(b.bench.link,
			     b.to_target(kWrAtomicWrite, 2 * m + 1, kWordAt, m * 16384 + 16376, 8));
		}
		for (uint32_t m = 0; m < kMessages; m++) {
			b.bench.cq.expect(IBV_WC_SUCCESS, 2 * m, env.limit_s);
			Completion c = b.bench.cq.expect(IBV_WC_SUCCESS, 2 * m + 1, env.limit_s);
			require(c.opcode == kWcAtomicWrite, "completion opcode %d", c.opcode);
		}
	} else {
		double deadline = now_s() + env.limit_s;
		for (uint64_t seen = 0; seen < kMessages;) {
			uint64_t value = word.load(std::memory_order_acquire);
			uint64_t now = value & UINT32_MAX;
			require(value == now * kBothHalves && now >= seen,
				"the word has %#llx after %llu",
				static_cast<unsigned long long>(value),
				static_cast<unsigned long long>(seen));
			for (; seen < now; seen++)
				require(pattern_check(b.target.at(seen * 16384), kBytes, seen) ==
						kBytes,
					"WRITE %llu was not complete before the ATOMIC WRITE "
					"behind it",
					static_cast<unsigned long long>(seen));
			if (now_s() > deadline)
				fail("the word did not change after %llu",
				     static_cast<unsigned long long>(seen));
		}
	}
	env.control.sync();
}

// Ranges of any length within the region, and all of the region whatever the range.
void flush(Env &env)
{
	constexpr uint32_t kBytes = 3 << 20;

	need(env, can_flush(env.device, env.client), "FLUSH is not on this machine");
	PlacementBench b(env, kBytes, kFlushable);
	const struct {
		uint64_t at;
		uint32_t bytes;
	} rows[] = {{0, 0}, {kBytes, 0}, {17, 1}, {4095, 4097}, {kBytes - 1, 1}, {0, kBytes}};
	uint64_t id = 1000;
	for (const auto &row : rows) {
		for (Selectivity selectivity : {kRange, kRegion}) {
			uint32_t bytes = std::min(row.bytes, 500000u);
			if (env.client) {
				pattern_fill(b.bench.arena.at(0), bytes, id);
				post(b.bench.link,
				     b.to_target(IBV_WR_RDMA_WRITE, id, row.at, 0, bytes));
				Work w = b.to_target(kWrFlush, id + 1, row.at, 0, row.bytes);
				w.flush.selectivity = selectivity;
				if (selectivity == kRegion)
					w.remote_va ^= UINT64_MAX;
				post(b.bench.link, w);
				b.bench.cq.expect(IBV_WC_SUCCESS, id, env.limit_s);
				Completion c =
					b.bench.cq.expect(IBV_WC_SUCCESS, id + 1, env.limit_s);
				require(c.opcode == kWcFlush, "completion opcode %d", c.opcode);
			}
			env.control.sync();
			if (!env.client)
				require(pattern_check(b.target.at(row.at), bytes, id) == bytes,
					"%u bytes at %llu are not there after the FLUSH", bytes,
					static_cast<unsigned long long>(row.at));
			env.control.sync();
			id += 2;
		}
	}
}

// Many at a time, with everything else that max_rd_atomic limits, and each other kind of request.
void mixed(Env &env)
{
	constexpr uint32_t kRounds = 24, kSlot = 64;
	const ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE,	     kWrFlush,	 kWrAtomicWrite, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND};
	constexpr uint32_t kKinds = std::size(opcodes);

	need(env, can_flush(env.device, env.client) && placement_ops(env.device) & kWithAtomicWrite,
	     "FLUSH or ATOMIC WRITE is not on this machine");
	PlacementBench b(env, 1 << 20, kFlushable);
	if (!env.client) {
		memset(b.target.at(0), 0, b.target.size());
		for (uint32_t i = 0; i < kRounds; i++)
			post_recv(b.bench.link, i, {b.bench.arena.sge(i * kSlot, 8)});
	}
	env.control.sync();
	if (env.client) {
		uint32_t id = 0;
		for (uint32_t round = 0; round < kRounds; round++)
			for (ibv_wr_opcode opcode : opcodes) {
				uint64_t value = id + 1;
				memcpy(b.bench.arena.at(id * kSlot), &value, 8);
				Work w = b.to_target(opcode, id, id * kSlot, id * kSlot, 8);
				w.compare_add = value;
				post(b.bench.link, w);
				id++;
			}
		for (uint32_t i = 0; i < id; i++) {
			Completion c = b.bench.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
			require(c.opcode == completion_of(opcodes[i % kKinds]),
				"completion opcode %d of %s", c.opcode,
				opcode_name(opcodes[i % kKinds]));
		}
	} else {
		for (uint32_t i = 0; i < kRounds; i++)
			b.bench.cq.expect(IBV_WC_SUCCESS, i, env.limit_s);
	}
	env.control.sync();
	for (uint32_t id = 0; !env.client && id < kRounds * kKinds; id++) {
		ibv_wr_opcode opcode = opcodes[id % kKinds];
		bool stores = opcode == IBV_WR_RDMA_WRITE || opcode == kWrAtomicWrite ||
			      opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
		uint64_t got, want = stores ? id + 1 : 0;
		memcpy(&got, b.target.at(id * kSlot), 8);
		require(got == want, "%s %u left %llu", opcode_name(opcode), id,
			static_cast<unsigned long long>(got));
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"rc/atomic_write/behind-writes", atomic_write_behind_writes});
	list.push_back({"rc/flush", flush});
	list.push_back({"rc/flush/mixed", mixed});
});

} // namespace
} // namespace vt
