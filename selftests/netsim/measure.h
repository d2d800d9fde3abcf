/* SPDX-License-Identifier: GPL-2.0 */
/* Distributions and fairness: what results are made of. */
#ifndef TERN_NETSIM_MEASURE_H
#define TERN_NETSIM_MEASURE_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace netsim {

/* Of times: mean and largest are exact, quantiles within 1/16. */
class Histogram {
public:
	void add(uint64_t ns)
	{
		count_[index(ns)]++;
		n_++;
		sum_ += ns;
		max_ = std::max(max_, ns);
	}

	uint64_t n() const { return n_; }
	uint64_t max() const { return max_; }
	double mean() const { return n_ ? (double)sum_ / (double)n_ : 0; }

	/* share of all are not above it. */
	uint64_t quantile(double share) const
	{
		auto wanted = (uint64_t)(share * (double)n_);
		uint64_t seen = 0;

		for (size_t i = 0; i < count_.size(); i++) {
			seen += count_[i];
			if (seen > wanted || (seen && seen == n_))
				return std::min(upper(i), max_);
		}
		return 0;
	}

private:
	static constexpr unsigned SUB = 4; /* bits below the leading one */

	static size_t index(uint64_t v)
	{
		unsigned shift;

		if (v < 1u << SUB)
			return v;
		shift = (unsigned)std::bit_width(v) - SUB - 1;
		return ((size_t)(shift + 1) << SUB) + (size_t)((v >> shift) & ((1u << SUB) - 1));
	}

	static uint64_t upper(size_t i)
	{
		size_t shift = i >> SUB, low = i & ((1u << SUB) - 1);

		return shift ? (((low | 1u << SUB) + 1) << (shift - 1)) - 1 : low;
	}

	std::array<uint64_t, 64 << SUB> count_ = {};
	uint64_t n_ = 0, sum_ = 0, max_ = 0;
};

/* 1: all have the same; 1/n: one has all. (Jain, Chiu, Hawe 1984.) */
inline double jain(const std::vector<double> &x)
{
	double sum = 0, squares = 0;

	for (double v : x) {
		sum += v;
		squares += v * v;
	}
	return squares > 0 ? sum * sum / ((double)x.size() * squares) : 1;
}

} /* namespace netsim */

#endif
