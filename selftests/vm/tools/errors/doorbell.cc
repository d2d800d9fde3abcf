// SPDX-License-Identifier: GPL-2.0
// The doorbell file: its path, which QPs it can ring and for how long; and posting
// without it.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "bench.h"
#include "tern-abi.h"

namespace {

// Opens a context when the process is at its limit of open files.
struct AtTheLimit {
	AtTheLimit() { on = true; }
	~AtTheLimit() { on = false; }
	AtTheLimit(const AtTheLimit &) = delete;
	AtTheLimit &operator=(const AtTheLimit &) = delete;
	static inline bool on = false;
};

bool gets_context(unsigned long request, const void *arg)
{
	const auto *hdr = static_cast<const ib_uverbs_ioctl_hdr *>(arg);
	return request == RDMA_VERBS_IOCTL && hdr->object_id == UVERBS_OBJECT_DEVICE &&
	       hdr->method_id == UVERBS_METHOD_GET_CONTEXT;
}

int lowest_free_fd()
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fd);
	return fd;
}

} // namespace

// libibverbs and the provider call this function first. They open files before and after the
// context, so no limit for all of ibv_open_device() would do.
extern "C" int ioctl(int fd, unsigned long request, ...) noexcept
{
	va_list more;
	va_start(more, request);
	void *arg = va_arg(more, void *);
	va_end(more);
	if (!AtTheLimit::on || !gets_context(request, arg))
		return static_cast<int>(syscall(SYS_ioctl, fd, request, arg));
	rlimit wide = {};
	getrlimit(RLIMIT_NOFILE, &wide);
	rlimit tight = wide;
	tight.rlim_cur = static_cast<rlim_t>(lowest_free_fd());
	setrlimit(RLIMIT_NOFILE, &tight);
	int result = static_cast<int>(syscall(SYS_ioctl, fd, request, arg));
	int error = errno;
	setrlimit(RLIMIT_NOFILE, &wide);
	errno = error;
	return result;
}

namespace vt {
namespace {

std::set<int> doorbell_files()
{
	std::set<int> found;
	for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
		std::error_code gone;
		if (std::filesystem::read_symlink(entry, gone) == "anon_inode:[tern-doorbell]")
			found.insert(std::stoi(entry.path().filename()));
	}
	return found;
}

// Another context of the device.
struct Another {
	explicit Another(const Env &env)
		: before(doorbell_files()),
		  device({{}, env.device.name(), 4, env.device.gid_index()})
	{
		for (int fd : doorbell_files())
			if (!before.count(fd))
				files.push_back(fd);
	}
	int file() const
	{
		require(files.size() == 1, "the context has %zu doorbell files", files.size());
		return files[0];
	}

	std::set<int> before;
	Device device;
	std::vector<int> files;
};

// A QP in the error state: posted requests are flushed once the doorbell has arrived.
struct Flusher {
	explicit Flusher(const Device &device)
		: pd(make_pd(device.context())), cq(device, {}), arena(pd.get(), 4096),
		  link(device, pd.get(), cq.get(), cq.get(), {})
	{
		link.to_init();
		link.move_to(IBV_QPS_ERR);
	}
	void post_one() { post(link, {.id = ++id, .sges = {arena.sge(0, 64)}}); }
	void works(const Env &env)
	{
		post_one();
		cq.expect(IBV_WC_WR_FLUSH_ERR, id, env.limit_s);
	}
	unsigned long qpn() const { return link.qp()->qp_num; }

