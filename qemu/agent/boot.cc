// SPDX-License-Identifier: GPL-2.0
// See boot.h.

#include "boot.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rig {
namespace {

[[noreturn]] void fail(const char *what, const char *which)
{
	int saved = errno;
	int console = open("/dev/console", O_WRONLY | O_CLOEXEC);
	dprintf(console, "rig-init: %s %s: %s\n", what, which, strerror(saved));
	usleep(200000);
	reboot(RB_AUTOBOOT);
	_exit(1);
}

void mount_or_fail(const char *source, const char *target, const char *type, unsigned long flags,
		   const char *options)
{
	mkdir(target, 0755);
	if (mount(source, target, type, flags, options))
		fail("cannot mount", target);
}

// False if there is no such file. Any other error is fatal.
bool load_module(const std::string &path)
{
	int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST)
		fail("cannot load module", path.c_str());
	close(fd);
	return true;
}

void load_boot_modules(const char *list)
{
	FILE *order = fopen(list, "re");
	if (!order)
		fail("cannot read", list);
	char name[128];
	while (fgets(name, sizeof(name), order)) {
		name[strcspn(name, "\n")] = 0;
		if (!load_module(std::string("/mod/") + name))
			fail("no module", name);
	}
	fclose(order);
}

void await_disk(const char *path)
{
	for (int i = 0; i < 1000; i++) {
		if (!access(path, F_OK))
			return;
		usleep(10000);
	}
	fail("no disk", path);
}

// The layer for writes above a read-only disk: memory, so that every boot starts fresh, or
// a disk of the guest's own, whose files survive a reboot.
void mount_writable(const char *disk)
{
	if (!*disk) {
		mount_or_fail("rw", "/rw", "tmpfs", 0, "mode=755,size=75%");
		return;
	}
	load_boot_modules("/mod/order-disk");
	await_disk(disk);
	mount_or_fail(disk, "/rw", "ext4", MS_NOATIME, "");
}

// The folder `low` below a layer in the tmpfs `rw`, so that all of it is writable
// and every boot starts fresh. `work` names the layer's folders.
void mount_overlay(const char *low, const std::string &rw, const char *work, const char *target)
{
	std::string upper = rw + "/" + work + "-upper", scratch = rw + "/" + work + "-work";
	mkdir(upper.c_str(), 0755);
	mkdir(scratch.c_str(), 0755);
	std::string options =
		std::string("lowerdir=") + low + ",upperdir=" + upper + ",workdir=" + scratch;
	mount_or_fail("overlay", target, "overlay", MS_NOATIME, options.c_str());
}

void mount_disk(const char *disk, const char *low)
{
	await_disk(disk);
	mount_or_fail(disk, low, "squashfs", MS_RDONLY | MS_NOATIME, "");
}

void write_file(const char *path, const std::string &text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (write(fd, text.data(), text.size()) < 0)
		dprintf(2, "rig-init: cannot write %s\n", path);
	close(fd);
}

std::string setting(const char *name, const char *fallback)
{
	const char *value = getenv(name);
	return value ? value : fallback;
}

void move_root(const char *root)
{
	for (const char *moved : {"/dev", "/proc", "/sys"}) {
		std::string target = std::string(root) + moved;
		mkdir(target.c_str(), 0755);
		if (mount(moved, target.c_str(), nullptr, MS_MOVE, nullptr))
			fail("cannot move", moved);
	}
	if (chdir(root) || mount(root, "/", nullptr, MS_MOVE, nullptr) || chroot(".") || chdir("/"))
		fail("cannot enter", root);
}

// The host's root, in which this process starts, is below and read-only. Of the folders
// that every host has, /run is not needed here.
void enter_native_root()
{
	mount_or_fail("rw", "/run", "tmpfs", 0, "mode=755,size=75%");
	mkdir("/run/root", 0755);
	mount_overlay("/", "/run", "root", "/run/root");
	mount_or_fail("none", "/run/lowmod", "hostfs", MS_RDONLY, getenv("RIG_MODULES"));
	mkdir("/run/root/lib/modules", 0755);
	mount_overlay("/run/lowmod", "/run", "modules", "/run/root/lib/modules");
	move_root("/run/root");
}

