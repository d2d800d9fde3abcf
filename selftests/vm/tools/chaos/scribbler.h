/* SPDX-License-Identifier: GPL-2.0 */
// A hostile program's thread that writes into all of its rings what no provider
// would write, while the player goes on to call verbs.
#ifndef TERN_VM_CHAOS_SCRIBBLER_H
#define TERN_VM_CHAOS_SCRIBBLER_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "ring_map.h"

namespace vt {

class Scribbler {
public:
	// For the context with this command file. Counts its stores in the score.
	Scribbler(int cmd_fd, uint64_t seed, uint64_t *stores);
	~Scribbler();
	Scribbler(const Scribbler &) = delete;
	Scribbler &operator=(const Scribbler &) = delete;

	// The context ends. Its rings stay mapped, and are still written to.
	void forget_context();

private:
	struct Map {
		uint32_t *words;
		size_t bytes;
	};

	void work();
	void map_rings();
	void unmap_oldest();
	void scribble();
	uint32_t *header_word(const Map &map);
	uint32_t *any_word(const Map &map);
	uint32_t value_for(const uint32_t *word);
	const Map &any_map() { return maps_[below(maps_.size())]; }
	uint32_t below(size_t n) { return static_cast<uint32_t>(random_() % n); }

	std::mt19937_64 random_;
	uint64_t *stores_;
	std::mutex lock_; // of cmd_fd_
	int cmd_fd_;
	std::deque<Map> maps_;
	std::atomic<bool> over_ = false;
	std::thread thread_;
};

} // namespace vt

#endif
