// SPDX-License-Identifier: GPL-2.0
// Memory on demand whose pages come late, or not before somebody gives up: who waits for them, and
// who does not. Needs the test module tern_late.
#include <cerrno>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
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

constexpr double kAtOnce = 2; // seconds that a call takes that does not wait for a page

unsigned number(const char *name)
{
	unsigned n = 0;
	std::ifstream file(std::string("/sys/module/tern_late/parameters/") + name);
	require(static_cast<bool>(file >> n), "tern_late's parameters are missing");
	return n;
}

unsigned waiting()
{
	return number("waiting");
}

template <typename Condition> void wait_for(const char *what, Condition holds)
{
	double deadline = now_s() + 20 * slow();
	for (; !holds(); usleep(1000))
		require(now_s() < deadline, "%s", what);
}

// A region of pages that do not come as long as they are held.
class Late {
public:
	Late(Env &env, ibv_pd *pd) : fd_(open("/dev/tern-late", O_RDWR | O_CLOEXEC))
	{
		env.both_need(fd_ >= 0, "/dev/tern-late (not on this machine)");
		void *p = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
		require(p != MAP_FAILED, "mmap: %m");
		at_ = static_cast<char *>(p);
		mr.reset(ibv_reg_mr(pd, at_, kBytes, unsigned{kAllAccess} | IBV_ACCESS_ON_DEMAND));
		require(mr != nullptr, "ibv_reg_mr: %m");
		hold(true);
	}
	~Late()
	{
		hold(false);
		fail(false);
		mr.reset();
		munmap(at_, kBytes);
		close(fd_);
	}
	Late(const Late &) = delete;
	Late &operator=(const Late &) = delete;

	static void hold(bool on) { set("hold", on); }
	static void fail(bool on) { set("fail", on); }
	static void wait_until(unsigned n)
	{
		double deadline = now_s() + 20 * slow();
		for (; waiting() != n; usleep(1000))
			require(now_s() < deadline, "%u page faults wait, not %u", waiting(), n);
	}
	void come() const
	{
		hold(false);
		wait_until(0);
	}
	char *at() const { return at_; }
	ibv_sge sge() const { return {reinterpret_cast<uint64_t>(at_), kBytes, mr->lkey}; }
	Remote remote() const { return {sge().addr, kBytes, mr->rkey, 0}; }

	Mr mr;

private:
	static void set(const char *parameter, bool on)
	{
		std::ofstream(std::string("/sys/module/tern_late/parameters/") + parameter)
			<< (on ? "1" : "0") << std::flush;
	}

	static constexpr uint32_t kBytes = 8 * kPage;
	int fd_;
	char *at_;
};

// Time passes on this side's clock.
template <class F> void require_at_once(const char *what, F call)
{
	double began = now_s();
	call();
	require(now_s() - began < kAtOnce * slow(), "%s took %.1f s", what, now_s() - began);
}

struct LateBench {
	explicit LateBench(Env &e, const LinkOptions &options = {})
		: env(e), bench(e, options, 1 << 20), late(e, bench.pd.get()),
		  theirs(e.control.exchange(bench.arena.remote()))
	{}
	// The client: a WRITE of pages that are held. They are being brought in afterwards.
	void write_held()
	{
		Work w{.opcode = IBV_WR_RDMA_WRITE, .id = 1, .sges = {late.sge()}};
		w.remote_va = theirs.va;
		w.rkey = theirs.rkey;
		post(bench.link, w);
		Late::wait_until(1);
	}
	void write_plain(Link &link, Cq &cq, const Arena &from)
	{
		Work w{.opcode = IBV_WR_RDMA_WRITE, .id = 9, .sges = {from.sge(0, 100000)}};
		w.remote_va = theirs.va + 200000;
		w.rkey = theirs.rkey;
		post(link, w);
		cq.expect(IBV_WC_SUCCESS, 9, env.limit_s);
	}

	Env &env;
	Bench bench;
	Late late;
	Remote theirs;
};

void reset(Env &env)
{
	need_odp(env, kAllCaps);
	LateBench b(env);
	for (int i = 0; i < 2; i++) {
		Late::hold(true);
		if (env.client) {
			b.write_held();
			require_at_once("RESET", [&] { b.bench.link.move_to(IBV_QPS_RESET); });
			// In the second round it is connected again before the page has come.
			if (!i)
				b.late.come();
		} else {
			b.bench.link.move_to(IBV_QPS_RESET);
		}
		b.bench.link.connect(env.control);
		b.late.come();
		if (env.client)
			b.write_plain(b.bench.link, b.bench.cq, b.bench.arena);
		env.control.sync();
		if (env.client)
			madvise(b.late.at(), b.late.sge().length, MADV_DONTNEED);
	}
}

// A process that lets a page come a while after it is waited for.
pid_t let_come_soon()
{
	pid_t child = fork();
	if (child)
		return child;
	while (!waiting())
		usleep(10000);
	usleep(300000);
	Late::hold(false);
	_exit(0);
}

