// SPDX-License-Identifier: GPL-2.0
#include "requester.h"

#include <algorithm>
#include <cinttypes>

#include "wire.h"
#include "world.h"

namespace sim {

Requester::Requester(World &world, int endpoint, const QpCfg &c, uint64_t seed)
	: cfg(c), ledger(c.uc ? 16384 : c.sq_entries), world_(world), ep_(endpoint),
	  arena_((2u << 20) + 2 * c.big_max), workload_(cfg, ledger, arena_, seed), rng_(seed + 1),
	  ring_(c.sq_entries), partial_(Rng::chance(c.partial)), stretch_(Rng::chance(c.stretch))
{
	struct rc_req_cfg rc = {};

	rc.service = cfg.service();
	rc.retry_cnt = cfg.retry_cnt;
	rc.rnr_retry = cfg.rnr_retry;
	rc.max_rd_atomic = cfg.max_rd_atomic;
	rc.pkey = PKEY_DEFAULT;
	rc.dqpn = 0x100 + ((uint32_t)endpoint ^ 1);
	rc.pmtu = cfg.pmtu;
	rc.sq_psn = cfg.psn;
	rc.window = cfg.window;
	rc.max_window = cfg.max_window;
	rc.ack_timeout = {cfg.ack_timeout_ns, cfg.least_ns, cfg.all_ns};
	rc.rate = {cfg.rate_kbps, cfg.burst_bytes};
	rc.ahead_pkts = cfg.keep_responses;
	ahead_.limit(cfg.keep_room);
	rc_req_init(&q, ring_.data(), cfg.sq_entries, 0, &rc);
	ledger.va_base = rng_.next() & ~0xfffull;
	ledger.rkey = (uint32_t)rng_.next();
	ledger.static_key = rng_.next();
	last_una_ = q.psn_una;
	next_drain_ = cfg.drain_every;
}

bool Requester::wants_work() const
{
	return !world_.closing() && ledger.posted < cfg.quota;
}

void Requester::post()
{
	uint32_t n = rng_.range(1, 16);

	while (n-- && wants_work() && ledger.posted - ledger.reaped < cfg.sq_entries) {
		Work *w = workload_.draw();

		if (!w)
			return;
		if ((uint32_t)w->number != q.head)
			fail(ep_, "send queue index %u, expected %" PRIu64, q.head, w->number);
		if (w->fault)
			faulty_number = w->number;
		if (!rc_req_post(&q, &w->wr))
			fail(ep_, "rc_req_post() refused a free slot");
		if (!busy())
			progress_ns = world_.now_ns;
	}
}

/* The live work request with this free-running index. */
Work &Requester::work_at(uint32_t slot)
{
	uint64_t number = ledger.reaped + (uint32_t)(slot - (uint32_t)ledger.reaped);

	if (!ledger.live(number))
		fail(ep_, "slot %u is not live", slot);
	return ledger.at(number);
}

void Requester::begin(Work &w)
{
	if (w.number != begun_)
		fail(ep_, "work request %" PRIu64 " begun, expected %" PRIu64, w.number, begun_);
	if (draining_ && w.number >= drain_limit_)
		fail(ep_, "work request %" PRIu64 " begun while draining", w.number);
	w.begun = true;
	begun_++;
	if ((w.wr.flags & WR_F_FENCE) && ledger.rd_reaped != w.rd_before)
		fail(ep_, "fenced work request %" PRIu64 " begun before a prior READ is complete",
		     w.number);
	if (is_rd(w.wr.op) && ++rd_begun_ - ledger.rd_reaped > cfg.max_rd_atomic)
		fail(ep_, "more than max_rd_atomic requests outstanding");
	if (w.fault)
		first_sent_ns = world_.now_ns;
}

void Requester::check_run(const struct run &run, uint32_t max_pkts)
{
	uint32_t ahead;

	if (q.state == RC_REQ_ERROR)
		fail(ep_, "packets from a QP in error");
	if (!run.npkts || run.npkts > max_pkts)
		fail(ep_, "run of %u packets, at most %u wanted", run.npkts, max_pkts);
	if (rnr_until_ns_ > world_.now_ns && q.psn_una == rnr_psn_)
		fail(ep_, "sends while it should wait for the RNR timer");
	ahead = psn_add(run.psn, run.npkts - psn_add(q.psn_una, 0)) & PSN_MASK;
	bool probe = q.resend.hole && q.resend.gap == RC_GAP_NONE && run.npkts == 1;

	if (!cfg.uc && !is_rd(run.op) && ahead > q.window.pkts && !probe)
		fail(ep_, "%u packets outstanding, window is %u", ahead, q.window.pkts);
	if (q.window.pkts > std::max(cfg.window, cfg.max_window) && !stretch_)
		fail(ep_, "window is %u, at most %u wanted", q.window.pkts, cfg.max_window);
}

/* n packets have gone: since the beginning no more than the burst and the rate's share. */
void Requester::check_rate(const struct run &run, uint32_t n)
{
	uint64_t burst = std::max(cfg.burst_bytes, cfg.pmtu + PACER_PKT_BYTES);

	paced_bytes_ += (uint64_t)n * PACER_PKT_BYTES +
			(n < run.npkts ? (uint64_t)n * run.pmtu : run.bytes);
	if (cfg.rate_kbps && paced_bytes_ > burst + world_.now_ns * cfg.rate_kbps / 8000000 + 1)
		fail(ep_, "%" PRIu64 " bytes sent by now, too many at %u kbit/s", paced_bytes_,
		     cfg.rate_kbps);
}

/* The whole run at once; false if the source is refused. */
bool Requester::hand_over(Wire &wire, const struct run &run, Work &w)
{
	Packet *p;

	if (run.bytes && run.offset + run.bytes > w.wr.length)
		fail(ep_, "payload beyond the work request's length");
	if (w.fault == FAULT_GATHER && (run.last || run.offset + run.bytes > w.wr.length / 2))
		return false;
	p = world_.pool.get();
	p->number = w.number;
	p->offset = (uint32_t)run.offset;
	frame_stretch(p, run, [&](uint8_t *to, uint32_t n) {
		arena_.gather(w.piece, (uint32_t)run.offset, to, n);
	});
	world_.trace.add(world_.now_ns, ep_, "tx stretch", p->stretch->k.opcode, run.psn, w.number,
			 run.npkts);
	wire.send(world_.now_ns, p);
	return true;
}

/* A path that changes between wire and memory has another window from then on. */
void Requester::vary_window()
{
	static const uint32_t windows[] = {1, 5, 64, 256, 1u << 22};
	struct rc_window window;

	if (!stretch_ || !rng_.one_in(64) || !rc_req_answer_is_due(&q))
		return;
	if (rng_.one_in(2))
		rc_window_init(&window, cfg.window, cfg.max_window);
	else
		rc_window_init(&window, pick(rng_, windows), 0);
	rc_req_set_window(&q, &window);
}

/* Returns how many were sent: fewer than n if the source is refused. */
uint32_t Requester::transmit(Wire &wire, const struct run &run, uint32_t n, Work &w)
{
	struct pkt k;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t offset = run.offset + (uint64_t)i * run.pmtu;
		Packet *p;
		uint8_t *to;

		run_pkt(&run, i, &k);
		if (offset + k.payload_bytes > w.wr.length && k.payload_bytes)
			fail(ep_, "payload beyond the work request's length");
		if (w.fault == FAULT_GATHER &&
		    (offset >= w.wr.length / 2 || (run.last && i + 1 == run.npkts)))
			return i;
		p = world_.pool.get();
		p->number = w.number;
		p->offset = (uint32_t)offset;
		to = frame_begin(p, &k);
		arena_.gather(w.piece, (uint32_t)offset, to, k.payload_bytes);
		frame_end(p, &k);
		world_.trace.add(world_.now_ns, ep_, "tx request", k.opcode, k.psn, w.number,
				 offset);
		wire.send(world_.now_ns, p);
	}
	return n;
}

