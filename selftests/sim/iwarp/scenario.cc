// SPDX-License-Identifier: GPL-2.0
#include "scenario.h"

#include <algorithm>
#include <cinttypes>

namespace sim {
namespace {

/* Both ends of a connection, and the streams between them. */
struct Pair {
	EndCfg end[2];
	StreamCfg stream[2];
};

EndCfg random_end(Rng &rng, const Options &o)
{
	static const uint32_t sizes[] = {128, 256, 536, 1024, 1460, 1460, 4096, 8960, 65535};
	EndCfg c;

	c.emss = o.emss ? *o.emss : rng.one_in(4) ? rng.range(128, 9000) : pick(rng, sizes);
	c.frames = std::max(c.emss, rng.one_in(2) ? rng.range(128, 16384) : 0);
	c.trim = rng.below(4);
	c.sq_entries = 8u << rng.below(5);
	c.index = rng.one_in(2) ? 0u - rng.below(200) : 0;
	c.msn = rng.one_in(2) ? 0u - rng.below(200) : 1;
	c.offer.revision = 2;
	c.offer.crc = o.crc ? *o.crc : rng.below(3);
	c.offer.long_fpdus = rng.one_in(2);
	c.offer.ird = (uint16_t)rng.range(1, rng.one_in(3) ? 2 : 32);
	c.offer.ord = (uint16_t)rng.range(1, rng.one_in(3) ? 2 : 32);
	c.private_bytes =
		(uint16_t)(rng.one_in(2) ?
				   rng.below(MPA_MAX_PRIVATE_BYTES + 1 - MPA_ENHANCED_BYTES) :
				   0);
	return c;
}

StreamCfg random_stream(Rng &rng, const Options &o, const EndCfg &sender)
{
	StreamCfg s;
	uint32_t least = std::max(sender.frames, MPA_FRAME_BYTES + MPA_MAX_PRIVATE_BYTES + 0u);

	s.room = o.room ? *o.room : rng.one_in(3) ? rng.range(0, 4096) : rng.range(16384, 200000);
	s.room = std::max(s.room, least);
	s.delay_ns = rng.range(100, 5000);
	s.jitter_ns = rng.below(2000);
	s.cut = o.cut.value_or(rng.one_in(8) ? rng.range(1, 4000) : 0);
	return s;
}

Pair random_pair(Rng &rng, const Options &o)
{
	Pair p;
	struct mpa_offer &a = (p.end[0] = random_end(rng, o)).offer;
	struct mpa_offer &b = (p.end[1] = random_end(rng, o)).offer;

	for (uint32_t i = 0; i < 2; i++) {
		/* An end's markers are in the direction of the other. */
		p.end[i ^ 1].markers = o.markers ? *o.markers >> i & 1 : rng.one_in(3);
		p.stream[i] = random_stream(rng, o, p.end[i]);
	}
	if (rng.one_in(3)) {
		/* Without negotiation both applications must know the limits. */
		a.revision = 1;
		a.ord = std::min(a.ord, b.ird);
		b.ord = std::min(b.ord, a.ird);
	} else if (rng.below(3)) {
		a.p2p = true;
		a.rtr = (uint8_t)rng.range(1, 7);
		do
			b.rtr = (uint8_t)rng.range(1, 7);
		while (!(a.rtr & b.rtr));
	} else if (rng.one_in(4)) {
		pick(rng, {&a, &b})->ord = 0;
	}
	return p;
}

void connect(World &w, const Pair &p, uint64_t seed)
{
	w.connect(p.end[0], p.end[1], p.stream[0], p.stream[1], seed);
}

void connect_pairs(World &w, const Options &o, void (*adjust)(Rng &rng, Pair &p) = nullptr)
{
	Rng rng(o.seed);

	for (uint32_t i = 0; i < o.pairs; i++) {
		Pair p = random_pair(rng, o);

		if (adjust)
			adjust(rng, p);
		connect(w, p, rng.next());
	}
}

void mixed(World &w, const Options &o)
{
	connect_pairs(w, o);
	w.run();
}

template <uint8_t op> void only(World &w, const Options &o)
{
	connect_pairs(w, o, [](Rng &, Pair &p) {
		for (EndCfg &e : p.end) {
			e.only_op = op;
			e.offer.ord = std::max<uint16_t>(e.offer.ord, 1);
		}
	});
	w.run();
}

/* A few bytes at a time, so that everything is cut everywhere. */
void crumbs(World &w, const Options &o)
{
	connect_pairs(w, o, [](Rng &rng, Pair &p) {
		for (int i = 0; i < 2; i++) {
			p.end[i].emss = std::min(p.end[i].emss, 536u);
			p.end[i].frames = std::min(p.end[i].frames, 600u);
			p.stream[i].cut = rng.range(1, 8);
		}
	});
	w.run();
}

/* Room for little more than one FPDU, and one READ at a time. */
void tight(World &w, const Options &o)
{
	connect_pairs(w, o, [](Rng &rng, Pair &p) {
		for (int i = 0; i < 2; i++) {
			p.end[i].offer.ord = p.end[i].offer.ird = 1;
			p.end[i].declines = 0.2;
			p.stream[i].room = std::max(p.end[i].frames + rng.below(64), 600u);
		}
	});
	w.run();
}

/* Only connections, some without a first message that both know. */
void start_up(World &w, const Options &o)
{
	Rng rng(o.seed);
	uint32_t refused = 0;

	w.cfg.segments = ~0ull;
	for (uint32_t i = 0; i < o.pairs; i++) {
		Pair p = random_pair(rng, o);

		for (EndCfg &e : p.end)
			e.quota = rng.below(4) + 1;
		if (p.end[0].offer.p2p && rng.one_in(2)) {
			p.end[1].offer.rtr = ~p.end[0].offer.rtr & 7;
			refused++;
		}
		connect(w, p, rng.next());
	}
	w.run();
	for (size_t i = 0; i < w.ep.size(); i++) {
		refused -= w.ep[i]->refused && (i & 1);
		if (w.ep[i]->refused != w.ep[i ^ 1]->refused ||
		    w.ep[i]->refused == w.ep[i]->running)
			fail((int)i, "the ends do not agree whether they are connected");
	}
	if (refused)
		fail(-1, "%u connections should have been refused", refused);
}

/* ---- what ends a stream ---- */

/* One faulty work request in one direction of each pair. */
void connect_faulty(World &w, const Options &o, uint8_t fault)
{
	Rng rng(o.seed);

	w.cfg.may_die = true;
	w.cfg.segments = ~0ull;
	for (uint32_t i = 0; i < o.pairs; i++) {
		Pair p = random_pair(rng, o);
		EndCfg &e = p.end[rng.below(2)];

		for (EndCfg &end : p.end) {
			end.quota = 400;
			end.offer.ord = std::max<uint16_t>(end.offer.ord, 1);
		}
		e.fault = fault;
		e.fault_from = rng.range(1, 60);
		if (fault == FAULT_CRC)
			e.offer.crc = true;
		connect(w, p, rng.next());
	}
}

/* Did it end each stream, with one Terminate that arrived? */
void check_faulty(World &w, bool here)
{
	for (size_t i = 0; i < w.ep.size(); i++) {
		Endpoint &e = *w.ep[i], &peer = *w.ep[i ^ 1];
		Requester &q = e.req;

		if (!q.cfg.fault)
			continue;
		if (q.faulty_number == ~0ull || !q.ledger.at(q.faulty_number).injected)
			fail((int)i, "nothing went wrong");
		Endpoint &judge = e.detected != TERM_NONE ? e : peer;
		Endpoint &judged = e.detected != TERM_NONE ? peer : e;

		if (!e.dead || !peer.dead || judge.detected == TERM_NONE ||
		    judged.detected != TERM_NONE || judged.resp->peer_term != judge.detected)
			fail((int)i, "ended with %04x here, %04x there", (unsigned)e.detected,
			     (unsigned)peer.detected);
		if (here && (q.fatal_number != q.faulty_number || e.detected != TERM_LOCAL))
			fail((int)i, "work request %" PRId64 " failed with status %d",
			     (int64_t)q.fatal_number, q.status);
	}
}

/* The peer refuses it, or this end refuses the answer. */
template <uint8_t fault> void refused(World &w, const Options &o)
{
	connect_faulty(w, o, fault);
	w.run();
	check_faulty(w, false);
}

template <uint8_t fault> void refused_here(World &w, const Options &o)
{
	connect_faulty(w, o, fault);
	w.run();
	check_faulty(w, true);
}

void ord_exceeded(World &w, const Options &o)
{
	Rng rng(o.seed);

	w.cfg.may_die = true;
	w.cfg.segments = ~0ull;
	for (uint32_t i = 0; i < o.pairs; i++) {
		Pair p = random_pair(rng, o);

		p.end[0].fault = FAULT_ORD;
		p.end[0].only_op = WR_READ;
		p.end[0].quota = 2000;
		p.end[0].sq_entries = 64;
		p.end[0].offer.ord = p.end[1].offer.ird = (uint16_t)rng.range(1, 3);
		p.end[0].ord = (uint16_t)rng.range(16, 32);
		p.end[1].quota = 100;
		connect(w, p, rng.next());
	}
	w.run();
	check_faulty(w, false);
}

/* Every connection is reset at some time. */
void aborts(World &w, const Options &o)
{
	Rng rng(o.seed);
	uint64_t flushed = 0;

	w.cfg.may_die = true;
	w.cfg.segments = ~0ull;
	for (uint32_t i = 0; i < o.pairs; i++) {
		uint64_t at = rng.one_in(4) ? rng.below(10000) : rng.below(1000000);
		uint64_t seen[2] = {at + rng.below(5000), at + rng.below(5000)};

		connect(w, random_pair(rng, o), rng.next());
		w.script(at, [&w, i] {
			w.ep[2 * i]->out.abort();
			w.ep[2 * i + 1]->out.abort();
		});
		for (uint32_t k = 0; k < 2; k++)
			w.script(seen[k], [&w, i, k] { w.ep[2 * i + k]->lost(); });
	}
	w.run();
	for (auto &e : w.ep) {
		if (!e->dead)
			fail((int)(&e - w.ep.data()), "alive after a reset");
		flushed += e->req.ledger.failed;
	}
	if (!flushed)
		fail(-1, "nothing was flushed");
}

/* A QP is moved to ERROR under load, and its stream closed in order. */
void flush(World &w, const Options &o)
{
	Rng rng(o.seed);

	w.cfg.may_die = true;
	w.cfg.segments = ~0ull;
	for (uint32_t i = 0; i < o.pairs; i++) {
		uint32_t end = 2 * i + rng.below(2);

		connect(w, random_pair(rng, o), rng.next());
		w.script(20000 + rng.below(500000), [&w, end] { w.ep[end]->lost(); });
	}
	w.run();
	for (auto &e : w.ep)
		if (!e->dead)
			fail((int)(&e - w.ep.data()), "alive after a flush");
}

} /* namespace */

const Scenario scenarios[] = {
	{"mixed", "all operations, both directions", mixed},
	{"sends", "SEND only", only<WR_SEND>},
	{"writes", "RDMA WRITE only", only<WR_WRITE>},
	{"reads", "RDMA READ only", only<WR_READ>},
	{"atomics", "FETCH_ADD only", only<WR_FETCH_ADD>},
	{"crumbs", "a few bytes at a time", crumbs},
	{"tight", "room for one FPDU, one READ at a time", tight},
	{"start-up", "short connections, some refused", start_up},
	{"aborts", "connections are reset", aborts},
	{"flush", "a QP is moved to ERROR under load", flush},
	{"bad-key", "a key that there is not", refused<FAULT_KEY>},
	{"bad-bounds", "outside the memory region", refused<FAULT_BOUNDS>},
	{"bad-access", "a key without rights", refused<FAULT_ACCESS>},
	{"bad-stream", "a key of another PD", refused<FAULT_STREAM>},
	{"bad-address", "beyond the last address, or not aligned", refused<FAULT_WRAP>},
	{"no-receive", "no receive WQE", refused<FAULT_NO_RECV>},
	{"too-long", "longer than the receive WQE", refused<FAULT_TOO_LONG>},
	{"bad-invalidate", "a key that may not be invalidated", refused<FAULT_INVALIDATE>},
	{"bad-receive", "the receive WQE's SGEs are refused", refused<FAULT_RECV_LOCAL>},
	{"bad-msn", "a wrong message number", refused<FAULT_MSN>},
	{"bad-mo", "a wrong message offset", refused<FAULT_MO>},
	{"bad-queue", "a queue that there is not", refused<FAULT_QN>},
	{"ddp-version", "a wrong version of DDP", refused<FAULT_VERSION>},
	{"rdmap-version", "a wrong version of RDMAP", refused<FAULT_RDMAP_VERSION>},
	{"bad-opcode", "a reserved opcode", refused<FAULT_OPCODE>},
	{"not-last", "a request that goes on", refused<FAULT_LAST>},
	{"too-short", "a segment shorter than its headers", refused<FAULT_SHORT>},
	{"answer-key", "a READ response for another sink", refused<FAULT_ANSWER_STAG>},
	{"answer-offset", "a READ response elsewhere in its sink", refused<FAULT_ANSWER_TO>},
	{"answer-last", "a READ response too long or short", refused<FAULT_ANSWER_LAST>},
	{"answer-msn", "an atomic response's number is wrong", refused<FAULT_ANSWER_MSN>},
	{"answer-id", "an atomic response to something else", refused<FAULT_ANSWER_ID>},
	{"bad-crc", "a bit is flipped", refused<FAULT_CRC>},
	{"read-gone", "memory vanishes while a READ is answered", refused<FAULT_READ_GONE>},
	{"ord-exceeded", "more READs than the peer lets in", ord_exceeded},
	{"gather-error", "source SGEs are refused in mid message", refused_here<FAULT_GATHER>},
	{"sink-error", "READ sink SGEs are refused in mid message", refused_here<FAULT_SINK>},
	{"local-error", "a LOCAL operation fails", refused_here<FAULT_LOCAL>},
	{nullptr, nullptr, nullptr},
};

} /* namespace sim */
