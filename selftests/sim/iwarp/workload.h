/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Draws work requests: operation, size, flags, pieces of the requester's memory, and a target in
 * the peer's, so that the outcome is known beforehand.
 */
#ifndef TERN_SIM_IW_WORKLOAD_H
#define TERN_SIM_IW_WORKLOAD_H

#include "ledger.h"

namespace sim {

class Workload {
public:
	Workload(const EndCfg &cfg, Ledger &ledger, Arena &arena, uint64_t seed);

	/* What the two ends agreed on. */
	void start(uint32_t ord, uint32_t max_ulpdu);
	/* Draw and record one; nullptr if there is no room for it now. */
	Work *draw();
	/* The empty message that opens a peer-to-peer connection. */
	Work *draw_rtr(uint8_t op);
	/* Free what a completed one held. */
	void release(const Work &w);

private:
	uint8_t draw_op();
	uint32_t draw_length(uint8_t op);
	bool fault_fits(uint8_t op) const;
	void spoil(Work &w);

	const EndCfg &cfg_;
	Ledger &ledger_;
	Arena &arena_;
	Rng rng_;
	uint32_t ord_ = 0, max_ulpdu_ = 0;
	bool faulted_ = false;
	bool held_ = false; /* drawn, but there was no room yet */
	uint8_t held_op_ = 0;
	uint32_t held_length_ = 0;
};

} /* namespace sim */

#endif
