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

#include <sched.h>
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
// length is not known before. A READ is asked for in parts, each of which may take one at the
// responder.
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

struct Span {
	explicit Span(int protection, size_t n = kPage) : bytes(n)
	{
		void *p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		require(p != MAP_FAILED, "mmap: %m");
		at = static_cast<char *>(p);
	}
	~Span() { munmap(at, bytes); }
	Span(const Span &) = delete;
	Span &operator=(const Span &) = delete;
	void allow() const
	{
		require(!mprotect(at, bytes, PROT_READ | PROT_WRITE), "mprotect: %m");
	}

	char *at;
	size_t bytes;
};

// The page of a datagram's receive cannot be had: the receive says so, and the QP ends. After a
// RESET the page can be had, and the failure is no concern of the next datagram.
void failed_datagram(Env &env)
{
	constexpr uint32_t kBytes = 1000, kGrh = 40;
	need_odp(env, kAllCaps);
	LinkOptions options;
	options.type = IBV_QPT_UD;
	Bench bench(env, options, 1 << 20);
	Span page(PROT_NONE);
	Mr all(ibv_reg_mr(bench.pd.get(), nullptr, SIZE_MAX,
			  unsigned{kAllAccess} | IBV_ACCESS_ON_DEMAND));
	require(all != nullptr, "ibv_reg_mr: %m");
	for (uint32_t i = 0; i < 2; i++) {
		if (!env.client)
			post_recv(
				bench.link, i,
				{{reinterpret_cast<uint64_t>(page.at), kGrh + kBytes, all->lkey}});
		env.control.sync();
		if (env.client) {
			pattern_fill(bench.arena.at(0), kBytes, i);
			post(bench.link, Work{.id = i, .sges = {bench.arena.sge(0, kBytes)}});
			bench.cq.expect(IBV_WC_SUCCESS, i);
		} else if (!i) {
			bench.cq.expect(IBV_WC_LOC_PROT_ERR, i);
			require(bench.link.state() == IBV_QPS_ERR, "the QP goes on");
			page.allow();
		} else {
			bench.cq.expect(IBV_WC_SUCCESS, i);
			sched_yield();
			require(pattern_check(page.at + kGrh, kBytes, i) == kBytes,
				"the datagram is wrong");
		}
		bench.link.move_to(IBV_QPS_RESET);
		bench.link.connect(env.control);
	}
}

uint32_t bind(Env &env, Bench &bench, ibv_mw *mw, const Arena &arena)
{
	ibv_mw_bind_info info = {arena.mr(), arena.va(kPage), 20 * kPage,
				 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
	if (mw->type == IBV_MW_TYPE_1) {
		ibv_mw_bind request = {};
		request.wr_id = 1;
		request.send_flags = IBV_SEND_SIGNALED;
		request.bind_info = info;
		int error = ibv_bind_mw(bench.link.qp(), mw, &request);
		if (error)
			refuse("ibv_bind_mw", error);
	} else {
		Work w{.opcode = IBV_WR_BIND_MW, .id = 1, .mw = mw};
		w.new_rkey = ibv_inc_rkey(mw->rkey);
		w.bind = info;
		post(bench.link, w);
		mw->rkey = w.new_rkey;
	}
	bench.cq.expect(IBV_WC_SUCCESS, 1, env.limit_s);
	return mw->rkey;
}

// Through a window on memory on demand whose pages are lost all the time.
void window(Env &env, ibv_mw_type type)
{
	constexpr uint32_t kBytes = 50000;
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20);
	Arena arena(bench.pd.get(), 1 << 20, kAllAccess | IBV_ACCESS_MW_BIND, MrKind::kOnDemand);
	Mw mw(ibv_alloc_mw(bench.pd.get(), type));
	if (!mw)
		refuse("ibv_alloc_mw", errno);
	Remote mine = {arena.va(kPage), 20 * kPage, 0, 0};
	if (!env.client)
		mine.rkey = bind(env, bench, mw.get(), arena);
	Remote theirs = env.control.exchange(mine);
	auto access = [&](ibv_wr_opcode opcode, uint64_t from, uint64_t va, ibv_wc_status status) {
		Work w{.opcode = opcode, .id = 2, .sges = {bench.arena.sge(from, kBytes)}};
		w.remote_va = va;
		w.rkey = theirs.rkey;
		post(bench.link, w);
		bench.cq.expect(status, 2, env.limit_s);
	};
	for (uint32_t i = 0; i < 20; i++) {
		if (env.client) {
			pattern_fill(bench.arena.at(0), kBytes, i);
			access(IBV_WR_RDMA_WRITE, 0, theirs.va + 100, IBV_WC_SUCCESS);
			access(IBV_WR_RDMA_READ, 500000, theirs.va + 100, IBV_WC_SUCCESS);
			require(pattern_check(bench.arena.at(500000), kBytes, i) == kBytes,
				"round %u: what was read is wrong", i);
		}
		env.control.sync();
		if (!env.client) {
			require(pattern_check(arena.at(kPage + 100), kBytes, i) == kBytes,
				"round %u: what was written is wrong", i);
			lose(arena);
		}
		env.control.sync();
	}
	// Beyond its end.
	if (env.client)
		access(IBV_WR_RDMA_WRITE, 0, theirs.va + 20 * kPage - 100, IBV_WC_REM_ACCESS_ERR);
	env.control.sync();
}

