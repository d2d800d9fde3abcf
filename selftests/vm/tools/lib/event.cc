// SPDX-License-Identifier: GPL-2.0
// See event.h.
#include "event.h"

#include <poll.h>
#include <string>

#include "outcome.h"

namespace vt {

std::optional<ibv_event_type> next_event(const Device &device, double limit_s)
{
	pollfd p = {device.context()->async_fd, POLLIN, 0};
	if (poll(&p, 1, static_cast<int>(limit_s * 1000)) != 1)
		return std::nullopt;
	ibv_async_event event;
	if (ibv_get_async_event(device.context(), &event))
		return std::nullopt;
	ibv_ack_async_event(&event);
	return event.event_type;
}

void expect_event(const Device &device, ibv_event_type type, double limit_s)
{
	std::string others;
	double deadline = now_s() + limit_s * slow();
	while (now_s() < deadline) {
		std::optional<ibv_event_type> event = next_event(device, deadline - now_s());
		if (event == type)
			return;
		if (event)
			others += std::string(" ") + ibv_event_type_str(*event);
	}
	fail("no event '%s'%s%s", ibv_event_type_str(type),
	     others.empty() ? "" : ", but:", others.c_str());
}

} // namespace vt