void Requester::run_local(const struct run &run)
{
	Work &w = work_at(run.slot);

	if (w.wr.op != WR_LOCAL)
		fail(ep_, "RUN_LOCAL for an operation that is not local");
	if (w.local_run)
		fail(ep_, "LOCAL work request %" PRIu64 " executed twice", w.number);
	begin(w);
	if ((w.wr.flags & WR_F_WAIT_ALL) && w.number != ledger.reaped)
		fail(ep_, "LOCAL %" PRIu64 " did not wait for prior requests", w.number);
	w.local_run = true;
	world_.trace.add(world_.now_ns, ep_, "local", 0, 0, w.number);
	rc_req_local_done(&q, run.slot, w.fault == FAULT_LOCAL ? WR_ST_MW_BIND_ERR : WR_ST_SUCCESS);
	reap();
}

uint32_t Requester::send(Wire &wire, uint32_t budget, uint64_t *again_ns)
{
	uint32_t sent = 0;
	struct run run;

	vary_window();
	while (sent < budget) {
		uint32_t max_pkts = rng_.range(1, cfg.max_batch), n, gone;

		if (!rc_req_next(&q, world_.now_ns, max_pkts, &run))
			break;
		if (run.kind == RUN_LOCAL) {
			run_local(run);
			continue;
		}
		if (run.kind != RUN_REQUEST)
			fail(ep_, "run of kind %u from the requester", run.kind);
		check_run(run, max_pkts);
		*again_ns = wire.busy_until(world_.now_ns);
		if (*again_ns)
			break;

		Work &w = work_at(run.slot);

		if (w.wr.op != run.op)
			fail(ep_, "run of operation %u for one of %u", run.op, w.wr.op);
		if (!w.begun)
			begin(w);
		n = run.npkts;
		if (rng_.hit(partial_)) {
			n = rng_.below(n + 1);
			*again_ns = world_.now_ns + 500;
		}
		if (n == run.npkts && rng_.hit(stretch_))
			gone = hand_over(wire, run, w) ? n : 0;
		else
			gone = transmit(wire, run, n, w);
		resent += rc_req_is_resent(&q, &run) ? gone : 0;
		rc_req_sent(&q, world_.now_ns, &run, gone);
		check_rate(run, gone);
		sent += gone;
		if (gone < n) {
			rc_req_fail(&q, run.slot, WR_ST_LOC_PROT_ERR);
			reap();
			continue;
		}
		if (cfg.uc)
			reap();
		if (*again_ns)
			break;
	}
	return sent;
}

