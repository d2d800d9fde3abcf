/* SPDX-License-Identifier: GPL-2.0 */
/* Future events: a 4-ary heap, in order of time and then of creation. */
#ifndef TERN_SIM_EVENT_H
#define TERN_SIM_EVENT_H

#include <cstdint>
#include <utility>
#include <vector>

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

class EventHeap {
public:
	bool empty() const { return heap_.empty(); }
	size_t size() const { return heap_.size(); }
	const Event &top() const { return heap_.front(); }

	void push(const Event &e)
	{
		size_t i = heap_.size();

		heap_.push_back(e);
		while (i) {
			size_t up = (i - 1) / 4;

			if (!e.before(heap_[up]))
				break;
			heap_[i] = heap_[up];
			i = up;
		}
		heap_[i] = e;
	}

	Event pop()
	{
		Event first = heap_.front(), e = heap_.back();
		size_t n, i = 0;

		heap_.pop_back();
		n = heap_.size();
		if (!n)
			return first;
		for (;;) {
			size_t child = 4 * i + 1, best = child;

			if (child >= n)
				break;
			for (size_t k = child + 1; k < child + 4 && k < n; k++)
				if (heap_[k].before(heap_[best]))
					best = k;
			if (!heap_[best].before(e))
				break;
			heap_[i] = heap_[best];
			i = best;
		}
		heap_[i] = e;
		return first;
	}

private:
	std::vector<Event> heap_;
};

} /* namespace sim */

#endif
