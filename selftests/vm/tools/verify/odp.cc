// SPDX-License-Identifier: GPL-2.0
// Memory on demand: regions whose pages are found when they are used, and taken away from
// under traffic.
#include <cerrno>
#include <cstring>
#include <random>
#include <thread>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "odp.h"
#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {

void need_odp(Env &env, uint32_t rc_caps)
{
	ibv_device_attr_ex attr{};
	require(!ibv_query_device_ex(env.device.context(), nullptr, &attr),
		"ibv_query_device_ex: %m");
	env.both_need((attr.odp_caps.general_caps & IBV_ODP_SUPPORT) &&
			      (attr.odp_caps.per_transport_caps.rc_odp_caps & rc_caps) == rc_caps,
		      "on-demand paging");
}

namespace {

constexpr ibv_wr_opcode kOpcodes[] = {
	IBV_WR_SEND,	  IBV_WR_RDMA_WRITE,	     IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
};
void all_opcodes(Bench *bench, uint64_t seed)
{
	Batch batch;
	batch.both_ways = true;
	for (ibv_wr_opcode opcode : kOpcodes) {
		batch.opcode = opcode;
		for (uint32_t bytes : {8u, 5000u, 300000u}) {
			batch.bytes = batch.is_atomic() ? 8 : bytes;
			batch.seed = ++seed;
			bench->run(batch);
			if (batch.is_atomic())
				break;
		}
	}
}

void plain(Env &env, MrKind kind)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 3 << 20, {}, kind);
	all_opcodes(&bench, 100);
}

// The process loses pages of the region all the time. They are shared memory: what is in them
// stays, and they come back with the next fault.
void losing_pages(Env &env, MrKind kind)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 3 << 20, {}, kind);
	std::jthread thief([&](const std::stop_token &stop) {
		std::minstd_rand random(static_cast<unsigned>(env.seed));
		size_t pages = bench.arena.size() / kPage;
		while (!stop.stop_requested()) {
			size_t first = random() % pages, n = 1 + random() % (pages - first);
			madvise(bench.arena.at(first * kPage), n * kPage, MADV_DONTNEED);
			usleep(200 + random() % 2000);
		}
	});
	all_opcodes(&bench, 1000);
}

// Children take part in the memory: every fork makes the parent's private pages read-only, and
// the parent gets copies.
void forking(Env &env)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 3 << 20);
	Arena &arena = bench.arena;
	arena.deregister();
	Mr mr(ibv_reg_mr(bench.pd.get(), arena.at(0), arena.size(),
			 unsigned{kAllAccess} | IBV_ACCESS_ON_DEMAND));
	require(mr != nullptr, "ibv_reg_mr: %m");
	Remote mine = {arena.va(0), arena.size(), mr->rkey, 0};
	Remote theirs = env.control.exchange(mine);
	std::jthread parent([&](const std::stop_token &stop) {
		while (!stop.stop_requested()) {
			pid_t child = fork();
			if (!child)
				_exit(0);
			waitpid(child, nullptr, 0);
			usleep(1000);
		}
	});
	constexpr uint32_t kBytes = 100000;
	for (uint32_t i = 0; i < 20; i++) {
		if (env.client) {
			pattern_fill(arena.at(0), kBytes, i);
			Work w{.opcode = IBV_WR_RDMA_WRITE,
			       .sges = {{arena.va(0), kBytes, mr->lkey}}};
			w.remote_va = theirs.va + kBytes;
			w.rkey = theirs.rkey;
			post(bench.link, w);
			bench.cq.expect(IBV_WC_SUCCESS, 0);
			Work r{.opcode = IBV_WR_RDMA_READ,
			       .sges = {{arena.va(2 * kBytes), kBytes, mr->lkey}}};
			r.remote_va = theirs.va + kBytes;
			r.rkey = theirs.rkey;
			post(bench.link, r);
			bench.cq.expect(IBV_WC_SUCCESS, 0);
			// On User Mode Linux a program sees what other tasks changed in its page
			// table only after its next system call.
			sched_yield();
			require(pattern_check(arena.at(2 * kBytes), kBytes, i) == kBytes,
				"round %u: what was read is not what was written", i);
		}
		env.control.sync();
		if (!env.client)
			require(pattern_check(arena.at(kBytes), kBytes, i) == kBytes,
				"round %u: what was written is not there", i);
		env.control.sync();
	}
}

