/* SPDX-License-Identifier: GPL-2.0 */
// The counters of a device of tern's that `rdma statistic` shows, too.
#ifndef TERN_VM_COUNTER_H
#define TERN_VM_COUNTER_H

#include <cstdint>

#include <infiniband/verbs.h>

namespace vt {

// Throws Failure if there is no such counter. What the kernel said a moment ago it says again.
uint64_t counter(const ibv_device *device, const char *name);
// The same, but not as old: waits for that moment to be over.
uint64_t counter_now(const ibv_device *device, const char *name);

} // namespace vt

#endif