void Requester::note(enum rc_event event, const struct pkt &k)
{
	switch (event) {
	case RC_EV_RNR_NAK:
		rnr_naks++;
		rnr_until_ns_ = world_.now_ns + rc_rnr_timer_ns(k.syndrome & AETH_VALUE_MASK);
		rnr_psn_ = k.psn;
		break;
	case RC_EV_SEQ_NAK:
		seq_naks++;
		break;
	case RC_EV_IMPLIED_NAK:
		implied_naks++;
		break;
	default:
		break;
	}
}

void Requester::place(const struct pkt &k, const Packet &p, const struct rc_req_act &act)
{
	Work &w = work_at(act.slot);
	bool gone = false;

	if (act.kind == RC_REQ_PLACE) {
		if (w.wr.op != WR_READ && !is_placement(w.wr.op))
			fail(ep_, "READ response placed for operation %u", w.wr.op);
		if (act.bytes != k.payload_bytes || act.offset != w.placed ||
		    act.bytes > (w.wr.op == WR_READ ? w.wr.length : 0) - w.placed)
			fail(ep_, "%u bytes placed at %u of %u, expected at %u", act.bytes,
			     act.offset, w.wr.length, w.placed);
		gone = w.fault == FAULT_SINK &&
		       (act.offset >= w.wr.length / 2 || act.offset + act.bytes == w.wr.length);
		if (!gone)
			arena_.scatter(w.piece, act.offset, p.payload(k), act.bytes);
		w.placed += act.bytes;
	} else {
		if (!is_atomic(w.wr.op) || w.placed)
			fail(ep_, "atomic result for operation %u", w.wr.op);
		w.result = act.value;
		w.placed = 8;
	}
	if (gone)
		rc_req_fail(&q, act.slot, WR_ST_LOC_PROT_ERR);
	else
		rc_req_placed(&q, world_.now_ns, &act);
}

