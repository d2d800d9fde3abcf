// SPDX-License-Identifier: GPL-2.0
// See command.h.

#include "command.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spawn.h"

namespace rig {
namespace {

constexpr size_t kBacklogMax = 256 * 1024;
constexpr int64_t kBeatMs = 1000;
// A killed process may have much to release; one that hangs in the kernel never ends.
constexpr int64_t kGroupEndsMs = 15000;
constexpr int64_t kGroupLookMs = 10;

int64_t now_ms()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1000000;
}

class Runner {
public:
	Runner(Port *port, const std::string &exec) : port_(port)
	{
		ExecHeader header;
		std::string error;
		memcpy(&header, exec.data(), sizeof(header));
		if (!spawn(exec, &child_, &error)) {
			error += '\n';
			port_->send(kStderr, error.data(), error.size());
			finish(kExited, 126);
			return;
		}
		beat_at_ = now_ms() + kBeatMs;
		if (header.limit_ms)
			limit_at_ = now_ms() + header.limit_ms;
	}
	~Runner() { close_all(&child_); }

	After run(Frame *left)
	{
		for (;;) {
			if (ended_ && port_->backlog() == 0)
				return After::kIdle;
			pollfd fds[5] = {};
			wait(fds);
			if (fds[0].revents & (POLLHUP | POLLERR))
				return abandon(After::kHungUp);
			if (fds[0].revents & POLLIN && port_->fill() == Port::kHungUp)
				return abandon(After::kHungUp);
			if (take_frames(left))
				return abandon(left->type == kHello ? After::kHello :
								      After::kHungUp);
			feed();
			drain(&child_.out, kStdout, 4);
			drain(&child_.err, kStderr, 4);
			if (fds[4].revents)
				reap();
			if (!ended_)
				keep_time();
			if (reaped_ && !ended_ && group_has_ended())
				finish(status_.kind, status_.value);
			port_->flush();
		}
	}

private:
	void wait(pollfd *fds)
	{
		bool roomy = port_->backlog() < kBacklogMax;
		// While stdin is full the port is not read: that is the host's flow control.
		bool want_in = ended_ || stdin_.empty();
		short port_events = static_cast<short>((want_in ? POLLIN : 0) |
						       (port_->backlog() ? POLLOUT : 0));
		fds[0] = {port_->fd(), port_events, 0};
		fds[1] = {roomy ? child_.out : -1, POLLIN, 0};
		fds[2] = {roomy ? child_.err : -1, POLLIN, 0};
		fds[3] = {stdin_.empty() ? -1 : child_.in, POLLOUT, 0};
		fds[4] = {reaped_ ? -1 : child_.pidfd, POLLIN, 0};
		int64_t until = beat_at_;
		if (reaped_)
			until = now_ms() + kGroupLookMs;
		if (limit_at_ && limit_at_ < until)
			until = limit_at_;
		int64_t timeout = ended_ ? kBeatMs : until - now_ms();
		poll(fds, 5, static_cast<int>(timeout < 0 ? 0 : timeout));
	}

	// True if a new host said hello, or this one is gone.
	bool take_frames(Frame *left)
	{
		while (stdin_.empty() && port_->next(left)) {
			if (left->type == kHello || left->type == kHangUp)
				return true;
			if (left->type == kStdin) {
				if (left->payload.empty()) {
					stdin_done_ = true;
				} else {
					stdin_ = left->payload;
				}
				feed();
			} else if (left->type == kKill && left->payload.size() == 4 && !ended_) {
				uint32_t sig;
				memcpy(&sig, left->payload.data(), 4);
				kill(-child_.pid, static_cast<int>(sig));
				killed_ = killed_ || sig == SIGKILL;
			} else if (left->type == kWinsize && left->payload.size() == 4 &&
				   child_.in >= 0) {
				winsize size = {};
				memcpy(&size, left->payload.data(), 4);
				ioctl(child_.in, TIOCSWINSZ, &size);
			}
		}
		return false;
	}

