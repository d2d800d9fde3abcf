// SPDX-License-Identifier: GPL-2.0
// Receives that complete in error, and what the sender gets; requests that nobody answers; what is
// flushed.
#include <algorithm>
#include <unistd.h>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

// ---- receives that fail, and what the sender gets ----

struct ReceiveFault {
	const char *name;
	ibv_qp_type type;
	uint32_t bytes; // of the message
	void (*spoil)(std::vector<ibv_sge> &sges);
	ibv_wc_status far, near;
};

void too_short(std::vector<ibv_sge> &sges)
{
	sges[0].length--;
}

void unknown_key(std::vector<ibv_sge> &sges)
{
	sges[0].lkey ^= 0x5500;
}

void beyond(std::vector<ibv_sge> &sges)
{
	sges[0].addr += Pair::kBytes - sges[0].length + 1;
}

constexpr ReceiveFault kReceiveFaults[] = {
	{"RC_one_packet_longer_than_the_receive", IBV_QPT_RC, 64, too_short, IBV_WC_LOC_LEN_ERR,
	 IBV_WC_REM_INV_REQ_ERR},
	{"RC_many_packets_longer_than_the_receive", IBV_QPT_RC, 10000, too_short,
	 IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR},
	{"XRC_longer_than_the_receive", IBV_QPT_XRC_SEND, 64, too_short, IBV_WC_LOC_LEN_ERR,
	 IBV_WC_REM_INV_REQ_ERR},
	{"RC_receive_of_an_unknown_key", IBV_QPT_RC, 64, unknown_key, IBV_WC_LOC_PROT_ERR,
	 IBV_WC_REM_OP_ERR},
	{"RC_receive_beyond_its_region", IBV_QPT_RC, 64, beyond, IBV_WC_LOC_PROT_ERR,
	 IBV_WC_REM_OP_ERR},
	{"XRC_receive_of_an_unknown_key", IBV_QPT_XRC_SEND, 64, unknown_key, IBV_WC_LOC_PROT_ERR,
	 IBV_WC_REM_OP_ERR},
	{"UC_longer_than_the_receive", IBV_QPT_UC, 64, too_short, IBV_WC_LOC_LEN_ERR,
	 IBV_WC_SUCCESS},
	{"UC_receive_of_an_unknown_key", IBV_QPT_UC, 64, unknown_key, IBV_WC_LOC_PROT_ERR,
	 IBV_WC_SUCCESS},
};

void receive_fault(Bed &bed, const ReceiveFault &fault)
{
	Pair pair(bed, impatient_link(fault.type));
	std::vector<ibv_sge> sges = {pair.far_mem.sge(0, fault.bytes)};
	fault.spoil(sges);
	pair.receive(7, sges);
	Work w = pair.work(IBV_WR_SEND);
	w.sges = {pair.near_mem.sge(0, fault.bytes)};
	post(pair.near, w);
	pair.far_cq.expect(fault.far, 7);
	// iWARP's SEND is complete when it is sent.
	Completion c = pair.near_cq.next();
	EXPECT_EQ(c.status, bed.device.is_iwarp() ? IBV_WC_SUCCESS : fault.near);
}

const Added receive_faults([] {
	for (const ReceiveFault &fault : kReceiveFaults)
		add_case(fault.far == IBV_WC_LOC_LEN_ERR ? "LOC_LEN_ERR" :
			 fault.near == IBV_WC_REM_OP_ERR ? "REM_OP_ERR" :
							   "LOC_PROT_ERR",
			 fault.name, [&fault](Bed &bed) { receive_fault(bed, fault); });
});

CONFORM(LOC_LEN_ERR, UD_datagram_longer_than_the_receive)
{
	Pair pair(bed, impatient_link(IBV_QPT_UD));
	pair.receive(7, {pair.far_mem.sge(0, 40 + 63)});
	pair.receive(8);
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	pair.far_cq.expect(IBV_WC_LOC_LEN_ERR, 7);
	// Any stranger can cause that, so the QP goes on.
	pair.ends(pair.work(IBV_WR_SEND, 2), IBV_WC_SUCCESS);
	pair.far_cq.expect(IBV_WC_SUCCESS, 8);
}

// ---- nobody answers ----

CONFORM(RETRY_EXC_ERR, RC_peer_is_gone)
{
	bed.need_roce("TCP tells of a peer's end");
	Pair pair(bed);
	pair.far.destroy();
	pair.ends(pair.work(IBV_WR_RDMA_WRITE), IBV_WC_RETRY_EXC_ERR);
	pair.expect_ended();
}

CONFORM(RETRY_EXC_ERR, RC_peer_is_in_RESET)
{
	bed.need_roce("TCP tells of a peer's end");
	Pair pair(bed);
	pair.far.move_to(IBV_QPS_RESET);
	pair.ends(pair.work(IBV_WR_RDMA_READ), IBV_WC_RETRY_EXC_ERR);
}

CONFORM(RETRY_EXC_ERR, RC_peer_is_in_ERR)
{
	bed.need_roce("TCP tells of a peer's end");
	Pair pair(bed);
	pair.far.move_to(IBV_QPS_ERR);
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_RETRY_EXC_ERR);
}

