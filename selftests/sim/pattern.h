/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contents of every message: an endless byte string per key. Any part of it can be written or
 * checked without the rest.
 */
#ifndef TERN_SIM_PATTERN_H
#define TERN_SIM_PATTERN_H

#include <cstdint>
#include <cstring>

namespace sim {

inline uint64_t pattern_word(uint64_t key, uint32_t index)
{
	uint64_t x = key + index * 0x9e3779b97f4a7c15u;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ (x >> 29);
}

inline void pattern_fill(uint64_t key, uint32_t offset, uint8_t *p, uint32_t n)
{
	uint32_t i = offset >> 3, skip = offset & 7;
	uint64_t w;

	if (skip && n) {
		uint32_t part = 8 - skip < n ? 8 - skip : n;

		w = pattern_word(key, i++);
		memcpy(p, (uint8_t *)&w + skip, part);
		p += part;
		n -= part;
	}
	for (; n >= 8; p += 8, n -= 8) {
		w = pattern_word(key, i++);
		memcpy(p, &w, 8);
	}
	if (n) {
		w = pattern_word(key, i);
		memcpy(p, &w, n);
	}
}

inline bool pattern_matches(uint64_t key, uint32_t offset, const uint8_t *p, uint32_t n)
{
	uint32_t i = offset >> 3, skip = offset & 7;
	uint64_t w, v, bad = 0;

	if (skip && n) {
		uint32_t part = 8 - skip < n ? 8 - skip : n;

		w = pattern_word(key, i++);
		if (memcmp(p, (uint8_t *)&w + skip, part))
			return false;
		p += part;
		n -= part;
	}
	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&v, p, 8);
		bad |= v ^ pattern_word(key, i++);
	}
	if (n) {
		w = pattern_word(key, i);
		if (memcmp(p, &w, n))
			return false;
	}
	return !bad;
}

} /* namespace sim */

#endif
