// SPDX-License-Identifier: GPL-2.0
// See other_process.h.
#include "other_process.h"

#include <csignal>
#include <cstdio>
#include <exception>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outcome.h"

namespace vt {
namespace {

constexpr int kLimitMs = 20000;

int make_pair(int *theirs)
{
	int fds[2];

	require(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), "socketpair: %m");
	*theirs = fds[1];
	return fds[0];
}

} // namespace

void Words::write_all(const void *from, size_t bytes) const
{
	require(send(fd_, from, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes),
		"the other process is gone: %m");
}

void Words::read_all(void *to, size_t bytes) const
{
	pollfd ready = {fd_, POLLIN, 0};

	require(poll(&ready, 1, static_cast<int>(kLimitMs * slow())) == 1,
		"the other process says nothing");
	require(recv(fd_, to, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes),
		"the other process is gone");
}

OtherProcess::OtherProcess(const std::function<void(const Words &)> &run) : words_(-1)
{
	int theirs;

	fd_ = make_pair(&theirs);
	words_ = Words(fd_);
	fflush(stdout);
	pid_ = fork();
	require(pid_ >= 0, "fork: %m");
	if (pid_) {
		close(theirs);
		return;
	}
	close(fd_);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int failed = 0;
	try {
		run(Words(theirs));
	} catch (const std::exception &why) {
		fprintf(stderr, "# the other process: %s\n", why.what());
		failed = 1;
	}
	_exit(failed);
}

void OtherProcess::kill()
{
	if (pid_ > 0) {
		::kill(pid_, SIGKILL);
		waitpid(pid_, nullptr, 0);
	}
	pid_ = -1;
	if (fd_ >= 0)
		close(fd_);
	fd_ = -1;
}

void OtherProcess::join()
{
	int status = 0;

	require(waitpid(pid_, &status, 0) == pid_, "waitpid: %m");
	pid_ = -1;
	require(WIFEXITED(status) && !WEXITSTATUS(status), "the other process failed: status %#x",
		status);
}

} // namespace vt
