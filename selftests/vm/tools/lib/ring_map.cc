// SPDX-License-Identifier: GPL-2.0
#include "ring_map.h"

#include <cstdio>
#include <fstream>
#include <string>

#include "outcome.h"

namespace vt {

std::set<RingMap> ring_maps()
{
	std::ifstream maps("/proc/self/maps");
	std::set<RingMap> found;
	for (std::string line; std::getline(maps, line);) {
		void *at = nullptr, *end = nullptr;
		unsigned long offset = 0;
		if (line.find("/dev/infiniband/uverbs") != std::string::npos &&
		    sscanf(line.c_str(), "%p-%p %*s %lx", &at, &end, &offset) == 3)
			found.insert({at,
				      static_cast<size_t>(static_cast<char *>(end) -
							  static_cast<char *>(at)),
				      static_cast<off_t>(offset)});
	}
	return found;
}

RingMap new_ring_map(const std::set<RingMap> &others)
{
	for (const RingMap &each : ring_maps())
		if (!others.count(each))
			return each;
	fail("no ring more is mapped");
}

} // namespace vt
