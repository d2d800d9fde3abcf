// SPDX-License-Identifier: GPL-2.0
#include "scenario.h"

#include <algorithm>
#include <cinttypes>

namespace sim {
namespace {

WireCfg wire_cfg(const Options &o)
{
	WireCfg w;

	w.loss = o.loss;
	w.dup = o.dup;
	w.reorder = o.reorder;
	w.corrupt = o.corrupt;
	return w;
}

bool is_clean(const Options &o)
{
	return o.loss + o.dup + o.reorder + o.corrupt == 0;
}

/* Half of all ends keep what comes out of order, some of these little. */
void draw_keeping(Rng &rng, QpCfg &c)
{
	static const uint32_t rooms[] = {1, 4, 64, 4096};

	c.keep_requests = rng.one_in(2) ? pick(rng, rooms) : 0;
	c.keep_responses = rng.one_in(2) ? pick(rng, rooms) : 0;
	c.keep_room = pick(rng, rooms);
}

QpCfg random_qp(Rng &rng, const Options &o)
{
	static const uint32_t pmtus[] = {256, 512, 1024, 2048, 4096};
	static const uint32_t windows[] = {1, 3, 8, 32, 64, 128, 256};
	static const uint32_t psns[] = {0xfffff0, 0x7ffff0, 0xffffff, 0x800000, 0};
	static const uint32_t batches[] = {1, 2, 7, 32, 64};
	QpCfg c;

	c.pmtu = pick(rng, pmtus);
	c.window = rng.one_in(4) ? pick(rng, windows) : rng.range(32, 128);
	c.psn = rng.one_in(2) ? pick(rng, psns) : rng.below(1 << 24);
	c.max_rd_atomic = (uint8_t)rng.range(1, 16);
	c.max_batch = pick(rng, batches);
	c.sq_entries = 8u << rng.below(5);
	c.rnr_field = (uint8_t)rng.range(1, 4);
	c.recv_wait_ns = rng.one_in(2) ? rng.below(40000) : 0;
	if (o.stretch > 0) {
		static const uint32_t stretches[] = {2, 64, 256, 4096};

		c.stretch = o.stretch;
		c.max_batch = pick(rng, stretches);
		c.window = rng.one_in(2) ? 1u << 22 : c.window;
	}
	if (o.pmtu)
		c.pmtu = *o.pmtu;
	draw_keeping(rng, c);
	c.max_window = rng.one_in(2) ? c.window * rng.range(2, 16) : 0;
	if (o.window) {
		c.window = *o.window;
		c.max_window = 0;
	}
	if (o.loss + o.corrupt < 0.005)
		c.big_max = BIG_BYTES;
	else
		c.read_max = std::min(c.read_max, 16 * c.pmtu);
	return c;
}

/* Even all waits together leave each attempt enough time: no answer is missed because of them. */
void draw_waits(Rng &rng, QpCfg &c)
{
	if (rng.one_in(2))
		return;
	c.least_ns = c.ack_timeout_ns / 4;
	if (rng.one_in(2))
		c.all_ns = (c.retry_cnt + 1) * c.ack_timeout_ns * rng.range(1, 3);
}

void connect_pairs(World &w, const Options &o, const WireCfg &wire,
		   void (*adjust)(QpCfg &c) = nullptr)
{
	Rng rng(o.seed);

	for (uint32_t i = 0; i < o.pairs; i++) {
		QpCfg ab = random_qp(rng, o), ba = random_qp(rng, o);

		if (adjust) {
			adjust(ab);
			adjust(ba);
		}
		draw_waits(rng, ab);
		draw_waits(rng, ba);
		w.connect(ab, ba, wire, rng.next());
	}
}

void mixed(World &w, const Options &o)
{
	connect_pairs(w, o, wire_cfg(o));
	w.run();
}

/* On a perfect wire with receives always posted, nothing is sent twice, except probes. */
void run_clean(World &w, const Options &o, void (*adjust)(QpCfg &c))
{
	uint64_t probes = 0, duplicates = 0;

	connect_pairs(w, o, WireCfg{}, adjust);
	w.run();
	for (auto &e : w.ep) {
		probes += e->req.probes;
		duplicates += e->resp->duplicates;
		if (e->req.timeouts || e->req.seq_naks || e->req.implied_naks || e->req.rnr_naks)
			fail(-1,
			     "retransmissions on a clean wire: %" PRIu64 " timeouts, %" PRIu64
			     " NAKs, %" PRIu64 " implied, %" PRIu64 " RNR",
			     e->req.timeouts, e->req.seq_naks, e->req.implied_naks,
			     e->req.rnr_naks);
	}
	if (duplicates > probes)
		fail(-1, "%" PRIu64 " duplicates, %" PRIu64 " probes", duplicates, probes);
}

void clean(World &w, const Options &o)
{
	run_clean(w, o, [](QpCfg &c) { c.rq_dry = 0; });
}

/* 1 to 16 Gbit/s, bursts of a packet to 128 KiB: some waits are longer than ACK timers. */
void limit_rate(QpCfg &c)
{
	c.rate_kbps = 1000000u << c.psn % 5;
	c.burst_bytes = 1u << c.psn % 18;
}

void rate(World &w, const Options &o)
{
	connect_pairs(w, o, wire_cfg(o), limit_rate);
	w.run();
}

void rate_clean(World &w, const Options &o)
{
	run_clean(w, o, [](QpCfg &c) {
		c.rq_dry = 0;
		limit_rate(c);
	});
}

/* Receives that come late, but before a wait ends: nothing is sent twice either, except probes. */
void late_recv(World &w, const Options &o)
{
	uint64_t waited = 0, probes = 0, duplicates = 0;

	connect_pairs(w, o, WireCfg{}, [](QpCfg &c) {
		c.rq_dry = 0.1;
		c.recv_wait_ns = 100000;
		c.ack_timeout_ns = 4 * c.recv_wait_ns;
		c.rnr_field = 0;
	});
	w.run();
	for (auto &e : w.ep) {
		waited += e->resp->waited;
		probes += e->req.probes;
		duplicates += e->resp->duplicates;
		if (e->req.timeouts || e->req.seq_naks || e->req.implied_naks || e->req.rnr_naks)
			fail(-1,
			     "retransmissions though receives were waited for: %" PRIu64
			     " timeouts, %" PRIu64 " NAKs, %" PRIu64 " RNR",
			     e->req.timeouts, e->req.seq_naks, e->req.rnr_naks);
	}
	if (duplicates > probes)
		fail(-1, "%" PRIu64 " duplicates, %" PRIu64 " probes", duplicates, probes);
	if (!waited)
		fail(-1, "no request waited for a receive");
}

void slow_wire(World &w, const Options &o)
{
	WireCfg wire = wire_cfg(o);

	wire.ns_per_kib = 800; /* 10 Gb/s */
	connect_pairs(w, o, wire);
	w.run();
}

void uc(World &w, const Options &o)
{
	uint64_t posted = 0, delivered = 0;

	connect_pairs(w, o, wire_cfg(o), [](QpCfg &c) {
		c.uc = true;
		c.rq_dry = 0;
	});
	w.run();
	for (size_t i = 0; i < w.ep.size(); i++) {
		posted += w.ep[i]->req.ledger.net_posted;
		delivered += w.ep[i]->resp->delivered;
	}
	if (is_clean(o) && posted != delivered)
		fail(-1, "UC: %" PRIu64 " of %" PRIu64 " messages delivered on a clean wire",
		     delivered, posted);
	if (!delivered)
		fail(-1, "UC: no message delivered");
	printf("uc: %" PRIu64 " of %" PRIu64 " messages delivered whole\n", delivered, posted);
}

/* All operations, each for one of several SRQs. */
void xrc(World &w, const Options &o)
{
	connect_pairs(w, o, wire_cfg(o), [](QpCfg &c) { c.xrc = true; });
	w.run();
}

template <uint8_t op> void only(World &w, const Options &o)
{
	connect_pairs(w, o, wire_cfg(o), [](QpCfg &c) { c.only_op = op; });
	w.run();
}

/* Into SQD and back, all the time. */
void drain(World &w, const Options &o)
{
	uint64_t drains = 0;

	connect_pairs(w, o, wire_cfg(o), [](QpCfg &c) { c.drain_every = 20; });
	w.run();
	for (auto &e : w.ep)
		drains += e->req.drains;
	if (!drains)
		fail(-1, "never drained");
}

/* After a READ is complete its memory's key is revoked; copies of the READ request come later. */
void read_forgotten(World &w, const Options &o)
{
	WireCfg wire = wire_cfg(o);
	uint64_t forgotten = 0;

	wire.dup = std::max(wire.dup, 0.05);
	connect_pairs(w, o, wire, [](QpCfg &c) { c.forget = true; });
	w.run();
	for (auto &e : w.ep)
		forgotten += e->resp->forgotten;
	if (!forgotten)
		fail(-1, "no READ was asked for again when it was complete");
}

/* ---- what ends a QP ---- */

/* One faulty work request in one direction; the other direction goes on undisturbed. */
Requester &run_fault(World &w, const Options &o, uint8_t fault, void (*adjust)(QpCfg &) = nullptr)
{
	Rng rng(o.seed);
	QpCfg ab = random_qp(rng, o), ba = random_qp(rng, o);

	ab.fault = fault;
	ab.fault_from = rng.range(10, 60);
	ab.quota = 300;
	ba.quota = 100;
	if (adjust)
		adjust(ab);
	draw_waits(rng, ab);
	draw_waits(rng, ba);
	w.cfg.expects_failure = true;
	w.cfg.packets = ~0ull;
	w.connect(ab, ba, wire_cfg(o), rng.next());
	w.run();
	if (!w.ep[0]->req.failed())
		fail(0, "the faulty work request did not fail");
	if (w.ep[1]->req.failed())
		fail(1, "the other direction failed as well");
	return w.ep[0]->req;
}

/*
 * The responder refuses. If its NAK is lost, it sends nothing else. So over a lossy wire the
 * retries may run out, even for an earlier request whose acknowledge was lost with it.
 */
void refused(World &w, const Options &o, uint8_t fault, uint8_t status)
{
	Requester &q = run_fault(w, o, fault, [](QpCfg &c) {
		c.retry_cnt = 7;
		c.ack_timeout_ns = 200000;
	});

	if (q.status == status && q.fatal_number == q.faulty_number)
		return;
	if (!is_clean(o) && q.status == WR_ST_RETRY_EXC_ERR && q.fatal_number <= q.faulty_number)
		return;
	fail(0, "work request %" PRIu64 " failed with status %d, expected %" PRIu64 " with %d",
	     q.fatal_number, q.status, q.faulty_number, status);
}

void access_error(World &w, const Options &o)
{
	refused(w, o, FAULT_ACCESS, WR_ST_REM_ACCESS_ERR);
}

void invalid_request(World &w, const Options &o)
{
	refused(w, o, FAULT_INVALID, WR_ST_REM_INV_REQ_ERR);
}

void remote_op_error(World &w, const Options &o)
{
	refused(w, o, FAULT_OP, WR_ST_REM_OP_ERR);
}

void read_gone(World &w, const Options &o)
{
	refused(w, o, FAULT_READ_GONE, WR_ST_REM_ACCESS_ERR);
}

/* The wire never hides a local reason: same request, same status. */
void refused_here(World &w, const Options &o, uint8_t fault, uint8_t status)
{
	Requester &q = run_fault(w, o, fault);

	if (q.status != status || q.fatal_number != q.faulty_number)
		fail(0,
		     "work request %" PRIu64 " failed with status %d, expected %" PRIu64 " with %d",
		     q.fatal_number, q.status, q.faulty_number, status);
}

void gather_error(World &w, const Options &o)
{
	refused_here(w, o, FAULT_GATHER, WR_ST_LOC_PROT_ERR);
}

void sink_error(World &w, const Options &o)
{
	refused_here(w, o, FAULT_SINK, WR_ST_LOC_PROT_ERR);
}

void local_error(World &w, const Options &o)
{
	refused_here(w, o, FAULT_LOCAL, WR_ST_MW_BIND_ERR);
}

void rnr_exceeded(World &w, const Options &o)
{
	Requester &q = run_fault(w, o, FAULT_NO_RECV, [](QpCfg &c) {
		c.rnr_retry = 3;
		c.rq_dry = 0;
	});
	uint64_t took = q.fatal_ns - q.first_sent_ns, wait = rc_rnr_timer_ns(q.cfg.rnr_field);

	if (q.status != WR_ST_RNR_RETRY_EXC_ERR || q.fatal_number != q.faulty_number)
		fail(0, "work request %" PRIu64 " failed with status %d", q.fatal_number, q.status);
	/* Duplicates of a request cause NAKs of their own, which do not count as waits. */
	if (took < 3 * wait)
		fail(0, "gave up after %" PRIu64 " ns, three waits are %" PRIu64, took, 3 * wait);
	if (is_clean(o) && q.rnr_naks != 4)
		fail(0, "%" PRIu64 " RNR NAKs for three retries", q.rnr_naks);
}

/*
 * Waits of 1, 2, and then four times the first. For a peer that answers within answer_ns (0: it has
 * not yet answered) they may begin with less than ack_timeout_ns. all_ns limits their sum, but each
 * is at least least_ns.
 */
uint64_t given_up_after(const QpCfg &c, uint64_t answer_ns)
{
	uint64_t first = c.ack_timeout_ns, all;

	if (answer_ns && c.least_ns)
		first = std::min(first,
				 c.least_ns + RC_REQ_PEER_OFF_NS + RC_REQ_ANSWER_TIMES * answer_ns);
	all = (1 + 2 + 4 * (c.retry_cnt - 1)) * first;
	return c.all_ns ? std::min(all, std::max(c.all_ns, (c.retry_cnt + 1) * c.least_ns)) : all;
}

/*
 * For some, all_ns decides how long it takes; for some least_ns, what is known of the peer, or
 * neither.
 */
void draw_dead_waits(Rng &rng, QpCfg &c)
{
	c.ack_timeout_ns = rng.one_in(2) ? 100000 : 4000000000;
	c.least_ns = rng.one_in(4) ? 0 : c.ack_timeout_ns / rng.range(2, 4);
	if (c.least_ns && !rng.one_in(4))
		c.all_ns = c.ack_timeout_ns * (rng.one_in(2) ? rng.range(1, 3) : rng.range(4, 24));
}

/* The wire is cut: both ends give up after retry_cnt retries, in time. */
void dead_wire(World &w, const Options &o)
{
	enum { CUT_NS = 200000, ANSWER_NS = CUT_NS, PAIRS = 8 };
	Rng rng(o.seed);

	for (int i = 0; i < PAIRS; i++) {
		QpCfg c = random_qp(rng, o);

		c.retry_cnt = 5;
		c.rq_dry = 0;
		c.window = std::max(c.window, 8u);
		draw_dead_waits(rng, c);
		w.connect(c, c, wire_cfg(o), rng.next());
		w.cfg.stall_ns = std::max(w.cfg.stall_ns, 2 * given_up_after(c, 0));
	}
	w.cfg.expects_failure = true;
	w.cfg.packets = ~0ull;
	w.script(CUT_NS, [&w] {
		for (auto &e : w.ep)
			e->wire.cut();
	});
	/* Post no work to a QP that is long dead: it would be flushed for ever. */
	w.script(5000000, [&w] { w.cfg.packets = 0; });
	w.run();
	for (auto &e : w.ep) {
		const QpCfg &c = e->req.cfg;
		uint64_t took = e->req.fatal_ns - CUT_NS;
		/* Over a bad wire the peer may not have answered at all by then. */
		uint64_t most =
			given_up_after(c, is_clean(o) || e->req.q.answer_ns ? ANSWER_NS : 0);
		int i = (int)(&e - w.ep.data());

		if (e->req.status != WR_ST_RETRY_EXC_ERR)
			fail(i, "status %d on a dead wire", e->req.status);
		/* Losses before the cut used up some of them. */
		if (took + 50000 < given_up_after(c, 1) && is_clean(o))
			fail(i, "gave up after %" PRIu64 " ns", took);
		/* A late duplicate from before the cut still counts as progress. */
		if (took > most + 200000 + (is_clean(o) ? 0 : WireCfg().late_dup_ns))
			fail(i, "took %" PRIu64 " ns to give up", took);
	}
}

void flush(World &w, const Options &o)
{
	Rng rng(o.seed);
	QpCfg ab = random_qp(rng, o), ba = random_qp(rng, o);

	ab.flush_at = rng.range(1, 200);
	ab.quota = 400;
	ba.quota = 200;
	draw_waits(rng, ab);
	draw_waits(rng, ba);
	w.cfg.expects_failure = true;
	w.cfg.packets = ~0ull;
	w.connect(ab, ba, wire_cfg(o), rng.next());
	w.run();
	if (w.ep[0]->req.status != WR_ST_WR_FLUSH_ERR || w.ep[0]->req.ledger.posted != 400)
		fail(0, "status %d after a flush", w.ep[0]->req.status);
	if (w.ep[1]->req.failed())
		fail(1, "the other direction failed as well");
}

} /* namespace */

const Scenario scenarios[] = {
	{"mixed", "all operations, both directions", mixed},
	{"clean", "a perfect wire: nothing is retransmitted", clean},
	{"late-recv", "receives that come late are waited for", late_recv},
	{"slow-wire", "limited bandwidth with local drops", slow_wire},
	{"uc", "unreliable connection: whole messages or none, in order", uc},
	{"xrc", "extended reliable connection: an SRQ for each request", xrc},
	{"rate", "all operations with rate limits", rate},
	{"rate-clean", "the same by a perfect wire: a wait is no loss", rate_clean},
	{"sends", "SEND only", only<WR_SEND>},
	{"writes", "RDMA WRITE only", only<WR_WRITE>},
	{"reads", "RDMA READ only", only<WR_READ>},
	{"atomics", "FETCH_ADD only", only<WR_FETCH_ADD>},
	{"flushes", "FLUSH only", only<WR_FLUSH>},
	{"atomic-writes", "ATOMIC WRITE only", only<WR_ATOMIC_WRITE>},
	{"drain", "SQD and back under load", drain},
	{"read-forgotten", "memory is gone after a READ; late duplicates ask for it",
	 read_forgotten},
	{"access-error", "the responder refuses a key in mid stream", access_error},
	{"invalid-request", "a message longer than the receive WQE", invalid_request},
	{"remote-op-error", "the responder fails locally", remote_op_error},
	{"read-gone", "memory vanishes while a READ is answered", read_gone},
	{"gather-error", "source SGEs are refused in mid message", gather_error},
	{"sink-error", "READ sink SGEs are refused in mid message", sink_error},
	{"local-error", "a LOCAL operation fails", local_error},
	{"rnr-exceeded", "no receive WQE ever comes", rnr_exceeded},
	{"dead-wire", "the wire is cut", dead_wire},
	{"flush", "the QP is moved to ERROR under load", flush},
	{nullptr, nullptr, nullptr},
};

} /* namespace sim */
