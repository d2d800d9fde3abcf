/* SPDX-License-Identifier: GPL-2.0 */
// A player's connections by rdma_cm (iWARP): calls to the player's
// own listener. A call may end at any step and at either end.
#ifndef TERN_VM_CHAOS_CALLS_H
#define TERN_VM_CHAOS_CALLS_H

#include <functional>
#include <random>
#include <string>
#include <vector>

#include <netinet/in.h>

#include "cm.h"

namespace vt {

class Calls {
public:
	// Chooses a QP for one end of a connection; returns its number.
	using Choose = std::function<uint32_t()>;

	Calls(const std::string &netdev, uint64_t seed, Choose choose);

	// Replaces the listener. Requests that the old one has not handed out are lost.
	void listen();
	// True if the verb succeeded, or there was nothing to do.
	bool begin();
	bool hang_up();
	// Destroys an id, in any state.
	void drop();
	// Handles all events that are there; returns the numbers of QPs that are connected now.
	std::vector<uint32_t> take_events();

private:
	struct Call {
		CmId id;
		uint32_t qpn;
		bool waits; // for the other end's reply
	};

	Call *pick();
	Call *find(const rdma_cm_id *id);
	void end(const rdma_cm_id *id);
	bool go_on(Call *call, rdma_cm_event_type type);
	void answer(CmId id);
	uint32_t below(size_t n) { return static_cast<uint32_t>(random_() % n); }

	std::mt19937_64 random_;
	Choose choose_;
	sockaddr_in address_;
	CmChannel channel_;
	std::vector<Call> calls_;
	// Destroyed before the calls: that answers those that wait for it.
	CmId listener_;
};

} // namespace vt

#endif
