// SPDX-License-Identifier: GPL-2.0
// See traffic.h.
#include "traffic.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sched.h>

#include "outcome.h"
#include "pattern.h"

namespace vt {
namespace {

constexpr uint32_t kOperations = 16;	     // of a round, at each end
constexpr uint32_t kNotes = kOperations + 1; // and "done"
constexpr uint32_t kSourceBytes = 2u << 20;
constexpr uint32_t kMaxSend = 64u << 10;
constexpr uint32_t kMagic = 0x7465726e;
// wr_id: the kind of request, and its index.
enum : uint64_t { kSend = 1ull << 32, kRead = 2ull << 32, kReceive = 3ull << 32 };

} // namespace

// The start of every SEND.
struct Traffic::Note {
	uint32_t magic, round, index;
	enum Kind : uint32_t { kData, kWritten, kDone } kind;
	uint32_t at, bytes; // kData: the payload follows; kWritten: it is in our sink
};

Traffic::Traffic(Endpoint &endpoint, bool client, uint64_t seed, uint32_t max_bytes, bool any_read)
	: endpoint_(endpoint), client_(client), seed_(seed),
	  max_bytes_(std::min(max_bytes, kSourceBytes)), any_read_(any_read),
	  random_(mix(seed + client)), source_(endpoint.pd(), kSourceBytes),
	  sink_(endpoint.pd(), 2 * kOperations * (max_bytes_ + 64)),
	  outgoing_(endpoint.pd(), kNotes * (std::max(max_bytes_, kMaxSend) + 128)),
	  read_into_(endpoint.pd(), kOperations * (max_bytes_ + 64)),
	  inbox_(endpoint.pd(), 2ull * kNotes * (kMaxSend + sizeof(Note)))
{
	pattern_fill(source_.at(0), kSourceBytes, pattern_key(seed, client, 0));
	ours_ = {source_.remote(), sink_.remote()};
	for (uint32_t slot = 0; slot < 2 * kNotes; slot++)
		post_receive(slot);
}

void Traffic::begin(const Remotes &theirs)
{
	theirs_ = theirs;
}

void Traffic::post_receive(uint32_t slot)
{
	uint32_t bytes = kMaxSend + sizeof(Note);
	ibv_sge sge = inbox_.sge(uint64_t{slot} * bytes, bytes);
	ibv_recv_wr wr = {kReceive | slot, nullptr, &sge, 1}, *bad = nullptr;
	int error = ibv_post_recv(endpoint_.qp(), &wr, &bad);

	require(!error, "posting a receive: %s", strerror(error));
	outstanding_receives_++;
}

void Traffic::post(ibv_send_wr *wr)
{
	ibv_send_wr *bad = nullptr;
	int error = ibv_post_send(endpoint_.qp(), wr, &bad);

	require(!error || may_be_over_, "posting opcode %d: %s", wr->opcode, strerror(error));
	if (!error && (wr->send_flags & IBV_SEND_SIGNALED))
		outstanding_sends_++;
}

// Short and long sizes are equally frequent.
uint32_t Traffic::random_bytes(uint32_t most)
{
	uint32_t bits = static_cast<uint32_t>(random_() % 22);

	return std::min(most, static_cast<uint32_t>(random_()) & ((1u << bits) - 1));
}

// The note's place; the data that it announces follow there.
void Traffic::post_note(uint32_t index, const Note &note, uint32_t bytes)
{
	uint64_t at = uint64_t{index} * (std::max(max_bytes_, kMaxSend) + 128);
	ibv_sge sges[3] = {outgoing_.sge(at, sizeof(note)),
			   outgoing_.sge(at + sizeof(note), bytes / 3),
			   outgoing_.sge(at + sizeof(note) + bytes / 3, bytes - bytes / 3)};
	ibv_send_wr wr = {};

	memcpy(outgoing_.at(at), &note, sizeof(note));
	wr.wr_id = kSend | index;
	wr.sg_list = sges;
	wr.num_sge = bytes < 3 ? 1 : 3;
	sges[0].length += bytes < 3 ? bytes : 0;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	post(&wr);
}

void Traffic::post_send(uint32_t index, uint32_t bytes)
{
	uint64_t at = uint64_t{index} * (std::max(max_bytes_, kMaxSend) + 128);
	Note note = {kMagic, round_, index, Note::kData, 0, bytes};

	pattern_fill(outgoing_.at(at + sizeof(note)), bytes,
		     pattern_key(seed_ + round_, client_, index));
	post_note(index, note, bytes);
	counts_.sends++;
}

// A note tells the peer of it, and must not overtake it.
void Traffic::post_write(uint32_t index, uint32_t bytes)
{
	uint64_t at = uint64_t{index} * (std::max(max_bytes_, kMaxSend) + 128) + sizeof(Note);
	uint32_t slot = index + (round_ & 1) * kOperations;
	uint32_t to = slot * (max_bytes_ + 64) + static_cast<uint32_t>(random_() % 64);
	ibv_sge sge = outgoing_.sge(at, bytes);
	ibv_send_wr wr = {};

	pattern_fill(outgoing_.at(at), bytes, pattern_key(seed_ + round_, client_, index));
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma = {theirs_.sink.va + to, theirs_.sink.rkey};
	post(&wr);
	post_note(index, {kMagic, round_, index, Note::kWritten, to, bytes}, 0);
	counts_.writes++;
}

void Traffic::post_read(uint32_t index, uint32_t bytes)
{
	uint32_t from = static_cast<uint32_t>(random_() % (kSourceBytes - bytes + 1));
	ibv_sge sge = read_into_.sge(uint64_t{index} * (max_bytes_ + 64), bytes);
	ibv_send_wr wr = {};

	/* siw (6.1) answers one of 32 bytes or fewer on two pages with others. */
	if (!any_read_ && bytes <= 32)
		from &= ~63u;
	reads_[index] = {bytes, from};
	memset(read_into_.at(uint64_t{index} * (max_bytes_ + 64)), 0, bytes);
	wr.wr_id = kRead | index;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma = {theirs_.source.va + from, theirs_.source.rkey};
	post(&wr);
	counts_.reads++;
}

void Traffic::post_operation(uint32_t index)
{
	switch (random_() % 3) {
	case 0:
		post_send(index, random_bytes(std::min(kMaxSend, max_bytes_)));
		break;
	case 1:
		post_write(index, random_bytes(max_bytes_));
		break;
	default:
		/* And one of nothing, if it has to queue it, with bytes of the one before. */
		post_read(index, std::max(any_read_ ? 0u : 1u, random_bytes(max_bytes_)));
		break;
	}
}

void Traffic::read_done(uint32_t index)
{
	const Read &read = reads_[index];
	size_t wrong = pattern_check(read_into_.at(uint64_t{index} * (max_bytes_ + 64)), read.bytes,
				     pattern_key(seed_, !client_, 0), read.from);

	require(wrong == read.bytes, "round %u: a READ of %u bytes at %u is wrong from byte %zu on",
		round_, read.bytes, read.from, wrong);
	counts_.bytes += read.bytes;
}

void Traffic::received(const ibv_wc &wc)
{
	const char *at = inbox_.at((wc.wr_id & 0xffff) * (kMaxSend + sizeof(Note)));
	Note note;

	memcpy(&note, at, sizeof(note));
	require(wc.byte_len >= sizeof(note) && note.magic == kMagic && note.round - round_ <= 1,
		"round %u: a SEND of %u bytes is not what it should be", round_, wc.byte_len);
	peer_round_ = note.round;
	if (note.kind == Note::kDone) {
		peer_rounds_ = note.round + 1;
		return;
	}
	const char *data = note.kind == Note::kData ? at + sizeof(note) : sink_.at(note.at);
	size_t wrong = pattern_check(data, note.bytes,
				     pattern_key(seed_ + note.round, !client_, note.index));

	require(wc.byte_len == sizeof(note) + (note.kind == Note::kData ? note.bytes : 0),
		"round %u: a SEND has %u bytes", round_, wc.byte_len);
	require(wrong == note.bytes, "round %u: a %s of %u bytes is wrong from byte %zu on", round_,
		note.kind == Note::kData ? "SEND" : "WRITE", note.bytes, wrong);
	counts_.bytes += note.bytes;
}

ibv_wc Traffic::next()
{
	ibv_wc wc;
	const char *why = endpoint_.wait(&wc);

	require(!why, "round %u: %s; %u sends, %u receives", round_, why, outstanding_sends_,
		outstanding_receives_);
	require(wc.status == IBV_WC_SUCCESS, "round %u: work request %#llx: %s", round_,
		static_cast<unsigned long long>(wc.wr_id), ibv_wc_status_str(wc.status));
	return wc;
}

void Traffic::round()
{
	bool said_done = false;

	for (uint32_t i = 0; i < kOperations; i++)
		post_operation(i);
	while (peer_rounds_ <= round_ || !said_done || outstanding_sends_) {
		if (!said_done && !outstanding_sends_) {
			post_note(kOperations, {kMagic, round_, 0, Note::kDone, 0, 0}, 0);
			said_done = true;
		}
		ibv_wc wc = next();
		if ((wc.wr_id & ~0xffffull) == kReceive) {
			outstanding_receives_--;
			received(wc);
			post_receive(wc.wr_id & 0xffff);
			continue;
		}
		outstanding_sends_--;
		if ((wc.wr_id & ~0xffffull) == kRead)
			read_done(wc.wr_id & 0xffff);
	}
	round_++;
}

void Traffic::leave_unfinished(bool ender)
{
	may_be_over_ = !ender;
	for (uint32_t i = 0; i < kOperations; i++)
		post_operation(i);
	/*
	 * Only now is it sure that the peer has left the last round and needs nothing more of us.
	 */
	while (ender) {
		ibv_wc wc = next();

		if ((wc.wr_id & ~0xffffull) != kReceive) {
			outstanding_sends_--;
			continue;
		}
		outstanding_receives_--;
		received(wc);
		if (peer_round_ == round_)
			break;
	}
}

void Traffic::drain(bool lossy)
{
	double until = now_s() + (lossy ? 2 : 10) * slow();
	ibv_wc wc;

	while (outstanding_sends_ || outstanding_receives_) {
		if (!endpoint_.poll(&wc)) {
			if (lossy && now_s() >= until)
				return;
			require(now_s() < until, "%u sends and %u receives never complete",
				outstanding_sends_, outstanding_receives_);
			sched_yield();
			continue;
		}
		/*
		 * Of one that failed only wr_id and status are valid; unsignalled ones show up,
		 * too.
		 */
		if ((wc.wr_id & ~0xffffull) == kReceive)
			outstanding_receives_--;
		else if (wc.wr_id && (outstanding_sends_ || !lossy))
			outstanding_sends_--;
	}
}

} // namespace vt
