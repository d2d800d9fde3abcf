// SPDX-License-Identifier: GPL-2.0
#include "world.h"

#include <cinttypes>

namespace sim {

void World::connect(const EndCfg &a, const EndCfg &b, const StreamCfg &ab, const StreamCfg &ba,
		    uint64_t seed)
{
	int i = (int)ep.size();

	ep.push_back(std::make_unique<Endpoint>(*this, i, a, ab, mix64(seed + 1)));
	ep.push_back(std::make_unique<Endpoint>(*this, i + 1, b, ba, mix64(seed + 2)));
	ep[i + 1]->connect(*ep[i]);
	ep[i]->connect(*ep[i + 1]);
}

void World::script(uint64_t at_ns, std::function<void()> f)
{
	scripts_.push_back(std::move(f));
	at(at_ns, EV_SCRIPT, 0, (uint64_t)scripts_.size() - 1);
}

/* FETCH_ADD 1 by all: each value comes back once. */
void World::shared_result(int endpoint, uint64_t value)
{
	if (value >= shared_counter)
		fail(endpoint, "shared counter: %" PRIu64 " seen before it was reached", value);
	if (value >= shared_seen_.size())
		shared_seen_.resize(value * 2 + 1024);
	if (shared_seen_[value])
		fail(endpoint, "shared counter: %" PRIu64 " seen twice", value);
	shared_seen_[value] = true;
	shared_results_++;
}

void World::watch()
{
	for (auto &e : ep)
		if (e->req.busy() && now_ns > e->req.progress_ns + cfg.stall_ns)
			fail((int)(&e - ep.data()),
			     "no progress since %" PRIu64 " ns: work request %" PRIu64
			     " of %" PRIu64,
			     e->req.progress_ns, e->req.ledger.reaped, e->req.ledger.posted);
}

void World::run()
{
	uint32_t ticks = 0;

	while (!heap_.empty()) {
		Event e = heap_.pop();

		now_ns = e.at_ns;
		if (++ticks % 4096 == 0)
			watch();
		switch (e.kind()) {
		case EV_DELIVER:
			ep[e.endpoint() ^ 1]->out.deliver();
			break;
		case EV_SERVICE:
			ep[e.endpoint()]->service();
			break;
		case EV_SCRIPT:
			scripts_[e.arg]();
			break;
		}
	}
	check_end();
}

void World::check_end()
{
	bool died = false;

	for (size_t i = 0; i < ep.size(); i++) {
		Endpoint &e = *ep[i], &peer = *ep[i ^ 1];

		if (e.req.busy())
			fail((int)i,
			     "nothing left to happen, but work request %" PRIu64 " of %" PRIu64
			     " is not complete",
			     e.req.ledger.reaped, e.req.ledger.posted);
		if (e.dead && !cfg.may_die)
			fail((int)i, "the stream ended");
		died = died || e.dead;
		e.check_end();
		if (!e.running)
			continue;
		e.req.check_end(peer.resp->r);
		peer.resp->check_end(e.dead || peer.dead);
	}
	if (!died && shared_results_ != shared_counter)
		fail(-1, "shared counter is %" PRIu64 " after %" PRIu64 " additions",
		     shared_counter, shared_results_);
}

} /* namespace sim */