// UC messages wait for pages as those of RC do.
void unreliable(Env &env, ibv_wr_opcode opcode)
{
	constexpr uint32_t kBytes = 30000;
	need_odp(env, kAllCaps);
	LinkOptions options;
	options.type = IBV_QPT_UC;
	Bench bench(env, options, 1 << 20, {}, MrKind::kOnDemand);
	Remote theirs = env.control.exchange(bench.arena.remote());
	for (uint32_t i = 0; i < 20; i++) {
		if (env.client)
			pattern_fill(bench.arena.at(0), kBytes, i);
		lose(bench.arena);
		if (!env.client)
			post_recv(bench.link, i, {bench.arena.sge(0, kBytes)});
		env.control.sync();
		if (env.client) {
			Work w{.opcode = opcode, .id = i, .sges = {bench.arena.sge(0, kBytes)}};
			w.remote_va = theirs.va;
			w.rkey = theirs.rkey;
			post(bench.link, w);
		}
		bench.cq.expect(IBV_WC_SUCCESS, i);
		require(pattern_check(bench.arena.at(0), kBytes, i) == kBytes,
			"message %u is wrong", i);
		env.control.sync();
	}
}

// memfd_secret(): the kernel has no address for its pages, so the fault fails.
void secret(Env &env)
{
#ifdef SYS_memfd_secret
	need_odp(env, kAllCaps);
	int fd = static_cast<int>(syscall(SYS_memfd_secret, 0));
	env.both_need(fd >= 0, "memfd_secret() (not on this machine)");
	require(!ftruncate(fd, kPage), "ftruncate: %m");
	void *page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	require(page != MAP_FAILED, "mmap: %m");
	memset(page, 7, kPage);
	Bench bench(env, {}, 1 << 20);
	Mr mr(ibv_reg_mr(bench.pd.get(), page, kPage, unsigned{kAllAccess} | IBV_ACCESS_ON_DEMAND));
	require(mr != nullptr, "ibv_reg_mr: %m");
	Remote theirs =
		env.control.exchange(Remote{reinterpret_cast<uint64_t>(page), kPage, mr->rkey, 0});
	if (env.client) {
		Work w{.opcode = IBV_WR_RDMA_READ, .id = 5, .sges = {bench.arena.sge(0, 64)}};
		w.remote_va = theirs.va;
		w.rkey = theirs.rkey;
		post(bench.link, w);
		bench.cq.expect(IBV_WC_REM_ACCESS_ERR, 5);
	}
	env.control.sync();
	munmap(page, kPage);
#else
	(void)env;
	skip("memfd_secret(): not on this machine");
#endif
}

// Tables of pages of all regions on demand in this guest, as `rdma resource show` has it.
unsigned tables()
{
	FILE *shown = popen("rdma -dd resource show mr", "r");
	require(shown != nullptr, "popen: %m");
	std::string text;
	char part[4096];
	while (size_t n = fread(part, 1, sizeof(part), shown))
		text.append(part, n);
	require(!pclose(shown), "rdma -dd resource show mr fails");
	const std::string name = "odp_tables ";
	unsigned sum = 0;
	for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
		sum += static_cast<unsigned>(strtoul(text.c_str() + at + name.size(), nullptr, 10));
	return sum;
}

// The tables of an implicit region go when the process has lost their pages.
void swept(Env &env)
{
	constexpr size_t kBytes = 32 << 20;
	need_odp(env, kAllCaps);
	Bench bench(env, {}, 1 << 20);
	Arena arena(bench.pd.get(), kBytes, kAllAccess, MrKind::kImplicit);
	ibv_sge all = arena.sge(0, kBytes);
	for (int i = 0; i < 2; i++) {
		require(!ibv_advise_mr(bench.pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				       IBV_ADVISE_MR_FLAG_FLUSH, &all, 1),
			"ibv_advise_mr");
		require(tables() >= kBytes >> 21, "%u tables of %zu bytes", tables(), kBytes);
		lose(arena);
		double deadline = now_s() + env.limit_s;
		while (tables())
			require(now_s() < deadline, "%u tables are left", tables());
	}
	env.control.sync();
}

