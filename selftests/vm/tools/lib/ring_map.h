/* SPDX-License-Identifier: GPL-2.0 */
// The rings that tern's provider has mapped into this process.
#ifndef TERN_VM_RING_MAP_H
#define TERN_VM_RING_MAP_H

#include <cstddef>
#include <set>
#include <tuple>

#include <sys/types.h>

namespace vt {

// A ring's address, and its offset in the context's command file.
struct RingMap {
	void *at;
	size_t bytes;
	off_t offset;
	bool operator<(const RingMap &other) const
	{
		return std::tie(at, bytes, offset) < std::tie(other.at, other.bytes, other.offset);
	}
};

std::set<RingMap> ring_maps();

// The ring that is not among `others`.
RingMap new_ring_map(const std::set<RingMap> &others);

} // namespace vt

#endif
