/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets that came before their turn, in the order of their PSNs, for both halves of an endpoint.
 */
#ifndef TERN_SIM_AHEAD_H
#define TERN_SIM_AHEAD_H

#include <algorithm>
#include <utility>
#include <vector>

#include "frame.h"

extern "C" {
#include "psn.h"
}

namespace sim {

class Ahead {
public:
	/* False: it is there already, or there are too many. */
	bool add(const struct pkt &k, Packet *p)
	{
		auto at = std::find_if(all_.begin(), all_.end(), [&](const auto &other) {
			return !psn_before(other.first.psn, k.psn);
		});

		if (all_.size() >= max_ || (at != all_.end() && at->first.psn == k.psn))
			return false;
		all_.emplace(at, k, p);
		return true;
	}
	bool empty() const { return all_.empty(); }
	uint32_t first_psn() const { return all_.front().first.psn; }
	std::pair<struct pkt, Packet *> take()
	{
		auto first = all_.front();

		all_.erase(all_.begin());
		return first;
	}
	/* All are lost. */
	void purge(PacketPool &pool)
	{
		while (!all_.empty())
			pool.put(take().second);
	}
	void limit(size_t max) { max_ = max; }

private:
	std::vector<std::pair<struct pkt, Packet *>> all_;
	size_t max_ = 64;
};

} /* namespace sim */

#endif
