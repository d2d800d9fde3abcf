// SPDX-License-Identifier: GPL-2.0
// See scribbler.h. It has its own mappings, as the provider's end with their objects.
#include "scribbler.h"

#include <algorithm>
#include <iterator>

#include <sys/mman.h>
#include <unistd.h>

#include "tern-abi.h"

namespace vt {
namespace {

constexpr size_t kMostMaps = 64;
constexpr int kBurst = 64; // stores between two looks at which rings there are

} // namespace

Scribbler::Scribbler(int cmd_fd, uint64_t seed, uint64_t *stores)
	: random_(seed), stores_(stores), cmd_fd_(cmd_fd), thread_([this] { work(); })
{}

Scribbler::~Scribbler()
{
	over_ = true;
	thread_.join();
	while (!maps_.empty())
		unmap_oldest();
}

void Scribbler::forget_context()
{
	std::lock_guard guard(lock_);
	cmd_fd_ = -1;
}

void Scribbler::work()
{
	while (!over_) {
		map_rings();
		if (!maps_.empty())
			scribble();
		// Else no ring would ever hold a usable entry.
		usleep(below(400));
	}
}

// Maps one of the process's present rings again. Fails if the ring's object is gone.
void Scribbler::map_rings()
{
	std::lock_guard guard(lock_);
	if (cmd_fd_ < 0)
		return;
	std::set<RingMap> rings = ring_maps();
	if (rings.empty())
		return;
	const RingMap &ring = *std::next(rings.begin(), below(rings.size()));
	void *at =
		mmap(nullptr, ring.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, cmd_fd_, ring.offset);
	if (at == MAP_FAILED)
		return;
	maps_.push_back({static_cast<uint32_t *>(at), ring.bytes});
	if (maps_.size() > kMostMaps)
		unmap_oldest();
}

void Scribbler::unmap_oldest()
{
	munmap(maps_.front().words, maps_.front().bytes);
	maps_.pop_front();
}

// Indices and flags.
uint32_t *Scribbler::header_word(const Map &map)
{
	const size_t offsets[] = {offsetof(tern_ring_hdr, prod), offsetof(tern_ring_hdr, cons),
				  offsetof(tern_ring_hdr, flags), offsetof(tern_ring_hdr, arm)};
	return map.words + offsets[below(std::size(offsets))] / sizeof(uint32_t);
}

// Mostly the first slots, which are in use.
uint32_t *Scribbler::any_word(const Map &map)
{
	size_t bytes = below(4) ? std::min<size_t>(map.bytes, 4096) : map.bytes;
	return map.words + below(bytes / sizeof(uint32_t));
}

// Few random values pass the first check. Values near the present one do, and values of
// other words, such as keys and lengths.
uint32_t Scribbler::value_for(const uint32_t *word)
{
	uint32_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
	switch (below(6)) {
	case 0:
		return 0;
	case 1:
		return ~0u;
	case 2:
		return static_cast<uint32_t>(random_());
	case 3:
		return now ^ (1u << below(32));
	case 4:
		return __atomic_load_n(any_word(any_map()), __ATOMIC_RELAXED);
	default:
		return now + below(9) - 4;
	}
}

void Scribbler::scribble()
{
	for (int i = 0; i < kBurst; i++) {
		const Map &map = any_map();
		uint32_t *word = below(4) ? any_word(map) : header_word(map);
		__atomic_store_n(word, value_for(word), __ATOMIC_RELAXED);
	}
	__atomic_add_fetch(stores_, kBurst, __ATOMIC_RELAXED);
}

} // namespace vt
