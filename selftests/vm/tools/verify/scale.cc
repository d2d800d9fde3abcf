// SPDX-License-Identifier: GPL-2.0
// Large numbers: QPs (-N, 1000 for acceptance), atomics on one counter, mixed traffic and
// bulk of many QPs (-N) for a time (-S), which other tests disturb, one message of almost 2 GiB.
#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

#include "pattern.h"
#include "plug.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

struct ManyLinks {
	ManyLinks(Env &env, Bench *b, uint32_t n, const LinkOptions &options)
	{
		for (uint32_t i = 0; i < n; i++) {
			links.push_back(std::make_unique<Link>(env.device, b->pd.get(), b->cq.get(),
							       b->cq.get(), options));
			raw.push_back(links.back().get());
		}
		Link::connect_all(raw, env.control);
	}
	std::vector<std::unique_ptr<Link>> links;
	std::vector<Link *> raw;
};

void many_qps(Env &env)
{
	uint32_t n = env.amount;
	Bench b(env, {}, 32 << 20, {.entries = static_cast<int>(std::max(8 * n + 64, 512u))});
	LinkOptions options;
	options.send_wr = options.recv_wr = 4;
	// All at once on one slow CPU: an answer may take long.
	options.timeout = 18;
	ManyLinks many(env, &b, n, options);
	Batch batch;
	batch.both_ways = true;
	for (ibv_wr_opcode opcode : {env.device.send_with_imm(), IBV_WR_RDMA_WRITE,
				     IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
		batch.opcode = opcode;
		batch.bytes = batch.is_atomic() ? 8 : 3000;
		batch.count = 3 * n;
		batch.seed++;
		run_batch({env, many.raw, b.cq, b.cq, b.arena}, batch);
	}
}

// More from each QP than a device handles at a time, again and again until the time is over.
void bulk(Env &env)
{
	uint32_t n = env.amount;
	Batch batch;
	batch.both_ways = true;
	batch.bytes = 65536;
	batch.count = 4 * n;
	Bench b(env, {}, arena_bytes_for(batch), {.entries = static_cast<int>(8 * n + 64)});
	LinkOptions options;
	options.send_wr = options.recv_wr = 4;
	ManyLinks many(env, &b, n, options);
	double end = now_s() + env.seconds;
	for (uint32_t over = 0; !over;) {
		for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND}) {
			batch.opcode = opcode;
			batch.seed++;
			run_batch({env, many.raw, b.cq, b.cq, b.arena}, batch);
		}
		// The client decides.
		uint32_t mine = env.client && now_s() > end;
		over = env.control.exchange(mine) || mine;
	}
}

// A netdev that sends nothing for a time does not block a QP for ever: each WRITE arrives.
void plugged(Env &env)
{
	constexpr uint32_t kEach = 16384;
	uint32_t n = env.amount;
	uint64_t key = pattern_key(env.seed, 0, 0);
	Bench b(env, {}, uint64_t{n} * kEach, {.entries = static_cast<int>(2 * n + 64)});
	LinkOptions options;
	options.send_wr = options.recv_wr = 4;
	ManyLinks many(env, &b, n, options);
	// Each end must have a packet from the other, so that no other packet wakes a QP below.
	Batch first;
	first.both_ways = true;
	first.count = n;
	run_batch({env, many.raw, b.cq, b.cq, b.arena}, first);
	Remote theirs = env.control.exchange(b.arena.remote());
	if (env.client) {
		pattern_fill(b.arena.at(0), b.arena.size(), key);
		// Longer than the timers at a connection's start run, 1.56 s (IW_RTR_REPEATS).
		usleep(static_cast<useconds_t>(2000000 * slow()));
		Plug plug(env.netdev);
		for (uint32_t i = 0; i < n; i++) {
			uint64_t at = uint64_t{i} * kEach;
			post(*many.links[i], {.opcode = IBV_WR_RDMA_WRITE,
					      .id = i,
					      .sges = {b.arena.sge(at, kEach)},
					      .remote_va = theirs.va + at,
					      .rkey = theirs.rkey});
		}
		for (uint32_t i = 0; i < n; i++)
			require_success(b.cq.next(env.limit_s), "a WRITE that is kept");
		plug.release();
		for (uint32_t i = 0; i < n; i++) {
			post(*many.links[i], {.opcode = IBV_WR_RDMA_READ, .id = n + i});
			b.cq.expect(IBV_WC_SUCCESS, n + i, env.limit_s);
		}
	}
	env.control.sync();
	if (!env.client)
		require(pattern_check(b.arena.at(0), b.arena.size(), key) == b.arena.size(),
			"what was written is wrong");
	env.control.sync();
}

// Every adder gets another value, and the sum is right, in any order.
void one_counter(Env &env)
{
	constexpr uint32_t kLinks = 8, kEach = 25;
	Bench b(env, {}, 65536);
	ManyLinks many(env, &b, kLinks, {});
	memset(b.arena.at(0), 0, 65536);
	Remote theirs = env.control.exchange(b.arena.remote());
	if (env.client) {
		std::set<uint64_t> seen;
		for (uint32_t i = 0; i < kEach; i++)
			for (uint32_t l = 0; l < kLinks; l++) {
				Work w{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .id = i * kLinks + l};
				w.sges = {b.arena.sge(8 * (w.id + 1), 8)};
				w.remote_va = theirs.va;
				w.rkey = theirs.rkey;
				w.compare_add = 3;
				post(*many.links[l], w);
			}
		for (uint32_t i = 0; i < kLinks * kEach; i++)
			require_success(b.cq.next(env.limit_s), "fetch_add");
		for (uint32_t i = 0; i < kLinks * kEach; i++) {
			uint64_t got;
			memcpy(&got, b.arena.at(8 * (i + 1)), 8);
			require(got % 3 == 0 && got < 3 * kLinks * kEach && seen.insert(got).second,
				"an adder got %llu", static_cast<unsigned long long>(got));
		}
	}
	env.control.sync();
	if (!env.client) {
		uint64_t sum;
		memcpy(&sum, b.arena.at(0), 8);
		require(sum == 3 * kLinks * kEach, "the sum is %llu",
			static_cast<unsigned long long>(sum));
	}
	env.control.sync();
}

