// SPDX-License-Identifier: GPL-2.0
// See counter.h.
#include "counter.h"

#include <fstream>
#include <string>
#include <unistd.h>

#include "outcome.h"

namespace vt {

uint64_t counter(const ibv_device *device, const char *name)
{
	std::ifstream file(std::string(device->ibdev_path) + "/ports/1/hw_counters/" + name);
	uint64_t n = 0;
	require(static_cast<bool>(file >> n), "no counter %s", name);
	return n;
}

uint64_t counter_now(const ibv_device *device, const char *name)
{
	// Twice the time for which the kernel caches them, RDMA_HW_STATS_DEFAULT_LIFESPAN.
	usleep(20000);
	return counter(device, name);
}

} // namespace vt
