/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sending half of an endpoint: executes what iw_req.c decides and checks it against the ledger.
 * Every completion is checked for order, status and effect; every segment for order, fences and the
 * number of READs.
 */
#ifndef TERN_SIM_IW_REQUESTER_H
#define TERN_SIM_IW_REQUESTER_H

#include <deque>

#include "stream.h"
#include "workload.h"

namespace sim {

class World;

/* Which work request a Terminate of the peer's is about, as far as it says so. */
struct Blame {
	enum Who : uint8_t { OLDEST, ONE, NOBODY, ANYBODY } who = OLDEST;
	uint64_t number = 0; /* ONE */
	bool tagged = false; /* ONE: it is only known by this place */
	uint32_t stag = 0;
	uint64_t to = 0;
};

class Requester {
public:
	Requester(World &world, int endpoint, const EndCfg &cfg, uint64_t seed);

	/* What the two ends agreed on; op: of the first message, or -1. */
	void start(uint16_t ord, uint16_t max_ulpdu, int rtr_op);
	void post();
	/* Executes LOCAL operations on the way; false: nothing to send now. */
	bool next(struct iw_seg *seg);
	/* Gather n bytes of seg's payload; false: its source is refused. */
	bool gather(const struct iw_seg &seg, uint8_t *to);
	/* What seg really is, and its deliberate fault. */
	Tag tag(const struct iw_seg &seg);
	void sent(const struct iw_seg &seg);
	/* A response; TERM_NONE, or the code to terminate the stream with. */
	int rx(const struct ddp_seg &s, const uint8_t *p, const Tag &tag);
	/* The stream is over for a reason other than the peer's Terminate; for that. */
	void flush();
	/* p: its n bytes of payload */
	void terminated(int code, const uint8_t *p, uint32_t n, const Blame &blame);
	void reap();

	bool busy() const { return ledger.reaped != ledger.posted; }
	/* Must memory still be returned to us? */
	bool lends() const { return busy() && returned_ != loans_; }
	bool wants_work() const;
	void check_end(const struct iw_resp &peer);

	const EndCfg cfg;
	Ledger ledger;
	struct iw_req q = {};
	struct iw_resp *other = nullptr; /* half of the stream */

	bool dead = false;	     /* nothing more goes out */
	int local_fault = TERM_NONE; /* a work request failed here: the stream ends with this */
	uint64_t progress_ns = 0;
	uint64_t faulty_number = ~0ull; /* the work request that was made to fail */
	uint64_t fatal_number = ~0ull;	/* one that failed, other than by flushing */
	uint8_t status = WR_ST_SUCCESS; /* with this */
	uint64_t responses = 0;

private:
	Work &work_at(uint32_t slot);
	void begin(Work &w);
	void run_local(const struct iw_seg &seg);
	void done(Work &w);
	void fail_here(Work &w, uint32_t slot, enum wr_status status);
	void find_blamed(const Blame &blame);
	void check_success(const Work &w);
	void lend(Work &w, uint32_t slot);
	void return_some();
	bool is_lent(const Work &w) const;

	World &world_;
	int ep_;
	Arena arena_;
	Workload workload_;
	Rng rng_;
	std::vector<struct iw_sqe> ring_;
	uint32_t ord_ = 0;
	uint64_t begun_ = 0;	       /* work requests, LOCAL included */
	uint64_t done_upto_ = 0;       /* all before it are done */
	std::deque<uint64_t> waiting_; /* READs and atomics out, in order */
	bool excused_ = false;	       /* failures have a reason ... */
	uint64_t blamed_ = ~0ull;      /* ... which is this work request's, with this status */
	uint8_t blame_ = WR_ST_WR_FLUSH_ERR;
	bool anybody_ = false;	 /* ... or that of any */
	uint64_t last_post_ = 0; /* dead: the last post */
	uint32_t lends_;
	uint32_t loans_ = 0;	/* begun */
	uint32_t returned_ = 0; /* loans before this one are returned */
};

} /* namespace sim */

#endif
