// SPDX-License-Identifier: GPL-2.0
// Each status with which a request or a receive can complete in error, by each of its causes, and
// what the other end gets (IBTA 11.6.2). iWARP tells a responder's error by a Terminate, as far as
// it can.
#include <cstring>
#include <unistd.h>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

constexpr int kNoRemote = IBV_ACCESS_LOCAL_WRITE;

constexpr QpType kReliable[] = {{"RC", IBV_QPT_RC}, {"XRC", IBV_QPT_XRC_SEND}};

// ---- what near finds by itself ----

using Spoil = void (*)(Work &, const Pair &);

struct LocalFault {
	const char *name;
	ibv_wr_opcode opcode;
	Spoil spoil;
	ibv_wc_status status;
};

void bad_lkey(Work &w, const Pair &)
{
	w.sges[0].lkey ^= 0x5500;
}

void beyond_region(Work &w, const Pair &)
{
	w.sges[0].addr += Pair::kBytes - w.sges[0].length + 1;
}

void before_region(Work &w, const Pair &)
{
	w.sges[0].addr -= 1;
}

void wraps(Work &w, const Pair &)
{
	w.sges[0].addr = UINT64_MAX - 3;
}

void second_sge_bad(Work &w, const Pair &)
{
	w.sges.push_back(w.sges[0]);
	w.sges[1].lkey ^= 0x5500;
}

constexpr LocalFault kLocalFaults[] = {
	{"send_of_an_unknown_key", IBV_WR_SEND, bad_lkey, IBV_WC_LOC_PROT_ERR},
	{"send_from_beyond_the_region", IBV_WR_SEND, beyond_region, IBV_WC_LOC_PROT_ERR},
	{"send_from_before_the_region", IBV_WR_SEND, before_region, IBV_WC_LOC_PROT_ERR},
	{"send_from_where_addresses_wrap", IBV_WR_SEND, wraps, IBV_WC_LOC_PROT_ERR},
	{"send_with_a_bad_second_SGE", IBV_WR_SEND, second_sge_bad, IBV_WC_LOC_PROT_ERR},
	{"write_of_an_unknown_key", IBV_WR_RDMA_WRITE, bad_lkey, IBV_WC_LOC_PROT_ERR},
	{"write_from_beyond_the_region", IBV_WR_RDMA_WRITE, beyond_region, IBV_WC_LOC_PROT_ERR},
	{"read_to_an_unknown_key", IBV_WR_RDMA_READ, bad_lkey, IBV_WC_LOC_PROT_ERR},
	{"read_to_beyond_the_region", IBV_WR_RDMA_READ, beyond_region, IBV_WC_LOC_PROT_ERR},
	{"compare_and_swap_to_an_unknown_key", IBV_WR_ATOMIC_CMP_AND_SWP, bad_lkey,
	 IBV_WC_LOC_PROT_ERR},
	{"fetch_and_add_to_an_unknown_key", IBV_WR_ATOMIC_FETCH_AND_ADD, bad_lkey,
	 IBV_WC_LOC_PROT_ERR},
};

void local_fault(Bed &bed, const LocalFault &fault, ibv_qp_type type)
{
	bed.need_for(fault.opcode);
	Pair pair(bed, impatient_link(type));
	Work w = pair.work(fault.opcode);
	fault.spoil(w, pair);
	pair.ends(w, fault.status);
	pair.expect_ended();
}

const Added local_faults([] {
	for (const LocalFault &fault : kLocalFaults)
		for (const QpType &type : kReliable)
			add_case("LOC_PROT_ERR", std::string(type.name) + "_" + fault.name,
				 [&fault, type](Bed &bed) { local_fault(bed, fault, type.type); });
});

CONFORM(LOC_PROT_ERR, RC_send_from_another_pd)
{
	Pair pair(bed);
	Pd pd = make_pd(bed.context);
	Arena other(pd.get(), 4096);
	Work w = pair.work(IBV_WR_SEND);
	w.sges = {other.sge(0, 64)};
	pair.ends(w, IBV_WC_LOC_PROT_ERR);
	pair.expect_ended();
}

CONFORM(LOC_PROT_ERR, RC_read_to_a_region_without_LOCAL_WRITE)
{
	Pair pair(bed);
	Arena only_read(bed.pd.get(), 4096, 0);
	Work w = pair.work(IBV_WR_RDMA_READ);
	w.sges = {only_read.sge(0, 64)};
	pair.ends(w, IBV_WC_LOC_PROT_ERR);
	pair.expect_ended();
}

CONFORM(LOC_PROT_ERR, RC_send_from_a_deregistered_region)
{
	Pair pair(bed);
	Arena gone(bed.pd.get(), 4096);
	Work w = pair.work(IBV_WR_SEND);
	w.sges = {gone.sge(0, 64)};
	gone.deregister();
	pair.ends(w, IBV_WC_LOC_PROT_ERR);
}