// A WRITE of ours to an address of theirs ends with that status; local: our SGE.
void write_from_to(Env &env, ibv_sge local, uint64_t va, uint32_t rkey, Bench &bench,
		   ibv_wc_status status)
{
	Work w{.opcode = IBV_WR_RDMA_WRITE, .id = 5, .sges = {local}};
	w.remote_va = va;
	w.rkey = rkey;
	post(bench.link, w);
	expect_write(env, bench.link, bench.cq, 5, status);
}

enum class Bad { kUnmapped, kReadOnly, kKernel };

// Addresses that a page fault cannot serve, of the peer.
void bad_remote(Env &env, Bad bad)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20, {}, MrKind::kImplicit);
	char *page = static_cast<char *>(
		mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	require(page != MAP_FAILED, "mmap: %m");
	uint64_t va = reinterpret_cast<uint64_t>(page);
	if (bad == Bad::kUnmapped)
		munmap(page, kPage);
	else if (bad == Bad::kKernel)
		va = 0xffff888000000000;
	Remote theirs = env.control.exchange(Remote{va, kPage, bench.arena.mr()->rkey, 0});
	if (env.client)
		write_from_to(env, bench.arena.sge(0, 64), theirs.va, theirs.rkey, bench,
			      IBV_WC_REM_ACCESS_ERR);
	env.control.sync();
	if (bad == Bad::kReadOnly)
		munmap(page, kPage);
}

// The same of our own.
void bad_local(Env &env)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20, {}, MrKind::kImplicit);
	void *page = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(page != MAP_FAILED, "mmap: %m");
	munmap(page, kPage);
	Remote theirs = env.control.exchange(bench.arena.remote());
	if (env.client)
		write_from_to(env, {reinterpret_cast<uint64_t>(page), 64, bench.arena.mr()->lkey},
			      reinterpret_cast<uint64_t>(bench.arena.at(0)), theirs.rkey, bench,
			      IBV_WC_LOC_PROT_ERR);
	env.control.sync();
}

// Other memory at the same address: the peer's next WRITE goes there.
void mapped_anew(Env &env)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20, {}, MrKind::kImplicit);
	auto map = [](void *at) {
		void *p = mmap(at, kPage, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
		require(p != MAP_FAILED, "mmap: %m");
		return static_cast<char *>(p);
	};
	char *page = map(nullptr);
	uint64_t va = reinterpret_cast<uint64_t>(page);
	Remote theirs = env.control.exchange(Remote{va, kPage, bench.arena.mr()->rkey, 0});
	for (uint32_t i = 1; i <= 20; i++) {
		if (env.client) {
			pattern_fill(bench.arena.at(0), kPage, i);
			write_from_to(env,
				      {reinterpret_cast<uint64_t>(bench.arena.at(0)), kPage,
				       bench.arena.lkey()},
				      theirs.va, theirs.rkey, bench, IBV_WC_SUCCESS);
		}
		env.control.sync();
		if (!env.client) {
			require(pattern_check(page, kPage, i) == kPage,
				"round %u: the write went elsewhere", i);
			map(page);
			require(!page[0], "the new page is not empty");
		}
		env.control.sync();
	}
	munmap(page, kPage);
}

void require_advice(Bench &bench, int want, ibv_advise_mr_advice advice, uint32_t flags,
		    ibv_sge sge)
{
	int err = ibv_advise_mr(bench.pd.get(), advice, flags, &sge, 1);
	require(err == want, "advice %d of %#llx+%u: %s, not %s", advice,
		static_cast<unsigned long long>(sge.addr), sge.length, strerror(err),
		strerror(want));
}

