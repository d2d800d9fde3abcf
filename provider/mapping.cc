// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Maps rings. The kernel is trusted; the check is for a module that disagrees on rings. */
#include "mapping.h"

#include <sys/mman.h>

#include <bit>
#include <cerrno>

namespace tern {

int Mapping::map(int cmd_fd, const tern_mmap &where, uint32_t min_stride)
{
	const uint64_t used = TERN_RING_HDR_BYTES + uint64_t{where.slots} * where.stride;
	void *addr;

	if (!std::has_single_bit(where.slots) || where.stride < min_stride ||
	    where.stride % alignof(uint64_t) || used > where.bytes)
		return EPROTO;

	addr = mmap(nullptr, where.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, cmd_fd,
		    static_cast<off_t>(where.offset));
	if (addr == MAP_FAILED)
		return errno;
	ring_.hdr = static_cast<tern_ring_hdr *>(addr);
	ring_.slots = where.slots;
	ring_.stride = where.stride;
	bytes_ = where.bytes;
	return 0;
}

void Mapping::unmap()
{
	if (ring_.hdr)
		munmap(ring_.hdr, bytes_);
	*this = Mapping{};
}

} // namespace tern
