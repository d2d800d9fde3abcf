// SPDX-License-Identifier: GPL-2.0
// See pattern.h. Word w of a pattern is mix(key + w), in host order. Words, not bytes,
// because emulation is slow.
#include "pattern.h"

#include <cstring>

namespace vt {

uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static uint8_t byte_at(uint64_t key, size_t offset)
{
	return static_cast<uint8_t>(mix(key + offset / 8) >> (8 * (offset % 8)));
}

void pattern_fill(void *to, size_t bytes, uint64_t key, size_t offset)
{
	auto *p = static_cast<uint8_t *>(to);
	while (bytes && offset % 8) {
		*p++ = byte_at(key, offset++);
		bytes--;
	}
	for (; bytes >= 8; bytes -= 8, p += 8, offset += 8) {
		uint64_t word = mix(key + offset / 8);
		memcpy(p, &word, 8);
	}
	while (bytes--)
		*p++ = byte_at(key, offset++);
}

size_t pattern_check(const void *at, size_t bytes, uint64_t key, size_t offset)
{
	auto *p = static_cast<const uint8_t *>(at);
	size_t i = 0;
	while (i < bytes) {
		if ((offset + i) % 8 == 0 && bytes - i >= 8) {
			uint64_t word;
			memcpy(&word, p + i, 8);
			if (word == mix(key + (offset + i) / 8)) {
				i += 8;
				continue;
			}
		}
		if (p[i] != byte_at(key, offset + i))
			return i;
		i++;
	}
	return bytes;
}

} // namespace vt
