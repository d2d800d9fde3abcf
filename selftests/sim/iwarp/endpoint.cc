// SPDX-License-Identifier: GPL-2.0
#include "endpoint.h"

#include <algorithm>
#include <cinttypes>

#include "crc32c.h"
#include "pattern.h"
#include "world.h"

namespace sim {

static constexpr uint32_t BUDGET_SEGMENTS = 48; /* per service */
static constexpr uint32_t SEGMENT_NS = 40;	/* simulated time to handle one */
static constexpr uint32_t BATCH_NS = 1500;	/* service after at most this long */
static constexpr uint32_t IDLE_NS = 20000;

Endpoint::Endpoint(World &world, int index, const EndCfg &cfg, const StreamCfg &stream,
		   uint64_t seed)
	: req(world, index, cfg, seed), out(world, (uint32_t)index ^ 1, stream, seed + 2),
	  world_(world), index_(index), rng_(seed + 3), declines_(Rng::chance(cfg.declines)),
	  emss_(cfg.emss), plain_(mpa_fpdu_bytes(MPA_MAX_ULPDU_BYTES))
{}

void Endpoint::connect(Endpoint &peer)
{
	struct mpa_frame f;

	peer_ = &peer;
	resp = std::make_unique<Responder>(world_, index_, peer.req.cfg, peer.req.ledger,
					   rng_.next());
	req.other = &resp->r;
	if (!is_initiator())
		return;
	mpa_request(&req.cfg.offer, &f);
	send_frame(&f);
}

void Endpoint::wake(uint64_t at_ns)
{
	if (wake_ns_ && wake_ns_ <= at_ns)
		return;
	wake_ns_ = at_ns;
	world_.at(at_ns, EV_SERVICE, (uint32_t)index_);
}

void Endpoint::notice()
{
	if (!wake_ns_ || wake_ns_ > world_.now_ns + BATCH_NS)
		wake(world_.now_ns + rng_.below(BATCH_NS));
}

void Endpoint::room_made()
{
	if (!no_room_)
		return;
	no_room_ = false;
	notice();
}

/* ---- start-up ---- */

void Endpoint::send_frame(struct mpa_frame *f)
{
	uint8_t *p;
	uint32_t n;

	f->markers = req.cfg.markers;
	f->private_bytes = req.cfg.private_bytes;
	p = out.reserve(MPA_FRAME_BYTES + MPA_ENHANCED_BYTES + f->private_bytes);
	n = mpa_frame_build(p, f);
	pattern_fill(req.ledger.static_key, 0, p + n, f->private_bytes);
	if (f->bytes != n + f->private_bytes)
		fail(index_, "a start-up frame of %u bytes, %u expected", f->bytes,
		     n + f->private_bytes);
	out.commit(f->bytes);
}

void Endpoint::start_up()
{
	struct mpa_frame f, reply;
	enum mpa_error e =
		mpa_frame_parse(hello_.data(), (uint32_t)hello_.size(), is_initiator(), &f);
	enum mpa_verdict verdict;

	if (e == MPA_MORE) {
		if (f.bytes <= hello_.size())
			fail(index_, "%zu bytes are said to be less than %u", hello_.size(),
			     f.bytes);
		return;
	}
	if (e != MPA_OK || f.bytes != hello_.size() || f.markers != peer_->req.cfg.markers ||
	    f.private_bytes != peer_->req.cfg.private_bytes ||
	    !pattern_matches(peer_->req.ledger.static_key, 0, &hello_[f.private_at],
			     f.private_bytes))
		fail(index_, "a start-up frame is not what was sent: error %d", e);
	if (is_initiator()) {
		verdict = mpa_finish(&req.cfg.offer, &f, &terms);
	} else {
		verdict = mpa_accept(&req.cfg.offer, &f, &terms, &reply);
		if (verdict != MPA_AGREED)
			mpa_reject(&req.cfg.offer, &f, &reply);
		send_frame(&reply);
	}
	world_.trace.add(world_.now_ns, index_, "start-up", 0, 0, (uint64_t)verdict, terms.rtr);
	if (verdict == MPA_AGREED) {
		run();
	} else {
		if (verdict != (is_initiator() ? MPA_REJECTED : MPA_NO_RTR))
			fail(index_, "start-up ends with verdict %d", verdict);
		refused = true;
	}
}

void Endpoint::run()
{
	const EndCfg &cfg = req.cfg;
	int rtr_op = -1;

	if (is_initiator()) {
		const struct mpa_terms &t = peer_->terms;

		if (t.crc != terms.crc || t.revision != terms.revision || t.p2p != terms.p2p ||
		    terms.ord > t.ird || t.ord > terms.ird || (terms.rtr & ~t.rtr & 0xff) ||
		    (terms.rtr & (terms.rtr - 1)))
			fail(index_, "the ends do not agree on what they agreed on");
		if (terms.rtr)
			rtr_op = terms.rtr == MPA_RTR_SEND  ? WR_SEND :
				 terms.rtr == MPA_RTR_WRITE ? WR_WRITE :
							      WR_READ;
	}
	if (terms.tx_markers != peer_->req.cfg.markers ||
	    terms.crc != (cfg.offer.crc || peer_->req.cfg.offer.crc))
		fail(index_, "wrong terms");
	follow_mss();
	req.start(cfg.fault == FAULT_ORD ? cfg.ord : terms.ord, (uint16_t)max_ulpdu_, rtr_op);
	resp->start(terms.ird, (uint16_t)max_ulpdu_);
	if (terms.long_fpdus != (cfg.offer.long_fpdus && peer_->req.cfg.offer.long_fpdus))
		fail(index_, "long FPDUs are not what both ends say");
	deframer_.start(cfg.markers);
	may_send_ = is_initiator();
	running = true;
	wake(world_.now_ns + rng_.below(IDLE_NS) + 1);
}

/* Segments have another size from the next one on. */
void Endpoint::follow_mss()
{
	const EndCfg &cfg = req.cfg;

	max_ulpdu_ = mpa_longest_ulpdu(&terms, emss_, cfg.frames) - cfg.trim;
	req.q.cfg.max_ulpdu = resp->r.cfg.max_ulpdu = (uint16_t)max_ulpdu_;
}

/* ---- receiving ---- */

void Endpoint::receive(const uint8_t *p, uint32_t n)
{
	if (!running) {
		hello_.insert(hello_.end(), p, p + n);
		start_up();
		return;
	}
	while (n && !broken_) {
		uint32_t took = deframer_.take(p, n);

		p += took;
		n -= took;
		if (deframer_.whole()) {
			handle();
			deframer_.next();
		}
	}
	notice();
}

void Endpoint::handle()
{
	const uint8_t *p = deframer_.ulpdu();
	uint32_t n = deframer_.ulpdu_bytes(), have = n;
	bool was_dead = dead, full = resp->full(), first = !may_send_;
	struct ddp_seg s;
	Tag tag;
	int code;

	if (peer_->out.tags.empty())
		fail(index_, "more FPDUs than were sent");
	tag = peer_->out.tags.front();
	peer_->out.tags.pop_front();
	world_.segments++;
	may_send_ = true;
	if (!deframer_.markers_right())
		fail(index_, "a marker is wrong");
	if (terms.crc && !deframer_.crc_right()) {
		if (tag.fault != FAULT_CRC)
			fail(index_, "the CRC of an intact FPDU is wrong");
		broken_ = true;
		terminate(TERM_MPA_CRC, nullptr, 0, 0);
		return;
	}
	if (tag.fault == FAULT_CRC)
		fail(index_, "a corrupted FPDU passed");
	if (first && terms.p2p && !peer_->req.ledger.at(tag.number).rtr)
		fail(index_, "not the first message that was agreed on");

	deframer_.fence();
	if (rng_.one_in(4))
		have = std::min<uint32_t>(n, DDP_CTRL_MAX_BYTES);
	code = ddp_parse(p, have, n, &s);
	if (code != TERM_NONE) {
		deframer_.unfence();
		if (!was_dead && code != tag.expect)
			fail(index_, "terminated with %04x, expected %04x", code, tag.expect);
		terminate(code, p, have, n);
		return;
	}
	if (s.opcode == RDMAP_READ_RESP || s.opcode == RDMAP_ATOMIC_RESP)
		code = req.rx(s, p, tag);
	else
		code = resp->rx(s, p, have, tag);
	if (was_dead) {
		deframer_.unfence();
		return;
	}
	if (peer_->req.cfg.fault == FAULT_ORD && full &&
	    (s.opcode == RDMAP_READ_REQ || s.opcode == RDMAP_ATOMIC_REQ)) {
		tag.expect = TERM_DDP_NO_BUFFER;
		peer_->req.faulty_number = tag.number;
		peer_->req.ledger.at(tag.number).fault = FAULT_ORD;
		peer_->req.ledger.at(tag.number).injected = true;
		peer_->offender_.assign(p, p + n);
		peer_->offender_bytes_ = n;
		peer_->offends_ = {.who = Blame::ONE, .number = tag.number};
	}
	deframer_.unfence();
	if (code != tag.expect)
		fail(index_, "terminated with %04x, expected %04x", code, tag.expect);
	if (code != TERM_NONE) {
		terminate(code, p, have, n);
	} else if (s.opcode == RDMAP_TERMINATE) {
		if (resp->peer_term != peer_->detected)
			fail(index_, "Terminate says %04x, not %04x", resp->peer_term,
			     peer_->detected);
		check_quote(p + s.hdr_bytes, s.payload_bytes);
		dead = true;
		req.terminated(resp->peer_term, p + s.hdr_bytes, s.payload_bytes,
			       is_offender_quoted(resp->peer_term) ? offends_ : Blame{});
		out.close();
	} else if (req.local_fault != TERM_NONE) {
		die(req.local_fault);
	}
	if (rng_.below(4))
		req.reap();
}

/* ---- the end of the stream ---- */

/* End the stream with code, unless it is over. */
void Endpoint::terminate(int code, const uint8_t *p, uint32_t have, uint32_t ulpdu_bytes)
{
	iw_resp_terminate(&resp->r, code, p, have, ulpdu_bytes);
	die(code);
}

void Endpoint::die(int code)
{
	if (dead)
		return;
	dead = true;
	detected = code;
	world_.trace.add(world_.now_ns, index_, "dead", 0, (uint32_t)code);
	req.flush();
	notice();
}

void Endpoint::lost()
{
	if (!dead && !refused)
		die(TERM_NONE);
	out.close();
}

bool Endpoint::is_offender_quoted(int code) const
{
	return !offender_.empty() && rdmap_term_layer(code) != TERM_LLP && code != TERM_LOCAL &&
	       offender_.size() >= (offender_[0] & 0x80 ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES);
}

/* The Terminate answers our wrong segment: it quotes that, as its layer and type allow. */
void Endpoint::check_quote(const uint8_t *p, uint32_t n) const
{
	struct rdmap_term t;
	uint32_t hdr = 0;
	bool read;

	if (!rdmap_term_parse(p, n, &t) || t.code != resp->peer_term)
		fail(index_, "a Terminate that does not parse");
	if (!is_offender_quoted(t.code)) {
		if (t.has_length || t.has_ddp || t.has_rdmap || n != RDMAP_TERM_BYTES)
			fail(index_, "a Terminate quotes what there was not");
		return;
	}
	hdr = offender_[0] & 0x80 ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES;
	read = t.code >> 8 == TERM_PROT_STAG >> 8 && hdr == DDP_UNTAGGED_BYTES &&
	       (offender_[1] & 0xf) == RDMAP_READ_REQ;
	if (!t.has_length || !t.has_ddp || t.has_rdmap != read ||
	    n != RDMAP_TERM_BYTES + 2 + hdr + (read ? RDMAP_READ_BYTES : 0) ||
	    get_unaligned_be16(p + RDMAP_TERM_BYTES) != offender_bytes_ ||
	    memcmp(p + RDMAP_TERM_BYTES + 2, offender_.data(), n - RDMAP_TERM_BYTES - 2))
		fail(index_, "a Terminate does not quote what was wrong");
}

/* ---- sending ---- */

/* Damage the headers as the fault requires; the CRC will match. */
void Endpoint::spoil(struct iw_seg *seg, const Tag &tag, uint32_t *ulpdu_bytes)
{
	uint8_t *h = seg->hdr;

	switch (tag.fault) {
	case FAULT_MSN:
	case FAULT_ANSWER_MSN:
		put_unaligned_be32(get_unaligned_be32(h + 10) + rng_.range(1, 1000), h + 10);
		break;
	case FAULT_MO:
		put_unaligned_be32(get_unaligned_be32(h + 14) + rng_.range(1, 1000), h + 14);
		break;
	case FAULT_QN:
		put_unaligned_be32(rng_.range(DDP_QUEUES, 1000), h + 6);
		break;
	case FAULT_VERSION:
		h[0] ^= 0x02;
		break;
	case FAULT_RDMAP_VERSION:
		h[1] ^= 0x80;
		break;
	case FAULT_OPCODE:
		h[1] |= 0x0c;
		break;
	case FAULT_LAST:
	case FAULT_ANSWER_LAST:
		h[0] ^= 0x40;
		break;
	case FAULT_ANSWER_STAG:
		put_unaligned_be32(get_unaligned_be32(h + 2) + rng_.range(1, 1000), h + 2);
		break;
	case FAULT_ANSWER_TO:
		put_unaligned_be64(get_unaligned_be64(h + 6) + rng_.range(1, 1000), h + 6);
		break;
	case FAULT_ANSWER_ID:
		h[DDP_UNTAGGED_BYTES + 3] ^= 1;
		break;
	case FAULT_SHORT:
		*ulpdu_bytes = rng_.below(h[0] & 0x80 ? DDP_TAGGED_BYTES : DDP_UNTAGGED_BYTES);
		break;
	default:
		break;
	}
}

/* An answer is nobody's fault here; what was damaged may name anything. */
void Endpoint::note_offence(const struct iw_seg &seg, const struct iw_seg &wire, const Tag &tag)
{
	offends_ = {.number = tag.number, .tagged = !!(seg.hdr[0] & 0x80)};
	if (tag.kind == TAG_ANSWER)
		offends_.who = Blame::NOBODY;
	else if (memcmp(wire.hdr, seg.hdr, seg.hdr_bytes))
		offends_.who = Blame::ANYBODY;
	else
		offends_.who = Blame::ONE;
	if (offends_.tagged) {
		offends_.stag = get_unaligned_be32(seg.hdr + 2);
		offends_.to = get_unaligned_be64(seg.hdr + 6);
	}
}

/* Make the FPDU of a segment whose payload is already in plain_; returns its bytes of stream. */
uint32_t Endpoint::frame(const struct iw_seg &seg, uint32_t ulpdu_bytes, uint8_t *dst)
{
	uint32_t body = MPA_LENGTH_BYTES + ulpdu_bytes + mpa_pad_bytes(ulpdu_bytes);
	uint32_t want = body, n = body;

	put_unaligned_be16((uint16_t)ulpdu_bytes, plain_.data());
	memcpy(&plain_[MPA_LENGTH_BYTES], seg.hdr, seg.hdr_bytes);
	memset(&plain_[MPA_LENGTH_BYTES + ulpdu_bytes], 0, mpa_pad_bytes(ulpdu_bytes));
	if (terms.tx_markers) {
		want += MPA_MARKER_BYTES * mpa_marker_count(pos_, body + MPA_CRC_BYTES);
		n = mpa_insert_markers(dst, plain_.data(), body, pos_);
		if (n != want)
			fail(index_, "%u bytes with markers, expected %u", n, want);
	} else {
		memcpy(dst, plain_.data(), body);
	}
	put_unaligned_le32(terms.crc ? ~crc32c(~0u, dst, n) : 0, dst + n);
	return n + MPA_CRC_BYTES;
}

/* True if something was sent, and there may be more. */
bool Endpoint::send_one(bool answer)
{
	struct iw_seg seg = {};
	uint32_t ulpdu, bytes;
	uint8_t *dst;
	Tag tag;

	/* Messages do not mix; a Terminate does not wait. */
	if (answer ? iw_req_in_message(&req.q) && !resp->r.in_error : iw_resp_in_message(&resp->r))
		return false;
	if (!(answer ? resp->next(&seg) : req.next(&seg))) {
		if (req.local_fault != TERM_NONE)
			die(req.local_fault);
		return false;
	}
	if (resp->gone) {
		die(TERM_PROT_STAG);
		peer_->offender_ = resp->rest;
		peer_->offender_bytes_ = (uint32_t)resp->rest.size();
		peer_->offends_ = {.who = Blame::ONE, .number = resp->gone_number};
	}
	ulpdu = (uint32_t)seg.hdr_bytes + seg.bytes;
	bytes = mpa_fpdu_bytes(ulpdu);
	if (terms.tx_markers)
		bytes += MPA_MARKER_BYTES * mpa_marker_count(pos_, bytes);
	if (ulpdu > max_ulpdu_ ||
	    bytes > std::max(terms.long_fpdus ? req.cfg.frames : emss_,
			     mpa_fpdu_most(MPA_LEAST_MULPDU, terms.tx_markers)))
		fail(index_, "segment of %u bytes, %u of stream", ulpdu, bytes);
	if (out.room() < bytes) {
		no_room_ = true;
		return false;
	}
	if (rng_.hit(declines_)) {
		again_ns_ = world_.now_ns + rng_.range(1, 1000);
		return false;
	}
	if (answer) {
		resp->gather(seg, &plain_[MPA_LENGTH_BYTES + seg.hdr_bytes]);
	} else if (!req.gather(seg, &plain_[MPA_LENGTH_BYTES + seg.hdr_bytes])) {
		die(req.local_fault);
		return false;
	}
	tag = answer ? resp->tag(seg) : req.tag(seg);
	world_.trace.add(world_.now_ns, index_, answer ? "tx answer" : "tx request",
			 seg.hdr[1] & 0xf,
			 get_unaligned_be32(seg.hdr + (seg.hdr[0] & 0x80 ? 2 : 10)), tag.number,
			 tag.offset);
	struct iw_seg wire = seg;

	spoil(&wire, tag, &ulpdu);
	dst = out.reserve(bytes);
	bytes = frame(wire, ulpdu, dst);
	if (tag.fault == FAULT_CRC) {
		uint32_t at;

		do
			at = rng_.range(MPA_MARKER_BYTES + MPA_LENGTH_BYTES, bytes - 1);
		while (terms.tx_markers && (pos_ + at) % MPA_MARKER_SPACING < MPA_MARKER_BYTES);
		dst[at] ^= (uint8_t)(1u << rng_.below(8));
	}
	if (tag.expect != TERM_NONE) {
		(answer ? peer_->req : req).ledger.at(tag.number).injected = true;
		offender_.assign(&plain_[MPA_LENGTH_BYTES],
				 &plain_[MPA_LENGTH_BYTES] +
					 std::min<uint32_t>(ulpdu, DDP_CTRL_MAX_BYTES));
		offender_bytes_ = ulpdu;
		note_offence(seg, wire, tag);
	}
	pos_ += bytes;
	out.tags.push_back(tag);
	out.commit(bytes);
	sent++;
	if (answer)
		resp->sent(seg);
	else
		req.sent(seg);
	if (tag.kind == TAG_TERMINATE)
		out.close();
	return true;
}

void Endpoint::service()
{
	uint32_t n = 0;

	if (wake_ns_ != world_.now_ns)
		return; /* superseded by an earlier one */
	wake_ns_ = 0;
	again_ns_ = 0;
	if (!running)
		return;
	if (rng_.below(4))
		req.post();
	if (rng_.one_in(64)) {
		emss_ = rng_.range(96, req.cfg.emss);
		follow_mss();
	}
	while (may_send_ && (!dead || detected != TERM_NONE) && !no_room_ && !again_ns_ &&
	       out.is_open() && n < BUDGET_SEGMENTS) {
		bool answer = rng_.one_in(2);

		if (send_one(answer)) {
			n++;
			continue;
		}
		/* The other half may fit where this one did not, or may have something to send. */
		if ((no_room_ || again_ns_) && rng_.one_in(2))
			break;
		if (!out.is_open() || !send_one(!answer))
			break;
		n++;
	}
	req.reap();
	if (n >= BUDGET_SEGMENTS)
		again_ns_ = world_.now_ns + n * SEGMENT_NS;
	if (!again_ns_ && req.wants_work())
		again_ns_ = world_.now_ns + (req.busy() ? 2 * IDLE_NS : rng_.below(IDLE_NS) + 1);
	if (!again_ns_ && req.lends())
		again_ns_ = world_.now_ns + rng_.below(IDLE_NS) + 1;
	if (again_ns_)
		wake(std::max(again_ns_, world_.now_ns + 1));
}

void Endpoint::check_end()
{
	if (dead || refused)
		return;
	if (!running || !deframer_.at_rest() || !out.tags.empty() || out.written != out.delivered)
		fail(index_, "the stream is not at rest at the end");
}

} /* namespace sim */
