// SPDX-License-Identifier: GPL-2.0
#include "responder.h"

#include <cinttypes>
#include <cstring>

#include "pattern.h"
#include "world.h"

namespace sim {

static constexpr int DONE = -1; /* instead of an enum iw_fail */

Responder::Responder(World &world, int endpoint, const EndCfg &cfg, Ledger &ledger, uint64_t seed)
	: world_(world), ep_(endpoint), cfg_(cfg), ledger_(ledger), rng_(seed),
	  mem_(ledger.fresh()), truth_(mem_), recv_(LAYOUT.area_bytes + GUARD_BYTES)
{}

void Responder::start(uint16_t ird, uint16_t max_ulpdu)
{
	struct iw_resp_cfg rc = {};

	rc.ird = ird;
	rc.max_ulpdu = max_ulpdu;
	rc.access = IW_ACCESS_WRITE | IW_ACCESS_READ | IW_ACCESS_ATOMIC;
	irq_.resize(iw_irq_entries(ird));
	iw_resp_init(&r, irq_.data(), &rc);
	r.recv_msn = r.read_msn = r.atomic_resp_msn = cfg_.msn;
	r.irq_head = r.irq_tail = cfg_.index;
	ird_ = ird;
}

/* Looks a key up as a driver does: DONE, or why not. */
int Responder::region(uint32_t stag, uint64_t va, uint32_t bytes) const
{
	uint64_t offset = va - ledger_.va_base;

	if (stag == ledger_.rkey + KEY_OTHER_PD)
		return IW_FAIL_STREAM;
	if (stag == ledger_.rkey + KEY_NO_RIGHTS)
		return IW_FAIL_ACCESS;
	if (stag != ledger_.rkey)
		return IW_FAIL_STAG;
	return offset > mem_.size() || bytes > mem_.size() - offset ? IW_FAIL_BOUNDS : DONE;
}

/* The work request that a segment belongs to: the next in order, only once. */
Work &Responder::expected(const Tag &tag)
{
	Work &w = ledger_.at(tag.number);

	if (tag.kind != TAG_REQUEST || w.number != tag.number)
		fail(ep_, "a segment of %" PRIu64 " executed too late", tag.number);
	if (w.net != ledger_.net_executed || w.executed)
		fail(ep_,
		     "work request %" PRIu64 " (message %" PRIu64 ") executed, expected %" PRIu64,
		     w.number, w.net, ledger_.net_executed);
	return w;
}

void Responder::executed(Work &w)
{
	w.executed = true;
	ledger_.net_executed++;
}

int Responder::receive(Work &w, const struct ddp_seg &s, const uint8_t *payload, const Tag &tag,
		       const struct iw_act &act)
{
	bool inv = w.wr.flags & WR_F_INV;

	if (w.wr.op != WR_SEND || act.begin != !tag.offset || act.offset != tag.offset ||
	    act.offset != w.arrived || act.bytes != tag.bytes || act.bytes != s.payload_bytes ||
	    act.end != (tag.offset + tag.bytes == w.wr.length) ||
	    act.length != tag.offset + tag.bytes)
		fail(ep_, "%u bytes at %u of SEND %" PRIu64 ", expected at %u", act.bytes,
		     act.offset, w.number, w.arrived);
	if (act.solicited != !!(w.wr.flags & WR_F_SOLICITED) || act.invalidate != inv ||
	    (inv && act.inv_stag != w.wr.inv_rkey))
		fail(ep_, "SEND %" PRIu64 ": wrong event or key to invalidate", w.number);
	switch (tag.fault) {
	case FAULT_NO_RECV:
		return IW_FAIL_NO_RECV;
	case FAULT_TOO_LONG:
		return IW_FAIL_TOO_LONG;
	case FAULT_RECV_LOCAL:
		return IW_FAIL_LOCAL;
	case FAULT_INVALIDATE:
		return IW_FAIL_INVALIDATE;
	default:
		break;
	}
	if (act.begin == holding_recv_)
		fail(ep_, "SEND %" PRIu64 ": receive WQE taken: %d", w.number, holding_recv_);
	holding_recv_ = !act.end;
	memcpy(&recv_[act.offset], payload, act.bytes);
	w.arrived += act.bytes;
	if (act.end) {
		if (!pattern_matches(w.key, 0, recv_.data(), w.wr.length))
			fail(ep_, "SEND %" PRIu64 ": wrong contents", w.number);
		/* The first message of a peer-to-peer connection does not count. */
		received += !w.rtr;
		executed(w);
	}
	return DONE;
}

void Responder::immediate(Work &w, const struct iw_act &act)
{
	if (w.wr.op != WR_WRITE || !(w.wr.flags & WR_F_IMM) || !w.body_arrived)
		fail(ep_, "immediate data of operation %u, %" PRIu64, w.wr.op, w.number);
	if (!act.begin || !act.end || act.imm != w.wr.imm || holding_recv_ ||
	    act.solicited != !!(w.wr.flags & WR_F_SOLICITED))
		fail(ep_, "WRITE %" PRIu64 ": wrong immediate data", w.number);
	received++;
	executed(w);
}

int Responder::write(Work &w, const struct ddp_seg &s, const uint8_t *payload, const Tag &tag,
		     const struct iw_act &act)
{
	if (w.wr.op != WR_WRITE || w.body_arrived || tag.offset != w.arrived ||
	    act.bytes != tag.bytes || act.bytes != s.payload_bytes ||
	    (act.kind == IW_ACT_NONE) != !w.wr.length ||
	    s.last != (tag.offset + tag.bytes == w.wr.length))
		fail(ep_, "%u bytes of WRITE %" PRIu64 ", expected at %u", act.bytes, w.number,
		     w.arrived);
	if (act.kind == IW_ACT_WRITE) {
		int why = region(act.stag, act.va, act.bytes);

		if (act.stag != w.wr.rkey || act.va != w.wr.va + tag.offset)
			fail(ep_, "WRITE %" PRIu64 " goes elsewhere", w.number);
		if (why != DONE)
			return why;
		memcpy(&mem_[act.va - ledger_.va_base], payload, act.bytes);
		pattern_fill(w.key, tag.offset, &truth_[w.wr.va + tag.offset - ledger_.va_base],
			     tag.bytes);
		w.arrived += act.bytes;
	}
	if (s.last) {
		w.body_arrived = true;
		if (w.wr.length && memcmp(&mem_[w.wr.va - ledger_.va_base],
					  &truth_[w.wr.va - ledger_.va_base], w.wr.length))
			fail(ep_, "WRITE %" PRIu64 ": wrong contents", w.number);
		if (!(w.wr.flags & WR_F_IMM))
			executed(w);
	}
	return DONE;
}

int Responder::read(Work &w, const struct iw_act &act)
{
	int why = act.length ? region(act.stag, act.va, act.length) : DONE;

	if (w.wr.op != WR_READ || act.va != w.wr.va || act.stag != w.wr.rkey ||
	    act.length != w.wr.length)
		fail(ep_, "READ %" PRIu64 " of something else", w.number);
	return why;
}

int Responder::atomic(Work &w, const struct iw_act &act, uint64_t *orig)
{
	int why = region(act.stag, act.va, 8);
	uint64_t now, *shared = &world_.shared.value;
	size_t at = act.va - ledger_.va_base;

	if (!is_atomic(w.wr.op) || act.atomic.cmp_swap != (w.wr.op == WR_CMP_SWAP) ||
	    act.va != w.wr.va || act.stag != w.wr.rkey || act.atomic.swap_add != w.wr.swap_add ||
	    (act.atomic.cmp_swap && act.atomic.compare != w.wr.compare) ||
	    !atomic_op_is_plain(&act.atomic))
		fail(ep_, "atomic %" PRIu64 " of something else", w.number);
	if (why != DONE)
		return why;
	if (act.va & 7)
		return IW_FAIL_ALIGN;
	if (w.shared)
		*orig = *shared;
	else
		memcpy(orig, &mem_[at], 8);
	now = atomic_op_result(&act.atomic, *orig);
	if (w.shared) {
		*shared = now;
		return DONE;
	}
	memcpy(&mem_[at], &now, 8);
	if (*orig != w.orig)
		fail(ep_, "atomic %" PRIu64 " finds %" PRIx64 ", expected %" PRIx64, w.number,
		     *orig, w.orig);
	now = w.wr.op == WR_FETCH_ADD ? w.orig + w.wr.swap_add :
	      w.orig == w.wr.compare  ? w.wr.swap_add :
					w.orig;
	memcpy(&truth_[at], &now, 8);
	return DONE;
}

int Responder::rx(const struct ddp_seg &s, const uint8_t *p, uint32_t have, const Tag &tag)
{
	const uint8_t *payload = p + s.hdr_bytes;
	bool over = r.in_error;
	struct iw_act act;
	uint64_t orig = 0;
	int why = DONE;

	iw_resp_rx(&r, &s, p, have, &act);
	world_.trace.add(world_.now_ns, ep_, "rx request", s.opcode, s.tagged ? s.stag : s.msn,
			 tag.number, tag.offset);
	if (act.kind == IW_ACT_FATAL)
		return act.term;
	if (act.kind == IW_ACT_TERMINATED) {
		if (tag.kind != TAG_TERMINATE)
			fail(ep_, "taken for a Terminate: work request %" PRIu64, tag.number);
		peer_term = act.term;
		return TERM_NONE;
	}
	if (over) {
		if (act.kind != IW_ACT_NONE)
			fail(ep_, "a responder in error executes");
		return TERM_NONE;
	}

	Work &w = expected(tag);

	switch (act.kind) {
	case IW_ACT_RECV:
		why = receive(w, s, payload, tag, act);
		break;
	case IW_ACT_IMM:
		if (tag.fault == FAULT_NO_RECV)
			why = IW_FAIL_NO_RECV;
		else
			immediate(w, act);
		break;
	case IW_ACT_WRITE:
	case IW_ACT_NONE:
		why = write(w, s, payload, tag, act);
		break;
	case IW_ACT_READ:
	case IW_ACT_ATOMIC:
		if (full())
			fail(ep_, "more than %u READs and atomics to answer", ird_);
		why = act.kind == IW_ACT_READ ? read(w, act) : atomic(w, act, &orig);
		if (why != DONE)
			break;
		answers_.push_back(w.number);
		asked_.emplace_back(p, payload + s.payload_bytes);
		executed(w);
		break;
	default:
		fail(ep_, "action %u", act.kind);
	}
	if (why != DONE)
		return iw_resp_fail(&r, &s, p, have, (enum iw_fail)why);
	iw_resp_commit(&r, &s, &act, p, orig);
	return TERM_NONE;
}

bool Responder::next(struct iw_seg *seg)
{
	struct iw_seg again = {};

	if (!iw_resp_next(&r, seg))
		return false;
	if (rng_.one_in(16) &&
	    (!iw_resp_next(&r, &again) || again.kind != seg->kind || again.bytes != seg->bytes ||
	     again.va != seg->va || again.hdr_bytes != seg->hdr_bytes || again.last != seg->last ||
	     memcmp(again.hdr, seg->hdr, seg->hdr_bytes)))
		fail(ep_, "not the same answer again");
	if (r.in_error || seg->kind == IW_SEG_RESP)
		return true;

	Work &w = ledger_.at(answers_.front());

	if (w.fault == FAULT_READ_GONE && answered_ + seg->bytes > w.wr.length / 2) {
		iw_resp_read_failed(&r, seg, IW_FAIL_STAG);
		w.injected = true;
		gone = true;
		gone_number = w.number;
		rest = asked_.front();
		uint8_t *rd = &rest[DDP_UNTAGGED_BYTES];
		put_unaligned_be64(get_unaligned_be64(rd + 4) + answered_, rd + 4);
		put_unaligned_be32(get_unaligned_be32(rd + 12) - answered_, rd + 12);
		put_unaligned_be64(get_unaligned_be64(rd + 20) + answered_, rd + 20);
		return iw_resp_next(&r, seg);
	}
	return true;
}

void Responder::gather(const struct iw_seg &seg, uint8_t *to) const
{
	if (!seg.bytes)
		return;
	if (seg.kind != IW_SEG_READ_RESP || region(seg.stag, seg.va, seg.bytes) != DONE)
		fail(ep_, "%u bytes from outside the region", seg.bytes);
	memcpy(to, &mem_[seg.va - ledger_.va_base], seg.bytes);
}

Tag Responder::tag(const struct iw_seg &seg)
{
	bool fits = false;
	Tag t = {};

	t.expect = TERM_NONE;
	t.kind = TAG_TERMINATE;
	if (r.in_error)
		return t;

	Work &w = ledger_.at(answers_.front());

	t.kind = TAG_ANSWER;
	t.number = w.number;
	t.offset = answered_;
	t.bytes = seg.bytes;
	if ((seg.kind == IW_SEG_READ_RESP) != (w.wr.op == WR_READ))
		fail(ep_, "wrong kind of answer to %" PRIu64, w.number);
	if (w.wr.op == WR_READ && (seg.bytes > w.wr.length - answered_ ||
				   seg.last != (seg.bytes == w.wr.length - answered_) ||
				   seg.stag != w.wr.rkey || seg.va != w.wr.va + answered_))
		fail(ep_, "%u bytes answer READ %" PRIu64 " at %u of %u", seg.bytes, w.number,
		     answered_, w.wr.length);
	switch (w.fault) {
	case FAULT_ANSWER_STAG:
	case FAULT_ANSWER_TO:
	case FAULT_ANSWER_LAST:
		fits = seg.last || answered_ + seg.bytes > w.wr.length / 2;
		break;
	case FAULT_ANSWER_MSN:
	case FAULT_ANSWER_ID:
		fits = true;
		break;
	default:
		break;
	}
	if (fits && !w.injected) {
		t.fault = w.fault;
		t.expect = expected_term(w, seg.hdr[1] & 0xf);
	}
	return t;
}

void Responder::sent(const struct iw_seg &seg)
{
	bool over = r.in_error;

	iw_resp_sent(&r, &seg);
	if (over)
		return;
	answered_ += seg.bytes;
	if (seg.last) {
		answered_ = 0;
		answers_.pop_front();
		asked_.pop_front();
	}
}

/* All memory is as the ledger says, and nothing around it was touched. */
void Responder::check_end(bool dead)
{
	for (size_t i = 0; mem_ != truth_ && i < mem_.size(); i++)
		if (mem_[i] != truth_[i])
			fail(ep_, "memory is wrong at %zu", i);
	if (dead)
		return;
	if (!answers_.empty() || holding_recv_)
		fail(ep_, "answers or a receive WQE left at the end");
	ledger_.check_outcome(ep_, mem_);
}

} /* namespace sim */
