// SPDX-License-Identifier: GPL-2.0
// A QEMU TCG plugin that counts what a guest executes: the address of each translated block,
// its instructions, and how often it ran. A connection to the socket insns.PID in QEMU's
// working directory gets all of them, one per line: address in hex, instructions, times.
//
// No Debian package has QEMU's qemu-plugin.h. Below is the part that is used (API version 1).
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" {
struct qemu_plugin_tb;
struct qemu_info_t;
using qemu_plugin_id_t = uint64_t;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
using qemu_plugin_vcpu_tb_trans_cb_t = void (*)(qemu_plugin_id_t, qemu_plugin_tb *);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, qemu_plugin_vcpu_tb_trans_cb_t);
uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb *);
size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *);
void qemu_plugin_register_vcpu_tb_exec_inline(qemu_plugin_tb *, qemu_plugin_op, void *, uint64_t);
}

EXPORT int qemu_plugin_version;
int qemu_plugin_version = 1;

namespace {

struct Block {
	uint64_t address;
	size_t insns;
	bool operator==(const Block &) const = default;
};

struct HashBlock {
	size_t operator()(const Block &b) const { return b.address * 31 + b.insns; }
};

std::mutex lock;
// How often each ran. Translated code adds to the nodes, so they do not move. Never freed:
// the guest runs until the process ends.
std::unordered_map<Block, uint64_t, HashBlock> &times =
	*new std::unordered_map<Block, uint64_t, HashBlock>;

// A block that is translated again goes on counting.
void translated(qemu_plugin_id_t, qemu_plugin_tb *tb)
{
	std::lock_guard guard(lock);
	uint64_t &n = times[{qemu_plugin_tb_vaddr(tb), qemu_plugin_tb_n_insns(tb)}];

	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &n, 1);
}

void tell(int fd)
{
	FILE *out = fdopen(fd, "w");

	if (!out) {
		close(fd);
		return;
	}
	std::lock_guard guard(lock);
	for (const auto &[block, n] : times)
		if (n)
			fprintf(out, "%" PRIx64 " %zu %" PRIu64 "\n", block.address, block.insns,
				n);
	fclose(out);
}

void serve(int listener)
{
	for (;;) {
		int fd = accept(listener, nullptr, nullptr);

		if (fd < 0)
			return;
		tell(fd);
	}
}

int listen_here()
{
	const std::string name = "insns." + std::to_string(getpid());
	sockaddr_un address = {};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sun_family = AF_UNIX;
	name.copy(address.sun_path, sizeof(address.sun_path) - 1);
	unlink(address.sun_path);
	if (fd >= 0 && !bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) &&
	    !listen(fd, 4))
		return fd;
	perror("insns");
	return -1;
}

} // namespace

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *, int, char **)
{
	const int listener = listen_here();

	if (listener < 0)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	std::thread(serve, listener).detach();
	return 0;
}
