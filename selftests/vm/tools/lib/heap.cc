// SPDX-License-Identifier: GPL-2.0
#include "heap.h"

#include <cstdlib>
#include <cstring>
#include <malloc.h>

#include "outcome.h"

namespace vt {
namespace {

constexpr size_t kHeapBytes = size_t{24} << 20;

} // namespace

void grow_heap()
{
	mallopt(M_MMAP_THRESHOLD, 2 * kHeapBytes);
	mallopt(M_TRIM_THRESHOLD, 2 * kHeapBytes);
	void *all = malloc(kHeapBytes);
	require(all, "malloc: %m");
	memset(all, 1, kHeapBytes);
	free(all);
}

} // namespace vt
