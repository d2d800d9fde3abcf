// SPDX-License-Identifier: GPL-2.0
// Process 1 of a guest, or a service in a guest with systemd (--service). As process 1 it first boots
// the guest (boot.h). It starts one worker process for each virtio-serial port named
// rig.* (in User Mode Linux: for each serial line), so that commands on different ports are
// independent, and reaps every orphan. A worker that dies is started again: the guest stays reachable
// as long as its kernel works.

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "boot.h"
#include "command.h"
#include "port.h"

namespace {

const char kClass[] = "/sys/class/virtio-ports";

// Sleeps until there is something to do, and reads what has arrived. A closed port polls as
// POLLHUP at once, so poll cannot wait for its opening, but SIGIO can. The kernel may deliver a
// new host's first bytes before it knows that the port is open again. Then the answer to
// them cannot be written yet, and stays queued.
void await_host(rig::Port *port, const sigset_t &io)
{
	pollfd p = {port->fd(), static_cast<short>(POLLIN | (port->backlog() ? POLLOUT : 0)), 0};
	poll(&p, 1, -1);
	if (port->fill() == rig::Port::kHungUp) {
		timespec limit = {5, 0};
		sigtimedwait(&io, nullptr, &limit);
	}
	port->flush();
}

// A serial line must not change or add a byte. Other ports need no settings. An idle byte
// tells the keeper that the line is open: earlier data would raise no interrupt.
void open_line(int fd)
{
	termios line;
	if (tcgetattr(fd, &line))
		return;
	cfmakeraw(&line);
	tcsetattr(fd, TCSANOW, &line);
	if (write(fd, "", 1) != 1)
		_exit(1);
}

[[noreturn]] void serve(const std::string &device)
{
	int fd = open(("/dev/" + device).c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		_exit(1);
	open_line(fd);
	sigset_t io;
	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	sigprocmask(SIG_BLOCK, &io, nullptr);
	signal(SIGPIPE, SIG_IGN);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);

	rig::Port port(fd);
	rig::Frame frame;
	bool have = false;
	for (;;) {
		if (!have && !port.next(&frame)) {
			await_host(&port, io);
			continue;
		}
		have = false;
		if (frame.type == rig::kHello) {
			port.send(rig::kHelloBack, frame.payload.data(), frame.payload.size());
			port.flush();
		} else if (frame.type == rig::kExec) {
			std::string exec = frame.payload;
			switch (rig::run_command(&port, exec, &frame)) {
			case rig::After::kIdle:
				break;
			case rig::After::kHungUp:
				port.drop_output();
				break;
			case rig::After::kHello:
				have = true;
				break;
			}
		}
	}
}

std::map<std::string, pid_t> serial_lines(int count)
{
	std::map<std::string, pid_t> ports;
	for (int i = 0; i < count; i++)
		ports["ttyS" + std::to_string(i)] = -1;
	return ports;
}

std::map<std::string, pid_t> find_ports()
{
	std::map<std::string, pid_t> ports;
	DIR *dir = opendir(kClass);
	if (!dir)
		return ports;
	while (dirent *entry = readdir(dir)) {
		std::string path = std::string(kClass) + "/" + entry->d_name + "/name";
		int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		char name[32] = {};
		if (read(fd, name, sizeof(name) - 1) > 4 && !strncmp(name, "rig.", 4))
			ports[entry->d_name] = -1;
		close(fd);
	}
	closedir(dir);
	return ports;
}

void start(std::map<std::string, pid_t>::value_type *port)
{
	port->second = fork();
	if (port->second == 0)
		serve(port->first);
}

} // namespace

int main(int argc, char **argv)
{
	const char *count = getenv("RIG_PORTS");
	int expected = count ? atoi(count) : 1;
	bool native = rig::is_native();
	if (argc < 2 || strcmp(argv[1], "--service")) {
		rig::enter_root();
		if (getenv("RIG_SYSTEMD"))
			rig::become_systemd();
		rig::set_up_guest();
	}
	rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	rlimit core = {0, RLIM_INFINITY};
	setrlimit(RLIMIT_CORE, &core);

	// Ports appear one control message after another: wait for the last, for at most 10 s.
	std::map<std::string, pid_t> ports = native ? serial_lines(expected) : find_ports();
	for (int i = 0; i < 2000 && static_cast<int>(ports.size()) < expected; i++) {
		usleep(5000);
		ports = find_ports();
	}
	for (auto &port : ports)
		start(&port);
	for (;;) {
		pid_t pid = wait(nullptr);
		if (pid < 0)
			sleep(1);
		for (auto &port : ports) {
			if (port.second != pid || pid < 0)
				continue;
			usleep(100000); // limits the rate of forks if a port cannot be opened
			start(&port);
		}
	}
}
