/* SPDX-License-Identifier: GPL-2.0 */
// Asynchronous events of a device.
#ifndef TERN_VM_EVENT_H
#define TERN_VM_EVENT_H

#include <optional>

#include "device.h"

namespace vt {

// The next asynchronous event of the device, acknowledged; nullopt if none comes within limit_s.
std::optional<ibv_event_type> next_event(const Device &device, double limit_s);

// Requires this event within limit_s. Other events before it are ignored.
void expect_event(const Device &device, ibv_event_type type, double limit_s);

} // namespace vt

#endif
