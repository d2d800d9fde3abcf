/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulator's only random source: a small seeded generator, so that a seed replays a run
 * exactly. Probabilities are compared with 32 bits.
 */
#ifndef TERN_SIM_RNG_H
#define TERN_SIM_RNG_H

#include <cstddef>
#include <cstdint>

namespace sim {

inline uint64_t mix64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return x;
}

class Rng {
public:
	explicit Rng(uint64_t seed = 1) : s_(mix64(seed + 0x9e3779b97f4a7c15u)) {}

	uint64_t next()
	{
		s_ += 0x9e3779b97f4a7c15u;
		return mix64(s_);
	}

	/* Uniform in [0, n), n at least 1. */
	uint32_t below(uint32_t n) { return (uint32_t)(((next() >> 32) * n) >> 32); }

	/* Uniform in [lo, hi]. */
	uint32_t range(uint32_t lo, uint32_t hi) { return lo + below(hi - lo + 1); }

	bool one_in(uint32_t n) { return below(n) == 0; }

	/* True with probability p, given as chance(p). */
	bool hit(uint32_t chance) { return (uint32_t)(next() >> 32) < chance; }

	static uint32_t chance(double p)
	{
		return p <= 0 ? 0 : p >= 1 ? UINT32_MAX : (uint32_t)(p * 4294967296.0);
	}

private:
	uint64_t s_;
};

template <typename T, size_t N> T pick(Rng &rng, const T (&choices)[N])
{
	return choices[rng.below(N)];
}

} /* namespace sim */

#endif
