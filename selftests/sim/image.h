/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that a responder exposes to the peer's requester: a part that is only read, areas that
 * hold one WRITE each, counters, and guards around them. Also what they will hold once everything
 * posted is executed, so that every outcome is known beforehand.
 */
#ifndef TERN_SIM_IMAGE_H
#define TERN_SIM_IMAGE_H

#include <cstdint>
#include <vector>

#include "pattern.h"
#include "rng.h"

namespace sim {

constexpr uint32_t AREAS = 8;
constexpr uint32_t BIG_AREA = AREAS; /* index of the one large area */
constexpr uint32_t NO_AREA = ~0u;
constexpr uint32_t COUNTERS = 16; /* the last one is shared by all connections */
constexpr uint32_t GUARD_BYTES = 64;

struct Layout {
	uint32_t static_bytes; /* never written: READ any part of it */
	uint32_t near_bytes;   /* shorter READs begin within this many bytes of it; 0: anywhere */
	uint32_t area_bytes;
	uint32_t big_bytes; /* 0: there is no large area */

	constexpr uint32_t static_at() const { return GUARD_BYTES; }
	constexpr uint32_t area_at(uint32_t i) const
	{
		return static_at() + static_bytes + GUARD_BYTES + i * (area_bytes + GUARD_BYTES);
	}
	constexpr uint32_t areas() const { return big_bytes ? AREAS + 1 : AREAS; }
	constexpr uint32_t size_of(uint32_t i) const
	{
		return i == BIG_AREA ? big_bytes : area_bytes;
	}
	constexpr uint32_t counters_at() const
	{
		return area_at(AREAS) + (big_bytes ? big_bytes + GUARD_BYTES : 0);
	}
	constexpr uint32_t bytes() const { return counters_at() + COUNTERS * 8 + GUARD_BYTES; }
};

class Image {
public:
	explicit Image(const Layout &layout) : layout_(layout) {}

	/* The memory before anything is executed. */
	std::vector<uint8_t> fresh() const;
	/* Nothing outside areas and counters was written ... */
	void check_untouched(int endpoint, const std::vector<uint8_t> &mem) const;
	/* ... and those hold what they should, except the shared counter. */
	void check_outcome(int endpoint, const std::vector<uint8_t> &mem) const;

	/*
	 * A WRITE after a READ of the same place may overtake the READ's response unless it is
	 * fenced (IBTA table 79); so fence it, or use another place.
	 */
	template <class Work> void aim_write(Rng &rng, Work &w, uint8_t fence)
	{
		uint32_t i = w.wr.length > layout_.area_bytes ? BIG_AREA : rng.below(AREAS);

		if (area_[i].readers) {
			if (i != BIG_AREA && rng.one_in(2))
				i = rng.below(AREAS);
			if (area_[i].readers)
				w.wr.flags |= fence;
		}
		aim(w, layout_.area_at(i));
		area_[i].key = w.key;
		area_[i].bytes = w.wr.length;
	}

	template <class Work> void aim_read(Rng &rng, Work &w)
	{
		uint32_t i = layout_.big_bytes && rng.one_in(32) ? BIG_AREA : rng.below(AREAS);
		uint32_t n = w.wr.length, spare;

		if (area_[i].bytes >= n && rng.below(4)) {
			spare = area_[i].bytes - n;
			w.key = area_[i].key;
			w.key_offset = rng.below(spare + 1);
			w.area = i;
			aim(w, layout_.area_at(i) + w.key_offset);
			area_[i].readers++;
			return;
		}
		spare = n < layout_.near_bytes ? layout_.near_bytes : layout_.static_bytes - n;
		w.key = static_key;
		w.key_offset = rng.below(spare + 1);
		aim(w, layout_.static_at() + w.key_offset);
	}

	/* The READ is reaped. */
	template <class Work> void read_done(const Work &w)
	{
		if (w.area != NO_AREA)
			area_[w.area].readers--;
	}

	/* fetch_add: the transport's operation; any other is a compare and swap. */
	template <class Work> void aim_atomic(Rng &rng, Work &w, uint8_t fetch_add)
	{
		uint32_t i = rng.below(COUNTERS);
		uint64_t *v = &counter_[i];

		aim(w, layout_.counters_at() + 8 * i);
		if (i == COUNTERS - 1) {
			w.wr.op = fetch_add;
			w.wr.swap_add = 1;
			w.shared = true;
			return;
		}
		w.orig = *v;
		w.wr.swap_add = rng.next();
		if (w.wr.op == fetch_add) {
			*v += w.wr.swap_add;
			return;
		}
		w.wr.compare = rng.below(4) ? *v : rng.next();
		if (*v == w.wr.compare)
			*v = w.wr.swap_add;
	}

	/* 8 bytes of the pattern of w's key to a counter that this connection has alone. */
	template <class Work> void aim_store(Rng &rng, Work &w)
	{
		uint32_t i = rng.below(COUNTERS - 1);

		aim(w, layout_.counters_at() + 8 * i);
		counter_[i] = pattern_word(w.key, 0);
	}

	uint64_t va_base = 0;
	uint32_t rkey = 0;
	uint64_t static_key = 0;

private:
	template <class Work> void aim(Work &w, uint32_t offset) const
	{
		w.wr.va = va_base + offset;
		w.wr.rkey = rkey;
	}

	struct Area {
		uint64_t key = 0;
		uint32_t bytes = 0;
		uint32_t readers = 0; /* READs of it not yet reaped */
	};

	const Layout layout_;
	Area area_[AREAS + 1];
	uint64_t counter_[COUNTERS] = {};
};

} /* namespace sim */

#endif