// perftest reads the CPU's clock here, which User Mode Linux does not have.
void tell_clock()
{
	std::string text = "cpu MHz\t\t: " + setting("RIG_MHZ", "1000") + "\n";
	char chunk[4096];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	for (ssize_t n; (n = read(fd, chunk, sizeof(chunk))) > 0;)
		text.append(chunk, static_cast<size_t>(n));
	close(fd);
	write_file("/run/cpuinfo", text);
	if (mount("/run/cpuinfo", "/proc/cpuinfo", nullptr, MS_BIND, nullptr))
		fail("cannot mount", "/proc/cpuinfo");
}

// The host's files as guests see them.
void set_up_native()
{
	std::string hosts = "127.0.0.1 localhost\n::1 localhost\n";
	for (char i = 0; i < 9; i++) {
		std::string n(1, static_cast<char>('1' + i)), name(1, static_cast<char>('a' + i));
		for (const char *prefix : {"10.77.0.", "fd77::"})
			hosts.append(prefix).append(n).append(" ").append(name).append("\n");
	}
	write_file("/etc/hosts", hosts);
	mount_or_fail("none", "/run/rig", "hostfs", MS_RDONLY, getenv("RIG_PUSH"));
	if (const char *share = getenv("RIG_SHARE"))
		mount_or_fail("none", "/share", "hostfs", MS_RDONLY, share);
	tell_clock();
}

// The environment of commands.
std::map<std::string, std::string> environment()
{
	return {{"RIG_NAME", setting("RIG_NAME", "")},
		{"RIG_INDEX", setting("RIG_INDEX", "")},
		{"RIG_MTU", setting("RIG_MTU", "")},
		{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		{"HOME", "/root"},
		{"LANG", "C.UTF-8"},
		{"TERM", "linux"}};
}

void set_hostname()
{
	std::string name = setting("RIG_NAME", "guest");
	if (sethostname(name.data(), name.size()))
		fail("hostname", name.c_str());
	write_file("/etc/hostname", name + "\n");
}

void mount_the_usual()
{
	mount_or_fail("run", "/run", "tmpfs", MS_NOSUID, "mode=755");
	mount_or_fail("tmp", "/tmp", "tmpfs", 0, "mode=1777");
	mount_or_fail("pts", "/dev/pts", "devpts", 0, "gid=5,mode=620,ptmxmode=666");
	mount_or_fail("shm", "/dev/shm", "tmpfs", 0, "mode=1777");
	mount_or_fail("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, "");
	mount_or_fail("debugfs", "/sys/kernel/debug", "debugfs", 0, "");
	mount_or_fail("tracefs", "/sys/kernel/tracing", "tracefs", 0, "");
	mkdir("/run/lock", 01777);
	if (symlink("/proc/self/fd", "/dev/fd") || symlink("/proc/self/fd/0", "/dev/stdin") ||
	    symlink("/proc/self/fd/1", "/dev/stdout") || symlink("/proc/self/fd/2", "/dev/stderr"))
		dprintf(2, "rig-init: /dev/fd: %s\n", strerror(errno));
}

void load_network_driver()
{
	char release[128] = {};
	int fd = open("/proc/sys/kernel/osrelease", O_RDONLY | O_CLOEXEC);
	if (read(fd, release, sizeof(release) - 1) < 0)
		fail("cannot read", "osrelease");
	close(fd);
	release[strcspn(release, "\n")] = 0;
	std::string kernel = std::string("/lib/modules/") + release + "/kernel/";
	// Built in, or a chain of these three modules: a missing one is built in.
	for (const char *module :
	     {"net/core/failover.ko", "drivers/net/net_failover.ko", "drivers/net/virtio_net.ko"})
		load_module(kernel + module);
}

void run_with_input(const char *program, const char *const argv[], const std::string &input)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		fail("pipe for", program);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[0], 0);
		execv(program, const_cast<char *const *>(argv));
		_exit(127);
	}
	close(ends[0]);
	if (write(ends[1], input.data(), input.size()) < 0)
		fail("cannot feed", program);
	close(ends[1]);
	int status = 0;
	waitpid(pid, &status, 0);
	if (status) {
		errno = 0;
		fail("failed:", program);
	}
}

// This program, for systemd to start it as a service.
void leave_agent(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	char chunk[16 * 1024];
	ssize_t n;
	while ((n = read(from, chunk, sizeof(chunk))) > 0)
		if (write(to, chunk, static_cast<size_t>(n)) != n)
			fail("cannot write", path);
	if (n < 0 || to < 0)
		fail("cannot copy to", path);
	close(to);
	close(from);
}

