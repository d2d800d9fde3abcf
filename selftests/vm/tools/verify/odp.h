/* SPDX-License-Identifier: GPL-2.0 */
// What the files of cases of memory on demand share.
#ifndef TERN_VM_ODP_H
#define TERN_VM_ODP_H

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

#include "session.h"

namespace vt {

constexpr size_t kPage = 4096;
constexpr uint32_t kAllCaps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
			      IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;

// Both sides skip unless both devices can do this on RC QPs.
void need_odp(Env &env, uint32_t rc_caps);

} // namespace vt

#endif