// Nobody waits for the page: not the program, for its address space, nor others that look into it,
// nor the end of the QP.
void destroy(Env &env)
{
	need_odp(env, kAllCaps);
	LateBench b(env);
	if (env.client) {
		b.write_held();
		require_at_once("mmap() and munmap()", [] {
			void *p =
				mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			require(p != MAP_FAILED && !munmap(p, kPage), "mmap: %m");
		});
		require_at_once("a look at the command line", [] {
			std::string line;
			std::ifstream("/proc/self/cmdline") >> line;
			require(!line.empty(), "/proc/self/cmdline is empty");
		});
		require_at_once("ibv_destroy_qp()", [&] { b.bench.link.destroy(); });
		require(waiting() == 1, "the page came");
		b.late.come();
	}
	env.control.sync();
}

// Waits for the page: its region is being used.
void deregister(Env &env)
{
	need_odp(env, kAllCaps);
	LateBench b(env);
	if (env.client) {
		pid_t other = let_come_soon();
		b.write_held();
		b.late.mr.reset();
		require(!waiting(), "ibv_dereg_mr() does not wait for a fault");
		waitpid(other, nullptr, 0);
		b.bench.cq.expect(IBV_WC_LOC_PROT_ERR, 1, env.limit_s);
	}
	env.control.sync();
}

// Another context of the same process has its own pages brought in, and other QPs of the same
// context go on with memory that is there.
void neighbours(Env &env)
{
	need_odp(env, kAllCaps);
	LateBench b(env);
	Device device(same_device(env));
	Pd pd = make_pd(device.context());
	Cq cq(device, {}), cq_beside(env.device, {});
	Link link(device, pd.get(), cq.get(), cq.get(), {});
	Link beside(env.device, b.bench.pd.get(), cq_beside.get(), cq_beside.get(), {});
	Link::connect_all({&link, &beside}, env.control);
	Arena arena(pd.get(), 1 << 20, kAllAccess, MrKind::kOnDemand);
	// A key is of one PD.
	b.theirs = env.control.exchange(Remote{arena.va(0), arena.size(), arena.mr()->rkey, 0});
	Remote pinned = env.control.exchange(b.bench.arena.remote());
	if (env.client) {
		Work w{.opcode = IBV_WR_RDMA_WRITE, .id = 1, .sges = {b.late.sge()}};
		w.remote_va = pinned.va;
		w.rkey = pinned.rkey;
		post(b.bench.link, w);
		Late::wait_until(1);
	}
	env.control.sync();
	for (int i = 0; i < 20; i++) {
		madvise(arena.at(0), arena.size(), MADV_DONTNEED);
		env.control.sync();
		if (env.client)
			b.write_plain(link, cq, arena);
		env.control.sync();
	}
	b.theirs = pinned;
	if (env.client) {
		b.write_plain(beside, cq_beside, b.bench.arena);
		require(waiting() == 1, "the page came");
		b.late.come();
		b.bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	}
	env.control.sync();
}

uint64_t dropped(const Env &env)
{
	return counter_now(env.device.context()->device, "rx_backlog_dropped");
}

// A UC message is lost with the page that it waits for. That this could not be had is no concern of
// the next one.
void lost_and_failed(Env &env)
{
	need_odp(env, kAllCaps);
	LinkOptions options;
	options.type = IBV_QPT_UC;
	LateBench b(env, options);
	Remote late = env.control.exchange(b.late.remote());
	auto write = [&](uint64_t id) {
		Work w{.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .id = id};
		w.sges = {b.bench.arena.sge(0, 64)};
		w.remote_va = late.va;
		w.rkey = late.rkey;
		post(b.bench.link, w);
		b.bench.cq.expect(IBV_WC_SUCCESS, id);
	};
	uint64_t before = dropped(env);
	if (!env.client)
		post_recv(b.bench.link, 1, {});
	env.control.sync();
	if (env.client)
		write(1);
	if (!env.client) {
		unsigned failed = number("failed");
		wait_for("the message is not lost", [&] { return dropped(env) > before; });
		Late::fail(true);
		b.late.come();
		wait_for("the page came", [&] { return number("failed") > failed; });
		Late::fail(false);
		b.bench.cq.expect_none(0.05);
	}
	env.control.sync();
	if (env.client)
		write(2);
	else
		b.bench.cq.expect(IBV_WC_SUCCESS, 1);
	env.control.sync();
}

struct LateDatagrams {
	// Few: a card may take 16 KiB of memory for a packet, and a socket's buffer has 208 KiB.
	static constexpr uint32_t kBytes = 1000, kGrh = 40, kReceives = 8;

