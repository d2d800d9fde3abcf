// SPDX-License-Identifier: GPL-2.0
// Memory on demand that userfaultfd watches: its pages come when the program puts them there.
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "odp.h"
#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr uint32_t kBytes = 3000; // of each message

// A region whose pages are absent until they are given.
class Watched {
public:
	Watched(Env &env, ibv_pd *pd)
		: fd_(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)))
	{
		env.both_need(fd_ >= 0, "userfaultfd() (not on this machine)");
		uffdio_api api = {};
		api.api = UFFD_API;
		require(!ioctl(fd_, UFFDIO_API, &api), "UFFDIO_API: %m");
		void *p = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		require(p != MAP_FAILED, "mmap: %m");
		at_ = static_cast<char *>(p);
		uffdio_register watch = {};
		watch.range = {reinterpret_cast<uint64_t>(at_), kSize};
		watch.mode = UFFDIO_REGISTER_MODE_MISSING;
		require(!ioctl(fd_, UFFDIO_REGISTER, &watch), "UFFDIO_REGISTER: %m");
		mr.reset(ibv_reg_mr(pd, at_, kSize, unsigned{kAllAccess} | IBV_ACCESS_ON_DEMAND));
		require(mr != nullptr, "ibv_reg_mr: %m");
	}
	~Watched()
	{
		let_go();
		mr.reset();
		munmap(at_, kSize);
	}
	Watched(const Watched &) = delete;
	Watched &operator=(const Watched &) = delete;

	// Who waits goes on, with empty pages.
	void let_go()
	{
		if (fd_ >= 0)
			close(fd_);
		fd_ = -1;
	}
	void wait_for_fault(const Env &env) const
	{
		pollfd ready = {fd_, POLLIN, 0};
		require(poll(&ready, 1, static_cast<int>(env.limit_s * 1000)) == 1, "no fault");
	}
	// Page i is waited for. The address space is not: then it is given, with a pattern.
	void give(const Env &env, size_t i, uint64_t key)
	{
		uffd_msg event = {};
		wait_for_fault(env);
		require(read(fd_, &event, sizeof(event)) == sizeof(event), "read: %m");
		uint64_t page = reinterpret_cast<uint64_t>(at_) + i * kPage;
		require(event.event == UFFD_EVENT_PAGEFAULT &&
				(event.arg.pagefault.address & ~(kPage - 1)) == page,
			"a fault of another page");
		usleep(100000); // a page that takes longer than requests are kept
		void *p = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		require(p != MAP_FAILED && !munmap(p, kPage), "mmap: %m");
		std::vector<char> content(kPage);
		pattern_fill(content.data(), kPage, key);
		uffdio_copy copy = {};
		copy.dst = page;
		copy.src = reinterpret_cast<uint64_t>(content.data());
		copy.len = kPage;
		require(!ioctl(fd_, UFFDIO_COPY, &copy), "UFFDIO_COPY: %m");
	}
	char *at(size_t page) const { return at_ + page * kPage; }
	ibv_sge sge(size_t page) const
	{
		return {reinterpret_cast<uint64_t>(at(page)), kBytes, mr->lkey};
	}
	Remote remote() const { return {reinterpret_cast<uint64_t>(at_), kSize, mr->rkey, 0}; }

	Mr mr;

private:
	static constexpr size_t kSize = 8 * kPage;
	int fd_;
	char *at_;
};

// The page is the source of a WRITE.
void source(Env &env)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20);
	Watched watched(env, bench.pd.get());
	Remote theirs = env.control.exchange(bench.arena.remote());
	if (env.client) {
		Work w{.opcode = IBV_WR_RDMA_WRITE, .id = 1, .sges = {watched.sge(2)}};
		w.remote_va = theirs.va;
		w.rkey = theirs.rkey;
		post(bench.link, w);
		watched.give(env, 2, 5);
		bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	}
	env.control.sync();
	require(env.client || pattern_check(bench.arena.at(0), kBytes, 5) == kBytes,
		"what was written is wrong");
	env.control.sync();
}

// The page is the target of a WRITE, or what a READ reads.
void target(Env &env, ibv_wr_opcode opcode)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20);
	Watched watched(env, bench.pd.get());
	Remote theirs = env.control.exchange(watched.remote());
	bool reads = opcode == IBV_WR_RDMA_READ;
	if (env.client) {
		pattern_fill(bench.arena.at(0), kBytes, 6);
		Work w{.opcode = opcode, .id = 1, .sges = {bench.arena.sge(0, kBytes)}};
		w.remote_va = theirs.va + kPage;
		w.rkey = theirs.rkey;
		post(bench.link, w);
		bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
		require(!reads || pattern_check(bench.arena.at(0), kBytes, 7) == kBytes,
			"what was read is wrong");
	} else {
		watched.give(env, 1, 7);
	}
	env.control.sync();
	sched_yield();
	require(env.client || reads || pattern_check(watched.at(1), kBytes, 6) == kBytes,
		"what was written is wrong");
	env.control.sync();
}

// The page is for a datagram.
void datagram(Env &env)
{
	constexpr uint32_t kGrh = 40, kPayload = 1000;
	need_odp(env, kAllCaps);
	LinkOptions options;
	options.type = IBV_QPT_UD;
	Bench bench(env, options, 1 << 20);
	Watched watched(env, bench.pd.get());
	if (!env.client)
		post_recv(bench.link, 1, {watched.sge(3)});
	env.control.sync();
	if (env.client) {
		pattern_fill(bench.arena.at(0), kPayload, 8);
		post(bench.link, Work{.id = 1, .sges = {bench.arena.sge(0, kPayload)}});
	} else {
		watched.give(env, 3, 0);
	}
	bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	sched_yield();
	require(env.client || pattern_check(watched.at(3) + kGrh, kPayload, 8) == kPayload,
		"the datagram is wrong");
	env.control.sync();
}

// Nobody gives the page. The region can be deregistered meanwhile, or the program closes its
// userfaultfd, and the page is an empty one.
void not_given(Env &env, bool deregisters)
{
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20);
	Watched watched(env, bench.pd.get());
	Remote theirs = env.control.exchange(bench.arena.remote());
	if (env.client) {
		Work w{.opcode = IBV_WR_RDMA_WRITE, .id = 1, .sges = {watched.sge(0)}};
		w.remote_va = theirs.va;
		w.rkey = theirs.rkey;
		post(bench.link, w);
		watched.wait_for_fault(env);
		if (deregisters)
			watched.mr.reset();
		else
			watched.let_go();
		bench.cq.expect(deregisters ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS, 1, env.limit_s);
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"odp/userfault/source", source});
	list.push_back({"odp/userfault/write", [](Env &env) { target(env, IBV_WR_RDMA_WRITE); }});
	list.push_back({"odp/userfault/read", [](Env &env) { target(env, IBV_WR_RDMA_READ); }});
	list.push_back({"odp/userfault/datagram", datagram});
	list.push_back({"odp/userfault/closed", [](Env &env) { not_given(env, false); }});
	list.push_back({"odp/userfault/deregistered", [](Env &env) { not_given(env, true); }});
});

} // namespace
} // namespace vt
