// SPDX-License-Identifier: GPL-2.0
// Waiting for CQEs in the kernel: what ends a wait, and what does not.
#include <atomic>
#include <cstring>
#include <fstream>
#include <future>
#include <set>
#include <thread>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "bench.h"
#include "tern-abi.h"

namespace vt {
namespace {

constexpr double kLimitS = TERN_CQ_WAIT_MAX_US / 1e6;
// Of so many waits one at least is to end before its time; on a busy machine not all do.
constexpr int kTries = 100;
// And so many are to last, each.
constexpr int kLong = 20;
constexpr uint32_t kMany = TERN_CQ_WAIT_CQES >> 16;

bool sleeps(pid_t thread)
{
	std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
	std::string stat;
	std::getline(file, stat);
	return stat.find(") S ") != std::string::npos;
}

// A CQ with its ring, and a QP that completes there.
struct Queue {
	explicit Queue(Env &e)
		: env(e), pd(make_pd(e.device.context())), others(ring_maps()), cq(e.device, {})
	{
		hdr = static_cast<tern_ring_hdr *>(new_ring_map(others).at);
		arena.emplace(pd.get(), 4096);
		link.emplace(e.device, pd.get(), cq.get(), cq.get(), LinkOptions{});
		link->connect(e.control);
		there = e.control.exchange(arena->remote());
	}
	// WRITEs, in one call; each letter is one: s, with a completion, u without.
	void post_list(const char *kinds)
	{
		std::vector<Work> works;
		for (; *kinds; kinds++) {
			Work w{.opcode = IBV_WR_RDMA_WRITE, .sges = {arena->sge(0, 8)}};
			w.flags = *kinds == 's' ? unsigned{IBV_SEND_SIGNALED} : 0;
			w.remote_va = there.va + 64;
			w.rkey = there.rkey;
			works.push_back(w);
		}
		int error = try_post_list(*link, works);
		require(!error, "posting: %s", strerror(error));
	}
	void consume(const char *kinds)
	{
		for (; *kinds; kinds++)
			if (*kinds == 's')
				cq.next(env.limit_s);
	}

	Env &env;
	Pd pd;
	std::set<RingMap> others;
	Cq cq;
	tern_ring_hdr *hdr = nullptr;
	std::optional<Arena> arena;
	std::optional<Link> link;
	Remote there = {};
};

void wait(const Queue &queue, uint32_t how)
{
	struct {
		ib_uverbs_cmd_hdr hdr;
		ib_uverbs_poll_cq cmd;
	} request = {};
	uint32_t response[2];

	request.hdr.command = IB_USER_VERBS_CMD_POLL_CQ;
	request.hdr.in_words = sizeof(request) / 4;
	request.hdr.out_words = sizeof(response) / 4;
	request.cmd.response = reinterpret_cast<uintptr_t>(response);
	request.cmd.cq_handle = queue.cq.get()->handle;
	request.cmd.ne = 1;
	std::atomic_ref<uint32_t>(queue.hdr->wait).store(how);
	ssize_t done = write(queue.env.device.context()->cmd_fd, &request, sizeof(request));
	require(done == sizeof(request), "waiting: %m");
}

// Seconds that a wait lasts if that is posted to `to` once it has begun.
double lasts(Queue &queue, uint32_t how, Queue &to, const char *kinds)
{
	pid_t self = gettid();
	auto poster = std::async(std::launch::async, [&] {
		double give_up = now_s() + to.env.limit_s * slow();
		while (!sleeps(self) && now_s() < give_up)
			std::this_thread::yield();
		to.post_list(kinds);
	});
	double from_s = now_s();
	wait(queue, how);
	double took_s = now_s() - from_s;
	poster.get();
	to.consume(kinds);
	return took_s;
}

constexpr uint32_t how(uint32_t cqes, uint32_t flags = 0)
{
	return TERN_CQ_WAIT_MAX_US | cqes << 16 | flags;
}

void ends(Queue &queue, uint32_t how, Queue &to, const char *kinds, const char *what)
{
	for (int i = 0; i < kTries; i++)
		if (lasts(queue, how, to, kinds) < kLimitS)
			return;
	if (slow() > 1)
		skip("%s: not on this machine, where a message takes longer than a wait", what);
	fail("%s: %d waits went on to their end", what, kTries);
}

void goes_on(Queue &queue, uint32_t how, Queue &to, const char *kinds, const char *what)
{
	for (int i = 0; i < kLong; i++) {
		double took_s = lasts(queue, how, to, kinds);
		require(took_s >= kLimitS, "%s: a wait ended after %.3f ms", what, took_s * 1e3);
	}
}

void for_so_many(Env &env)
{
	need_tern(env, "waiting as tern does it");
	Queue q(env);
	if (env.client) {
		ends(q, how(0), q, "su", "0 is 1");
		ends(q, how(1), q, "su", "one of one");
		goes_on(q, how(2), q, "su", "one of two");
		ends(q, how(2), q, "ssu", "two of two");
		goes_on(q, how(4), q, "sususu", "three of four");
		ends(q, how(4), q, "sssssu", "five of four");
	}
	env.control.sync();
}

void what_is_there_ends_it(Env &env)
{
	need_tern(env, "waiting as tern does it");
	Queue q(env);
	if (env.client) {
		double least_s = 1;
		for (int i = 0; i < kTries && least_s >= kLimitS; i++) {
			q.post_list("su");
			while (std::atomic_ref<uint32_t>(q.hdr->prod).load() == q.hdr->cons)
				std::this_thread::yield();
			double from_s = now_s();
			wait(q, how(kMany));
			least_s = std::min(least_s, now_s() - from_s);
			q.consume("su");
		}
		require(least_s < kLimitS, "a wait with a CQE there took %.3f ms", least_s * 1e3);
	}
	env.control.sync();
}

void the_last_ends_it(Env &env)
{
	need_tern(env, "waiting as tern does it");
	Queue q(env);
	if (env.client) {
		ends(q, how(kMany), q, "s", "all that was posted");
		ends(q, how(kMany), q, "us", "all that was posted");
		goes_on(q, how(kMany), q, "su", "one more was posted");
	}
	env.control.sync();
}

void the_last_of_a_flush_ends_it(Env &env)
{
	need_tern(env, "waiting as tern does it");
	Queue q(env);
	if (env.client) {
		q.link->move_to(IBV_QPS_ERR);
		ends(q, how(kMany), q, "sss", "flushed");
	}
	env.control.sync();
}

void on_other_cqs(Env &env)
{
	need_tern(env, "waiting as tern does it");
	Queue q(env);
	Queue other(env);
	if (env.client) {
		goes_on(q, how(1), other, "su", "for this one only");
		ends(q, how(1, TERN_CQ_WAIT_ANY), other, "su", "for any");
		ends(q, how(kMany, TERN_CQ_WAIT_ANY), other, "su", "for any, or many here");
		goes_on(q, how(kMany, TERN_CQ_WAIT_ANY), q, "su", "for many here");
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"wait/for-so-many", for_so_many});
	list.push_back({"wait/what-is-there-ends-it", what_is_there_ends_it});
	list.push_back({"wait/the-last-ends-it", the_last_ends_it});
	list.push_back({"wait/the-last-of-a-flush-ends-it", the_last_of_a_flush_ends_it});
	list.push_back({"wait/on-other-cqs", on_other_cqs});
});

} // namespace
} // namespace vt