	explicit LateDatagrams(Env &e) : env(e), b(e, options()) {}
	static LinkOptions options()
	{
		LinkOptions ud;
		ud.type = IBV_QPT_UD;
		return ud;
	}
	// The server: the first of them into the page that is held.
	void post_receives()
	{
		post_recv(b.bench.link, 0, {{b.late.sge().addr, kGrh + kBytes, b.late.mr->lkey}});
		for (uint32_t i = 1; i < kReceives; i++)
			post_recv(b.bench.link, i, {b.bench.arena.sge(i * kPage, kGrh + kBytes)});
	}
	// The client.
	void send(uint32_t n)
	{
		pattern_fill(b.bench.arena.at(0), kBytes, 7);
		for (uint32_t i = 0; i < n; i++) {
			post(b.bench.link, Work{.id = i, .sges = {b.bench.arena.sge(0, kBytes)}});
			b.bench.cq.expect(IBV_WC_SUCCESS, i);
		}
	}
	// Both: a datagram arrives.
	void one_more()
	{
		if (!env.client)
			post_recv(b.bench.link, 99, {b.bench.arena.sge(0, kGrh + kBytes)});
		env.control.sync();
		if (env.client)
			send(1);
		else
			b.bench.cq.expect(IBV_WC_SUCCESS, 99);
		env.control.sync();
	}

	Env &env;
	LateBench b;
};

// Those behind a datagram that waits for its page wait too, as many as a socket would keep. Others
// are lost.
void datagrams(Env &env)
{
	constexpr uint32_t kSent = 600, kMostKept = 200;
	need_odp(env, kAllCaps);
	LateDatagrams d(env);
	uint64_t before = dropped(env);
	if (!env.client)
		d.post_receives();
	env.control.sync();
	if (env.client)
		d.send(kSent);
	env.control.sync();
	if (!env.client) {
		Late::wait_until(1);
		wait_for("too few datagrams are lost",
			 [&] { return dropped(env) - before >= kSent - kMostKept; });
		uint64_t lost = dropped(env) - before;
		require(lost <= kSent - d.kReceives, "%llu of %u datagrams are lost",
			static_cast<unsigned long long>(lost), kSent);
		d.b.late.come();
		for (uint32_t i = 0; i < d.kReceives; i++)
			d.b.bench.cq.expect(IBV_WC_SUCCESS, i);
		sched_yield();
		require(pattern_check(d.b.late.at() + d.kGrh, d.kBytes, 7) == d.kBytes,
			"the first datagram is wrong");
	}
	env.control.sync();
	d.one_more();
}

// The QP is reset while datagrams wait, then destroyed.
void datagrams_end(Env &env)
{
	need_odp(env, kAllCaps);
	LateDatagrams d(env);
	for (int i = 0; i < 2; i++) {
		Late::hold(true);
		madvise(d.b.late.at(), d.b.late.sge().length, MADV_DONTNEED);
		if (!env.client)
			d.post_receives();
		env.control.sync();
		if (env.client)
			d.send(40);
		env.control.sync();
		if (!env.client)
			Late::wait_until(1);
		if (i) {
			require_at_once("ibv_destroy_qp()", [&] { d.b.bench.link.destroy(); });
		} else {
			require_at_once("RESET", [&] { d.b.bench.link.move_to(IBV_QPS_RESET); });
			d.b.bench.link.connect(env.control);
			d.one_more();
		}
		if (!env.client) {
			require(waiting() == 1, "the page came");
			d.b.late.come();
		}
		env.control.sync();
	}
	env.control.sync();
}

// A peer that writes to a page that does not come has its retries, and no more.
void peer_gives_up(Env &env)
{
	need_odp(env, kAllCaps);
	LinkOptions options;
	options.timeout = 12;
	options.retries = 2;
	LateBench b(env, options);
	Remote late = env.control.exchange(b.late.remote());
	if (env.client) {
		Work w{.opcode = IBV_WR_RDMA_WRITE, .id = 3, .sges = {b.bench.arena.sge(0, 64)}};
		w.remote_va = late.va;
		w.rkey = late.rkey;
		post(b.bench.link, w);
		b.bench.cq.expect(IBV_WC_RETRY_EXC_ERR, 3, env.limit_s);
	}
	env.control.sync();
	if (!env.client) {
		Late::wait_until(1);
		b.late.come();
	}
	b.bench.link.move_to(IBV_QPS_RESET);
	b.bench.link.connect(env.control);
	if (env.client)
		b.write_plain(b.bench.link, b.bench.cq, b.bench.arena);
	env.control.sync();
}

// The client waits for a page for a time, in which it may be killed.
void held(Env &env)
{
	need_odp(env, kAllCaps);
	LateBench b(env);
	if (env.client) {
		b.write_held();
		usleep(static_cast<useconds_t>(env.seconds * 1e6));
		b.late.come();
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"odp-late/reset", reset});
	list.push_back({"odp-late/destroy", destroy});
	list.push_back({"odp-late/deregister", deregister});
	list.push_back({"odp-late/neighbours", neighbours});
	list.push_back({"odp-late/lost-and-failed", lost_and_failed});
	list.push_back({"odp-late/datagrams", datagrams});
	list.push_back({"odp-late/datagrams-end", datagrams_end});
	list.push_back({"odp-late/peer-gives-up", peer_gives_up});
	list.push_back({"odp-late/held", held, true});
});

} // namespace
} // namespace vt
