/* SPDX-License-Identifier: GPL-2.0 */
/* A 4-ary heap of future events. Event has before(), a total order: the run depends on it. */
#ifndef TERN_SIM_HEAP_H
#define TERN_SIM_HEAP_H

#include <cstddef>
#include <vector>

namespace sim {

template <class Event> class Heap {
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
