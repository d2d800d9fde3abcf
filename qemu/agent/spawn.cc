// SPDX-License-Identifier: GPL-2.0
// See spawn.h.

#include "spawn.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "wire.h"

namespace rig {
namespace {

struct Request {
	ExecHeader header;
	std::vector<char *> words; // cwd, environment, arguments; they point into `text`
	std::string text;
};

bool parse(const std::string &exec, Request *request)
{
	if (exec.size() < sizeof(ExecHeader) || exec.back() != 0)
		return false;
	memcpy(&request->header, exec.data(), sizeof(ExecHeader));
	request->text = exec.substr(sizeof(ExecHeader));
	char *word = &request->text[0];
	char *end = word + request->text.size();
	for (; word < end; word += strlen(word) + 1)
		request->words.push_back(word);
	size_t expected = 1 + size_t{request->header.env_count} + request->header.arg_count;
	return request->header.arg_count > 0 && request->words.size() == expected;
}

[[noreturn]] void become(const Request &request, const Child &ends, int tty)
{
	setsid();
	if (tty >= 0)
		ioctl(tty, TIOCSCTTY, 0);
	dup2(ends.in, 0);
	dup2(ends.out, 1);
	dup2(ends.err, 2);
	// The agent's other descriptors must not leak into the command.
	syscall(SYS_close_range, 3u, ~0u, 0u);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, nullptr);
	signal(SIGPIPE, SIG_DFL);
	auto word = request.words.begin();
	const char *cwd = *word++;
	if (chdir(cwd))
		dprintf(2, "agent: cannot enter %s: %s\n", cwd, strerror(errno));
	for (uint32_t i = 0; i < request.header.env_count; i++)
		putenv(*word++);
	std::vector<char *> argv(word, request.words.end());
	argv.push_back(nullptr);
	execvp(argv[0], argv.data());
	int code = errno == ENOENT ? 127 : 126;
	dprintf(2, "agent: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(code);
}

// `mine` are the agent's ends, `theirs` the command's.
bool open_pipes(Child *mine, Child *theirs)
{
	int in[2], out[2], err[2];
	if (pipe2(in, O_CLOEXEC))
		return false;
	theirs->in = in[0];
	mine->in = in[1];
	if (pipe2(out, O_CLOEXEC))
		return false;
	mine->out = out[0];
	theirs->out = out[1];
	if (pipe2(err, O_CLOEXEC))
		return false;
	mine->err = err[0];
	theirs->err = err[1];
	return true;
}

bool open_terminal(Child *mine, Child *theirs)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0)
		return false;
	mine->in = master;
	mine->out = dup(master);
	char name[64];
	if (grantpt(master) || unlockpt(master) || ptsname_r(master, name, sizeof(name)))
		return false;
	theirs->in = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	theirs->out = dup(theirs->in);
	theirs->err = dup(theirs->in);
	return theirs->in >= 0;
}

} // namespace

void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void close_all(Child *child)
{
	for (int *fd : {&child->in, &child->out, &child->err, &child->pidfd})
		close_fd(fd);
}

bool spawn(const std::string &exec, Child *child, std::string *error)
{
	Request request;
	if (!parse(exec, &request)) {
		*error = "agent: the host sent a malformed command";
		return false;
	}
	Child theirs;
	bool on_tty = request.header.flags & kPty;
	bool opened = on_tty ? open_terminal(child, &theirs) : open_pipes(child, &theirs);
	if (opened)
		child->pid = fork();
	if (child->pid == 0)
		become(request, theirs, on_tty ? theirs.in : -1);
	int saved = errno;
	close_all(&theirs);
	if (child->pid < 0) {
		close_all(child);
		*error = std::string("agent: cannot start a process: ") + strerror(saved);
		return false;
	}
	child->pidfd = static_cast<int>(syscall(SYS_pidfd_open, child->pid, 0));
	for (int fd : {child->in, child->out, child->err})
		if (fd >= 0)
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return true;
}

} // namespace rig