bool Requester::rx(const struct pkt &k, Packet *p)
{
	struct rc_req_act act;
	bool keep = false;

	rc_req_rx(&q, world_.now_ns, &k, &act);
	world_.trace.add(world_.now_ns, ep_, "rx response", k.opcode, k.psn,
			 (uint64_t)act.kind << 8 | act.event, k.syndrome);
	note((enum rc_event)act.event, k);
	if (act.kind == RC_REQ_KEEP)
		keep = ahead_.add(k, p);
	else if (act.kind != RC_REQ_DONE)
		place(k, *p, act);
	kept += keep;
	if (q.psn_una != last_una_) {
		last_una_ = q.psn_una;
		progress_ns = world_.now_ns;
	}
	reap();
	return keep;
}

void Requester::resume()
{
	if (failed())
		ahead_.purge(world_.pool);
	while (!ahead_.empty() && rc_req_ahead_is_next(&q, ahead_.first_psn())) {
		auto [k, p] = ahead_.take();

		if (!rx(k, p))
			world_.pool.put(p);
	}
	if (rc_req_has_missing(&q) &&
	    rc_req_missing(&q, world_.now_ns, !ahead_.empty(),
			   ahead_.empty() ? 0 : ahead_.first_psn()) == RC_EV_IMPLIED_NAK) {
		implied_naks++;
		world_.trace.add(world_.now_ns, ep_, "missing", 0, q.psn_una);
		reap();
	}
}

void Requester::timer()
{
	uint64_t at = rc_req_deadline(&q);

	if (!at || world_.now_ns < at)
		return;
	switch (rc_req_timeout(&q, world_.now_ns)) {
	case RC_EV_TIMEOUT:
		world_.trace.add(world_.now_ns, ep_, "timeout", 0, q.psn_una);
		timeouts++;
		break;
	case RC_EV_PROBE:
		world_.trace.add(world_.now_ns, ep_, "probe", 0, q.psn_una);
		probes++;
		break;
	default:
		break;
	}
	at = rc_req_deadline(&q);
	if (at && at <= world_.now_ns)
		fail(ep_, "a timer that has expired is set for the past");
	reap();
}

void Requester::end()
{
	ahead_.purge(world_.pool);
}

void Requester::check_success(const Work &w)
{
	if (!w.begun)
		fail(ep_, "work request %" PRIu64 " complete but never sent", w.number);
	if (w.fault)
		fail(ep_, "work request %" PRIu64 " succeeded, though it cannot", w.number);
	if (w.wr.op == WR_LOCAL) {
		if (!w.local_run)
			fail(ep_, "LOCAL %" PRIu64 " complete but not executed", w.number);
		return;
	}
	if (!cfg.uc && !w.executed)
		fail(ep_, "work request %" PRIu64 " complete but not executed", w.number);
	if (w.wr.op == WR_READ) {
		if (w.placed != w.wr.length)
			fail(ep_, "READ %" PRIu64 " complete with %u of %u bytes", w.number,
			     w.placed, w.wr.length);
		arena_.check_sink(ep_, w.number, w.piece, w.pieces, w.key, w.key_offset);
	}
	if (is_atomic(w.wr.op)) {
		if (w.placed != 8)
			fail(ep_, "atomic %" PRIu64 " complete without a result", w.number);
		if (w.shared)
			world_.shared.result(ep_, w.result);
		else if (w.result != w.orig)
			fail(ep_, "atomic %" PRIu64 " brought %" PRIx64 ", expected %" PRIx64,
			     w.number, w.result, w.orig);
	}
}

