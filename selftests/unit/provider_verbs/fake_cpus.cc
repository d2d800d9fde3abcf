// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// See fake_cpus.h. The provider, linked into this program, finds these first.
#include "fake_cpus.h"

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

namespace {

thread_local FakeCpus *fake;

template <typename F> F *real(const char *name)
{
	return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
}

} // namespace

FakeCpus::FakeCpus(int online) : online(online)
{
	fake = this;
}

FakeCpus::~FakeCpus()
{
	fake = nullptr;
}

extern "C" {

long sysconf(int name) noexcept
{
	static auto *const ask = real<long(int)>("sysconf");

	return fake && name == _SC_NPROCESSORS_ONLN ? fake->online : ask(name);
}

int sched_yield() noexcept
{
	static auto *const give_way = real<int()>("sched_yield");

	if (!fake)
		return give_way();
	fake->yields++;
	return 0;
}

} // extern "C"
