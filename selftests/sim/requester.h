/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sending half of an endpoint: executes what rc_req.c and rc_ack.c decide and checks it against
 * the ledger. Every completion is checked for order, status and effect; every packet for fences,
 * window and READ depth.
 */
#ifndef TERN_SIM_REQUESTER_H
#define TERN_SIM_REQUESTER_H

#include "ahead.h"
#include "frame.h"
#include "workload.h"

extern "C" {
#include "rc_ack.h"
}

namespace sim {

class World;
class Wire;

class Requester {
public:
	Requester(World &world, int endpoint, const QpCfg &cfg, uint64_t seed);

	void post();
	/* Sends at most budget packets; returns how many, and if blocked, when to call again. */
	uint32_t send(Wire &wire, uint32_t budget, uint64_t *again_ns);
	/* False: p belongs to the caller again. True: it is kept until its turn comes. */
	bool rx(const struct pkt &k, Packet *p);
	/* Those whose turn has come. */
	void resume();
	void timer();
	void reap();

	bool busy() const { return ledger.reaped != ledger.posted; }
	bool failed() const { return status != WR_ST_SUCCESS; }
	bool wants_work() const;
	/* Nothing comes any more: what waits for its turn is lost. */
	void end();
	/* Is everything over and correct? */
	void check_end(const struct rc_resp &r, uint64_t extra_requests);

	QpCfg cfg;
	Ledger ledger;
	struct rc_req q;

	uint64_t progress_ns = 0; /* when something last moved */
	uint64_t fatal_ns = 0;	  /* when the first request failed */
	uint64_t fatal_number = 0;
	uint8_t status = WR_ST_SUCCESS; /* of the first that failed */
	uint64_t faulty_number = 0;	/* the work request that was made to fail */
	uint64_t first_sent_ns = 0;	/* when the faulty request was first sent */
	uint64_t kept = 0, probes = 0, resent = 0;
	uint64_t drains = 0, rnr_naks = 0, timeouts = 0, seq_naks = 0, implied_naks = 0;

private:
	void note(enum rc_event event, const struct pkt &k);
	void place(const struct pkt &k, const Packet &p, const struct rc_req_act &act);
	void check_run(const struct run &run, uint32_t max_pkts);
	void check_rate(const struct run &run, uint32_t n);
	void begin(Work &w);
	uint32_t transmit(Wire &wire, const struct run &run, uint32_t n, Work &w);
	bool hand_over(Wire &wire, const struct run &run, Work &w);
	void vary_window();
	void run_local(const struct run &run);
	void check_success(const Work &w);
	void drain_step();
	Work &work_at(uint32_t slot);

	World &world_;
	int ep_;
	Arena arena_;
	Workload workload_;
	Rng rng_;
	std::vector<struct rc_sqe> ring_;
	Ahead ahead_;
	uint32_t partial_, stretch_;
	uint64_t paced_bytes_ = 0; /* sent, as the pacer counts */
	uint64_t begun_ = 0;	   /* work requests that were begun, LOCAL included */
	uint64_t rd_begun_ = 0;
	uint32_t last_una_ = 0;
	uint64_t rnr_until_ns_ = 0;
	uint32_t rnr_psn_ = 0;
	uint64_t next_drain_ = 0;
	uint64_t drain_limit_ = 0; /* nothing from here on may begin while draining */
	bool draining_ = false;
};

} /* namespace sim */

#endif