// For a time: batches with random opcode, size, shape and number of QPs, both ways.
void mixed(Env &env, MrKind kind)
{
	constexpr uint32_t kLinks = 16;
	Bench b(env, {}, 6 << 20, {.entries = 4096}, kind);
	LinkOptions options;
	options.sges = 8;
	ManyLinks many(env, &b, kLinks, options);
	const ibv_wr_opcode opcodes[] = {IBV_WR_SEND,
					 env.device.send_with_imm(),
					 IBV_WR_RDMA_WRITE,
					 IBV_WR_RDMA_WRITE_WITH_IMM,
					 IBV_WR_RDMA_READ,
					 IBV_WR_ATOMIC_CMP_AND_SWP,
					 IBV_WR_ATOMIC_FETCH_AND_ADD};
	std::mt19937_64 random(env.seed);
	double end = now_s() + env.seconds;
	for (;;) {
		// The client decides when it is over.
		uint32_t over = env.client && now_s() > end;
		if (env.control.exchange(over) || over)
			break;
		Batch batch;
		batch.opcode = opcodes[random() % std::size(opcodes)];
		batch.bytes = batch.is_atomic() ?
				      8 :
				      static_cast<uint32_t>(random() % (1u << (random() % 17)));
		batch.count = 1 + static_cast<uint32_t>(random() % (batch.bytes > 4096 ? 12 : 100));
		batch.sges = 1 + static_cast<uint32_t>(random() % 8);
		batch.recv_sges = 1 + static_cast<uint32_t>(random() % 8);
		if (batch.is_atomic())
			batch.sges = batch.recv_sges = 1;
		batch.signal_every = 1 + static_cast<uint32_t>(random() % 9);
		batch.both_ways = random() % 2;
		batch.from_server = random() % 2;
		batch.fence = random() % 4 == 0;
		batch.seed = random();
		uint32_t links =
			std::min(1 + static_cast<uint32_t>(random() % kLinks), batch.count);
		std::vector<Link *> some(many.raw.begin(), many.raw.begin() + links);
		run_batch({env, some, b.cq, b.cq, b.arena}, batch);
	}
}

// One 64 MiB file mapped 32 times in a row: 2 GiB of addresses without 2 GiB of memory.
class Repeated {
public:
	static constexpr size_t kOnce = 64 << 20;
	explicit Repeated(size_t times) : bytes_(times * kOnce)
	{
		int fd = memfd_create("vverify", 0);
		bool sized = fd >= 0 && !ftruncate(fd, kOnce);
		void *p = mmap(nullptr, bytes_, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		require(sized && p != MAP_FAILED, "no memory for the long message");
		data_ = static_cast<char *>(p);
		for (size_t i = 0; i < times; i++)
			require(mmap(data_ + i * kOnce, kOnce, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) != MAP_FAILED,
				"mapping the file again");
		close(fd);
	}
	~Repeated() { munmap(data_, bytes_); }
	char *data() const { return data_; }
	size_t size() const { return bytes_; }

private:
	size_t bytes_;
	char *data_ = nullptr;
};

void two_gib(Env &env, ibv_wr_opcode opcode)
{
	env.control.set_limit(900 * slow());
	LinkOptions options;
	options.sges = 2;
	Bench b(env, options, 65536);
	Repeated memory(32);
	Mr mr(ibv_reg_mr(b.pd.get(), memory.data(), memory.size(), kAllAccess));
	require(mr != nullptr, "ibv_reg_mr of 2 GiB failed");
	bool source = (opcode == IBV_WR_RDMA_READ) != env.client;
	if (source)
		pattern_fill(memory.data(), Repeated::kOnce, 77);
	Remote mine = {reinterpret_cast<uint64_t>(memory.data()), memory.size(), mr->rkey, 0};
	Remote theirs = env.control.exchange(mine);
	if (env.client) {
		Work w{.opcode = opcode};
		// Exactly 2^31 bytes, in two halves: an SGE's own limit may be 2^31 - 1.
		w.sges = {{mine.va, 1u << 30, mr->lkey},
			  {mine.va + (1u << 30), 1u << 30, mr->lkey}};
		w.remote_va = theirs.va;
		w.rkey = theirs.rkey;
		post(b.link, w);
		b.cq.expect(IBV_WC_SUCCESS, 0, 840);
	}
	env.control.sync();
	if (!source)
		require(pattern_check(memory.data(), Repeated::kOnce, 77) == Repeated::kOnce,
			"the data is wrong");
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"scale/qps", many_qps});
	list.push_back({"scale/one-counter", one_counter});
	list.push_back({"scale/mixed", [](Env &env) { mixed(env, MrKind::kPlain); }, true});
	list.push_back(
		{"scale/mixed-dma-buf", [](Env &env) { mixed(env, MrKind::kMovingDmaBuf); }, true});
	list.push_back({"scale/bulk", bulk, true});
	list.push_back({"scale/plugged", plugged, true});
	list.push_back(
		{"scale/2GiB-write", [](Env &env) { two_gib(env, IBV_WR_RDMA_WRITE); }, true});
	list.push_back({"scale/2GiB-read", [](Env &env) { two_gib(env, IBV_WR_RDMA_READ); }, true});
});

} // namespace
} // namespace vt
