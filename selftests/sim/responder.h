/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receiving half of an endpoint: executes what rc_resp.c decides on real memory, and checks
 * every verdict against the peer's ledger.
 */
#ifndef TERN_SIM_RESPONDER_H
#define TERN_SIM_RESPONDER_H

#include <deque>
#include <utility>

#include "ahead.h"
#include "frame.h"
#include "ledger.h"
#include "qp.h"

namespace sim {

class World;
class Wire;

class Responder {
public:
	/* cfg, ledger: the peer requester's. */
	Responder(World &world, int endpoint, const QpCfg &cfg, Ledger &ledger, uint64_t seed);

	/*
	 * False: p belongs to the caller again. True: it waits for a receive WQE or its turn, is
	 * not done, or is behind such a one.
	 */
	bool rx(const struct pkt &k, Packet *p);
	/* Waiting requests go on as far as they can. */
	void resume();
	/* When to call it; 0: nothing waits. */
	uint64_t look_ns() const
	{
		return kept_.empty() ? 0 : again_ns_ ? again_ns_ : rc_resp_recv_look_ns(&r);
	}
	uint32_t send(Wire &wire, uint32_t budget, uint64_t *again_ns);
	void refill();
	/* Nothing comes any more: what waits for its turn is lost. */
	void end();
	void check_end();

	struct rc_resp r;
	uint64_t delivered = 0;	     /* messages */
	uint64_t extra_requests = 0; /* of READs in several requests: each counts in the MSN */
	uint64_t received = 0;	     /* receive completions */
	uint64_t duplicates = 0;
	uint64_t kept = 0;	/* requests that came before their turn */
	uint64_t waited = 0;	/* requests that found a receive WQE later */
	uint64_t forgotten = 0; /* READs requested again, too late */
	bool fatal = false;

private:
	bool judge(const struct pkt &k, Packet *p);
	void resume_ahead();
	void hand_over(Wire &wire, const struct run &run);
	void place(const struct pkt &k, const Packet &p, const struct rc_act &act);
	void begin(Work &w, const struct rc_act &act);
	void finish(Work &w, const struct pkt &k, const struct rc_act &act);
	void read(const struct pkt &k, const Packet &p, const struct rc_act &act);
	void atomic(const struct pkt &k, const Packet &p, const struct rc_act &act);
	void store(const struct pkt &k, const Packet &p, const struct rc_act &act);
	void flush(const struct pkt &k, const Packet &p, const struct rc_act &act);
	void executed(Work &w);
	void refuse(const struct pkt &k, uint8_t fault);
	bool take_recv(const Work &w);
	bool is_gone(const struct run &run) const;
	void check_srqn(const struct run &run);
	Work &expected(const struct pkt &k, const Packet &p);
	uint8_t *at(uint64_t va, uint32_t bytes, uint32_t rkey);

	World &world_;
	int ep_;
	const QpCfg &cfg_;
	Ledger &ledger_;
	Rng rng_;
	uint32_t partial_, stretch_, rq_dry_;
	std::vector<uint8_t> mem_;
	std::vector<uint8_t> recv_;
	std::vector<struct rc_res> res_;
	std::vector<uint64_t> res_work_; /* work request numbers of the resources */
	uint32_t recvs_ = 0;
	std::deque<std::pair<struct pkt, Packet *>> kept_;
	Ahead ahead_;
	bool waits_ = false;	/* of the last verdict */
	uint64_t again_ns_ = 0; /* when a FLUSH goes on that is not done; 0: there is none */
	bool holding_recv_ = false;
	bool refilling_ = false;

	uint32_t gone_psn_ = 0, gone_pkts_ = 0; /* FAULT_READ_GONE: these responses */

	bool in_msg_ = false;
	uint64_t number_ = 0; /* of the message being received */
	uint32_t placed_ = 0;
	uint32_t asked_ = 0;	      /* READ: bytes requested so far */
	uint64_t last_delivered_ = 0; /* UC: one after it */
};

} /* namespace sim */

#endif