CONFORM(RETRY_EXC_ERR, XRC_target_is_gone)
{
	Pair pair(bed, impatient_link(IBV_QPT_XRC_SEND));
	pair.far.destroy();
	pair.ends(pair.work(IBV_WR_RDMA_WRITE), IBV_WC_RETRY_EXC_ERR);
}

CONFORM(RNR_RETRY_EXC_ERR, RC_no_receive_is_posted)
{
	bed.need_roce("it has no RNR");
	LinkOptions options = impatient_link();
	options.rnr_retries = 1;
	options.min_rnr_timer = 1;
	Pair pair(bed, options);
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_RNR_RETRY_EXC_ERR);
	pair.expect_ended();
}

CONFORM(RNR_RETRY_EXC_ERR, RC_write_with_imm_without_a_receive)
{
	bed.need_roce("it has no RNR");
	LinkOptions options = impatient_link();
	options.rnr_retries = 0;
	options.min_rnr_timer = 1;
	Pair pair(bed, options);
	pair.ends(pair.work(IBV_WR_RDMA_WRITE_WITH_IMM), IBV_WC_RNR_RETRY_EXC_ERR);
}

CONFORM(RNR_RETRY_EXC_ERR, RC_7_retries_are_for_ever)
{
	LinkOptions options = impatient_link();
	options.min_rnr_timer = 1;
	Pair pair(bed, options);
	post(pair.near, pair.work(IBV_WR_SEND));
	usleep(100000);
	pair.receive();
	pair.near_cq.expect(IBV_WC_SUCCESS, 1);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
}

// ---- flushed ----

CONFORM(WR_FLUSH_ERR, RC_requests_behind_one_that_fails_in_order)
{
	Pair pair(bed);
	std::vector<Work> works;
	for (uint64_t id = 0; id < 6; id++)
		works.push_back(pair.work(IBV_WR_RDMA_READ, id));
	works[2].rkey ^= 0x5500;
	ASSERT_OK(try_post_list(pair.near, works));
	// iWARP's Terminate may overtake the responses to the two that are good. It names the
	// third.
	uint64_t answered = 2;
	for (uint64_t id = 0; id < 6; id++) {
		Completion c = pair.near_cq.next();
		EXPECT_EQ(c.wr_id, id);
		if (bed.device.is_iwarp() && c.status == IBV_WC_WR_FLUSH_ERR)
			answered = std::min(answered, id);
		EXPECT_EQ(c.status, id == 2	  ? IBV_WC_REM_ACCESS_ERR :
				    id < answered ? IBV_WC_SUCCESS :
						    IBV_WC_WR_FLUSH_ERR);
	}
}

CONFORM(WR_FLUSH_ERR, RC_unsignalled_requests_too)
{
	Pair pair(bed);
	Work first = pair.work(IBV_WR_RDMA_READ, 1), second = pair.work(IBV_WR_RDMA_READ, 2);
	first.rkey ^= 0x5500;
	first.flags = second.flags = 0;
	ASSERT_OK(try_post_list(pair.near, {first, second}));
	pair.near_cq.expect(IBV_WC_REM_ACCESS_ERR, 1);
	pair.near_cq.expect(IBV_WC_WR_FLUSH_ERR, 2);
}

CONFORM(WR_FLUSH_ERR, RC_receives_in_order)
{
	Pair pair(bed);
	for (uint64_t id = 0; id < 6; id++)
		pair.receive(id);
	pair.far.move_to(IBV_QPS_ERR);
	for (uint64_t id = 0; id < 6; id++)
		pair.far_cq.expect(IBV_WC_WR_FLUSH_ERR, id);
}

CONFORM(WR_FLUSH_ERR, RC_what_is_posted_afterwards)
{
	Pair pair(bed);
	pair.near.move_to(IBV_QPS_ERR);
	for (uint64_t id = 0; id < 4; id++) {
		ASSERT_OK(try_post(pair.near, pair.work(IBV_WR_SEND, id)));
		pair.near_cq.expect(IBV_WC_WR_FLUSH_ERR, id);
		ASSERT_OK(try_post_recv(pair.near, 10 + id, {pair.near_mem.sge(0, 64)}));
		pair.near_cq.expect(IBV_WC_WR_FLUSH_ERR, 10 + id);
	}
}

const Added flushed([] {
	for (const QpType &type : {QpType{"UC", IBV_QPT_UC}, QpType{"UD", IBV_QPT_UD}})
		add_case("WR_FLUSH_ERR", std::string(type.name) + "_receives", [type](Bed &bed) {
			Pair pair(bed, impatient_link(type.type));
			pair.receive(7);
			pair.receive(8);
			pair.far.move_to(IBV_QPS_ERR);
			pair.far_cq.expect(IBV_WC_WR_FLUSH_ERR, 7);
			pair.far_cq.expect(IBV_WC_WR_FLUSH_ERR, 8);
		});
});

} // namespace
} // namespace vt