CONFORM(LOC_PROT_ERR, UC_send_ends_in_SQE_and_the_qp_goes_on)
{
	Pair pair(bed, impatient_link(IBV_QPT_UC));
	Work w = pair.work(IBV_WR_SEND);
	w.sges[0].lkey ^= 0x5500;
	pair.ends(w, IBV_WC_LOC_PROT_ERR);
	EXPECT_EQ(pair.near.state(), IBV_QPS_SQE);
	ASSERT_OK(pair.near.to_state(IBV_QPS_RTS));
	pair.receive();
	pair.ends(pair.work(IBV_WR_SEND, 2), IBV_WC_SUCCESS);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
}

CONFORM(LOC_PROT_ERR, UD_send_ends_in_SQE_and_the_qp_goes_on)
{
	Pair pair(bed, impatient_link(IBV_QPT_UD));
	Work w = pair.work(IBV_WR_SEND);
	w.sges[0].lkey ^= 0x5500;
	pair.ends(w, IBV_WC_LOC_PROT_ERR);
	EXPECT_EQ(pair.near.state(), IBV_QPS_SQE);
	ASSERT_OK(pair.near.to_state(IBV_QPS_RTS));
	pair.receive();
	pair.ends(pair.work(IBV_WR_SEND, 2), IBV_WC_SUCCESS);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
}

CONFORM(LOC_LEN_ERR, UD_send_longer_than_the_MTU)
{
	Pair pair(bed, impatient_link(IBV_QPT_UD));
	Work w = pair.work(IBV_WR_SEND);
	w.sges = {pair.near_mem.sge(0, mtu_bytes(bed.device.port().active_mtu) + 1)};
	int error = try_post(pair.near, w);
	if (!error)
		pair.near_cq.expect(IBV_WC_LOC_LEN_ERR, 1);
	else
		EXPECT_ERR(error, EINVAL);
}

CONFORM(LOC_QP_OP_ERR, RC_read_without_a_depth)
{
	LinkOptions options = impatient_link();
	options.rd_atomic = 0;
	Pair pair(bed, options);
	pair.ends(pair.work(IBV_WR_RDMA_READ), IBV_WC_LOC_QP_OP_ERR);
}

CONFORM(LOC_QP_OP_ERR, RC_invalidation_of_an_unknown_key)
{
	Pair pair(bed);
	Work w{.opcode = IBV_WR_LOCAL_INV, .id = 1, .key = 0x12345600};
	need_ok(try_post(pair.near, w), "posting LOCAL_INV");
	pair.near_cq.expect(IBV_WC_LOC_QP_OP_ERR, 1);
	pair.expect_ended();
}

CONFORM(LOC_QP_OP_ERR, RC_invalidation_of_a_user_region)
{
	Pair pair(bed);
	Work w{.opcode = IBV_WR_LOCAL_INV, .id = 1, .key = pair.near_mem.mr()->rkey};
	need_ok(try_post(pair.near, w), "posting LOCAL_INV");
	pair.near_cq.expect(IBV_WC_LOC_QP_OP_ERR, 1);
	pair.expect_ended();
}

// ---- what far finds ----

struct RemoteFault {
	const char *name;
	Spoil spoil;
	int far_access;
};

void bad_rkey(Work &w, const Pair &)
{
	w.rkey ^= 0x5500;
}

void other_key_part(Work &w, const Pair &)
{
	w.rkey ^= 1;
}

void beyond_remote(Work &w, const Pair &)
{
	// Aligned, so that an atomic is refused for this only.
	w.remote_va += Pair::kBytes - w.sges[0].length + 8;
}

void before_remote(Work &w, const Pair &)
{
	w.remote_va -= 8;
}

void remote_wraps(Work &w, const Pair &)
{
	w.remote_va = UINT64_MAX - 7;
}

void as_it_is(Work &, const Pair &) {}

constexpr RemoteFault kRemoteFaults[] = {
	{"of_an_unknown_key", bad_rkey, kAllAccess},
	{"of_a_key_that_differs_in_its_lowest_byte", other_key_part, kAllAccess},
	{"beyond_the_region", beyond_remote, kAllAccess},
	{"before_the_region", before_remote, kAllAccess},
	{"where_addresses_wrap", remote_wraps, kAllAccess},
	{"of_a_region_without_the_right", as_it_is, kNoRemote},
};

constexpr ibv_wr_opcode kTouching[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
				       IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
				       IBV_WR_ATOMIC_FETCH_AND_ADD};

bool answers(ibv_wr_opcode opcode)
{
	return opcode != IBV_WR_RDMA_WRITE && opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
}