// Tables come and go under traffic.
void swept_busy(Env &env)
{
	constexpr uint32_t kBytes = 4 << 20;
	need_odp(env, kAllCaps);
	Bench bench(env, {}, kBytes, {}, MrKind::kImplicit);
	Remote theirs = env.control.exchange(bench.arena.remote());
	double until = now_s() + env.seconds / 2;
	for (uint32_t i = 0; i < 40; i++) {
		if (env.client) {
			pattern_fill(bench.arena.at(0), kBytes, i);
			Work w{.opcode = IBV_WR_RDMA_WRITE,
			       .id = i,
			       .sges = {bench.arena.sge(0, kBytes)}};
			w.remote_va = theirs.va;
			w.rkey = theirs.rkey;
			lose(bench.arena);
			post(bench.link, w);
			bench.cq.expect(IBV_WC_SUCCESS, i);
		}
		env.control.sync();
		require(env.client || pattern_check(bench.arena.at(0), kBytes, i) == kBytes,
			"message %u is wrong", i);
		lose(bench.arena);
		// About as long as an empty table stays.
		usleep(i % 8 || now_s() > until ? 1000 : 990000);
		env.control.sync();
	}
}

// A number in a parameter of the module, for a time.
class Parameter {
public:
	Parameter(const char *name, unsigned value)
		: path_(std::string("/sys/module/tern/parameters/") + name)
	{
		std::ifstream(path_) >> before_;
		write(value);
	}
	~Parameter() { write(before_); }
	Parameter(const Parameter &) = delete;
	Parameter &operator=(const Parameter &) = delete;

private:
	void write(unsigned value) const { std::ofstream(path_) << value << std::flush; }

	std::string path_;
	unsigned before_ = 0;
};

// A user context of its own, with memory on demand if that is allowed: errno.
struct Context {
	explicit Context(const Env &env)
		: device(same_device(env)), pd(make_pd(device.context())),
		  page(PROT_READ | PROT_WRITE)
	{}
	int use()
	{
		mr.reset(ibv_reg_mr(pd.get(), page.at, kPage, IBV_ACCESS_ON_DEMAND));
		return mr ? 0 : errno;
	}

	Device device;
	Pd pd;
	Span page;
	Mr mr;
};

// A user may have memory on demand in so many contexts. Another user has the same number.
void contexts_of_user(Env &env)
{
	constexpr unsigned kMost = 6;
	need_odp(env, kAllCaps);
	if (env.client) {
		Parameter limit("odp_contexts", kMost);
		Context first(env);
		require(!first.use(), "the first context is refused: %m");
		std::deque<Context> more;
		int error = 0;
		while (!error && more.size() <= kMost)
			error = more.emplace_back(env).use();
		// The session's own context may be one of them.
		require(error == EAGAIN && more.size() + 2 >= kMost, "context %zu: %s",
			more.size() + 1, strerror(error));
		require(!first.use(), "a second region of a context is refused: %m");
		pid_t child = fork();
		if (!child)
			_exit(setuid(12345) || more.back().use() ||
			      ibv_dereg_mr(more.back().mr.release()));
		int status = -1;
		waitpid(child, &status, 0);
		require(!status, "another user is refused");
		more.pop_front();
		require(!more.back().use(), "refused after a context has ended: %m");
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	for (ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ})
		list.push_back({std::string("odp/ahead/") + opcode_name(opcode),
				[opcode](Env &env) { ahead(env, opcode); }});
	list.push_back({"odp/short-message", short_message});
	list.push_back({"odp/failed-datagram", failed_datagram});
	list.push_back({"odp/window/type1", [](Env &env) { window(env, IBV_MW_TYPE_1); }});
	list.push_back({"odp/window/type2", [](Env &env) { window(env, IBV_MW_TYPE_2); }});
	list.push_back({"odp/uc/send", [](Env &env) { unreliable(env, IBV_WR_SEND); }});
	list.push_back({"odp/uc/write_imm",
			[](Env &env) { unreliable(env, IBV_WR_RDMA_WRITE_WITH_IMM); }});
	list.push_back({"odp/secret", secret});
	list.push_back({"odp/swept", swept});
	list.push_back({"odp/swept/busy", swept_busy});
	list.push_back({"odp/contexts", contexts_of_user});
});

} // namespace
} // namespace vt
