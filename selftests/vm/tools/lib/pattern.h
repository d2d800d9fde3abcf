/* SPDX-License-Identifier: GPL-2.0 */
// Payload bytes that depend on (seed, direction, message, offset). So data from
// another place, shifted data, and data of an earlier message are noticed.
#ifndef TERN_VM_PATTERN_H
#define TERN_VM_PATTERN_H

#include <cstddef>
#include <cstdint>

namespace vt {

uint64_t mix(uint64_t x);

// The key of one message's pattern.
inline uint64_t pattern_key(uint64_t seed, uint32_t direction, uint64_t message)
{
	return mix(seed ^ mix((uint64_t{direction} << 56) + message + 1));
}

// Writes the pattern's bytes [offset, offset + bytes) to `to`.
void pattern_fill(void *to, size_t bytes, uint64_t key, size_t offset = 0);

// The first offset in `at` that differs from the pattern, or `bytes`.
size_t pattern_check(const void *at, size_t bytes, uint64_t key, size_t offset = 0);

} // namespace vt

#endif
