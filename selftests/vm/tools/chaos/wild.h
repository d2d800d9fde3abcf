/* SPDX-License-Identifier: GPL-2.0 */
// Memory on demand of a player, which changes under traffic: the process loses pages of it, gives
// them away, gets others, or may not write to them.
#ifndef TERN_VM_CHAOS_WILD_H
#define TERN_VM_CHAOS_WILD_H

#include <cstddef>
#include <cstdint>
#include <random>

namespace vt {

struct Memory {
	uint64_t at;
	size_t bytes;
};

class Wild {
public:
	Wild();
	~Wild();
	Wild(const Wild &) = delete;
	Wild &operator=(const Wild &) = delete;

	// What requests may name: so much that behind it there is room for the longest message. An
	// implicit region has no other bounds.
	Memory all() const;
	// Some pages of it.
	Memory part(std::mt19937_64 *random) const;
	// False: a call failed, and nothing is changed.
	bool change(std::mt19937_64 *random);

private:
	char *memory_, *spare_;
};

} // namespace vt

#endif