void advice(Env &env)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 3 << 20, {}, MrKind::kOnDemand);
	constexpr auto kRead = IBV_ADVISE_MR_ADVICE_PREFETCH;
	constexpr auto kWrite = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	constexpr auto kNoFault = IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
	constexpr uint32_t kFlush = IBV_ADVISE_MR_FLAG_FLUSH;
	ibv_sge all = bench.arena.sge(0, 1 << 20);
	for (uint32_t flags : {0u, kFlush})
		for (ibv_advise_mr_advice kind : {kRead, kWrite, kNoFault})
			require_advice(bench, 0, kind, flags, all);
	Arena pinned(bench.pd.get(), kPage);
	require_advice(bench, EINVAL, kRead, kFlush, pinned.sge(0, 64));
	ibv_sge beyond = bench.arena.sge(0, 64);
	beyond.addr += 3 << 20;
	require_advice(bench, EFAULT, kRead, kFlush, beyond);
	ibv_sge stranger = all;
	stranger.lkey ^= 0xff;
	require_advice(bench, EINVAL, kRead, kFlush, stranger);
	require_advice(bench, EINVAL, kRead, 1u << 31, all);
	Mr read_only(ibv_reg_mr(bench.pd.get(), bench.arena.at(0), kPage, IBV_ACCESS_ON_DEMAND));
	require(read_only != nullptr, "ibv_reg_mr: %m");
	ibv_sge mine = {reinterpret_cast<uint64_t>(bench.arena.at(0)), 64, read_only->lkey};
	require_advice(bench, 0, kRead, kFlush, mine);
	require_advice(bench, EPERM, kWrite, kFlush, mine);
	// A region that may be written to, of memory that may not, and then of none.
	Arena guarded(bench.pd.get(), kPage, kAllAccess, MrKind::kOnDemand);
	require(!mprotect(guarded.at(0), kPage, PROT_READ), "mprotect: %m");
	require_advice(bench, 0, kRead, kFlush, guarded.sge(0, 64));
	require_advice(bench, EPERM, kWrite, kFlush, guarded.sge(0, 64));
	require(!mprotect(guarded.at(0), kPage, PROT_NONE), "mprotect: %m");
	require_advice(bench, EFAULT, kRead, kFlush, guarded.sge(0, 64));
	require(!mprotect(guarded.at(0), kPage, PROT_READ | PROT_WRITE), "mprotect: %m");
	all_opcodes(&bench, 500);
}

// UD sends from pages that are lost all the time. What arrives is right.
void datagrams(Env &env)
{
	need_odp(env, kAllCaps);
	LinkOptions options;
	options.type = IBV_QPT_UD;
	Bench bench(env, options, 1 << 20);
	Arena arena(bench.pd.get(), 1 << 20, kAllAccess, MrKind::kOnDemand);
	for (uint32_t i = 0; i < 200; i++) {
		if (!env.client)
			post_recv(bench.link, i, {bench.arena.sge(0, 2048)});
		env.control.sync();
		if (env.client) {
			pattern_fill(arena.at(kPage * (i % 200)), 1000, i);
			madvise(arena.at(0), arena.size(), MADV_DONTNEED);
			post(bench.link, Work{.sges = {arena.sge(kPage * (i % 200), 1000)}});
			bench.cq.expect(IBV_WC_SUCCESS, 0);
		} else {
			bench.cq.expect(IBV_WC_SUCCESS, i);
			require(pattern_check(bench.arena.at(40), 1000, i) == 1000,
				"datagram %u is wrong", i);
		}
		env.control.sync();
	}
}