void Requester::drain_step()
{
	if (draining_) {
		if (!rc_req_is_drained(&q))
			return;
		/* Drained: everything that has begun is complete. */
		if (begun_ != ledger.reaped)
			fail(ep_, "drained with %" PRIu64 " begun and %" PRIu64 " complete", begun_,
			     ledger.reaped);
		draining_ = false;
		rc_req_drain(&q, false);
		next_drain_ = ledger.reaped + cfg.drain_every;
		drains++;
	} else if (ledger.reaped >= next_drain_) {
		draining_ = true;
		rc_req_drain(&q, true);
		/* A work request with PSNs has begun, even if nothing of it is sent. */
		drain_limit_ = begun_;
		if (begun_ != ledger.posted && ring_[begun_ & q.mask].state != RC_SQE_QUEUED)
			drain_limit_++;
	}
}

void Requester::reap()
{
	enum wr_status status;
	uint32_t slot;

	while (rc_req_reap(&q, &slot, &status)) {
		if (!busy() || slot != (uint32_t)ledger.reaped)
			fail(ep_, "completion of slot %u, expected %" PRIu64, slot, ledger.reaped);

		Work &w = ledger.at(ledger.reaped);

		progress_ns = world_.now_ns;
		world_.trace.add(world_.now_ns, ep_, "complete", 0, q.psn_una, w.number, status);
		if (status == WR_ST_SUCCESS) {
			if (failed())
				fail(ep_, "work request %" PRIu64 " succeeded after a failure",
				     w.number);
			check_success(w);
			world_.completed++;
		} else if (!failed()) {
			if (!cfg.fault && !cfg.flush_at && !world_.expects_failure())
				fail(ep_, "work request %" PRIu64 " failed: status %d", w.number,
				     status);
			this->status = (uint8_t)status;
			ledger.failed = true;
			fatal_number = w.number;
			fatal_ns = world_.now_ns;
		} else if (status != WR_ST_WR_FLUSH_ERR) {
			fail(ep_, "work request %" PRIu64 " not flushed: status %d", w.number,
			     status);
		}
		ledger.reaped++;
		ledger.rd_reaped += is_rd(w.wr.op);
		workload_.release(w);
		if (cfg.flush_at && ledger.reaped == cfg.flush_at)
			rc_req_flush(&q);
	}
	if (cfg.drain_every && !failed())
		drain_step();
}

void Requester::check_end(const struct rc_resp &r, uint64_t extra_requests)
{
	if (q.rd_out)
		fail(ep_, "%u READs counted as outstanding at the end", q.rd_out);
	if (q.tail != q.head || q.una != q.head)
		fail(ep_, "send queue not empty at the end");
	if (failed())
		return;
	if (cfg.uc)
		return;
	if (ledger.net_executed != ledger.net_posted)
		fail(ep_, "%" PRIu64 " requests posted, %" PRIu64 " executed", ledger.net_posted,
		     ledger.net_executed);
	if (q.psn_una != q.psn_next || r.epsn != q.psn_next)
		fail(ep_, "PSNs at the end: next %06x, unacknowledged %06x, responder's %06x",
		     q.psn_next, q.psn_una, r.epsn);
	if (r.msn != ((ledger.net_executed + extra_requests) & PSN_MASK))
		fail(ep_, "MSN %06x after %" PRIu64 " messages", r.msn,
		     ledger.net_executed + extra_requests);
	if (r.in_error || r.in_msg)
		fail(ep_, "responder not at rest at the end");
}

} /* namespace sim */
