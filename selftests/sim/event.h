/* SPDX-License-Identifier: GPL-2.0 */
/* Future events, in order of time and then of creation. */
#ifndef TERN_SIM_EVENT_H
#define TERN_SIM_EVENT_H

#include <cstdint>

#include "heap.h"

namespace sim {

struct Packet;

/* The one kind of event here; all others are the world's. */
constexpr uint8_t EV_SCRIPT = 0xff; /* the scenario's next step */

struct Event {
	uint64_t at_ns;
	uint64_t order; /* creation number << 16 | endpoint << 8 | kind (the world's) */
	union {
		Packet *packet;
		uint64_t arg;
	};

	uint8_t kind() const { return order & 0xff; }
	uint32_t endpoint() const { return (order >> 8) & 0xff; }
	bool before(const Event &o) const
	{
		return at_ns != o.at_ns ? at_ns < o.at_ns : order < o.order;
	}
};

using EventHeap = Heap<Event>;

} /* namespace sim */

#endif
