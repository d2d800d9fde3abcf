// SPDX-License-Identifier: GPL-2.0
#include "rc_flow.h"

#include <algorithm>
#include <bit>
#include <cinttypes>

#include "network.h"

namespace netsim {

using sim::fail;

namespace {

/* As a QP of the module begins: start_requester() and roce_window_max() in kernel/roce/qp/. */
constexpr uint32_t WINDOW_PKTS = 256;
constexpr uint32_t WINDOW_MAX_PKTS = 1024;
constexpr uint32_t WINDOW_MAX_BYTES = 2u << 20;
constexpr uint64_t PEER_TIMEOUT_NS = 60000000000;
constexpr uint8_t RETRY_CNT = 7;
constexpr uint8_t MAX_RD_ATOMIC = 16;
constexpr uint32_t BATCH_BYTES = 65536; /* a run fits one batch */
constexpr uint32_t AHEAD_PKTS = 4096;	/* ROCE_AHEAD_PKTS */
constexpr uint32_t RKEY = 1;

uint32_t batch_pkts(uint32_t pmtu)
{
	return BATCH_BYTES / pmtu;
}

uint32_t wire_bytes(const struct pkt &k)
{
	uint32_t bytes = ETHERNET_BYTES + IP_BYTES + UDP_BYTES + opcode_info(k.opcode)->hdr_bytes +
			 (k.payload_bytes + 3) / 4 * 4 + ICRC_BYTES;

	return std::max(bytes, ETHERNET_MIN);
}

struct rc_req_cfg req_cfg(const FlowCfg &f, const struct cc_ops *control, uint32_t psn)
{
	uint64_t nominal_ns = rc_ack_timeout_ns(f.timeout);
	struct rc_req_cfg c = {};

