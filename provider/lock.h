/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The lock of one queue. It can be switched off at creation, for a queue that
 * the application promises to use from one thread at a time. All sections are
 * short except a resize, so a waiter spins for a moment, then yields.
 */
#ifndef TERN_PROVIDER_LOCK_H
#define TERN_PROVIDER_LOCK_H

#include <sched.h>

#include <atomic>

namespace tern {

inline void cpu_relax()
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	asm volatile("yield" ::: "memory");
#endif
}

/* Zeroed memory is an unlocked lock that works. Not recursive. */
class Lock {
public:
	/* Before the first use only. */
	void init(bool single_threaded) { off_ = single_threaded; }

	void lock()
	{
		if (off_ || !held_.exchange(true, std::memory_order_acquire))
			return;
		lock_slow();
	}

	void unlock()
	{
		if (!off_)
			held_.store(false, std::memory_order_release);
	}

private:
	void lock_slow()
	{
		/* Pauses: longer than any section but a resize. */
		constexpr int kSpins = 200;

		do {
			for (int i = 0; held_.load(std::memory_order_relaxed); i++) {
				if (i < kSpins)
					cpu_relax();
				else
					sched_yield();
			}
		} while (held_.exchange(true, std::memory_order_acquire));
	}

	std::atomic<bool> held_;
	bool off_;
};

/* Holds a Lock for its scope. */
class Guard {
public:
	explicit Guard(Lock &lock) : lock_(lock) { lock_.lock(); }
	~Guard() { lock_.unlock(); }
	Guard(const Guard &) = delete;
	Guard &operator=(const Guard &) = delete;

private:
	Lock &lock_;
};

} // namespace tern

#endif
