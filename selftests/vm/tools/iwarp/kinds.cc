// SPDX-License-Identifier: GPL-2.0
// See kinds.h.
#include "kinds.h"

#include <arpa/inet.h>
#include <cstring>
#include <sched.h>

#include "outcome.h"

namespace vt {
namespace {

constexpr uint32_t kWindows = 2;
constexpr uint32_t kReceives = 8;
constexpr uint32_t kImm = 0x01020304;
constexpr uint64_t kOld = 5, kAdd = 7, kNew = 99;
// Offsets in the region.
enum : uint64_t { kReadFrom = 0, kWriteTo = 1024, kSwapped = 2048, kAdded = 2056, kLocal = 3072 };

struct Keys {
	Remote region;
	uint32_t window[kWindows];
};

class Kinds {
public:
	Kinds(Endpoint &endpoint, bool client);
	void run();

private:
	ibv_send_wr request(ibv_wr_opcode opcode, uint32_t bytes, bool solicited = false);
	void post(ibv_send_wr wr);
	ibv_wc next();
	void wait_for(uint32_t sent, uint32_t received);
	void take_receive(const ibv_wc &wc);
	void bind();
	void send_all();
	uint64_t word(uint64_t at) const;

	Endpoint &endpoint_;
	bool client_;
	Arena arena_;
	Mw windows_[kWindows];
	Keys ours_ = {}, theirs_ = {};
	uint32_t sent_ = 0, received_ = 0, with_imm_ = 0, with_inv_ = 0;
	ibv_sge sge_ = {};
};

Kinds::Kinds(Endpoint &endpoint, bool client)
	: endpoint_(endpoint), client_(client),
	  arena_(endpoint.pd(), 4096 + kReceives * 64, kAllAccess | IBV_ACCESS_MW_BIND)
{
	memset(arena_.at(0), client ? 'c' : 's', 64);
	memcpy(arena_.at(kSwapped), &kOld, sizeof(kOld));
	memcpy(arena_.at(kAdded), &kOld, sizeof(kOld));
	for (Mw &window : windows_) {
		window.reset(ibv_alloc_mw(endpoint.pd(), IBV_MW_TYPE_2));
		require(window != nullptr, "ibv_alloc_mw: %m");
	}
	for (uint32_t i = 0; i < kReceives; i++) {
		ibv_sge sge = arena_.sge(4096 + i * 64, 64);
		ibv_recv_wr wr = {i, nullptr, &sge, 1}, *bad = nullptr;
		int error = ibv_post_recv(endpoint.qp(), &wr, &bad);

		require(!error, "posting a receive: %s", strerror(error));
	}
}

// Valid until the next one.
ibv_send_wr Kinds::request(ibv_wr_opcode opcode, uint32_t bytes, bool solicited)
{
	ibv_send_wr wr = {};

	sge_ = arena_.sge(kLocal, bytes);
	wr.wr_id = 1000;
	wr.sg_list = &sge_;
	wr.num_sge = 1;
	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	if (solicited)
		wr.send_flags |= IBV_SEND_SOLICITED;
	return wr;
}

void Kinds::post(ibv_send_wr wr)
{
	ibv_send_wr *bad = nullptr;
	int error = ibv_post_send(endpoint_.qp(), &wr, &bad);

	require(!error, "posting opcode %d: %s", wr.opcode, strerror(error));
}

ibv_wc Kinds::next()
{
	double until = now_s() + 20 * slow();
	ibv_wc wc;

	while (!endpoint_.poll(&wc)) {
		require(now_s() < until, "no completion; %u sent, %u received", sent_, received_);
		sched_yield();
	}
	require(wc.status == IBV_WC_SUCCESS, "after %u sent, %u received: %s", sent_, received_,
		ibv_wc_status_str(wc.status));
	return wc;
}

void Kinds::take_receive(const ibv_wc &wc)
{
	if (wc.wc_flags & IBV_WC_WITH_IMM) {
		require(ntohl(wc.imm_data) == kImm, "immediate data %#x", ntohl(wc.imm_data));
		with_imm_++;
	}
	if (wc.wc_flags & IBV_WC_WITH_INV) {
		require(wc.invalidated_rkey == ours_.window[with_inv_],
			"window %u: key %#x invalidated", with_inv_, wc.invalidated_rkey);
		with_inv_++;
	}
	if (!received_++)
		memcpy(&theirs_, arena_.at(4096 + wc.wr_id * 64), sizeof(theirs_));
}

void Kinds::wait_for(uint32_t sent, uint32_t received)
{
	while (sent_ < sent || received_ < received) {
		ibv_wc wc = next();

		if (wc.wr_id < kReceives)
			take_receive(wc);
		else
			sent_++;
	}
}

void Kinds::bind()
{
	for (uint32_t i = 0; i < kWindows; i++) {
		ibv_send_wr wr = request(IBV_WR_BIND_MW, 0);

		wr.num_sge = 0;
		ours_.window[i] = ibv_inc_rkey(windows_[i]->rkey);
		wr.bind_mw = {windows_[i].get(),
			      ours_.window[i],
			      {arena_.mr(), arena_.va(0), 64, IBV_ACCESS_REMOTE_READ}};
		post(wr);
		wait_for(sent_ + 1, 0);
	}
	ours_.region = arena_.remote();
}

uint64_t Kinds::word(uint64_t at) const
{
	uint64_t value;

	memcpy(&value, arena_.at(at), sizeof(value));
	return value;
}

void Kinds::send_all()
{
	ibv_send_wr wr = request(IBV_WR_SEND, 5, true);

	post(wr);
	wait_for(sent_ + 1, 0);
	for (bool solicited : {false, true}) {
		wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, 33, solicited);
		wr.imm_data = htonl(kImm);
		wr.wr.rdma = {theirs_.region.va + kWriteTo, theirs_.region.rkey};
		post(wr);
		wait_for(sent_ + 1, 0);
	}
	wr = request(IBV_WR_RDMA_WRITE, 64);
	wr.wr.rdma = {theirs_.region.va + kWriteTo, theirs_.region.rkey};
	post(wr);
	wait_for(sent_ + 1, 0);

