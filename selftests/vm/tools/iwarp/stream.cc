// SPDX-License-Identifier: GPL-2.0
// See stream.h.
#include "stream.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <iterator>

#include "objects.h"
#include "outcome.h"
#include "pattern.h"

namespace vt {
namespace {

constexpr uint32_t kPage = 4096;
constexpr uint32_t kMinBytes = 128;
constexpr uint32_t kBatch = 32;	   // posted together, so that most have many others behind them
constexpr uint32_t kUnderWay = 64; // not complete, at most: each has its memory
constexpr uint32_t kWindow = 128;  // not verified, at most: each has its memory
constexpr uint32_t kCredits = 8;
constexpr int kWrong = 0x77;
// wr_id values that are no message's number.
constexpr uint64_t kCredit = 1ull << 32;

enum class Kind { kSend, kWriteImm, kWrite };

// A round. A WRITE without notice has arrived when the message after it has.
constexpr Kind kRound[] = {Kind::kSend, Kind::kWriteImm, Kind::kWrite, Kind::kSend};
constexpr uint32_t kRoundMessages = std::size(kRound);
constexpr uint32_t kReceives = kWindow / kRoundMessages * (kRoundMessages - 1);
static_assert(kBatch % kRoundMessages == 0 && kWindow % kRoundMessages == 0);

// What both ends know of a message.
struct Message {
	Kind kind;
	uint32_t bytes;
	uint32_t at;	// in the first page of its memory
	uint32_t first; // bytes of the first SGE of two, or 0
};

class Stream {
public:
	Stream(Endpoint &endpoint, bool client, const StreamOptions &options);
	uint64_t run();

private:
	Message message(uint64_t number) const;
	uint64_t key(uint64_t number) const { return pattern_key(options_.seed, 0, number); }
	uint64_t memory(uint64_t number, uint32_t slots) const { return number % slots * stride_; }
	ibv_wc next();
	void post_receive(uint64_t wr_id, const ibv_sge &sge);

	// The client's.
	bool may_post(uint32_t batch) const;
	void post(uint32_t batch);
	ibv_send_wr prepare(uint64_t number, ibv_sge *sges);
	void completed(uint64_t number);
	void send_all();

	// The server's.
	void verify(const char *at);
	void received(const ibv_wc &wc);
	void give_credit();
	void receive_all();

