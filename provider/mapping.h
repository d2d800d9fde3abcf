/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The mapping of one ring, as described by the kernel in a tern_mmap. */
#ifndef TERN_PROVIDER_MAPPING_H
#define TERN_PROVIDER_MAPPING_H

#include <cstddef>
#include <cstdint>

#include "ring.h"
#include "tern-abi.h"

namespace tern {

/* Zeroed: nothing mapped. Not thread-safe. */
class Mapping {
public:
	/*
	 * Map where; entries are at least min_stride bytes. 0, or EPROTO if the
	 * description is not that of a ring, or what mmap() says. An old mapping
	 * must have been unmapped or moved away.
	 */
	int map(int cmd_fd, const tern_mmap &where, uint32_t min_stride);
	void unmap();

	/* Meaningful while mapped. */
	const RingMemory &ring() const { return ring_; }

private:
	RingMemory ring_;
	size_t bytes_;
};

/*
 * Map where for ring, in place of what it had before (a resize). 0 or errno; on failure the ring
 * has no memory.
 */
template <typename Ring>
int map_ring(Ring *ring, Mapping *mapping, int cmd_fd, const tern_mmap &where, uint32_t min_stride)
{
	int err;

	ring->detach();
	mapping->unmap();
	err = mapping->map(cmd_fd, where, min_stride);
	if (!err)
		ring->attach(mapping->ring());
	return err;
}

} // namespace tern

#endif