	Pd pd;
	Cq cq;
	Arena arena;
	Link link;
	uint64_t id = 0;
};

int ring(int fd, unsigned long qpn)
{
	return ioctl(fd, TERN_IOCTL_DOORBELL, qpn) ? errno : 0;
}

void rings(int fd, unsigned long qpn, int wanted, const char *what)
{
	int error = ring(fd, qpn);
	require(error == wanted, "%s, number %#lx: %s", what, qpn, strerror(error));
}

// Moves data both ways between this context and the peer's.
void moves_data(const Env &env, Device &device)
{
	Env other{device,      env.control, env.client, env.seed,
		  env.limit_s, env.seconds, env.amount, env.netdev};
	Bench b(other, {}, 65536);
	b.run({.count = 40, .both_ways = true});
}

void one_per_context(Env &env)
{
	need_tern(env, "a doorbell file");
	std::set<int> before = doorbell_files();
	{
		Another one(env);
		require(fcntl(one.file(), F_GETFD) == FD_CLOEXEC, "it is not close-on-exec");
		{
			Another two(env);
			require(two.file() != one.file(), "two contexts have one file");
		}
		std::set<int> expected = before;
		expected.insert(one.file());
		require(doorbell_files() == expected, "closing one context left or took files");
	}
	require(doorbell_files() == before, "the file is there without its context");
	env.control.sync();
}

void numbers(Env &env)
{
	need_tern(env, "a doorbell file");
	Another one(env);
	Another two(env);
	int file = one.file();
	Pd pd = make_pd(one.device.context());
	Cq cq(one.device, {});
	Link link(one.device, pd.get(), cq.get(), cq.get(), {});
	unsigned long qpn = link.qp()->qp_num;
	rings(file, qpn, 0, "its QP, in RESET");
	for (unsigned long cmd :
	     {TERN_IOCTL_DOORBELL + 1UL, _IOW(0xe7, 0, uint32_t), RDMA_VERBS_IOCTL}) {
		int result = ioctl(file, cmd, qpn);
		require(result == -1 && errno == ENOTTY, "ioctl %#lx: %d, %m", cmd, result);
	}
	// 1 is the kernel's own QP.
	for (unsigned long none : {0UL, 1UL, 0xffffffUL, (1UL << 32) + qpn, ~0UL})
		rings(file, none, ENOENT, "no QP of ours");
	rings(two.file(), qpn, ENOENT, "a QP of another context");
	link.destroy();
	rings(file, qpn, ENOENT, "a destroyed QP");
	env.control.sync();
}

void no_room_for_it(Env &env)
{
	need_tern(env, "a doorbell file");
	std::optional<Another> bare;
	{
		AtTheLimit now;
		bare.emplace(env);
	}
	require(bare->files.empty(), "there was room for a doorbell file");
	Flusher flusher(bare->device);
	flusher.works(env);
	moves_data(env, bare->device);
	Another one(env);
	rings(one.file(), flusher.qpn(), ENOENT, "a QP of a context without a file");
	env.control.sync();
}

void closed_by_the_program(Env &env)
{
	need_tern(env, "a doorbell file");
	Another one(env);
	Flusher flusher(one.device);
	flusher.works(env);
	require(!close(one.file()), "close: %m");
	flusher.works(env);
	moves_data(env, one.device);
	// Now a QP of another file has the number.
	int other = open("/dev/null", O_RDWR | O_CLOEXEC);
	require(other >= 0 && dup2(other, one.file()) >= 0, "dup2: %m");
	flusher.works(env);
	close(other);
	env.control.sync();
}

void outlives_its_context(Env &env)
{
	need_tern(env, "a doorbell file");
	int copy = -1;
	unsigned long qpn = 0;
	{
		Another one(env);
		copy = fcntl(one.file(), F_DUPFD_CLOEXEC, 0);
		require(copy >= 0, "dup: %m");
		Flusher flusher(one.device);
		qpn = flusher.qpn();
		rings(copy, qpn, 0, "a duplicate");
	}
	rings(copy, qpn, ENOENT, "the context is gone");
	Another later(env);
	Flusher flusher(later.device);
	rings(copy, flusher.qpn(), ENOENT, "a QP of a later context");
	flusher.works(env);
	close(copy);
	env.control.sync();
}

// Destroying a QP, or closing the context, does not wait for a thread that rings.
void rung_meanwhile(Env &env)
{
	need_tern(env, "a doorbell file");
	std::atomic<unsigned> found = 0;
	std::atomic<int> odd = 0;
	for (int context = 0; context < 4; context++) {
		std::atomic<unsigned long> qpn = 0;
		std::jthread ringer;
		{
			Another one(env);
			int copy = fcntl(one.file(), F_DUPFD_CLOEXEC, 0);
			ringer = std::jthread([&, copy](const std::stop_token &stop) {
				while (!stop.stop_requested()) {
					int error = ring(copy, qpn);
					if (!error)
						found++;
					else if (error != ENOENT)
						odd = error;
				}
				close(copy);
			});
			for (int i = 0; i < 60; i++) {
				Flusher flusher(one.device);
				qpn = flusher.qpn();
				flusher.works(env);
				for (int n = 0; n < 20; n++)
					flusher.post_one();
				// In User Mode Linux one thread of a process runs at a time: let it
				// run.
				if (i % 10 == 0)
					usleep(200);
			}
		}
		usleep(5000);
	}
	require(!odd, "ringing a QP that comes and goes: %s", strerror(odd));
	require(found > 0, "no QP was found");
	env.control.sync();
}

// The same with connections and data. QP numbers are given in order, so those of the next
// QPs are known.
void rung_under_traffic(Env &env)
{
	constexpr unsigned long kAhead = 16;

	need_tern(env, "a doorbell file");
	Another one(env);
	int file = one.file();
	Flusher flusher(one.device);
	unsigned long first = flusher.qpn() + 1;
	std::atomic<unsigned> found = 0;
	std::atomic<int> odd = 0;
	{
		std::jthread ringer([&](const std::stop_token &stop) {
			for (unsigned long i = 0; !stop.stop_requested(); i++) {
				int error = ring(file, first + i % kAhead);
				if (!error)
					found++;
				else if (error != ENOENT)
					odd = error;
			}
		});
		for (int i = 0; i < 6; i++)
			moves_data(env, one.device);
	}
	require(!odd, "ringing a QP that comes and goes: %s", strerror(odd));
	require(found > 0, "no QP was found");
	flusher.works(env);
	env.control.sync();
}

Register cases([](Cases &list) {
	list.push_back({"doorbell/one-per-context", one_per_context});
	list.push_back({"doorbell/numbers", numbers});
	list.push_back({"doorbell/no-room-for-it", no_room_for_it});
	list.push_back({"doorbell/closed-by-the-program", closed_by_the_program});
	list.push_back({"doorbell/outlives-its-context", outlives_its_context});
	list.push_back({"doorbell/rung-meanwhile", rung_meanwhile});
	list.push_back({"doorbell/rung-under-traffic", rung_under_traffic});
});

} // namespace
} // namespace vt