	c.service = BTH_RC;
	c.retry_cnt = RETRY_CNT;
	c.rnr_retry = 7;
	c.max_rd_atomic = MAX_RD_ATOMIC;
	c.pkey = PKEY_DEFAULT;
	c.pmtu = f.pmtu;
	c.sq_psn = psn;
	c.cc = control;
	c.window = WINDOW_PKTS;
	c.max_window = std::clamp(WINDOW_MAX_BYTES / f.pmtu, WINDOW_PKTS, WINDOW_MAX_PKTS);
	c.ahead_pkts = f.keeps ? AHEAD_PKTS : 0;
	c.ack_timeout = {4 * nominal_ns, nominal_ns, PEER_TIMEOUT_NS};
	return c;
}

uint8_t op_of(Kind kind)
{
	return kind == Kind::READ ? WR_READ : kind == Kind::SEND ? WR_SEND : WR_WRITE;
}

} /* namespace */

/* ---- requester ---- */

RcRequester::RcRequester(RcFlow &flow, Network &net)
	: flow_(flow), net_(net),
	  gate_(*net.hosts[flow.cfg.kind == Kind::READ ? flow.cfg.to : flow.cfg.from].gate),
	  ring_(std::bit_ceil(flow.cfg.outstanding))
{}

void RcRequester::start(uint32_t psn)
{
	struct rc_req_cfg c = req_cfg(flow_.cfg, net_.control, psn);

	rc_req_init(&q_, ring_.data(), (uint32_t)ring_.size(), 0, &c);
	post();
}

void RcRequester::post()
{
	const FlowCfg &c = flow_.cfg;

	while (posted_ - reaped_ < c.outstanding && (!c.messages || posted_ < c.messages)) {
		struct wr wr = {};

		wr.op = op_of(c.kind);
		wr.length = c.message_bytes;
		wr.va = (uint64_t)posted_ * c.message_bytes;
		wr.rkey = RKEY;
		if (!rc_req_post(&q_, &wr))
			fail(-1, "flow %u: rc_req_post() refused a free slot", flow_.id);
		posted_++;
	}
	ask();
}

void RcRequester::ask()
{
	if (rc_req_has_unsent(&q_))
		gate_.ask(*this);
	net_.arm(flow_);
}

bool RcRequester::pump(uint32_t bytes)
{
	const FlowCfg &c = flow_.cfg;
	uint32_t sent = 0;
	bool more = false;
	struct run run;

	while (rc_req_next(&q_, net_.now_ns, batch_pkts(c.pmtu), &run)) {
		if (sent >= bytes) {
			more = true;
			break;
		}
		net_.trace.add(net_.now_ns, 0, "tx request", run.op, run.psn, flow_.id, run.npkts);
		sent += flow_.send_run(run, (uint64_t)run.slot * c.message_bytes + run.offset,
				       c.kind == Kind::READ);
		rc_req_sent(&q_, net_.now_ns, &run, run.npkts);
	}
	net_.arm(flow_);
	return more;
}

void RcRequester::place(const Packet &p, const struct rc_req_act &act)
{
	uint64_t position = (uint64_t)act.slot * flow_.cfg.message_bytes + act.offset;

	if (act.kind != RC_REQ_PLACE || flow_.cfg.kind != Kind::READ)
		fail(-1, "flow %u: an answer of kind %u", flow_.id, act.kind);
	if (position != placed_ || p.position != placed_)
		fail(-1, "flow %u: response for %" PRIu64 " placed at %" PRIu64 ", not %" PRIu64,
		     flow_.id, p.position, position, placed_);
	placed_ += act.bytes;
	flow_.stats.delivered += act.bytes;
	rc_req_placed(&q_, net_.now_ns, &act);
}

/* The packet is put back, or kept. */
void RcRequester::judge(Packet *p)
{
	struct rc_req_act act;

	rc_req_rx(&q_, net_.now_ns, &p->k, &act);
	net_.trace.add(net_.now_ns, 1, "rx answer", p->k.opcode, p->k.psn, flow_.id, act.event);
	if (act.event == RC_EV_SEQ_NAK || act.event == RC_EV_IMPLIED_NAK)
		flow_.stats.gaps++;
	if (act.kind == RC_REQ_KEEP && ahead_.add(p))
		return;
	if (act.kind != RC_REQ_DONE && act.kind != RC_REQ_KEEP)
		place(*p, act);
	net_.pool.put(p);
}

/* Those whose turn has come; then, what is missing. */
void RcRequester::resume()
{
	while (!ahead_.empty() && rc_req_ahead_is_next(&q_, ahead_.first_psn()))
		judge(ahead_.take());
	if (rc_req_has_missing(&q_) && rc_req_missing(&q_, net_.now_ns, !ahead_.empty(),
						      ahead_.first_psn()) == RC_EV_IMPLIED_NAK)
		flow_.stats.gaps++;
}

void RcRequester::rx(Packet *p)
{
	judge(p);
	resume();
	reap();
	ask();
}

void RcRequester::timer()
{
	enum rc_event event = rc_req_timeout(&q_, net_.now_ns);

	flow_.stats.timeouts += event == RC_EV_TIMEOUT;
	flow_.stats.probes += event == RC_EV_PROBE;
	if (event != RC_EV_NONE)
		net_.trace.add(net_.now_ns, 0, "timer", event, rc_req_oldest_psn(&q_), flow_.id);
	reap();
	ask();
}

void RcRequester::marked()
{
	if (!cnp_is_due(&marked_, net_.now_ns))
		return;
	rc_req_cnp(&q_, net_.now_ns);
	ask();
}

void RcRequester::reap()
{
	const FlowCfg &c = flow_.cfg;
	enum wr_status status;
	uint32_t slot;
	bool some = false;

	while (rc_req_reap(&q_, &slot, &status)) {
		if (slot != reaped_ || reaped_ == posted_)
			fail(-1, "flow %u: completion of %u, expected %u", flow_.id, slot, reaped_);
		reaped_++;
		some = true;
		if (status != WR_ST_SUCCESS) {
			if (!flow_.stats.failed)
				flow_.finish();
			flow_.stats.failed = true;
			continue;
		}
		if (flow_.stats.failed)
			fail(-1, "flow %u: success after a failure", flow_.id);
		if (flow_.resp_.executed() < (uint64_t)reaped_ * c.message_bytes ||
		    (c.kind == Kind::READ && placed_ < (uint64_t)reaped_ * c.message_bytes))
			fail(-1, "flow %u: message %u is complete, but not there", flow_.id, slot);
		if (++flow_.stats.completed == c.messages)
			flow_.finish();
	}
	if (some && !flow_.stats.failed)
		post();
}

/* ---- responder ---- */

RcResponder::RcResponder(RcFlow &flow, Network &net, uint32_t psn)
	: flow_(flow), net_(net),
	  gate_(*net.hosts[flow.cfg.kind == Kind::READ ? flow.cfg.from : flow.cfg.to].gate),
	  res_(MAX_RD_ATOMIC)
{
	struct rc_resp_cfg c = {};

	c.service = BTH_RC;
	c.max_rd_atomic = MAX_RD_ATOMIC;
	c.access = RC_ACCESS_WRITE | RC_ACCESS_READ;
	c.pkey = PKEY_DEFAULT;
	c.pmtu = flow.cfg.pmtu;
	c.rq_psn = psn;
	c.ahead_pkts = flow.cfg.keeps ? AHEAD_PKTS : 0;
	rc_resp_init(&r_, res_.data(), &c);
}

void RcResponder::place(const Packet &p, const struct rc_act &act)
{
	uint32_t message = flow_.cfg.message_bytes;
	uint64_t at = executed_ / message * message + act.offset;

	if (p.position != executed_ || at != executed_)
		fail(-1, "flow %u: payload of %" PRIu64 " placed at %" PRIu64 ", not %" PRIu64,
		     flow_.id, p.position, at, executed_);
	if (act.kind == RC_ACT_WRITE && act.va + act.offset != executed_)
		fail(-1, "flow %u: WRITE to a wrong address", flow_.id);
	if (act.begin != (executed_ % message == 0) ||
	    act.end != ((executed_ + act.bytes) % message == 0))
		fail(-1, "flow %u: a message of a wrong length", flow_.id);
	executed_ += act.bytes;
	flow_.stats.delivered += act.bytes;
	rc_resp_commit(&r_, &p.k, &act, 0);
}

void RcResponder::read(const Packet &p, const struct rc_act &act)
{
	if (act.va != executed_)
		fail(-1, "flow %u: READ at %" PRIu64 ", expected %" PRIu64, flow_.id,
		     (uint64_t)act.va, executed_);
	executed_ += act.length;
	rc_resp_commit(&r_, &p.k, &act, 0);
}

/* The packet is put back, or kept. */
void RcResponder::judge(Packet *p)
{
	struct rc_act act;

	rc_resp_rx(&r_, &p->k, &act);
	net_.trace.add(net_.now_ns, 1, "rx request", p->k.opcode, p->k.psn, flow_.id, act.event);
	switch (act.kind) {
	case RC_ACT_NONE:
		break;
	case RC_ACT_KEEP:
		if (ahead_.add(p))
			return;
		break;
	case RC_ACT_RECV:
	case RC_ACT_WRITE:
		place(*p, act);
		break;
	case RC_ACT_READ:
		read(*p, act);
		break;
	default:
		fail(-1, "flow %u: a request is refused", flow_.id);
	}
	net_.pool.put(p);
}

void RcResponder::rx(Packet *p)
{
	judge(p);
	while (!ahead_.empty() && rc_resp_ahead_is_next(&r_, ahead_.first_psn()))
		judge(ahead_.take());
	if (pump(0))
		gate_.ask(*this);
}

/* Answers without payload wait for no grant. */
bool RcResponder::pump(uint32_t bytes)
{
	uint32_t sent = 0;
	struct run run;

	while (rc_resp_next(&r_, batch_pkts(flow_.cfg.pmtu), &run)) {
		if (run.kind == RUN_READ_RESP && sent >= bytes)
			return true;
		sent += flow_.send_run(run, run.va + run.offset, flow_.cfg.kind != Kind::READ);
		rc_resp_sent(&r_, &run, run.npkts);
	}
	return false;
}

/* ---- both ---- */

RcFlow::RcFlow(Network &net, const FlowCfg &c, uint32_t number)
	: Flow(net, c, number), psn_(net.rng.below(1 << 24)), req_(*this, net),
	  resp_(*this, net, psn_)
{}

uint32_t RcFlow::full_bytes() const
{
	struct pkt k = {};

	k.opcode = cfg.kind == Kind::READ ? OP_READ_RESP_MIDDLE : OP_WRITE_MIDDLE;
	k.payload_bytes = cfg.pmtu;
	return wire_bytes(k);
}

uint32_t RcFlow::send_run(const struct run &run, uint64_t position, bool to_source)
{
	uint32_t sent = 0;

	if (!run.npkts || run.npkts > batch_pkts(cfg.pmtu))
		fail(-1, "flow %u: a run of %u packets", id, run.npkts);
	if (run.bytes) {
		stats.sent += run.npkts;
		if (position < sent_until_)
			stats.resent += run.npkts;
		sent_until_ = std::max(sent_until_, position + run.bytes);
	}
	for (uint32_t i = 0; i < run.npkts; i++) {
		Packet *p = get(to_source);

		run_pkt(&run, i, &p->k);
		p->k.op_flags = opcode_info(p->k.opcode)->flags;
		p->bytes = wire_bytes(p->k);
		p->position = position + (uint64_t)i * run.pmtu;
		p->ect = cfg.ect && req_.takes_marks();
		sent += p->bytes;
		send(p);
	}
	return sent;
}

void RcFlow::rx_mark(const Packet &p)
{
	stats.marked++;
	if (!(p.k.op_flags & OPF_REQUEST)) {
		if (p.k.op_flags & OPF_READ)
			req_.marked();
	} else if (cnp_is_due(&cnp_, net_.now_ns)) {
		Packet *cnp = get(!p.to_source);

		cnp->k = {};
		cnp_fill(&cnp->k, 0, PKEY_DEFAULT);
		cnp->bytes = wire_bytes(cnp->k);
		send(cnp);
	}
}

void RcFlow::rx(Packet *p)
{
	if (p->ce)
		rx_mark(*p);
	if (p->k.op_flags & OPF_CNP) {
		stats.cnps++;
		req_.marked();
		net_.pool.put(p);
	} else if (p->k.op_flags & OPF_REQUEST) {
		resp_.rx(p);
	} else {
		req_.rx(p);
	}
}

void RcFlow::check_end() const
{
	uint64_t complete = stats.completed * cfg.message_bytes;

	if (stats.delivered < complete || resp_.executed() < complete)
		fail(-1, "flow %u: %" PRIu64 " messages complete, but %" PRIu64 " bytes delivered",
		     id, stats.completed, stats.delivered);
}

} /* namespace netsim */
