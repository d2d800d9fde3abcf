/* SPDX-License-Identifier: GPL-2.0 */
// One QP of a pair, or one that is connected to itself: posts random requests, counts what
// completes, while other threads reset and destroy it.
#ifndef TERN_VM_RACE_END_H
#define TERN_VM_RACE_END_H

#include <atomic>
#include <mutex>
#include <random>
#include <shared_mutex>

#include "device.h"
#include "objects.h"

namespace vt {

class End {
public:
	static constexpr size_t kBytes = 256 * 1024;

	End(const Device &device, ibv_pd *pd, ibv_qp_type type, uint64_t seed);

	// Posts some, reaps some. Takes the lock shared, so that the QP stays.
	void turn();
	// Moves the QP to ERR or RESET, or replaces the QP, or the region of the same memory.
	void wreck(uint32_t how);
	// Brings both to RTS from any state. The same QP twice: connected to itself.
	static void connect(End &a, End &b);
	// True: nothing was destroyed for long, and a request is still not complete.
	bool is_stuck(double limit_s) const;
	// Reaps without posting sends. True: all requests have ended.
	bool is_idle();
	// Sends a pattern to the peer and back.
	bool verify(End &peer, double limit_s);

	std::atomic<uint64_t> good{0}, bad{0};
	// The last status other than success and flush; 0: none.
	std::atomic<int> why{0};

private:
	void make_qp();
	void to_rts(const End &peer);
	void post_send();
	void post_recv();
	void reap();
	int forget();
	bool one(ibv_wr_opcode opcode, uint64_t from, uint32_t bytes, const End &peer,
		 double limit_s);

	const Device &device_;
	ibv_pd *pd_;
	ibv_qp_type type_;
	std::mt19937_64 random_;
	Buffer memory_;
	mutable std::shared_mutex lock_;
	Mr mr_;
	ibv_cq *cq_;
	QpOwner qp_;
	const End *peer_ = nullptr;
	std::atomic<uint32_t> lkey_{0};
	std::atomic<uint32_t> qpn_{0};
	uint32_t psn_ = 0;
	uint32_t sent_ = 0; // and not reaped, under turns_
	std::mutex turns_;  // traffic of this end, one at a time
	std::atomic<double> moved_s_{0};
};

} // namespace vt

#endif
