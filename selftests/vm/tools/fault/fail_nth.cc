// SPDX-License-Identifier: GPL-2.0
// See fail_nth.h, and Documentation/fault-injection/fault-injection.rst of the kernel.
#include "fail_nth.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include "outcome.h"

namespace vt {

FailNth::FailNth() : fd_(open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC))
{
	if (fd_ < 0)
		skip("/proc/thread-self/fail-nth: %m");
}

FailNth::~FailNth()
{
	close(fd_);
}

void FailNth::arm(int n)
{
	char text[16];
	int bytes = snprintf(text, sizeof(text), "%d", n);
	require(pwrite(fd_, text, static_cast<size_t>(bytes), 0) == bytes, "fail-nth: %m");
}

bool FailNth::disarm()
{
	char text[16] = "";
	require(pread(fd_, text, sizeof(text) - 1, 0) > 0, "fail-nth: %m");
	if (!atoi(text))
		return true;
	arm(0);
	return false;
}

} // namespace vt
