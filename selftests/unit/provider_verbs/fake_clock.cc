// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// See fake_clock.h. The provider, linked into this program, finds these first.
#include "fake_clock.h"

#include <dlfcn.h>
#include <sched.h>

#include <ctime>

namespace {

thread_local FakeClock *fake;

template <typename F> F *real(const char *name)
{
	return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
}

} // namespace

FakeClock::FakeClock()
{
	fake = this;
}

FakeClock::~FakeClock()
{
	fake = nullptr;
}

extern "C" {

int clock_gettime(clockid_t clock, timespec *to) noexcept
{
	static auto *const ask = real<int(clockid_t, timespec *)>("clock_gettime");

	if (!fake || clock != CLOCK_MONOTONIC)
		return ask(clock, to);
	fake->now_ns += fake->read_takes_ns;
	to->tv_sec = static_cast<time_t>(fake->now_ns / 1000000000);
	to->tv_nsec = static_cast<long>(fake->now_ns % 1000000000);
	return 0;
}

int sched_yield() noexcept
{
	static auto *const give_way = real<int()>("sched_yield");

	if (!fake)
		return give_way();
	fake->yields++;
	fake->now_ns += fake->yield_takes_ns;
	return 0;
}

} // extern "C"
