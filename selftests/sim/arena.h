/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Local memory of a requester, allocated and freed in posting order, and the pieces of it that a
 * work request's SGEs name.
 */
#ifndef TERN_SIM_ARENA_H
#define TERN_SIM_ARENA_H

#include <cstdint>
#include <vector>

#include "rng.h"

namespace sim {

constexpr uint32_t SGE_MAX = 4;

struct Piece {
	uint32_t at, bytes; /* in the arena */
};

class Arena {
public:
	explicit Arena(uint32_t bytes) : mem(bytes) {}

	/*
	 * Cut a message into pieces: a source is filled with the pattern of key, a sink gets a
	 * guard around each piece. Returns the number of pieces, or 0 if there is no room now.
	 */
	int cut(Rng &rng, uint32_t length, bool sink, uint64_t key, Piece *piece, uint32_t *end);
	/* Free everything up to this end; free everything. */
	void put_until(uint32_t end);
	void put_all();

	void gather(const Piece *piece, uint32_t offset, uint8_t *to, uint32_t n) const;
	void scatter(const Piece *piece, uint32_t offset, const uint8_t *from, uint32_t n);
	/* Does the sink of READ number hold what it must, and is nothing around it touched? */
	void check_sink(int endpoint, uint64_t number, const Piece *piece, uint32_t pieces,
			uint64_t key, uint32_t key_offset) const;

	std::vector<uint8_t> mem;

private:
	bool get(uint32_t bytes, uint32_t *at);

	uint32_t head_ = 0, tail_ = 0;
	bool empty_ = true;
};

} /* namespace sim */

#endif