// Datagrams that come one after the other, each for a page that is absent: they wait, in their
// order. As few as a socket's receive buffer holds if each takes 16 KiB of the card's memory.
void received_datagrams(Env &env, bool shared)
{
	constexpr uint32_t kBytes = 1000, kGrh = 40, kEach = 8, kRounds = 20;
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20);
	Arena arena(bench.pd.get(), kEach * kPage, kAllAccess, MrKind::kOnDemand);
	ibv_srq_init_attr attr = {};
	attr.attr = {kEach, 1, 0};
	Srq srq(shared ? ibv_create_srq(bench.pd.get(), &attr) : nullptr);
	require(srq || !shared, "ibv_create_srq: %m");
	LinkOptions options;
	options.type = IBV_QPT_UD;
	options.srq = srq.get();
	Link link(env.device, bench.pd.get(), bench.cq.get(), bench.cq.get(), options);
	link.connect(env.control);
	for (uint32_t round = 0; round < kRounds; round++) {
		for (uint32_t i = 0; !env.client && i < kEach; i++) {
			ibv_sge sge = arena.sge(i * kPage, kGrh + kBytes);
			if (shared)
				require(!try_post_srq(srq.get(), i, {sge}), "post_srq_recv");
			else
				post_recv(link, i, {sge});
		}
		madvise(arena.at(0), arena.size(), MADV_DONTNEED);
		env.control.sync();
		for (uint32_t i = 0; env.client && i < kEach; i++) {
			pattern_fill(bench.arena.at(i * kPage), kBytes, round * kEach + i);
			post(link, Work{.id = i, .sges = {bench.arena.sge(i * kPage, kBytes)}});
		}
		for (uint32_t i = 0; i < kEach; i++)
			bench.cq.expect(IBV_WC_SUCCESS, i);
		sched_yield();
		for (uint32_t i = 0; !env.client && i < kEach; i++)
			require(pattern_check(arena.at(i * kPage + kGrh), kBytes,
					      round * kEach + i) == kBytes,
				"round %u: datagram %u is wrong", round, i);
		env.control.sync();
	}
}

// The receive is posted after the message has come, and its pages are absent: the message waits
// for one and then for the other. The receiver's own sends wait for pages meanwhile.
void late_receive(Env &env, bool shared)
{
	constexpr uint32_t kBytes = 10000, kRounds = 30;
	need_odp(env, kAllCaps | IBV_ODP_SUPPORT_SRQ_RECV);
	Bench bench(env, {}, 1 << 20);
	Arena arena(bench.pd.get(), 1 << 20, kAllAccess, MrKind::kOnDemand);
	ibv_srq_init_attr attr = {};
	attr.attr = {16, 1, 0};
	Srq srq(shared ? ibv_create_srq(bench.pd.get(), &attr) : nullptr);
	require(srq || !shared, "ibv_create_srq: %m");
	LinkOptions options;
	options.srq = srq.get();
	Link link(env.device, bench.pd.get(), bench.cq.get(), bench.cq.get(), options);
	link.connect(env.control);
	for (uint32_t i = 0; i < kRounds; i++) {
		auto lose = [&] { madvise(arena.at(0), arena.size(), MADV_DONTNEED); };
		if (env.client) {
			pattern_fill(arena.at(0), kBytes, i);
			lose();
			post(link, Work{.id = i, .sges = {arena.sge(0, kBytes)}});
			bench.cq.expect(IBV_WC_SUCCESS, i);
			post_recv(link, 1000 + i, {arena.sge(200000, kBytes)});
			bench.cq.expect(IBV_WC_SUCCESS, 1000 + i);
			require(pattern_check(arena.at(200000), kBytes, i + 5000) == kBytes,
				"round %u: the answer is wrong", i);
		} else {
			usleep(3000 * (i % 3));
			pattern_fill(arena.at(400000), kBytes, i + 5000);
			lose();
			post(link, Work{.id = i, .sges = {arena.sge(400000, kBytes)}});
			const ibv_sge sge = arena.sge(100000, kBytes);
			if (shared)
				require(!try_post_srq(srq.get(), 1000 + i, {sge}), "post_srq_recv");
			else
				post_recv(link, 1000 + i, {sge});
			for (int n = 0; n < 2; n++)
				require_success(bench.cq.next(), "late receive");
			require(pattern_check(arena.at(100000), kBytes, i) == kBytes,
				"round %u: the message is wrong", i);
		}
		env.control.sync();
	}
}