	wr = request(IBV_WR_RDMA_READ, 64);
	wr.wr.rdma = {theirs_.region.va + kReadFrom, theirs_.window[0]};
	post(wr);
	wait_for(sent_ + 1, 0);
	require(*arena_.at(kLocal + 63) == (client_ ? 's' : 'c'),
		"a READ through a window is wrong");

	wr = request(IBV_WR_ATOMIC_CMP_AND_SWP, 8);
	wr.wr.atomic = {theirs_.region.va + kSwapped, kOld, kNew, theirs_.region.rkey};
	post(wr);
	wait_for(sent_ + 1, 0);
	require(word(kLocal) == kOld, "a swap returns %#llx",
		static_cast<unsigned long long>(word(kLocal)));
	wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	wr.wr.atomic = {theirs_.region.va + kAdded, kAdd, 0, theirs_.region.rkey};
	post(wr);
	wait_for(sent_ + 1, 0);
	require(word(kLocal) == kOld, "an add returns %#llx",
		static_cast<unsigned long long>(word(kLocal)));

	for (uint32_t i = 0; i < kWindows; i++) {
		wr = request(IBV_WR_SEND_WITH_INV, 1, i);
		wr.invalidate_rkey = theirs_.window[i];
		post(wr);
		wait_for(sent_ + 1, 0);
	}
}

void Kinds::run()
{
	bind();
	memcpy(arena_.at(kLocal), &ours_, sizeof(ours_));
	post(request(IBV_WR_SEND, sizeof(ours_)));
	wait_for(sent_ + 1, 1);
	send_all();
	wait_for(sent_, 6);
	require(with_imm_ == 2 && with_inv_ == 2, "%u receives with immediate data, %u with a key",
		with_imm_, with_inv_);
	require(word(kSwapped) == kNew && word(kAdded) == kOld + kAdd, "atomics left %llu, %llu",
		static_cast<unsigned long long>(word(kSwapped)),
		static_cast<unsigned long long>(word(kAdded)));
	if (client_) {
		ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, 8);

		wr.wr.rdma = {theirs_.region.va, theirs_.region.rkey ^ 0x5a00};
		post(wr);
	}
	endpoint_.wait_ended();
}

} // namespace

void every_kind(Endpoint &endpoint, bool client)
{
	Kinds kinds(endpoint, client);
	char nothing = 0, theirs;

	endpoint.establish(&nothing, sizeof(nothing), &theirs);
	kinds.run();
}

} // namespace vt
