/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receiving half of an endpoint: executes what iw_resp.c decides on real memory, and checks
 * every verdict against the peer's ledger. What the memory should hold is kept beside it.
 */
#ifndef TERN_SIM_IW_RESPONDER_H
#define TERN_SIM_IW_RESPONDER_H

#include <deque>

#include "ledger.h"
#include "stream.h"

namespace sim {

class World;

class Responder {
public:
	/* cfg, ledger: the peer requester's. */
	Responder(World &world, int endpoint, const EndCfg &cfg, Ledger &ledger, uint64_t seed);

	void start(uint16_t ird, uint16_t max_ulpdu);
	/* A segment that is not a response; TERM_NONE, or the code it was refused with. */
	int rx(const struct ddp_seg &s, const uint8_t *p, uint32_t have, const Tag &tag);
	/* False: nothing to send now. If this fails a READ, gone is set. */
	bool next(struct iw_seg *seg);
	void gather(const struct iw_seg &seg, uint8_t *to) const;
	Tag tag(const struct iw_seg &seg);
	void sent(const struct iw_seg &seg);
	void check_end(bool dead);
	/* Is there no room for another READ? */
	bool full() const { return answers_.size() >= ird_; }

	struct iw_resp r = {};
	bool gone = false;
	uint64_t gone_number = 0;  /* that READ */
	std::vector<uint8_t> rest; /* of the failed READ: a request for it */
	int peer_term = TERM_NONE; /* the peer's Terminate */
	uint64_t received = 0;	   /* receive completions */

private:
	Work &expected(const Tag &tag);
	int region(uint32_t stag, uint64_t va, uint32_t bytes) const;
	int receive(Work &w, const struct ddp_seg &s, const uint8_t *payload, const Tag &tag,
		    const struct iw_act &act);
	void immediate(Work &w, const struct iw_act &act);
	int write(Work &w, const struct ddp_seg &s, const uint8_t *payload, const Tag &tag,
		  const struct iw_act &act);
	int read(Work &w, const struct iw_act &act);
	int atomic(Work &w, const struct iw_act &act, uint64_t *orig);
	void executed(Work &w);

	World &world_;
	int ep_;
	const EndCfg &cfg_;
	Ledger &ledger_;
	Rng rng_;
	std::vector<uint8_t> mem_, truth_;
	std::vector<uint8_t> recv_;
	std::vector<struct iw_irq> irq_;
	uint32_t ird_ = 0;
	bool holding_recv_ = false;
	std::deque<uint64_t> answers_;		 /* work requests that wait for an answer */
	std::deque<std::vector<uint8_t>> asked_; /* their segments */
	uint32_t answered_ = 0;			 /* bytes, of the first */
};

} /* namespace sim */

#endif