// READs into pages that are absent, of a QP that may not retry.
void read_without_retries(Env &env)
{
	constexpr uint32_t kBytes = 600000;
	need_odp(env, kAllCaps);
	LinkOptions options;
	options.retries = 0;
	options.timeout = 20; // 4 s: a loaded machine loses no response
	Bench bench(env, options, 1 << 20);
	Arena arena(bench.pd.get(), 1 << 20, kAllAccess, MrKind::kOnDemand);
	pattern_fill(bench.arena.at(0), kBytes, 77);
	Remote theirs = env.control.exchange(bench.arena.remote());
	for (uint32_t i = 0; env.client && i < 20; i++) {
		madvise(arena.at(0), arena.size(), MADV_DONTNEED);
		Work w{.opcode = IBV_WR_RDMA_READ, .id = i, .sges = {arena.sge(0, kBytes)}};
		w.remote_va = theirs.va;
		w.rkey = theirs.rkey;
		post(bench.link, w);
		bench.cq.expect(IBV_WC_SUCCESS, i);
		require(pattern_check(arena.at(0), kBytes, 77) == kBytes, "what was read is wrong");
	}
	env.control.sync();
}

// Two threads take the same pages away at the same time.
void losing_twice(Env &env)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 3 << 20, {}, MrKind::kOnDemand);
	auto steal = [&](const std::stop_token &stop) {
		while (!stop.stop_requested()) {
			madvise(bench.arena.at(0), bench.arena.size(), MADV_DONTNEED);
			usleep(200);
		}
	};
	std::jthread one(steal), two(steal);
	Batch batch;
	batch.opcode = IBV_WR_RDMA_WRITE;
	batch.bytes = 5000;
	bench.run(batch);
}

// The region goes while pages are brought in for it.
void deregister_busy(Env &env)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20);
	for (uint32_t i = 0; i < 100; i++) {
		Arena arena(bench.pd.get(), 1 << 20, kAllAccess, MrKind::kOnDemand);
		ibv_sge sge = arena.sge(0, 1 << 20);
		require(!ibv_advise_mr(bench.pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge,
				       1),
			"ibv_advise_mr");
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"odp/explicit", [](Env &env) { plain(env, MrKind::kOnDemand); }});
	list.push_back({"odp/implicit", [](Env &env) { plain(env, MrKind::kImplicit); }});
	list.push_back({"odp/explicit/losing-pages",
			[](Env &env) { losing_pages(env, MrKind::kOnDemand); }});
	list.push_back({"odp/implicit/losing-pages",
			[](Env &env) { losing_pages(env, MrKind::kImplicit); }});
	list.push_back({"odp/fork", forking});
	list.push_back({"odp/remote-unmapped", [](Env &env) { bad_remote(env, Bad::kUnmapped); }});
	list.push_back({"odp/remote-read-only", [](Env &env) { bad_remote(env, Bad::kReadOnly); }});
	list.push_back({"odp/remote-kernel", [](Env &env) { bad_remote(env, Bad::kKernel); }});
	list.push_back({"odp/local-unmapped", bad_local});
	list.push_back({"odp/mapped-anew", mapped_anew});
	list.push_back({"odp/advice", advice});
	list.push_back({"odp/datagrams", datagrams});
	list.push_back(
		{"odp/datagrams-received", [](Env &env) { received_datagrams(env, false); }});
	list.push_back(
		{"odp/datagrams-received/srq", [](Env &env) { received_datagrams(env, true); }});
	list.push_back({"odp/late-receive", [](Env &env) { late_receive(env, false); }});
	list.push_back({"odp/late-receive/srq", [](Env &env) { late_receive(env, true); }});
	list.push_back({"odp/read-without-retries", read_without_retries});
	list.push_back({"odp/losing-twice", losing_twice});
	list.push_back({"odp/deregister-busy", deregister_busy});
});

} // namespace
} // namespace vt
