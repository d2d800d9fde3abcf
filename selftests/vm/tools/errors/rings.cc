// SPDX-License-Identifier: GPL-2.0
// Programs that write into a ring what no provider would write, or very much. They may harm
// only themselves. The VM test checks that the kernel log is silent and the CPU is free again.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "bench.h"
#include "counter.h"
#include "tern-abi.h"

namespace vt {
namespace {

// A ring that this process has mapped again. A process writes two values alternately to its prod,
// as fast as it can. Not a thread: the threads of a process may not run in parallel.
class Scribbler {
public:
	Scribbler(const Device &device, const RingMap &ring, uint32_t one, uint32_t other)
		: bytes_(ring.bytes), map_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED,
						device.context()->cmd_fd, ring.offset))
	{
		require(map_ != MAP_FAILED, "a second mapping: %m");
		std::atomic_ref<uint32_t> prod(static_cast<tern_ring_hdr *>(map_)->prod);
		prod = one;
		child_ = fork();
		require(child_ >= 0, "fork: %m");
		if (!child_)
			scribble(&prod, one, other);
		while (prod == one)
			std::this_thread::yield();
	}
	~Scribbler()
	{
		kill(child_, SIGKILL);
		waitpid(child_, nullptr, 0);
		munmap(map_, bytes_);
	}
	Scribbler(const Scribbler &) = delete;
	Scribbler &operator=(const Scribbler &) = delete;

private:
	[[noreturn]] static void scribble(std::atomic_ref<uint32_t> *prod, uint32_t one,
					  uint32_t other)
	{
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		// One store a round: an emulated CPU takes interrupts only between rounds. With
		// two stores no other process on it would ever see the first value.
		for (uint32_t value = other;; value ^= one ^ other)
			prod->store(value, std::memory_order_relaxed);
	}

	size_t bytes_;
	void *map_;
	pid_t child_ = 0;
};

// While the kernel moves an SRQ's ring, either all its WQEs are posted or none.
void srq_resize(Env &env)
{
	constexpr uint32_t kPosted = 2048;
	constexpr int kTries = 100;

	need_tern(env, "a ring that is mapped");
	Pd pd = make_pd(env.device.context());
	ibv_srq_init_attr init = {};
	init.attr.max_wr = kPosted;
	init.attr.max_sge = 1;
	std::set<RingMap> others = ring_maps();
	Srq srq(ibv_create_srq(pd.get(), &init));
	require(srq != nullptr, "ibv_create_srq: %m");
	for (int i = 0; i < kTries; i++) {
		Scribbler scribbler(env.device, new_ring_map(others), kPosted, 0);
		ibv_srq_attr attr = {};
		attr.max_wr = i % 2 ? kPosted : 4 * kPosted;
		// Its ring: the old one or a new one.
		int error = ibv_modify_srq(srq.get(), &attr, IBV_SRQ_MAX_WR);
		require(!error || error == EINVAL, "ibv_modify_srq: %s", strerror(error));
	}
	env.control.sync();
	Bench b(env, {}, 65536);
	b.run({.count = 40, .both_ways = true});
	env.control.sync();
}

// A process that posts receives by its mapping of the ring, as fast as they are consumed.
class Poster {
public:
	Poster(const Device &device, const RingMap &ring, uint32_t ahead)
		: bytes_(ring.bytes), map_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED,
						device.context()->cmd_fd, ring.offset))
	{
		require(map_ != MAP_FAILED, "a second mapping: %m");
		child_ = fork();
		require(child_ >= 0, "fork: %m");
		if (!child_)
			post(static_cast<tern_ring_hdr *>(map_), ahead);
	}
	~Poster()
	{
		kill(child_, SIGKILL);
		waitpid(child_, nullptr, 0);
		munmap(map_, bytes_);
	}
	Poster(const Poster &) = delete;
	Poster &operator=(const Poster &) = delete;

	bool is_alive() const { return waitpid(child_, nullptr, WNOHANG) == 0; }

private:
	[[noreturn]] static void post(tern_ring_hdr *hdr, uint32_t ahead)
	{
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		std::atomic_ref<uint32_t> prod(hdr->prod), cons(hdr->cons);
		for (;;)
			prod.store(cons.load(std::memory_order_relaxed) + ahead,
				   std::memory_order_relaxed);
	}

	size_t bytes_;
	void *map_;
	pid_t child_ = 0;
};

// Requests are not flushed into a dead CQ, as that could go on for ever.
void dead_cq(Env &env)
{
	constexpr uint32_t kPosted = 64;

	need_tern(env, "a ring that is mapped");
	Pd pd = make_pd(env.device.context());
	Arena arena(pd.get(), 4096);
	CqOptions tiny;
	tiny.entries = 8;
	Cq cq(env.device, tiny);
	std::set<RingMap> others = ring_maps();
	LinkOptions options;
	options.recv_wr = kPosted;
	Link link(env.device, pd.get(), cq.get(), cq.get(), options);
	link.to_init();
	for (uint32_t i = 0; i < kPosted; i++)
		post_recv(link, i, {arena.sge(0, 64)});
	std::optional<RingMap> rq;
	for (const RingMap &map : ring_maps())
		if (!others.count(map) && static_cast<tern_ring_hdr *>(map.at)->prod == kPosted)
			rq = map;
	require(rq.has_value(), "no ring has %u receives", kPosted);
	link.move_to(IBV_QPS_ERR);
	expect_event(env.device, IBV_EVENT_CQ_ERR, env.limit_s);

	uint32_t &cons = static_cast<tern_ring_hdr *>(rq->at)->cons;
	const uint32_t flushed = cons;
	{
		Poster poster(env.device, *rq, kPosted);
		// The kernel looks at the requests more than once: the flush may not have begun.
		for (int i = 0; i < 50; i++) {
			link.move_to(IBV_QPS_ERR);
			usleep(2000);
		}
		require(poster.is_alive(), "the process that posts is gone");
	}
	env.control.sync();
	require(cons == flushed, "%u were flushed into it", cons - flushed);
}

// A queue is flushed in several rounds, in order and completely. Its first message waits for a
// receive, and all others wait behind it. (On the local path no hand-off is needed.)
void flush_many(Env &env)
{
	constexpr uint32_t kMany = 4096;

	need_tern(env, "a count of how often a flush goes on");
	LinkOptions options = impatient();
	options.send_wr = kMany;
	CqOptions large;
	large.entries = kMany;
	ErrorBench b(env, options, kAllAccess, large);
	if (env.client) {
		for (uint32_t id = 0; id < kMany; id++)
			post(b.bench.link, {.id = id, .sges = {b.bench.arena.sge(0, 1)}});
		const ibv_device *device = env.device.context()->device;
		uint64_t before = counter_now(device, "work_handoffs");
		b.bench.link.move_to(IBV_QPS_ERR);
		for (uint32_t id = 0; id < kMany; id++)
			b.bench.cq.expect(IBV_WC_WR_FLUSH_ERR, id, env.limit_s);
		require(b.peer_is_here() || counter_now(device, "work_handoffs") > before,
			"it was flushed in one go");
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"ring/srq-resize", srq_resize});
	list.push_back({"ring/dead-cq", dead_cq});
	list.push_back({"ring/flush-many", flush_many});
});

} // namespace
} // namespace vt
