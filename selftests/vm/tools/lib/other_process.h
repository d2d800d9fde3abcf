/* SPDX-License-Identifier: GPL-2.0 */
// A second process on the side of a case that makes it, and words between the two. It shares
// nothing with the first but what it opens by itself.
#ifndef TERN_VM_OTHER_PROCESS_H
#define TERN_VM_OTHER_PROCESS_H

#include <cstddef>
#include <functional>
#include <type_traits>

#include <sys/types.h>

namespace vt {

// One end of the connection between both.
class Words {
public:
	explicit Words(int fd) : fd_(fd) {}

	template <class T> void say(const T &value) const
	{
		static_assert(std::is_trivially_copyable_v<T>);
		write_all(&value, sizeof(value));
	}
	// Fails if none comes within 20 s, or the other is gone.
	template <class T> T hear() const
	{
		static_assert(std::is_trivially_copyable_v<T>);
		T value;
		read_all(&value, sizeof(value));
		return value;
	}

private:
	void write_all(const void *from, size_t bytes) const;
	void read_all(void *to, size_t bytes) const;

	int fd_;
};

class OtherProcess {
public:
	// Make it before the case has memory or queues of its own.
	explicit OtherProcess(const std::function<void(const Words &)> &run);
	~OtherProcess() { kill(); }
	OtherProcess(const OtherProcess &) = delete;
	OtherProcess &operator=(const OtherProcess &) = delete;

	const Words &words() const { return words_; }
	// With SIGKILL, if it has not ended. What it had is gone when this returns.
	void kill();
	// Waits for its end; fails if it has failed.
	void join();

private:
	int fd_;
	Words words_;
	pid_t pid_;
};

} // namespace vt

#endif