	Endpoint &endpoint_;
	bool client_;
	StreamOptions options_;
	uint64_t count_; // of messages
	uint32_t stride_;
	Arena messages_; // the client's; what the server receives
	Arena sink_;	 // what the client WRITEs to
	Arena credits_;	 // how many are verified
	Remote ours_, theirs_ = {};
	uint32_t leaving_ = 0; // credits
	uint64_t posted_ = 0, completed_ = 0, verified_ = 0, bytes_ = 0;
};

Stream::Stream(Endpoint &endpoint, bool client, const StreamOptions &options)
	: endpoint_(endpoint), client_(client), options_(options),
	  count_(uint64_t{options.rounds} * kRoundMessages),
	  stride_((std::max(options.max_bytes, kMinBytes) / kPage + 2) * kPage),
	  messages_(endpoint.pd(), uint64_t{client ? kUnderWay : kReceives} * stride_),
	  sink_(endpoint.pd(), client ? kPage : uint64_t{kWindow} * stride_),
	  credits_(endpoint.pd(), kCredits * sizeof(verified_)), ours_(sink_.remote())
{
	options_.max_bytes = std::max(options.max_bytes, kMinBytes);
	if (client)
		for (uint32_t i = 0; i < kCredits; i++)
			post_receive(kCredit | i,
				     credits_.sge(i * sizeof(verified_), sizeof(verified_)));
	else
		for (uint32_t i = 0; i < kReceives; i++)
			post_receive(i, messages_.sge(memory(i, kReceives), stride_));
}

// One in eight may be short. Addresses and lengths are odd, and one in three has two SGEs.
Message Stream::message(uint64_t number) const
{
	uint64_t r = key(number);
	uint32_t less = static_cast<uint32_t>(r >> 32);
	Message m = {};

	m.kind = kRound[number % kRoundMessages];
	m.bytes = options_.max_bytes - less % (r % 8 ? kMinBytes / 2 : options_.max_bytes);
	m.at = r & 8 ? static_cast<uint32_t>(r >> 4) % kPage : 0;
	if (r % 3 == 0)
		m.first = std::min(1 + static_cast<uint32_t>(r >> 16) % kMinBytes, m.bytes - 1);
	return m;
}

ibv_wc Stream::next()
{
	ibv_wc wc;
	const char *why = endpoint_.wait(&wc);

	require(!why, "%s; %llu posted, %llu completed, %llu verified", why,
		static_cast<unsigned long long>(posted_),
		static_cast<unsigned long long>(completed_),
		static_cast<unsigned long long>(verified_));
	require(wc.status == IBV_WC_SUCCESS, "work request %#llx: %s",
		static_cast<unsigned long long>(wc.wr_id), ibv_wc_status_str(wc.status));
	return wc;
}

void Stream::post_receive(uint64_t wr_id, const ibv_sge &sge)
{
	ibv_sge copy = sge;
	ibv_recv_wr wr = {wr_id, nullptr, &copy, 1}, *bad = nullptr;
	int error = ibv_post_recv(endpoint_.qp(), &wr, &bad);

	require(!error, "posting a receive: %s", strerror(error));
}

// ---- the client

bool Stream::may_post(uint32_t batch) const
{
	return batch && posted_ + batch <= std::min(completed_ + kUnderWay, verified_ + kWindow);
}

ibv_send_wr Stream::prepare(uint64_t number, ibv_sge *sges)
{
	Message m = message(number);
	uint64_t at = memory(number, kUnderWay) + m.at;
	ibv_send_wr wr = {};

	pattern_fill(messages_.at(at), m.bytes, key(number));
	if (m.first)
		sges[wr.num_sge++] = messages_.sge(at, m.first);
	sges[wr.num_sge++] = messages_.sge(at + m.first, m.bytes - m.first);
	wr.wr_id = number;
	wr.sg_list = sges;
	wr.send_flags = m.kind == Kind::kWrite ? 0 : IBV_SEND_SIGNALED;
	switch (m.kind) {
	case Kind::kSend:
		wr.opcode = IBV_WR_SEND;
		return wr;
	case Kind::kWriteImm:
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = htonl(static_cast<uint32_t>(number));
		break;
	case Kind::kWrite:
		wr.opcode = IBV_WR_RDMA_WRITE;
		break;
	}
	wr.wr.rdma = {theirs_.va + memory(number, kWindow) + m.at, theirs_.rkey};
	return wr;
}

void Stream::post(uint32_t batch)
{
	ibv_send_wr wrs[kBatch], *bad = nullptr;
	ibv_sge sges[kBatch][2];

	for (uint32_t i = 0; i < batch; i++) {
		wrs[i] = prepare(posted_ + i, sges[i]);
		if (i)
			wrs[i - 1].next = &wrs[i];
	}
	int error = ibv_post_send(endpoint_.qp(), wrs, &bad);

	require(!error, "posting %u requests: %s", batch, strerror(error));
	posted_ += batch;
}

// This completes all before it too: their memory may be used again.
void Stream::completed(uint64_t number)
{
	require(number >= completed_ && number < posted_, "message %llu completes after %llu",
		static_cast<unsigned long long>(number),
		static_cast<unsigned long long>(completed_));
	for (; completed_ <= number; completed_++) {
		Message m = message(completed_);

		memset(messages_.at(memory(completed_, kUnderWay) + m.at), kWrong, m.bytes);
		bytes_ += m.bytes;
	}
}

void Stream::send_all()
{
	while (completed_ < count_ || verified_ < count_) {
		auto batch = static_cast<uint32_t>(std::min<uint64_t>(kBatch, count_ - posted_));

		if (may_post(batch)) {
			post(batch);
			continue;
		}
		ibv_wc wc = next();
		if (wc.wr_id & kCredit) {
			uint64_t at = (wc.wr_id & ~kCredit) * sizeof(verified_);

			memcpy(&verified_, credits_.at(at), sizeof(verified_));
			post_receive(wc.wr_id, credits_.sge(at, sizeof(verified_)));
		} else {
			completed(wc.wr_id);
		}
	}
}

// ---- the server

void Stream::verify(const char *at)
{
	const char *names[] = {"SEND", "WRITE with immediate data", "WRITE"};
	Message m = message(verified_);
	size_t wrong = pattern_check(at, m.bytes, key(verified_));

	require(wrong == m.bytes, "message %llu, a %s of %u bytes, is wrong from byte %zu on: %#x",
		static_cast<unsigned long long>(verified_), names[static_cast<int>(m.kind)],
		m.bytes, wrong, static_cast<unsigned char>(at[wrong]));
	verified_++;
	bytes_ += m.bytes;
}

void Stream::received(const ibv_wc &wc)
{
	while (message(verified_).kind == Kind::kWrite)
		verify(sink_.at(memory(verified_, kWindow) + message(verified_).at));

	Message m = message(verified_);
	bool imm = wc.wc_flags & IBV_WC_WITH_IMM;

	require(imm == (m.kind == Kind::kWriteImm) && wc.byte_len == m.bytes &&
			(!imm || ntohl(wc.imm_data) == static_cast<uint32_t>(verified_)),
		"message %llu of %u bytes arrives as %u bytes, immediate data: %d",
		static_cast<unsigned long long>(verified_), m.bytes, wc.byte_len, imm);
	verify(imm ? sink_.at(memory(verified_, kWindow) + m.at) :
		     messages_.at(memory(wc.wr_id, kReceives)));
	post_receive(wc.wr_id, messages_.sge(memory(wc.wr_id, kReceives), stride_));
	if (verified_ % kBatch == 0 || verified_ == count_)
		give_credit();
}

void Stream::give_credit()
{
	uint64_t at = verified_ / kBatch % kCredits * sizeof(verified_);
	ibv_sge sge = credits_.sge(at, sizeof(verified_));
	ibv_send_wr wr = {}, *bad = nullptr;

	memcpy(credits_.at(at), &verified_, sizeof(verified_));
	wr.wr_id = kCredit;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	int error = ibv_post_send(endpoint_.qp(), &wr, &bad);

	require(!error, "posting a credit: %s", strerror(error));
	leaving_++;
}

void Stream::receive_all()
{
	while (verified_ < count_ || leaving_) {
		ibv_wc wc = next();

		if (wc.wr_id == kCredit)
			leaving_--;
		else
			received(wc);
	}
}

uint64_t Stream::run()
{
	endpoint_.establish(&ours_, sizeof(ours_), &theirs_);
	if (client_)
		send_all();
	else
		receive_all();
	return bytes_;
}

} // namespace

uint64_t stream(Endpoint &endpoint, bool client, const StreamOptions &options)
{
	return Stream(endpoint, client, options).run();
}

} // namespace vt
