// SPDX-License-Identifier: GPL-2.0
// See wild.h. No address range is ever free, so no other mapping of the process can come to lie
// where a peer may write by an implicit region.
#include "wild.h"

#include <cstring>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "outcome.h"

namespace vt {
namespace {

constexpr size_t kPage = 4096, kPages = 512, kBytes = kPages * kPage;
constexpr size_t kNamed = kBytes / 4; // what requests may name, and as long may they be
constexpr int kBoth = PROT_READ | PROT_WRITE;

char *map(void *at, size_t bytes, int protection)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0);
	void *p = mmap(at, bytes, protection, flags, -1, 0);
	return p == MAP_FAILED ? nullptr : static_cast<char *>(p);
}

// A child writes to it and ends: the pages of both are copied when they are written to next.
bool fork_over(char *at, size_t bytes)
{
	pid_t child = fork();
	if (!child) {
		// It may not be writable.
		if (!mprotect(at, bytes, kBoth))
			memset(at, 1, bytes);
		_exit(0);
	}
	return child > 0 && waitpid(child, nullptr, 0) == child;
}

// The pages move; what was at their new place goes, and at the old one there is other memory.
bool move_away(char *from, char *to, size_t bytes)
{
	if (mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
		return map(from, bytes, kBoth);
	// Older kernels cannot move what has several protections, and find out when `to` is free
	// already.
	require(map(to, bytes, kBoth), "mmap: %m");
	return false;
}

} // namespace

Wild::Wild() : memory_(map(nullptr, kBytes, kBoth)), spare_(map(nullptr, kBytes, kBoth))
{
	require(memory_ && spare_, "mmap: %m");
}

Wild::~Wild()
{
	munmap(memory_, kBytes);
	munmap(spare_, kBytes);
}

Memory Wild::all() const
{
	return {reinterpret_cast<uint64_t>(memory_), kNamed};
}

Memory Wild::part(std::mt19937_64 *random) const
{
	size_t from = (*random)() % (kNamed / kPage), n = 1 + (*random)() % (kNamed / kPage - from);
	return {reinterpret_cast<uint64_t>(memory_) + from * kPage, n * kPage};
}

bool Wild::change(std::mt19937_64 *random)
{
	size_t from = (*random)() % kPages, n = 1 + (*random)() % (kPages - from);
	char *at = memory_ + from * kPage;
	size_t bytes = n * kPage;
	switch ((*random)() % 8) {
	case 0:
		// munmap() and other memory in one.
		return map(at, bytes, kBoth);
	case 1:
		return map(at, bytes, PROT_NONE);
	case 2:
		return move_away(at, spare_ + from * kPage, bytes);
	case 3:
		return !mprotect(at, bytes, PROT_READ);
	case 4:
		return fork_over(at, bytes);
	case 5:
		return !madvise(at, bytes, MADV_DONTNEED);
	default:
		return !mprotect(at, bytes, kBoth);
	}
}

} // namespace vt
