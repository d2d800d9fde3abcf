/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A flow by RC QPs: the module's requester and responder, each at its host. Payload has no bytes,
 * but a position, and the oracles see that each is placed once and in order, and is placed when its
 * message completes.
 */
#ifndef TERN_NETSIM_RC_FLOW_H
#define TERN_NETSIM_RC_FLOW_H

#include "ahead.h"
#include "flow.h"
#include "gate.h"

extern "C" {
#include "cnp.h"
#include "rc_ack.h"
#include "rc_req.h"
#include "rc_resp.h"
}

namespace netsim {

class RcFlow;

class RcRequester : public Source {
public:
	RcRequester(RcFlow &flow, Network &net);

	void start(uint32_t psn);
	void post();
	/* The packet is the requester's: it may stay here. */
	void rx(Packet *p);
	void timer();
	bool pump(uint32_t bytes) override;
	/* What it has asked for was marked on its way. */
	void marked();
	bool takes_marks() const { return q_.cc.ops->marks; }
	uint64_t deadline() const { return rc_req_deadline(&q_); }
	uint64_t kept() const { return ahead_.count(); }

private:
	void ask();
	void judge(Packet *p);
	void resume();
	void place(const Packet &p, const struct rc_req_act &act);
	void reap();

	RcFlow &flow_;
	Network &net_;
	Gate &gate_;
	std::vector<struct rc_sqe> ring_;
	struct rc_req q_ = {};
	struct cnp marked_ = {};
	uint32_t posted_ = 0, reaped_ = 0;
	uint64_t placed_ = 0; /* READ: bytes, of all messages */
	Ahead ahead_;
};

class RcResponder : public Source {
public:
	RcResponder(RcFlow &flow, Network &net, uint32_t psn);

	/* The packet is the responder's, likewise. */
	void rx(Packet *p);
	bool pump(uint32_t bytes) override;
	/* Bytes of all messages that it has placed, or been asked for. */
	uint64_t executed() const { return executed_; }
	uint64_t kept() const { return ahead_.count(); }

private:
	void judge(Packet *p);
	void place(const Packet &p, const struct rc_act &act);
	void read(const Packet &p, const struct rc_act &act);

	RcFlow &flow_;
	Network &net_;
	Gate &gate_;
	std::vector<struct rc_res> res_;
	struct rc_resp r_;
	uint64_t executed_ = 0;
	Ahead ahead_;
};

class RcFlow : public Flow {
public:
	RcFlow(Network &net, const FlowCfg &cfg, uint32_t id);

	void start() override { req_.start(psn_); }
	void rx(Packet *p) override;
	uint64_t deadline() const override { return req_.deadline(); }
	void timer() override { req_.timer(); }
	uint32_t full_payload() const override { return cfg.pmtu; }
	uint32_t full_bytes() const override;
	void check_end() const override;
	uint64_t kept() const override { return req_.kept() + resp_.kept(); }

private:
	friend class RcRequester;
	friend class RcResponder;

	/* A packet with CE came: counted, and the requester hears of it, by a CNP or at once. */
	void rx_mark(const Packet &p);
	/* All packets of a run; returns their bytes on the wire. */
	uint32_t send_run(const struct run &run, uint64_t position, bool to_source);

	uint32_t psn_;
	uint64_t sent_until_ = 0; /* position */
	struct cnp cnp_ = {};	  /* the responder's */
	RcRequester req_;
	RcResponder resp_;
};

} /* namespace netsim */

#endif
