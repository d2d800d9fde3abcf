// SPDX-License-Identifier: GPL-2.0
// FLUSHes to persistent memory (IBTA annex A19): of a file and of a device that are mapped without
// a page cache, and what they must not promise of other memory. tests/36_persistent_memory.py makes
// the places in the server's guest.
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include <fcntl.h>
#include <linux/mman.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counter.h"
#include "odp.h"
#include "pattern.h"
#include "post.h"
#include "transfer.h"

namespace vt {
namespace {

constexpr const char *kFile = "/tern/pmem/file", *kDevice = "/tern/dax";
constexpr size_t kBytes = 4 << 20;
constexpr int kOnDemand = IBV_ACCESS_ON_DEMAND;

int new_file()
{
	int fd = open(kFile, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd < 0 || !ftruncate(fd, kBytes), "ftruncate: %m");
	return fd;
}

int device()
{
	return open(kDevice, O_RDWR | O_CLOEXEC);
}

int memory_file()
{
	int fd = memfd_create("pmem", MFD_CLOEXEC);
	require(fd < 0 || !ftruncate(fd, kBytes), "ftruncate: %m");
	return fd;
}

// What the server maps. MAP_SYNC: a file's blocks are recorded before they can be written to.
class Place {
public:
	Place(int fd, int flags) : fd_(fd)
	{
		void *p = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, fd_, 0);
		require(p != MAP_FAILED, "mmap: %m");
		at_ = static_cast<char *>(p);
	}
	~Place()
	{
		munmap(at_, kBytes);
		if (fd_ >= 0)
			close(fd_);
	}
	Place(const Place &) = delete;
	Place &operator=(const Place &) = delete;

	char *at(size_t offset) const { return at_ + offset; }
	int fd() const { return fd_; }
	void lose() const { require(!madvise(at_, kBytes, MADV_DONTNEED), "madvise: %m"); }

private:
	int fd_;
	char *at_;
};

constexpr int kDax = MAP_SHARED_VALIDATE | MAP_SYNC;

int open_on_server(Env &env, int (*open_it)(), const char *what)
{
	env.both_need(has_cap(env.device, kCapFlushPersistent) && can_flush(env.device, env.client),
		      "FLUSH_PERSISTENT (not on this machine)");
	int fd = env.client || !open_it ? -1 : open_it();
	env.both_need(env.client || !open_it || fd >= 0, what);
	return fd;
}

LinkOptions flushing()
{
	LinkOptions options;
	options.access |= kAccessFlush;
	options.modern = options.placement = true;
	return options;
}

// The client writes to the server's place, and has that flushed.
struct FlushBench {
	FlushBench(Env &e, const Place *place, int access, bool implicit = false)
		: env(e), bench(e, flushing(), kBytes)
	{
		Remote mine = {};
		if (place) {
			access |= kAllAccess | kAccessFlush;
			mr.reset(ibv_reg_mr(bench.pd.get(), implicit ? nullptr : place->at(0),
					    implicit ? SIZE_MAX : kBytes,
					    static_cast<unsigned>(access)));
			require(mr != nullptr, "ibv_reg_mr: %m");
			mine = {reinterpret_cast<uint64_t>(place->at(0)), kBytes, mr->rkey, 0};
		}
		there = env.control.exchange(mine);
	}
	Work to(ibv_wr_opcode opcode, uint64_t at, uint32_t bytes) const
	{
		Work w{.opcode = opcode, .id = ++id_};
		if (opcode == IBV_WR_RDMA_WRITE)
			w.sges = {bench.arena.sge(at, bytes)};
		w.remote_va = there.va + at;
		w.rkey = there.rkey;
		w.flush.bytes = bytes;
		return w;
	}
	void write(uint64_t at, uint32_t bytes, uint64_t seed)
	{
		pattern_fill(bench.arena.at(at), bytes, seed);
		Work w = to(IBV_WR_RDMA_WRITE, at, bytes);
		post(bench.link, w);
		bench.cq.expect(IBV_WC_SUCCESS, w.id, env.limit_s);
	}
	void flush(ibv_wc_status want, uint64_t at, uint32_t bytes, uint8_t placement = kPersistent,
		   uint8_t selectivity = kRange)
	{
		Work w = to(kWrFlush, at, bytes);
		w.flush.placement = placement;
		w.flush.selectivity = selectivity;
		post(bench.link, w);
		bench.cq.expect(want, w.id, env.limit_s);
	}

