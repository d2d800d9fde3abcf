/* SPDX-License-Identifier: GPL-2.0 */
// The connections of a player's QPs where rdma_cm makes them (iWARP): calls to the player's
// own listener, which may end at any step and at either end.
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
	// Picks a QP for an end of a connection, by number.
	using Choose = std::function<uint32_t()>;

	Calls(const std::string &netdev, uint64_t seed, Choose choose);

	// In place of the old listener: what that has not handed out is lost.
	void listen();
	// True if the verb worked, or had nothing to do.
	bool begin();
	bool hang_up();
	// An id goes, in any state.
	void drop();
	// All that are there; the QPs that they say are connected, by number.
	std::vector<uint32_t> take_events();

private:
	struct Call {
		CmId id;
		uint32_t qpn;
		bool waits; // for the other end's answer
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
	// Goes before the calls: those that wait for it are answered then.
	CmId listener_;
};

} // namespace vt

#endif
