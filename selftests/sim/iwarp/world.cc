// SPDX-License-Identifier: GPL-2.0
#include "world.h"

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

void World::run()
{
	play(cfg.stall_ns, [this](const Event &e) {
		switch (e.kind()) {
		case EV_DELIVER:
			ep[e.endpoint() ^ 1]->out.deliver();
			break;
		case EV_SERVICE:
			ep[e.endpoint()]->service();
			break;
		default:
			fail(-1, "event of kind %u", e.kind());
		}
	});
	check_end();
}

void World::check_end()
{
	bool died = false;

	for (size_t i = 0; i < ep.size(); i++) {
		Endpoint &e = *ep[i], &peer = *ep[i ^ 1];

		check_complete(i);
		if (e.dead && !cfg.may_die)
			fail((int)i, "the stream ended");
		died = died || e.dead;
		e.check_end();
		if (!e.running)
			continue;
		e.req.check_end(peer.resp->r);
		peer.resp->check_end(e.dead || peer.dead);
	}
	if (!died)
		shared.check_end();
}

} /* namespace sim */