	Env &env;
	Bench bench;
	Mr mr;
	Remote there;

private:
	mutable uint64_t id_ = 0;
};

uint64_t faults(const Env &env)
{
	return counter_now(env.device.context()->device, "page_faults");
}

// What was written is written back: where the pages are, have been lost since, or never were.
void written_back(Env &env, int (*open_it)(), const char *what, int access, bool implicit)
{
	constexpr uint32_t kRounds = 12, kStride = 300000, kLength = 50001;
	need_odp(env, access & kOnDemand ? kAllCaps : 0);
	int fd = open_on_server(env, open_it, what);
	std::optional<Place> place;
	if (!env.client)
		place.emplace(fd, kDax);
	FlushBench b(env, place ? &*place : nullptr, access, implicit);
	for (uint32_t i = 0; i < kRounds; i++) {
		const uint64_t at = i * kStride + i;
		if (env.client)
			b.write(at, kLength, i);
		env.control.sync();
		if (!env.client && i % 2)
			place->lose();
		uint64_t before = faults(env);
		env.control.sync();
		if (env.client) {
			b.flush(IBV_WC_SUCCESS, at, kLength);
			b.flush(IBV_WC_SUCCESS, at, kLength, kGlobal | kPersistent);
		}
		env.control.sync();
		if (!env.client && i % 2 && access & kOnDemand)
			require(faults(env) > before, "round %u: no page was brought in", i);
	}
	// All of it, with what was never written.
	if (env.client) {
		b.flush(IBV_WC_SUCCESS, 0, kBytes);
		if (!implicit)
			b.flush(IBV_WC_SUCCESS, 0, 0, kPersistent, kRegion);
	}
	env.control.sync();
	sched_yield();
	for (uint32_t i = 0; !env.client && i < kRounds; i++)
		require(pattern_check(place->at(i * kStride + i), kLength, i) == kLength,
			"round %u: what was written is wrong", i);
	env.control.sync();
}

// Places that are not persistent memory, or of which the program makes another one.
struct Refusal {
	const char *name;
	int (*open_it)(); // nullptr: no file
	const char *what; // to be skipped without
	int flags;
	bool first_is_persistent; // its first page
	void (*change)(const Place &);
};

constexpr const char *kNeedsFile = "a file in persistent memory (not on this machine)";
constexpr const char *kNeedsDevice = "a device of persistent memory (not on this machine)";

const Refusal kRefusals[] = {
	{"anonymous", nullptr, nullptr, MAP_PRIVATE | MAP_ANONYMOUS, false, nullptr},
	{"page-cache", memory_file, "memfd_create()", MAP_SHARED, false, nullptr},
	// A page that was written is the program's own, in ordinary memory.
	{"private", new_file, kNeedsFile, MAP_PRIVATE, false, nullptr},
	{"partly-anonymous", new_file, kNeedsFile, kDax, true,
	 [](const Place &place) {
		 void *p = mmap(place.at(kPage), kPage, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		 require(p != MAP_FAILED, "mmap: %m");
	 }},
	{"partly-gone", new_file, kNeedsFile, kDax, true,
	 [](const Place &place) { require(!munmap(place.at(kPage), kPage), "munmap: %m"); }},
};

// The first two pages are written to, and not flushed. The peer learns that, and nothing breaks.
void refused(Env &env, const Refusal &row)
{
	need_odp(env, kAllCaps);
	int fd = open_on_server(env, row.open_it, row.what);
	std::optional<Place> place;
	if (!env.client)
		place.emplace(fd, row.flags);
	FlushBench b(env, place ? &*place : nullptr, kOnDemand);
	if (env.client)
		b.write(0, 2 * kPage, 1);
	env.control.sync();
	if (place && row.change)
		row.change(*place);
	env.control.sync();
	if (env.client) {
		if (row.first_is_persistent)
			b.flush(IBV_WC_SUCCESS, 0, kPage);
		b.flush(IBV_WC_SUCCESS, 0, 2 * kPage, kGlobal);
		b.flush(IBV_WC_REM_ACCESS_ERR, 0, 2 * kPage);
	}
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"pmem/file/on-demand", [](Env &env) {
				written_back(env, new_file, kNeedsFile, kOnDemand, false);
			}});
	list.push_back({"pmem/file/implicit", [](Env &env) {
				written_back(env, new_file, kNeedsFile, kOnDemand, true);
			}});
	list.push_back({"pmem/device/on-demand", [](Env &env) {
				written_back(env, device, kNeedsDevice, kOnDemand, false);
			}});
	list.push_back({"pmem/device/pinned",
			[](Env &env) { written_back(env, device, kNeedsDevice, 0, false); }});
	for (const Refusal &row : kRefusals)
		list.push_back({std::string("pmem/refused/") + row.name,
				[&row](Env &env) { refused(env, row); }});
});

} // namespace
} // namespace vt
