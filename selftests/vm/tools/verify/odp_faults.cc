// SPDX-License-Identifier: GPL-2.0
// Memory on demand: how many page faults a message takes, faults that fail, windows, UC, memory
// without a kernel address, and what is held for a region and by a user.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <string>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counter.h"
#include "odp.h"
#include "pattern.h"
#include "post.h"
#include "transfer.h"
#include "xrc_bench.h"

namespace vt {
namespace {

void lose(const Arena &arena)
{
	require(!madvise(arena.at(0), arena.size(), MADV_DONTNEED), "madvise: %m");
}

uint64_t faults(const Env &env)
{
	return counter_now(env.device.context()->device, "page_faults");
}

// A long message to and from absent pages takes a fault for each 2 MiB, and some more where its
// length is not known before. A READ is asked for in parts, each of which may take one at the responder.
void ahead(Env &env, ibv_wr_opcode opcode)
{
	constexpr uint32_t kBytes = 8 << 20;
	const uint64_t most = opcode == IBV_WR_RDMA_READ && !env.client ? 128 : 24;
	need_odp(env, kAllCaps);
	Bench bench(env, {}, kBytes, {}, MrKind::kOnDemand);
	Remote theirs = env.control.exchange(bench.arena.remote());
	bool receives = !env.client && opcode == IBV_WR_SEND;
	pattern_fill(bench.arena.at(0), kBytes, env.client ? 1 : 2);
	lose(bench.arena);
	uint64_t before = faults(env);
	if (receives)
		post_recv(bench.link, 1, {bench.arena.sge(0, kBytes)});
	env.control.sync();
	if (env.client) {
		Work w{.opcode = opcode, .id = 2, .sges = {bench.arena.sge(0, kBytes)}};
		w.remote_va = theirs.va;
		w.rkey = theirs.rkey;
		post(bench.link, w);
		bench.cq.expect(IBV_WC_SUCCESS, 2);
	} else if (receives) {
		bench.cq.expect(IBV_WC_SUCCESS, 1);
	}
	env.control.sync();
	uint64_t n = faults(env) - before;
	require(n >= 1 && n <= most, "%llu page faults", static_cast<unsigned long long>(n));
	bool from_server = opcode == IBV_WR_RDMA_READ;
	require(pattern_check(bench.arena.at(0), kBytes, from_server ? 2 : 1) == kBytes ||
			env.client != from_server,
		"the message is wrong");
}

// A short message in a large buffer brings in no more of it than that.
void short_message(Env &env)
{
	constexpr size_t kPages = 256;
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20);
	Arena arena(bench.pd.get(), kPages * kPage, kAllAccess, MrKind::kOnDemand);
	if (!env.client) {
		// Whatever was never touched has no page, not even one that the process lost.
		post_recv(bench.link, 1, {arena.sge(0, kPages * kPage)});
		env.control.sync();
		bench.cq.expect(IBV_WC_SUCCESS, 1);
		unsigned char there[kPages];
		require(!mincore(arena.at(0), arena.size(), there), "mincore: %m");
		for (size_t i = 2; i < kPages; i++)
			require(!(there[i] & 1), "page %zu was brought in", i);
	} else {
		env.control.sync();
		post(bench.link, Work{.id = 2, .sges = {bench.arena.sge(0, 3000)}});
		bench.cq.expect(IBV_WC_SUCCESS, 2);
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	for (ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ})
		list.push_back({std::string("odp/ahead/") + opcode_name(opcode),
				[opcode](Env &env) { ahead(env, opcode); }});
	list.push_back({"odp/short-message", short_message});
});

} // namespace
} // namespace vt
