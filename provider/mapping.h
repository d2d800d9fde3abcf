/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The mapping of one ring, which the kernel describes in a tern_mmap. */
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
	 * Map where, whose entries are at least min_stride bytes. 0, EPROTO if that
	 * does not describe a ring, or the errno of mmap(). Nothing may be mapped here.
	 */
	int map(int cmd_fd, const tern_mmap &where, uint32_t min_stride);
	void unmap();

	/* Valid while mapped. */
	const RingMemory &ring() const { return ring_; }

private:
	RingMemory ring_;
	size_t bytes_;
};

/*
 * Map where for ring, in place of its old memory (resize) if it has any. 0 or errno; on failure the
 * ring has no memory.
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
