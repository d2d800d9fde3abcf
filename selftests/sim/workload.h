/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Draws work requests: operation, size, flags, source or sink pieces in the requester's arena, and
 * a target in the responder's memory, so that the outcome is known beforehand.
 */
#ifndef TERN_SIM_WORKLOAD_H
#define TERN_SIM_WORKLOAD_H

#include "arena.h"
#include "qp.h"

namespace sim {

class Workload {
public:
	Workload(const QpCfg &cfg, Ledger &ledger, Arena &arena, uint64_t seed);

	/* Draw and record one work request; nullptr if there is no room for it now. */
	Work *draw();
	/* Free what a completed one held. */
	void release(const Work &w);

private:
	uint8_t draw_op();
	uint32_t draw_length(uint8_t op);
	bool fault_fits(uint8_t op) const;

	const QpCfg &cfg_;
	Ledger &ledger_;
	Arena &arena_;
	Rng rng_;
	bool faulted_ = false;
	bool held_ = false; /* drawn, but there was no room yet */
	uint8_t held_op_ = 0;
	uint32_t held_length_ = 0;
};

} /* namespace sim */

#endif
