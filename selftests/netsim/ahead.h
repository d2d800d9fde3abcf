/* SPDX-License-Identifier: GPL-2.0 */
/* Packets that came before their turn, in the order of their PSNs, for both halves of a QP. */
#ifndef TERN_NETSIM_AHEAD_H
#define TERN_NETSIM_AHEAD_H

#include <deque>

#include "packet.h"

extern "C" {
#include "psn.h"
}

namespace netsim {

class Ahead {
public:
	/* False: it is there already, and still the caller's. */
	bool add(Packet *p)
	{
		auto at = all_.end();

		/* Most come in order among themselves. */
		while (at != all_.begin() && psn_before(p->k.psn, (*(at - 1))->k.psn))
			--at;
		if (at != all_.begin() && (*(at - 1))->k.psn == p->k.psn)
			return false;
		all_.insert(at, p);
		return true;
	}

	bool empty() const { return all_.empty(); }
	uint64_t count() const { return all_.size(); }
	/* 0 if there is none. */
	uint32_t first_psn() const { return all_.empty() ? 0 : all_.front()->k.psn; }

	Packet *take()
	{
		Packet *p = all_.front();

		all_.pop_front();
		return p;
	}

private:
	std::deque<Packet *> all_;
};

} /* namespace netsim */

#endif