void remote_fault(Bed &bed, const RemoteFault &fault, ibv_wr_opcode opcode, ibv_qp_type type)
{
	bed.need_for(opcode);
	Pair pair(bed, impatient_link(type), fault.far_access);
	std::string before(pair.far_mem.at(0), Pair::kBytes);
	if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		pair.receive();
	Work w = pair.work(opcode);
	fault.spoil(w, pair);
	// iWARP's WRITE is complete when it is sent. The READ behind it ends with the connection.
	if (bed.device.is_iwarp() && !answers(opcode)) {
		pair.ends(w, IBV_WC_SUCCESS);
		Work behind = pair.work(IBV_WR_RDMA_READ, 9);
		behind.sges.clear();
		ASSERT_OK(try_post(pair.near, behind));
		EXPECT_NE(pair.near_cq.next().status, IBV_WC_SUCCESS);
	} else {
		pair.ends(w, IBV_WC_REM_ACCESS_ERR);
	}
	pair.expect_ended();
	EXPECT_EQ(memcmp(before.data(), pair.far_mem.at(0), Pair::kBytes), 0)
		<< "far's memory has changed";
}

const Added remote_faults([] {
	for (const QpType &type : kReliable)
		for (ibv_wr_opcode opcode : kTouching)
			for (const RemoteFault &fault : kRemoteFaults)
				add_case("REM_ACCESS_ERR",
					 std::string(type.name) + "_" + opcode_name(opcode) + "_" +
						 fault.name,
					 [&fault, opcode, type](Bed &bed) {
						 remote_fault(bed, fault, opcode, type.type);
					 });
});

CONFORM(REM_ACCESS_ERR, RC_read_of_another_pd)
{
	Pair pair(bed);
	Pd pd = make_pd(bed.context);
	Arena other(pd.get(), 4096);
	Work w = pair.work(IBV_WR_RDMA_READ);
	w.remote_va = other.va(0);
	w.rkey = other.mr()->rkey;
	pair.ends(w, IBV_WC_REM_ACCESS_ERR);
	pair.expect_ended();
}

CONFORM(REM_ACCESS_ERR, RC_send_that_invalidates_an_unknown_key)
{
	Pair pair(bed);
	pair.receive();
	Work w = pair.work(IBV_WR_SEND_WITH_INV);
	w.key = 0x12345600;
	need_ok(try_post(pair.near, w), "posting SEND_WITH_INV");
	Completion c = pair.near_cq.next();
	if (!bed.device.is_iwarp()) {
		EXPECT_EQ(c.status, IBV_WC_REM_ACCESS_ERR);
		pair.far_cq.expect(IBV_WC_LOC_PROT_ERR, 7);
	} else {
		EXPECT_NE(pair.far_cq.next().status, IBV_WC_SUCCESS);
	}
}

CONFORM(REM_ACCESS_ERR, XRC_request_to_an_unknown_srq)
{
	Pair pair(bed, impatient_link(IBV_QPT_XRC_SEND));
	Work w = pair.work(IBV_WR_SEND);
	w.srqn ^= 0x5500;
	pair.ends(w, IBV_WC_REM_ACCESS_ERR);
}

// The QP itself is not enabled for it.
const Added qp_rights([] {
	for (ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
				     IBV_WR_ATOMIC_FETCH_AND_ADD})
		add_case("REM_INV_REQ_ERR",
			 std::string("RC_") + opcode_name(opcode) + "_that_the_qp_does_not_allow",
			 [opcode](Bed &bed) {
				 bed.need_roce("keys decide, not the QP's rights");
				 bed.need_for(opcode);
				 LinkOptions options = impatient_link();
				 options.access = IBV_ACCESS_LOCAL_WRITE;
				 Pair pair(bed, options);
				 pair.ends(pair.work(opcode), IBV_WC_REM_INV_REQ_ERR);
				 pair.expect_ended();
			 });
	for (ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD})
		add_case("REM_INV_REQ_ERR",
			 std::string("RC_") + opcode_name(opcode) + "_at_an_odd_address",
			 [opcode](Bed &bed) {
				 bed.need_for(opcode);
				 Pair pair(bed);
				 Work w = pair.work(opcode);
				 w.remote_va += 4;
				 // A provider may refuse it before the wire does.
				 int error = try_post(pair.near, w);
				 // RFC 7306 8.2 has a code of its own for it.
				 ibv_wc_status status = bed.device.is_iwarp() ?
								IBV_WC_REM_OP_ERR :
								IBV_WC_REM_INV_REQ_ERR;
				 if (!error)
					 pair.near_cq.expect(status, 1);
				 else
					 EXPECT_ERR(error, EINVAL);
			 });
});

CONFORM(REM_INV_REQ_ERR, RC_read_when_the_responder_has_no_resources)
{
	bed.need_roce("depths are the connection's");
	LinkOptions options = impatient_link();
	options.rd_atomic = 0;
	Pair pair(bed, options);
	ibv_qp_attr attr = {};
	attr.max_rd_atomic = 1;
	pair.near.move_to(IBV_QPS_SQD);
	ASSERT_OK(pair.near.modify(&attr, IBV_QP_MAX_QP_RD_ATOMIC));
	pair.near.move_to(IBV_QPS_RTS);
	pair.ends(pair.work(IBV_WR_RDMA_READ), IBV_WC_REM_INV_REQ_ERR);
}

} // namespace
} // namespace vt
