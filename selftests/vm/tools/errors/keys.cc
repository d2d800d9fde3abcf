// SPDX-License-Identifier: GPL-2.0
// Keys: known keys do not help to guess others, and a key is not used again soon.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "bench.h"

namespace vt {
namespace {

constexpr size_t kRegions = 512;

// Keys in the order of registration.
std::vector<uint32_t> keys_of(ibv_pd *pd, Buffer &buffer)
{
	std::vector<Mr> regions;
	std::vector<uint32_t> keys;
	for (size_t i = 0; i < kRegions; i++) {
		Mr mr(ibv_reg_mr(pd, buffer.data(), 64, kAllAccess));
		require(mr != nullptr, "region %zu: %m", i);
		keys.push_back(mr->rkey);
		regions.push_back(std::move(mr));
	}
	return keys;
}

size_t neighbours(const std::vector<uint32_t> &keys)
{
	size_t n = 0;
	for (size_t i = 1; i < keys.size(); i++)
		n += std::min(keys[i] - keys[i - 1], keys[i - 1] - keys[i]) < 1u << 24;
	return n;
}

void at_random(Env &env)
{
	need_tern(env, "keys at random");
	Pd pd = make_pd(env.device.context());
	Buffer buffer(4096);
	std::vector<uint32_t> keys = keys_of(pd.get(), buffer);

	// A random key is this near to the one before in 1 of 128 cases: 32 in a row do not happen.
	size_t near = neighbours(keys);
	require(near < 32, "%zu of %zu keys are near to the one before", near, kRegions);
	std::vector<uint32_t> sorted = keys;
	std::sort(sorted.begin(), sorted.end());
	require(sorted.front() < 1u << 28 && sorted.back() > 15u << 28, "keys from %#x to %#x only",
		sorted.front(), sorted.back());

	// By chance 1 of 16,000 runs has one.
	std::set<uint32_t> gone(keys.begin(), keys.end());
	size_t again = 0;
	for (uint32_t key : keys_of(pd.get(), buffer))
		again += gone.count(key);
	require(again <= 1, "%zu of %zu keys that were given back are in use again", again,
		kRegions);
	env.control.sync();
}

Register cases([](Cases &list) { list.push_back({"key/at-random", at_random}); });

} // namespace
} // namespace vt