	void feed()
	{
		while (!stdin_.empty()) {
			ssize_t n =
				child_.in < 0 ? -1 : write(child_.in, stdin_.data(), stdin_.size());
			if (n > 0) {
				stdin_.erase(0, static_cast<size_t>(n));
				continue;
			}
			if (child_.in >= 0 && errno == EAGAIN)
				return;
			stdin_.clear(); // it has no reader any more
		}
		if (stdin_done_)
			close_fd(&child_.in);
	}

	void drain(int *fd, uint8_t type, int rounds, size_t backlog_max = kBacklogMax)
	{
		char chunk[16 * 1024];
		for (int i = 0; i < rounds && *fd >= 0 && port_->backlog() < backlog_max; i++) {
			ssize_t n = read(*fd, chunk, sizeof(chunk));
			if (n > 0) {
				port_->send(type, chunk, static_cast<size_t>(n));
			} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
				close_fd(fd); // EIO is a terminal's end of file
			} else {
				return;
			}
		}
	}

	void reap()
	{
		int status = 0;
		if (waitpid(child_.pid, &status, 0) < 0)
			status = 255 << 8;
		bool by_signal = WIFSIGNALED(status);
		uint32_t kind = by_signal ? kSignalled : kExited;
		status_.kind = timed_out_ ? uint32_t{kTimedOut} : kind;
		status_.value =
			static_cast<uint32_t>(by_signal ? WTERMSIG(status) : WEXITSTATUS(status));
		reaped_ = true;
		group_ends_at_ = now_ms() + kGroupEndsMs;
	}

	// A killed command has ended when its whole process group has: a shell ends at once,
	// while its program may still release resources.
	bool group_has_ended()
	{
		return !killed_ || (kill(-child_.pid, 0) < 0 && errno == ESRCH) ||
		       now_ms() >= group_ends_at_;
	}

	void finish(uint32_t kind, uint32_t value)
	{
		// The command's last output is still in the pipes. Later output of its surviving
		// children is dropped. A pipe holds 64 KiB, so a few rounds read all.
		drain(&child_.out, kStdout, 8, SIZE_MAX);
		drain(&child_.err, kStderr, 8, SIZE_MAX);
		ExitStatus status = {kind, value};
		port_->send(kExit, &status, sizeof(status));
		ended_ = true;
		stdin_.clear();
		close_all(&child_);
	}

	void keep_time()
	{
		int64_t now = now_ms();
		if (now >= beat_at_) {
			port_->send(kBeat, nullptr, 0);
			beat_at_ = now + kBeatMs;
		}
		if (limit_at_ && now >= limit_at_) {
			timed_out_ = true;
			killed_ = true;
			limit_at_ =
				now +
				200; // again, for a process forked while the first signal went round
			kill(-child_.pid, SIGKILL);
		}
	}

	After abandon(After why)
	{
		if (!ended_ && child_.pid > 0) {
			kill(-child_.pid, SIGKILL);
			// A process that hangs in the kernel must not block this port: init reaps it later.
			for (int i = 0; i < 20 && waitpid(child_.pid, nullptr, WNOHANG) == 0; i++)
				usleep(10000);
		}
		return why;
	}

	Port *port_;
	Child child_;
	std::string stdin_;
	bool stdin_done_ = false;
	bool ended_ = false;
	bool reaped_ = false;
	bool killed_ = false;
	bool timed_out_ = false;
	ExitStatus status_ = {};
	int64_t group_ends_at_ = 0;
	int64_t limit_at_ = 0;
	int64_t beat_at_ = 0;
};

} // namespace

After run_command(Port *port, const std::string &exec, Frame *left)
{
	if (exec.size() < sizeof(ExecHeader))
		return After::kIdle;
	return Runner(port, exec).run(left);
}

} // namespace rig
