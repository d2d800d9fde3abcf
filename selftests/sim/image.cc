// SPDX-License-Identifier: GPL-2.0
#include "image.h"

#include <algorithm>
#include <cstring>

#include "pattern.h"
#include "trace.h"

namespace sim {

static constexpr uint8_t GUARD_BYTE = 0x5a;

static bool is_guard(const uint8_t *p)
{
	return std::all_of(p, p + GUARD_BYTES, [](uint8_t b) { return b == GUARD_BYTE; });
}

std::vector<uint8_t> Image::fresh() const
{
	std::vector<uint8_t> mem(layout_.bytes(), GUARD_BYTE);

	pattern_fill(static_key, 0, &mem[layout_.static_at()], layout_.static_bytes);
	memset(&mem[layout_.counters_at()], 0, COUNTERS * 8);
	return mem;
}

void Image::check_untouched(int endpoint, const std::vector<uint8_t> &mem) const
{
	for (uint32_t at :
	     {0u, layout_.static_at() + layout_.static_bytes, layout_.counters_at() + COUNTERS * 8})
		if (!is_guard(&mem[at]))
			fail(endpoint, "memory written outside of every target");
	for (uint32_t a = 0; a < layout_.areas(); a++)
		if (!is_guard(&mem[layout_.area_at(a) + layout_.size_of(a)]))
			fail(endpoint, "memory written behind area %u", a);
	if (!pattern_matches(static_key, 0, &mem[layout_.static_at()], layout_.static_bytes))
		fail(endpoint, "memory that is only read was written");
}

void Image::check_outcome(int endpoint, const std::vector<uint8_t> &mem) const
{
	for (uint32_t a = 0; a < layout_.areas(); a++)
		if (!pattern_matches(area_[a].key, 0, &mem[layout_.area_at(a)], area_[a].bytes))
			fail(endpoint, "area %u does not hold the last WRITE", a);
	for (uint32_t i = 0; i < COUNTERS - 1; i++)
		if (memcmp(&mem[layout_.counters_at() + 8 * i], &counter_[i], 8))
			fail(endpoint, "counter %u: an atomic was lost or executed twice", i);
}

} /* namespace sim */
