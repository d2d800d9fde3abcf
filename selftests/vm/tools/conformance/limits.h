/* SPDX-License-Identifier: GPL-2.0 */
// How many objects of a kind a device has: as many as it says, and no more. Group "Limits": its
// cases take long, and memory.
#ifndef TERN_VM_CONFORMANCE_LIMITS_H
#define TERN_VM_CONFORMANCE_LIMITS_H

#include <vector>

#include "conform.h"

namespace vt {

// What an object takes of the machine, about.
struct Cost {
	size_t bytes;
	size_t maps = 0; // of this process
};

// Skip if the machine does not have that much.
void need_room(int limit, const Cost &each);

// make() is tried until it is refused. Others may have a few of them.
template <class Make> void expect_limit(int limit, const Cost &each, Make make)
{
	constexpr int kOfOthers = 64;
	need_room(limit, each);
	std::vector<decltype(make())> made_ones;
	made_ones.reserve(static_cast<size_t>(limit) + 1);
	int error = 0;
	while (!error && static_cast<int>(made_ones.size()) <= limit) {
		made_ones.push_back(make());
		error = refusal(made_ones.back());
	}
	made_ones.pop_back();
	EXPECT_ERR(error, ENOMEM);
	EXPECT_LE(static_cast<int>(made_ones.size()), limit);
	EXPECT_GT(static_cast<int>(made_ones.size()), limit - kOfOthers);
	ASSERT_FALSE(made_ones.empty());
	// There is room again.
	made_ones.pop_back();
	EXPECT_ERR(refusal(make()), 0);
}

} // namespace vt

#endif
