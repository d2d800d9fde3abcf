/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time, events and endpoints of either transport. A world adds kinds of events and the conditions
 * at the end. The same configuration and seed give the same run, event by event.
 */
#ifndef TERN_SIM_BASE_WORLD_H
#define TERN_SIM_BASE_WORLD_H

#include <cinttypes>
#include <functional>
#include <memory>
#include <vector>

#include "event.h"
#include "shared_counter.h"
#include "trace.h"

namespace sim {

template <class Endpoint> class BaseWorld {
public:
	explicit BaseWorld(const char *sequence) : trace(sequence) {}

	void at(uint64_t at_ns, uint8_t kind, uint32_t endpoint, uint64_t arg = 0)
	{
		heap_.push({at_ns, order(kind, endpoint), {.arg = arg}});
	}

	void at(uint64_t at_ns, uint8_t kind, uint32_t endpoint, Packet *p)
	{
		heap_.push({at_ns, order(kind, endpoint), {.packet = p}});
	}

	/* Call f at that time. */
	void script(uint64_t at_ns, std::function<void()> f)
	{
		scripts_.push_back(std::move(f));
		at(at_ns, EV_SCRIPT, 0, (uint64_t)scripts_.size() - 1);
	}

	uint64_t now_ns = 0;
	Trace trace;
	std::vector<std::unique_ptr<Endpoint>> ep;
	uint64_t completed = 0; /* work requests with success */
	SharedCounter shared;

protected:
	/*
	 * Run until nothing is left to happen. handle(e): an event that is not a script; stall_ns:
	 * the longest time without progress, beyond it is a livelock.
	 */
	template <class Handle> void play(uint64_t stall_ns, Handle handle)
	{
		uint32_t ticks = 0;

		while (!heap_.empty()) {
			Event e = heap_.pop();

			now_ns = e.at_ns;
			if (++ticks % 4096 == 0)
				watch(stall_ns);
			if (e.kind() == EV_SCRIPT)
				scripts_[e.arg]();
			else
				handle(e);
		}
	}

	void check_complete(size_t i) const
	{
		const auto &q = ep[i]->req;

		if (q.busy())
			fail((int)i,
			     "nothing left to happen, but work request %" PRIu64 " of %" PRIu64
			     " is not complete",
			     q.ledger.reaped, q.ledger.posted);
	}

private:
	uint64_t order(uint8_t kind, uint32_t endpoint)
	{
		return created_++ << 16 | endpoint << 8 | kind;
	}

	void watch(uint64_t stall_ns) const
	{
		for (size_t i = 0; i < ep.size(); i++) {
			const auto &q = ep[i]->req;

			if (q.busy() && now_ns > q.progress_ns + stall_ns)
				fail((int)i,
				     "no progress since %" PRIu64 " ns: work request %" PRIu64
				     " of %" PRIu64,
				     q.progress_ns, q.ledger.reaped, q.ledger.posted);
		}
	}

	EventHeap heap_;
	uint64_t created_ = 1;
	std::vector<std::function<void()>> scripts_;
};

} /* namespace sim */

#endif
