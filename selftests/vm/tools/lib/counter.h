/* SPDX-License-Identifier: GPL-2.0 */
// The counters of a tern device, as `rdma statistic` shows them.
#ifndef TERN_VM_COUNTER_H
#define TERN_VM_COUNTER_H

#include <cstdint>

#include <infiniband/verbs.h>

namespace vt {

// Throws Failure if there is no such counter. The kernel caches the values for a short time.
uint64_t counter(const ibv_device *device, const char *name);
// The same without a cached value: waits until the cache has expired.
uint64_t counter_now(const ibv_device *device, const char *name);

} // namespace vt

#endif
