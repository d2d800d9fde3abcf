// SPDX-License-Identifier: GPL-2.0
#include "world.h"

namespace sim {

void World::connect(const QpCfg &ab, const QpCfg &ba, const WireCfg &wire, uint64_t seed)
{
	int i = (int)ep.size();

	ep.push_back(std::make_unique<Endpoint>(*this, i, ab, wire, mix64(seed + 1)));
	ep.push_back(std::make_unique<Endpoint>(*this, i + 1, ba, wire, mix64(seed + 2)));
	ep[i]->connect(*ep[i + 1]);
	ep[i + 1]->connect(*ep[i]);
	ep[i]->wake(1);
	ep[i + 1]->wake(1);
}

void World::run()
{
	play(cfg.stall_ns, [this](const Event &e) {
		switch (e.kind()) {
		case EV_WIRE:
			ep[e.endpoint() ^ 1]->wire.due();
			ep[e.endpoint()]->notice();
			break;
		case EV_ARRIVE:
			ep[e.endpoint()]->arrive(e.packet);
			break;
		case EV_SERVICE:
			ep[e.endpoint()]->service();
			break;
		case EV_TIMER:
			ep[e.endpoint()]->timer(e.at_ns);
			break;
		case EV_REFILL:
			ep[e.endpoint()]->resp->refill();
			ep[e.endpoint()]->notice();
			break;
		default:
			fail(-1, "event of kind %u", e.kind());
		}
	});
	check_end();
}

void World::check_end()
{
	for (size_t i = 0; i < ep.size(); i++) {
		Endpoint &e = *ep[i], &peer = *ep[i ^ 1];

		check_complete(i);
		e.req.end();
		e.resp->end();
		e.req.check_end(peer.resp->r, peer.resp->extra_requests);
		peer.resp->check_end();
	}
	if (pool.in_use())
		fail(-1, "%zu packets leaked", pool.in_use());
	if (!cfg.expects_failure)
		shared.check_end();
}

} /* namespace sim */