// From early until the very end, so that a hanging boot or shutdown can be examined.
std::string service()
{
	std::string text = "[Unit]\nDescription=Commands from the rig\nDefaultDependencies=no\n"
			   "[Service]\nExecStart=/run/rig/agent --service\nRestart=always\n"
			   "LimitMEMLOCK=infinity\nLimitCORE=0\nTasksMax=infinity\n"
			   "OOMPolicy=continue\n";
	for (const auto &[name, value] : environment())
		text.append("Environment=").append(name).append("=").append(value).append("\n");
	return text + "Environment=RIG_PORTS=" + setting("RIG_PORTS", "1") + "\n";
}

void set_up_network()
{
	// No server assigns addresses: waiting for duplicates and routers would waste time.
	for (const char *scope : {"all", "default", "eth0", "vec0"}) {
		std::string base = std::string("/proc/sys/net/ipv6/conf/") + scope + "/";
		if (access(base.c_str(), F_OK))
			continue;
		write_file((base + "accept_ra").c_str(), "0");
		write_file((base + "accept_dad").c_str(), "0");
	}
	std::string n = setting("RIG_INDEX", "1");
	// The driver may choose any name.
	std::string lines = is_native() ? "link set vec0 name eth0\n" : "";
	lines += "link set lo up\nlink set eth0 mtu " + setting("RIG_MTU", "1500") +
		 "\nlink set eth0 up\naddr add 10.77.0." + n + "/24 dev eth0\n";
	if (!access("/proc/sys/net/ipv6", F_OK))
		lines += "addr add fd77::" + n + "/64 dev eth0 nodad\n";
	const char *argv[] = {"ip", "-batch", "-", nullptr};
	run_with_input("/sbin/ip", argv, lines);
}

} // namespace

bool is_native()
{
	return getenv("RIG_MODULES") != nullptr;
}

void enter_root()
{
	mount_or_fail("dev", "/dev", "devtmpfs", 0, "");
	mount_or_fail("proc", "/proc", "proc", 0, "");
	mount_or_fail("sys", "/sys", "sysfs", 0, "");
	if (getenv("RIG_PROBE")) { // the rig tests KVM: that has succeeded here
		errno = 0;
		fail("probe-ok", "");
	}
	if (is_native()) {
		enter_native_root();
		return;
	}
	load_boot_modules("/mod/order");
	mount_writable(setting("RIG_DISK", "").c_str());
	mount_disk("/dev/vda", "/low");
	mount_overlay("/low", "/rw", "root", "/new");
	mount_disk("/dev/vdb", "/lowmod");
	mount_overlay("/lowmod", "/rw", "modules", "/new/lib/modules");
	std::string share = setting("RIG_SHARE", "");
	if (!share.empty()) {
		await_disk(share.c_str());
		mount_or_fail(share.c_str(), "/new/share", "squashfs", MS_RDONLY, "");
	}
	move_root("/new");
}

void set_up_guest()
{
	mount_the_usual();
	set_hostname();
	// Without udev the user-space half of an RDMA device is not loaded: bind it to the module.
	mkdir("/etc/modprobe.d", 0755);
	write_file("/etc/modprobe.d/rig.conf", "softdep rdma_rxe post: ib_uverbs rdma_ucm\n");
	if (is_native())
		set_up_native();
	else
		load_network_driver();
	set_up_network();

	auto kept = environment();
	clearenv(); // the kernel turns every unknown option into an environment variable
	for (const auto &[name, value] : kept)
		setenv(name.c_str(), value.c_str(), 1);
}

void become_systemd()
{
	mount_or_fail("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755");
	for (const char *folder : {"/run/rig", "/run/systemd", "/run/systemd/system",
				   "/run/systemd/system/sysinit.target.wants"})
		mkdir(folder, 0755);
	leave_agent("/run/rig/agent");
	write_file("/run/systemd/system/rig-agent.service", service());
	if (symlink("../rig-agent.service",
		    "/run/systemd/system/sysinit.target.wants/rig-agent.service"))
		fail("cannot link", "rig-agent.service");
	set_hostname();
	load_network_driver();
	set_up_network();
	clearenv();
	execl("/sbin/init", "/sbin/init", nullptr);
	fail("cannot run", "/sbin/init");
}

} // namespace rig
