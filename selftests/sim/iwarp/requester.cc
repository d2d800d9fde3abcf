// SPDX-License-Identifier: GPL-2.0
#include "requester.h"

#include <cinttypes>

#include "world.h"

namespace sim {

static constexpr uint32_t ARENA_BYTES = 256 << 10;
static constexpr uint32_t POSTS_WHEN_DEAD = 20;

Requester::Requester(World &world, int endpoint, const EndCfg &c, uint64_t seed)
	: cfg(c), world_(world), ep_(endpoint), arena_(ARENA_BYTES),
	  workload_(cfg, ledger, arena_, seed), rng_(seed + 1), ring_(c.sq_entries),
	  lends_(Rng::chance(c.lends))
{
	ledger.va_base = rng_.next() & 0x7ffffffffffff000ull;
	ledger.rkey = (uint32_t)rng_.next();
	ledger.static_key = rng_.next();
}

void Requester::start(uint16_t ord, uint16_t max_ulpdu, int rtr_op)
{
	struct iw_req_cfg rc = {};

	rc.ord = ord;
	rc.max_ulpdu = max_ulpdu;
	/* As after a long life. */
	iw_req_init(&q, ring_.data(), cfg.sq_entries, cfg.index, &rc);
	q.send_msn = q.read_msn = q.atomic_resp_msn = cfg.msn;
	loans_ = returned_ = cfg.msn;
	iw_req_return(&q, returned_);
	ord_ = ord;
	workload_.start(ord, max_ulpdu);
	if (rtr_op >= 0 && !iw_req_post(&q, &workload_.draw_rtr((uint8_t)rtr_op)->wr))
		fail(ep_, "iw_req_post() refused a free slot");
}

bool Requester::wants_work() const
{
	if (dead)
		return ledger.posted < last_post_;
	/* The peer may begin only when this end has sent something. */
	return !ledger.net_posted || (ledger.posted < cfg.quota && !world_.closing());
}

void Requester::post()
{
	uint32_t n = rng_.range(1, 16);

	while (n-- && wants_work() && ledger.posted - ledger.reaped < cfg.sq_entries) {
		Work *w = workload_.draw();

		if (!w)
			return;
		if (cfg.index + (uint32_t)w->number != q.head)
			fail(ep_, "send queue index %u, expected %" PRIu64, q.head, w->number);
		if (w->fault)
			faulty_number = w->number;
		if (!busy())
			progress_ns = world_.now_ns;
		if (!iw_req_post(&q, &w->wr))
			fail(ep_, "iw_req_post() refused a free slot");
	}
}

/* The live work request with this free-running index. */
Work &Requester::work_at(uint32_t slot)
{
	uint64_t number = ledger.reaped + (uint32_t)(slot - cfg.index - (uint32_t)ledger.reaped);

	if (number >= ledger.posted)
		fail(ep_, "slot %u is not live", slot);
	return ledger.at(number);
}

/* Its first segment is sent. */
void Requester::begin(Work &w)
{
	if (w.number != begun_)
		fail(ep_, "work request %" PRIu64 " begun, expected %" PRIu64, w.number, begun_);
	if ((w.wr.flags & WR_F_FENCE) && !waiting_.empty())
		fail(ep_, "fenced work request %" PRIu64 " begun before READ %" PRIu64, w.number,
		     waiting_.front());
	if (is_rd(w.wr.op) && waiting_.size() >= ord_)
		fail(ep_, "more than %u READs and atomics under way", ord_);
	w.begun = true;
	begun_++;
}

void Requester::done(Work &w)
{
	w.done = true;
	while (done_upto_ != ledger.posted && ledger.at(done_upto_).done)
		done_upto_++;
}

void Requester::fail_here(Work &w, uint32_t slot, enum wr_status st)
{
	excused_ = true;
	blamed_ = w.number;
	blame_ = (uint8_t)st;
	w.injected = true;
	local_fault = TERM_LOCAL;
	if (w.wr.op == WR_LOCAL)
		iw_req_local_done(&q, other, slot, st);
	else
		iw_req_fail(&q, other, slot, st);
	if (!iw_req_in_error(&q))
		fail(ep_, "not in error after a failure");
	if (!other->term_due || other->term != local_fault)
		fail(ep_, "a failure here, and no Terminate that says so");
}

void Requester::run_local(const struct iw_seg &seg)
{
	Work &w = work_at(seg.slot);

	if (w.wr.op != WR_LOCAL || w.done)
		fail(ep_, "work request %" PRIu64 " is not to be executed", w.number);
	begin(w);
	if ((w.wr.flags & WR_F_WAIT_ALL) && w.number != done_upto_)
		fail(ep_, "LOCAL %" PRIu64 " did not wait for %" PRIu64, w.number, done_upto_);
	world_.trace.add(world_.now_ns, ep_, "local", 0, 0, w.number);
	if (w.fault == FAULT_LOCAL) {
		fail_here(w, seg.slot, WR_ST_MW_BIND_ERR);
		return;
	}
	done(w);
	iw_req_local_done(&q, other, seg.slot, WR_ST_SUCCESS);
}

bool Requester::next(struct iw_seg *seg)
{
	while (iw_req_next(&q, seg)) {
		if (dead)
			fail(ep_, "a segment from a QP in error");
		if (rng_.one_in(16)) {
			struct iw_seg again = {};

			if (!iw_req_next(&q, &again) || again.kind != seg->kind ||
			    again.slot != seg->slot || again.offset != seg->offset ||
			    again.bytes != seg->bytes || again.hdr_bytes != seg->hdr_bytes ||
			    again.last != seg->last || memcmp(again.hdr, seg->hdr, seg->hdr_bytes))
				fail(ep_, "not the same segment again");
		}
		if (seg->kind == IW_SEG_REQUEST)
			return true;
		if (seg->kind != IW_SEG_LOCAL)
			fail(ep_, "segment of kind %u from the requester", seg->kind);
		run_local(*seg);
	}
	return false;
}

bool Requester::gather(const struct iw_seg &seg, uint8_t *to)
{
	Work &w = work_at(seg.slot);

	if (seg.bytes && (seg.offset != w.taken || seg.bytes > w.wr.length - w.taken ||
			  is_rd(w.wr.op) || w.body_taken))
		fail(ep_, "%u bytes at %u of work request %" PRIu64, seg.bytes, seg.offset,
		     w.number);
	if (w.fault == FAULT_GATHER && seg.offset + seg.bytes > w.wr.length / 2) {
		if (!w.begun)
			begin(w);
		fail_here(w, seg.slot, WR_ST_LOC_PROT_ERR);
		return false;
	}
	arena_.gather(w.piece, seg.offset, to, seg.bytes);
	return true;
}

Tag Requester::tag(const struct iw_seg &seg)
{
	Work &w = work_at(seg.slot);
	uint8_t opcode = seg.hdr[1] & 0xf;
	bool is_imm = opcode == RDMAP_IMM || opcode == RDMAP_IMM_SE;
	bool untagged = opcode != RDMAP_WRITE, fits = true;
	Tag t = {};

	t.number = w.number;
	t.offset = seg.offset;
	t.bytes = seg.bytes;
	t.expect = TERM_NONE;
	if (!w.fault || w.injected)
		return t;
	switch (w.fault) {
	case FAULT_KEY:
	case FAULT_BOUNDS:
	case FAULT_ACCESS:
	case FAULT_STREAM:
	case FAULT_WRAP:
		break;
	case FAULT_NO_RECV:
		fits = is_imm || (w.wr.op == WR_SEND && !seg.offset);
		break;
	case FAULT_INVALIDATE:
		fits = seg.last;
		break;
	case FAULT_MSN:
	case FAULT_MO:
	case FAULT_QN:
		fits = untagged && (seg.last || seg.offset >= w.wr.length / 2);
		break;
	case FAULT_LAST:
		fits = untagged;
		break;
	case FAULT_TOO_LONG:
	case FAULT_RECV_LOCAL:
	case FAULT_VERSION:
	case FAULT_RDMAP_VERSION:
	case FAULT_OPCODE:
	case FAULT_SHORT:
	case FAULT_CRC:
		fits = seg.last || seg.offset >= w.wr.length / 2;
		break;
	default: /* not of the request */
		fits = false;
		break;
	}
	if (fits) {
		t.fault = w.fault;
		t.expect = expected_term(w, opcode);
	}
	return t;
}

void Requester::sent(const struct iw_seg &seg)
{
	Work &w = work_at(seg.slot);
	bool imm = w.wr.op == WR_WRITE && (w.wr.flags & WR_F_IMM);

	if (!w.begun)
		begin(w);
	w.taken += seg.bytes;
	if (is_rd(w.wr.op)) {
		waiting_.push_back(w.number);
	} else if (seg.last && imm && !w.body_taken) {
		w.body_taken = true;
	} else if (seg.last) {
		if (w.taken != w.wr.length)
			fail(ep_, "work request %" PRIu64 " ends after %u of %u bytes", w.number,
			     w.taken, w.wr.length);
		done(w);
	}
	progress_ns = world_.now_ns;
	iw_req_sent(&q, &seg);
	if (seg.bytes && rng_.hit(lends_))
		lend(w, seg.slot);
}

/* As part of the last loan, unless that is returned, or of a new one. */
void Requester::lend(Work &w, uint32_t slot)
{
	if (returned_ == loans_ || rng_.one_in(4))
		loans_++;
	w.lent = true;
	w.loan = loans_ - 1;
	iw_req_lend(&q, slot, w.loan);
}

bool Requester::is_lent(const Work &w) const
{
	return w.lent && (int32_t)(w.loan - returned_) >= 0;
}

void Requester::return_some()
{
	if (returned_ == loans_ || !rng_.one_in(3))
		return;
	returned_ += rng_.range(1, loans_ - returned_);
	iw_req_return(&q, returned_);
}

int Requester::rx(const struct ddp_seg &s, const uint8_t *p, const Tag &tag)
{
	struct iw_req_act act;
	bool last = s.last;

	iw_req_rx(&q, &s, p + s.hdr_bytes, &act);
	world_.trace.add(world_.now_ns, ep_, "rx answer", s.opcode, s.tagged ? s.stag : s.msn,
			 tag.number, tag.offset);
	if (act.kind == IW_REQ_FATAL)
		return act.term;
	if (dead)
		fail(ep_, "a QP in error takes responses");

	Work &w = work_at(act.slot);

	if (waiting_.empty() || waiting_.front() != w.number || tag.number != w.number)
		fail(ep_, "response to %" PRIu64 " taken for %" PRIu64, tag.number, w.number);
	if (act.kind == IW_REQ_PLACE) {
		if (w.wr.op != WR_READ || act.offset != w.came || act.offset != tag.offset ||
		    act.bytes != s.payload_bytes || act.bytes > w.wr.length - w.came ||
		    last != (act.bytes == w.wr.length - w.came))
			fail(ep_, "%u bytes placed at %u of %u, expected at %u", act.bytes,
			     act.offset, w.wr.length, w.came);
		if (w.fault == FAULT_SINK && act.offset + act.bytes > w.wr.length / 2) {
			fail_here(w, act.slot, WR_ST_LOC_PROT_ERR);
			return TERM_NONE;
		}
		arena_.scatter(w.piece, act.offset, p + s.hdr_bytes, act.bytes);
		w.came += act.bytes;
	} else {
		if (!is_atomic(w.wr.op) || w.came)
			fail(ep_, "atomic result for operation %u", w.wr.op);
		w.result = act.value;
		w.came = 8;
	}
	if (last) {
		waiting_.pop_front();
		done(w);
	}
	responses++;
	progress_ns = world_.now_ns;
	iw_req_placed(&q, &act, last);
	return TERM_NONE;
}

void Requester::flush()
{
	if (dead)
		return;
	dead = true;
	excused_ = true;
	iw_req_flush(&q);
	last_post_ = ledger.posted + rng_.below(POSTS_WHEN_DEAD);
	reap();
}

static uint8_t blame_for(int code)
{
	if (code < 0x2000) {
		switch (code >> 8 & 0xf) {
		case 1:
			return WR_ST_REM_ACCESS_ERR;
		case 2:
			return code >> 12 ? WR_ST_REM_INV_REQ_ERR : WR_ST_REM_OP_ERR;
		case 0:
			return WR_ST_REM_OP_ERR;
		default:
			break;
		}
	}
	return WR_ST_WR_FLUSH_ERR;
}

/* The one that is named, if it is not complete; else the oldest that was sent in part. */
void Requester::find_blamed(const Blame &blame)
{
	anybody_ = blame.who == Blame::ANYBODY;
	if (anybody_ || blame.who == Blame::NOBODY)
		return;
	for (uint64_t n = done_upto_; blame.who == Blame::ONE && n < begun_; n++) {
		const Work &w = ledger.at(n);

		if (blame.tagged ? w.wr.op == WR_WRITE && w.wr.rkey == blame.stag &&
					   blame.to - w.wr.va < w.wr.length :
				   n == blame.number) {
			blamed_ = n;
			return;
		}
	}
	if (!waiting_.empty())
		blamed_ = waiting_.front();
	else if (begun_ && !ledger.at(begun_ - 1).done)
		blamed_ = begun_ - 1;
}

void Requester::terminated(int code, const uint8_t *p, uint32_t n, const Blame &blame)
{
	if (!dead && !iw_req_in_error(&q)) {
		blame_ = blame_for(code);
		if (blame_ != WR_ST_WR_FLUSH_ERR)
			find_blamed(blame);
	}
	excused_ = true;
	iw_req_terminated(&q, code, p, n);
	flush();
}

void Requester::check_success(const Work &w)
{
	if (!w.done)
		fail(ep_, "work request %" PRIu64 " succeeded, but is not done", w.number);
	if (w.fault && w.fault <= FAULT_WRAP && is_rd(w.wr.op))
		fail(ep_, "work request %" PRIu64 " succeeded, though it cannot", w.number);
	if (!is_rd(w.wr.op))
		return;
	if (!w.executed)
		fail(ep_, "work request %" PRIu64 " succeeded, but was not executed", w.number);
	if (w.wr.op == WR_READ) {
		if (!w.rtr)
			arena_.check_sink(ep_, w.number, w.piece, w.pieces, w.key, w.key_offset);
	} else if (w.shared) {
		world_.shared.result(ep_, w.result);
	} else if (w.result != w.orig) {
		fail(ep_, "atomic %" PRIu64 " brought %" PRIx64 ", expected %" PRIx64, w.number,
		     w.result, w.orig);
	}
}

void Requester::reap()
{
	enum wr_status st;
	uint32_t slot;

	return_some();
	while (iw_req_reap(&q, &slot, &st)) {
		if (!busy() || slot != cfg.index + (uint32_t)ledger.reaped)
			fail(ep_, "completion of slot %u, expected %" PRIu64, slot, ledger.reaped);

		Work &w = ledger.at(ledger.reaped);

		world_.trace.add(world_.now_ns, ep_, "complete", w.wr.op, slot, w.number, st);
		if (is_lent(w))
			fail(ep_, "work request %" PRIu64 " is complete, and lent", w.number);
		if (st == WR_ST_SUCCESS) {
			if (ledger.failed)
				fail(ep_, "work request %" PRIu64 " succeeded after a failure",
				     w.number);
			check_success(w);
			world_.completed++;
		} else {
			if (anybody_ && st != WR_ST_WR_FLUSH_ERR) {
				anybody_ = false;
				blamed_ = w.number;
			}

			uint8_t want = w.number == blamed_ ? blame_ : (uint8_t)WR_ST_WR_FLUSH_ERR;

			if (!excused_ || st != want)
				fail(ep_, "work request %" PRIu64 " failed: status %d, expected %d",
				     w.number, st, excused_ ? want : 0);
			if (w.number < done_upto_)
				fail(ep_, "work request %" PRIu64 " was done, but is flushed",
				     w.number);
			ledger.failed = true;
			if (st != WR_ST_WR_FLUSH_ERR) {
				fatal_number = w.number;
				status = (uint8_t)st;
			}
		}
		progress_ns = world_.now_ns;
		w.reaped = true;
		ledger.reaped++;
		workload_.release(w);
	}
	if (!iw_req_in_error(&q) && ledger.reaped != done_upto_ &&
	    !is_lent(ledger.at(ledger.reaped)))
		fail(ep_, "work request %" PRIu64 " is done, but not complete", ledger.reaped);
}

void Requester::check_end(const struct iw_resp &r)
{
	if (q.tail != q.head || q.una != q.head || q.cur != q.head)
		fail(ep_, "send queue not empty at the end");
	if (q.num_lent || q.unsent_bytes)
		fail(ep_, "%u requests lent, %" PRIu64 " bytes unsent at the end", q.num_lent,
		     (uint64_t)q.unsent_bytes);
	if (q.rd_out)
		fail(ep_, "%u READs counted as under way at the end", q.rd_out);
	if (blamed_ != fatal_number)
		fail(ep_, "work request %" PRId64 " failed, expected %" PRId64,
		     (int64_t)fatal_number, (int64_t)blamed_);
	if (dead)
		return;
	if (ledger.net_executed != ledger.net_posted)
		fail(ep_, "%" PRIu64 " requests posted, %" PRIu64 " executed", ledger.net_posted,
		     ledger.net_executed);
	if (r.recv_msn != q.send_msn || r.read_msn != q.read_msn ||
	    r.atomic_resp_msn != q.atomic_resp_msn)
		fail(ep_, "MSNs at the end: %u %u %u, the responder's %u %u %u", q.send_msn,
		     q.read_msn, q.atomic_resp_msn, r.recv_msn, r.read_msn, r.atomic_resp_msn);
	if (r.in_error || r.in_msg || r.term_due || r.irq_head != r.irq_tail)
		fail(ep_, "the peer's responder is not at rest at the end");
}

} /* namespace sim */
