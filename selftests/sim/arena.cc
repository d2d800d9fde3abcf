// SPDX-License-Identifier: GPL-2.0
#include "arena.h"

#include <algorithm>
#include <cinttypes>

#include "pattern.h"
#include "trace.h"

namespace sim {

static constexpr uint32_t SINK_GUARD_BYTES = 8;
static constexpr uint8_t SINK_GUARD = 0xa5;

/* False if it does not fit now. */
bool Arena::get(uint32_t bytes, uint32_t *at)
{
	uint32_t size = (uint32_t)mem.size();

	if (empty_) {
		head_ = tail_ = 0;
	} else if (head_ == tail_) {
		return false;
	}
	if (head_ >= tail_) {
		if (bytes <= size - head_) {
			*at = head_;
			head_ += bytes;
			if (head_ == size)
				head_ = 0;
			empty_ = false;
			return true;
		}
		if (bytes >= tail_) /* equality would look like empty */
			return false;
		*at = 0;
		head_ = bytes;
		empty_ = false;
		return true;
	}
	if (bytes >= tail_ - head_)
		return false;
	*at = head_;
	head_ += bytes;
	return true;
}

void Arena::put_until(uint32_t end)
{
	tail_ = end == mem.size() ? 0 : end;
}

void Arena::put_all()
{
	empty_ = true;
}

int Arena::cut(Rng &rng, uint32_t length, bool sink, uint64_t key, Piece *piece, uint32_t *end)
{
	uint32_t guard = sink ? SINK_GUARD_BYTES : 0, at, used = 0;
	uint32_t pieces = length < 2 ? 1 : rng.range(1, std::min<uint32_t>(SGE_MAX, length));
	uint32_t cut[SGE_MAX + 1] = {};

	if (!get(length + pieces * 2 * guard + 8, &at))
		return 0;
	*end = at + length + pieces * 2 * guard + 8;
	for (uint32_t i = 1; i < pieces; i++)
		cut[i] = rng.below(length + 1);
	cut[pieces] = length;
	std::sort(cut, cut + pieces + 1);
	for (uint32_t i = 0; i < pieces; i++) {
		uint32_t bytes = cut[i + 1] - cut[i];

		piece[i] = {at + used + guard, bytes};
		if (sink) {
			memset(&mem[at + used], SINK_GUARD, guard);
			memset(&mem[at + used + guard + bytes], SINK_GUARD, guard);
		} else {
			pattern_fill(key, cut[i], &mem[at + used], bytes);
		}
		used += bytes + 2 * guard;
	}
	return (int)pieces;
}

void Arena::gather(const Piece *piece, uint32_t offset, uint8_t *to, uint32_t n) const
{
	for (; n; piece++) {
		uint32_t bytes;

		if (offset >= piece->bytes) {
			offset -= piece->bytes;
			continue;
		}
		bytes = std::min(n, piece->bytes - offset);
		memcpy(to, &mem[piece->at + offset], bytes);
		to += bytes;
		n -= bytes;
		offset = 0;
	}
}

void Arena::scatter(const Piece *piece, uint32_t offset, const uint8_t *from, uint32_t n)
{
	for (; n; piece++) {
		uint32_t bytes;

		if (offset >= piece->bytes) {
			offset -= piece->bytes;
			continue;
		}
		bytes = std::min(n, piece->bytes - offset);
		memcpy(&mem[piece->at + offset], from, bytes);
		from += bytes;
		n -= bytes;
		offset = 0;
	}
}

void Arena::check_sink(int endpoint, uint64_t number, const Piece *piece, uint32_t pieces,
		       uint64_t key, uint32_t key_offset) const
{
	for (uint32_t i = 0; i < pieces; i++) {
		const uint8_t *p = &mem[piece[i].at];

		for (uint32_t k = 1; k <= SINK_GUARD_BYTES; k++)
			if (*(p - k) != SINK_GUARD || p[piece[i].bytes + k - 1] != SINK_GUARD)
				fail(endpoint, "READ %" PRIu64 " wrote outside its sink", number);
		if (!pattern_matches(key, key_offset, p, piece[i].bytes))
			fail(endpoint, "READ %" PRIu64 " brought wrong data", number);
		key_offset += piece[i].bytes;
	}
}

} /* namespace sim */
