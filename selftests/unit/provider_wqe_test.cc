// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Work requests into WQEs: bytes, limits and refusals. What is accepted must also pass the
// kernel's own check, and on every opcode and QP type the two must agree.
#include "cqe.h"
#include "wqe.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

// Last: it defines short words such as fallthrough.
#include "proto/deps.h"
extern "C" {
#include "queue/wqe.h"
}

namespace {

constexpr uint32_t kMaxSge = 4;
constexpr uint32_t kMaxInline = 64;
constexpr tern::SendLimits kRcLimits = {kMaxSge, kMaxInline, IBV_QPT_RC, false, false};
constexpr tern::SendLimits kUcLimits = {kMaxSge, kMaxInline, IBV_QPT_UC, false, false};
constexpr tern::SendLimits kUdLimits = {kMaxSge, kMaxInline, IBV_QPT_UD, false, false};
constexpr tern::SendLimits kIwarpLimits = {kMaxSge, kMaxInline, IBV_QPT_RC, false, true};

// A slot with a canary behind it.
struct Slot {
	alignas(64) tern_send_wqe h;
	unsigned char tail[kMaxInline];
	unsigned char canary[64];

	Slot() { memset(static_cast<void *>(this), 0xa5, sizeof(*this)); }
	const tern_sge *sge() const { return reinterpret_cast<const tern_sge *>(tail); }
	bool intact() const
	{
		for (unsigned char c : canary)
			if (c != 0xa5)
				return false;
		return true;
	}
	int kernel_check(ibv_qp_type type) const
	{
		const tern_wqe_limits lim = {kMaxSge, kMaxInline, true};

		return tern_wqe_check(&h, type, &lim);
	}
};

// A work request that is legal for its opcode.
struct Request {
	ibv_sge sge[kMaxSge + 2] = {};
	ibv_pd pd = {};
	ibv_mr mr = {};
	ibv_mw mw = {};
	tern::Ah ah = {};
	ibv_send_wr wr = {};

	explicit Request(ibv_wr_opcode opcode, ibv_qp_type type = IBV_QPT_RC)
	{
		for (uint32_t i = 0; i < kMaxSge + 2; i++)
			sge[i] = {0x1000 * (i + 1), 8, 0x100 + i};
		mr.pd = &pd;
		mr.lkey = 0x777;
		mw.pd = &pd;
		mw.rkey = 0x12345;
		mw.type = IBV_MW_TYPE_2;
		ah.index = 42;
		wr.wr_id = 0x1122334455667788;
		wr.opcode = opcode;
		wr.sg_list = sge;
		wr.num_sge = 1;
		wr.send_flags = IBV_SEND_SIGNALED;
		switch (opcode) {
		case IBV_WR_LOCAL_INV:
			wr.num_sge = 0;
			wr.invalidate_rkey = 0x55;
			break;
		case IBV_WR_BIND_MW:
			wr.num_sge = 0;
			wr.bind_mw.mw = &mw;
			wr.bind_mw.rkey = 0x123fe;
			wr.bind_mw.bind_info = {&mr, 0x9000, 4096, IBV_ACCESS_REMOTE_READ};
			break;
		default:
			break;
		}
		if (type == IBV_QPT_UD) {
			wr.wr.ud.ah = &ah.base;
			wr.wr.ud.remote_qpn = 0xabcdef;
			wr.wr.ud.remote_qkey = 0x11111111;
		}
	}
};

int encode(Slot *slot, const Request &r, const tern::SendLimits &lim = kRcLimits)
{
	return tern::wqe_encode_send(&slot->h, lim, r.wr);
}

TEST(ProviderWqe, LegalityOfEveryOpcodeAgreesWithTheKernel)
{
	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
		const tern::SendLimits lim = {kMaxSge, kMaxInline, type, false, false};

		for (int op = 0; op < 16; op++) {
			Request r(static_cast<ibv_wr_opcode>(op), type);
			Slot slot;
			int err = encode(&slot, r, lim);

			SCOPED_TRACE("opcode " + std::to_string(op) + " QP type " +
				     std::to_string(type));
			if (err) {
				EXPECT_EQ(err, EINVAL);
				tern_send_wqe plain = {};
				const tern_wqe_limits klim = {kMaxSge, kMaxInline, true};

				plain.opcode = static_cast<__u8>(op);
				EXPECT_NE(tern_wqe_check(&plain, type, &klim), 0);
			} else {
				EXPECT_EQ(slot.kernel_check(type), 0);
			}
			EXPECT_TRUE(slot.intact());
		}
	}
}

/* RFC 7306 has immediate data after a Write, and none with a Send. */
TEST(ProviderWqe, IwarpHasAllOfRcButSendsWithImmediateData)
{
	for (int op = 0; op < 16; op++) {
		Request r(static_cast<ibv_wr_opcode>(op));
		Slot slot;

		EXPECT_EQ(encode(&slot, r, kIwarpLimits),
			  op == IBV_WR_SEND_WITH_IMM ? EINVAL : encode(&slot, r, kRcLimits))
			<< op;
	}
	EXPECT_EQ(tern::send_ops_of(IBV_QPT_RC, true),
		  0x3ffu & ~uint64_t{IBV_QP_EX_WITH_SEND_WITH_IMM});
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND})
		EXPECT_EQ(tern::send_ops_of(type, true), 0u);
}

TEST(ProviderWqe, SendOpsOfEachTypeAreThoseThatCanBePosted)
{
	EXPECT_EQ(tern::send_ops_of(IBV_QPT_RC, false),
		  0x3ffu | tern::abi::kWithFlush | tern::abi::kWithAtomicWrite);
	EXPECT_EQ(tern::send_ops_of(IBV_QPT_XRC_SEND, false), 0x3ffu);
	EXPECT_EQ(tern::send_ops_of(IBV_QPT_UC, false),
		  uint64_t{IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			   IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			   IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW});
	EXPECT_EQ(tern::send_ops_of(IBV_QPT_UD, false),
		  uint64_t{IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM});
	EXPECT_EQ(tern::send_ops_of(IBV_QPT_RAW_PACKET, false), 0u);
}

TEST(ProviderWqe, WriteWithImmediateFillsEveryField)
{
	Request r(IBV_WR_RDMA_WRITE_WITH_IMM);
	Slot slot;

	r.wr.num_sge = 2;
	r.wr.imm_data = 0xdeadbeef;
	r.wr.wr.rdma.remote_addr = 0xfeed0000;
	r.wr.wr.rdma.rkey = 0x99;
	r.wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED;
	ASSERT_EQ(encode(&slot, r), 0);
	EXPECT_EQ(slot.h.wr_id, r.wr.wr_id);
	EXPECT_EQ(slot.h.opcode, TERN_WR_RDMA_WRITE_WITH_IMM);
	EXPECT_EQ(uint32_t{slot.h.flags},
		  TERN_SEND_SIGNALED | TERN_SEND_FENCE | TERN_SEND_SOLICITED);
	EXPECT_EQ(slot.h.num_sge, 2);
	EXPECT_EQ(slot.h.inline_bytes, 0u);
	EXPECT_EQ(slot.h.imm, 0xdeadbeef);
	EXPECT_EQ(slot.h.srqn, 0u);
	EXPECT_EQ(slot.h.rdma.remote_addr, 0xfeed0000u);
	EXPECT_EQ(slot.h.rdma.rkey, 0x99u);
	EXPECT_EQ(slot.h.rdma.reserved, 0u);
	EXPECT_EQ(slot.sge()[1].addr, 0x2000u);
	EXPECT_EQ(slot.sge()[1].length, 8u);
	EXPECT_EQ(slot.sge()[1].lkey, 0x101u);
	EXPECT_EQ(slot.kernel_check(IBV_QPT_RC), 0);
}

TEST(ProviderWqe, AtomicWriteTakesEightBytesAtOnce)
{
	const uint64_t value = 0x1122334455667788;
	Slot slot;

	ASSERT_EQ(tern::wqe_begin(&slot.h, kRcLimits, 1, TERN_WR_ATOMIC_WRITE, 0), 0);
	ASSERT_EQ(tern::wqe_set_value(&slot.h, kRcLimits, &value), 0);
	EXPECT_EQ(slot.h.inline_bytes, 8u);
	EXPECT_EQ(memcmp(slot.tail, &value, 8), 0);
	EXPECT_EQ(slot.kernel_check(IBV_QPT_RC), 0);
	EXPECT_TRUE(slot.intact());

	constexpr tern::SendLimits few = {kMaxSge, 7, IBV_QPT_RC, false, false};
	ASSERT_EQ(tern::wqe_begin(&slot.h, few, 1, TERN_WR_ATOMIC_WRITE, 0), 0);
	EXPECT_EQ(tern::wqe_set_value(&slot.h, few, &value), EINVAL);
}

TEST(ProviderWqe, FlushNamesARangeOrARegion)
{
	const struct {
		size_t bytes;
		uint8_t placement, selectivity;
		int err;
	} rows[] = {
		{0, 1, 0, 0},
		{4096, 2, 0, 0},
		{1u << 31, 3, 0, 0},
		{(1u << 31) + 1ul, 1, 0, EINVAL},
		{SIZE_MAX, 1, 0, EINVAL},
		{SIZE_MAX, 1, 1, 0},
		{4096, 0, 0, EINVAL},
		{4096, 4, 0, EINVAL},
		{4096, 1, 2, EINVAL},
	};

	for (const auto &row : rows) {
		Slot slot;

		ASSERT_EQ(tern::wqe_begin(&slot.h, kRcLimits, 1, TERN_WR_FLUSH, 0), 0);
		ASSERT_EQ(tern::wqe_set_flush(&slot.h, 0x55, 0x9000, row.bytes, row.placement,
					      row.selectivity),
			  row.err);
		EXPECT_TRUE(slot.intact());
		if (row.err)
			continue;
		EXPECT_EQ(slot.h.flush.remote_addr, 0x9000u);
		EXPECT_EQ(slot.h.flush.rkey, 0x55u);
		EXPECT_EQ(slot.h.flush.bytes, row.selectivity ? 0 : row.bytes);
		EXPECT_EQ(slot.h.flush.placement, row.placement);
		EXPECT_EQ(slot.h.flush.selectivity, row.selectivity);
		EXPECT_EQ(slot.kernel_check(IBV_QPT_RC), 0);
	}
}

TEST(ProviderWqe, AtomicsTakeOneSgeOfEightBytes)
{
	Request r(IBV_WR_ATOMIC_CMP_AND_SWP);
	Slot slot;

	r.wr.wr.atomic = {0x8000, 1, 2, 0x33};
	ASSERT_EQ(encode(&slot, r), 0);
	EXPECT_EQ(slot.h.atomic.remote_addr, 0x8000u);
	EXPECT_EQ(slot.h.atomic.compare_add, 1u);
	EXPECT_EQ(slot.h.atomic.swap, 2u);
	EXPECT_EQ(slot.h.atomic.rkey, 0x33u);
	r.wr.num_sge = 2;
	EXPECT_EQ(encode(&slot, r), EINVAL);
	r.wr.num_sge = 1;
	r.sge[0].length = 4;
	EXPECT_EQ(encode(&slot, r), EINVAL);
	r.wr.num_sge = 0;
	EXPECT_EQ(encode(&slot, r), EINVAL);
}

TEST(ProviderWqe, SgesAreTakenUpToTheLimit)
{
	Request r(IBV_WR_SEND);
	Slot slot;

	r.wr.num_sge = kMaxSge;
	EXPECT_EQ(encode(&slot, r), 0);
	r.wr.num_sge = kMaxSge + 1;
	EXPECT_EQ(encode(&slot, r), EINVAL);
	r.wr.num_sge = -1;
	EXPECT_EQ(encode(&slot, r), EINVAL);
	r.wr.num_sge = 0;
	r.wr.sg_list = nullptr;
	EXPECT_EQ(encode(&slot, r), 0);
	EXPECT_TRUE(slot.intact());
}

TEST(ProviderWqe, MessagesAreTakenUpTo2GiB)
{
	Request r(IBV_WR_RDMA_READ);
	Slot slot;

	r.wr.num_sge = 2;
	r.sge[0].length = 1u << 30;
	r.sge[1].length = 1u << 30;
	EXPECT_EQ(encode(&slot, r), 0);
	EXPECT_EQ(slot.kernel_check(IBV_QPT_RC), 0);
	r.sge[1].length++;
	EXPECT_EQ(encode(&slot, r), EINVAL);
}

TEST(ProviderWqe, InlineDataIsGatheredUpToTheLimit)
{
	Request r(IBV_WR_SEND);
	Slot slot;
	char a[40], b[25];

	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	r.wr.send_flags |= IBV_SEND_INLINE;
	r.wr.num_sge = 2;
	r.sge[0] = {reinterpret_cast<uintptr_t>(a), 40, 0};
	r.sge[1] = {reinterpret_cast<uintptr_t>(b), 24, 0};
	ASSERT_EQ(encode(&slot, r), 0);
	EXPECT_EQ(slot.h.inline_bytes, kMaxInline);
	EXPECT_EQ(slot.h.num_sge, 0);
	EXPECT_TRUE(slot.h.flags & TERN_SEND_INLINE);
	EXPECT_EQ(slot.tail[39], 'a');
	EXPECT_EQ(slot.tail[40], 'b');
	EXPECT_EQ(slot.tail[63], 'b');
	EXPECT_EQ(slot.kernel_check(IBV_QPT_RC), 0);
	r.sge[1].length = 25;
	EXPECT_EQ(encode(&slot, r), EINVAL);
	EXPECT_TRUE(slot.intact());
}

TEST(ProviderWqe, EmptyInlineDataIsStillInline)
{
	Request r(IBV_WR_SEND);
	Slot slot;

	r.wr.send_flags |= IBV_SEND_INLINE;
	r.wr.num_sge = 0;
	ASSERT_EQ(encode(&slot, r), 0);
	EXPECT_EQ(slot.h.inline_bytes, 0u);
	EXPECT_EQ(slot.kernel_check(IBV_QPT_RC), 0);
}

TEST(ProviderWqe, InlineIsForSendsAndWritesOnly)
{
	for (auto op : {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
		Request r(op);
		Slot slot;

		r.wr.send_flags |= IBV_SEND_INLINE;
		EXPECT_EQ(encode(&slot, r), EINVAL);
	}
	// Without data there is nothing to copy, and the flag means nothing.
	Request r(IBV_WR_LOCAL_INV);
	Slot slot;

	r.wr.send_flags |= IBV_SEND_INLINE;
	ASSERT_EQ(encode(&slot, r), 0);
	EXPECT_FALSE(slot.h.flags & TERN_SEND_INLINE);
	EXPECT_EQ(slot.kernel_check(IBV_QPT_RC), 0);
}

TEST(ProviderWqe, ChecksumOffloadIsRefused)
{
	Request r(IBV_WR_SEND, IBV_QPT_UD);
	Slot slot;

	r.wr.send_flags |= IBV_SEND_IP_CSUM;
	EXPECT_EQ(encode(&slot, r, kUdLimits), EINVAL);
}

TEST(ProviderWqe, AQpThatSignalsEverythingSignalsEverything)
{
	const tern::SendLimits lim = {kMaxSge, kMaxInline, IBV_QPT_RC, true, false};
	Request r(IBV_WR_SEND);
	Slot slot;

	r.wr.send_flags = 0;
	ASSERT_EQ(encode(&slot, r, lim), 0);
	EXPECT_TRUE(slot.h.flags & TERN_SEND_SIGNALED);
	ASSERT_EQ(encode(&slot, r, kRcLimits), 0);
	EXPECT_FALSE(slot.h.flags & TERN_SEND_SIGNALED);
}

TEST(ProviderWqe, DatagramsCarryTheAddressHandlesIndex)
{
	Request r(IBV_WR_SEND_WITH_IMM, IBV_QPT_UD);
	Slot slot;

	ASSERT_EQ(encode(&slot, r, kUdLimits), 0);
	EXPECT_EQ(slot.h.ud.ah, 42u);
	EXPECT_EQ(slot.h.ud.remote_qpn, 0xabcdefu);
	EXPECT_EQ(slot.h.ud.remote_qkey, 0x11111111u);
	EXPECT_EQ(slot.h.ud.pkey_index, 0u);
	EXPECT_EQ(slot.kernel_check(IBV_QPT_UD), 0);
	r.wr.wr.ud.ah = nullptr;
	EXPECT_EQ(encode(&slot, r, kUdLimits), EINVAL);
	r.wr.wr.ud.ah = &r.ah.base;
	r.wr.wr.ud.remote_qpn = 1 << 24;
	EXPECT_EQ(encode(&slot, r, kUdLimits), EINVAL);
}

TEST(ProviderWqe, BindTakesTheWindowsIndexAndANewLowByte)
{
	Request r(IBV_WR_BIND_MW);
	Slot slot;

	ASSERT_EQ(encode(&slot, r), 0);
	EXPECT_EQ(slot.h.mw.addr, 0x9000u);
	EXPECT_EQ(slot.h.mw.length, 4096u);
	EXPECT_EQ(slot.h.mw.mw_rkey, 0x12345u);
	EXPECT_EQ(slot.h.mw.new_rkey, 0x123feu);
	EXPECT_EQ(slot.h.mw.mr_lkey, 0x777u);
	EXPECT_EQ(slot.h.mw.access, uint32_t{IBV_ACCESS_REMOTE_READ});
	EXPECT_EQ(slot.kernel_check(IBV_QPT_RC), 0);
	EXPECT_EQ(encode(&slot, r, kUcLimits), 0);

	r.wr.bind_mw.rkey = 0x124fe;
	EXPECT_EQ(encode(&slot, r), EINVAL);
}

TEST(ProviderWqe, BindTakesTheFlagsOfARegistrationAndKeepsTheWindowsOwn)
{
	Request r(IBV_WR_BIND_MW);
	Slot slot;

	r.wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
						 IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING |
						 tern::kAccessFlush | IBV_ACCESS_REMOTE_WRITE |
						 IBV_ACCESS_ZERO_BASED;
	ASSERT_EQ(encode(&slot, r), 0);
	EXPECT_EQ(slot.h.mw.access, unsigned{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED});
	EXPECT_EQ(slot.kernel_check(IBV_QPT_RC), 0);
}

TEST(ProviderWqe, BindsThatCannotBeAreRefused)
{
	Request r(IBV_WR_BIND_MW);
	ibv_pd other = {};
	Slot slot;

	r.wr.bind_mw.bind_info.mw_access_flags = 1 << 10; // nothing yet
	EXPECT_EQ(encode(&slot, r), EINVAL);
	r.wr.bind_mw.bind_info.mw_access_flags = 0;
	r.wr.bind_mw.bind_info.mr = nullptr;
	EXPECT_EQ(encode(&slot, r), EINVAL);
	r.wr.bind_mw.bind_info.mr = &r.mr;
	other.handle = 1;
	r.mr.pd = &other;
	EXPECT_EQ(encode(&slot, r), EPERM);
	r.mr.pd = &r.pd;
	r.mw.type = IBV_MW_TYPE_1;
	EXPECT_EQ(encode(&slot, r), EINVAL);
	r.wr.bind_mw.mw = nullptr;
	EXPECT_EQ(encode(&slot, r), EINVAL);
}

TEST(ProviderWqe, ReceivesAreTakenUpToTheSgeLimit)
{
	alignas(64) unsigned char slot[TERN_RECV_WQE_BYTES + 2 * sizeof(tern_sge) + 16];
	ibv_sge sges[3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
	ibv_recv_wr wr = {5, nullptr, sges, 2};
	tern_recv_wqe wqe;
	tern_sge second;

	memset(slot, 0xa5, sizeof(slot));
	ASSERT_EQ(tern::wqe_encode_recv(slot, 2, wr), 0);
	memcpy(&wqe, slot, sizeof(wqe));
	memcpy(&second, slot + TERN_RECV_WQE_BYTES + sizeof(tern_sge), sizeof(second));
	EXPECT_EQ(wqe.wr_id, 5u);
	EXPECT_EQ(wqe.num_sge, 2u);
	EXPECT_EQ(wqe.reserved, 0u);
	EXPECT_EQ(second.addr, 4u);
	EXPECT_EQ(second.length, 5u);
	EXPECT_EQ(second.lkey, 6u);
	EXPECT_EQ(slot[TERN_RECV_WQE_BYTES + 2 * sizeof(tern_sge)], 0xa5);

	wr.num_sge = 3;
	EXPECT_EQ(tern::wqe_encode_recv(slot, 2, wr), EINVAL);
	wr.num_sge = -1;
	EXPECT_EQ(tern::wqe_encode_recv(slot, 2, wr), EINVAL);
	wr.num_sge = 0;
	wr.sg_list = nullptr;
	EXPECT_EQ(tern::wqe_encode_recv(slot, 2, wr), 0);
}

TEST(ProviderWqe, StrideHoldsWhatWasGranted)
{
	EXPECT_EQ(tern::send_stride(0, 0), 64u);
	EXPECT_EQ(tern::send_stride(1, 32), 96u);
	EXPECT_EQ(tern::send_stride(4, 32), 128u);
	EXPECT_EQ(tern::recv_stride(0), 16u);
	EXPECT_EQ(tern::recv_stride(3), 64u);
}

TEST(ProviderCqe, CompletionIsCopiedFieldByField)
{
	tern_cqe cqe = {};
	ibv_wc wc;

	memset(&wc, 0xa5, sizeof(wc));
	cqe.wr_id = 1;
	cqe.qp_num = 2;
	cqe.byte_len = 3;
	cqe.imm = 4;
	cqe.src_qp = 5;
	cqe.status = IBV_WC_RETRY_EXC_ERR;
	cqe.opcode = TERN_WC_RECV_RDMA_WITH_IMM;
	cqe.wc_flags = TERN_WC_GRH | TERN_WC_WITH_IMM;
	cqe.pkey_index = 6;
	cqe.vendor_err = 7;
	cqe.sl = 3;
	tern::cqe_to_wc(cqe, &wc);
	EXPECT_EQ(wc.wr_id, 1u);
	EXPECT_EQ(wc.qp_num, 2u);
	EXPECT_EQ(wc.byte_len, 3u);
	EXPECT_EQ(wc.imm_data, 4u);
	EXPECT_EQ(wc.src_qp, 5u);
	EXPECT_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
	EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_GRH | IBV_WC_WITH_IMM});
	EXPECT_EQ(wc.pkey_index, 6);
	EXPECT_EQ(wc.vendor_err, 7u);
	EXPECT_EQ(wc.slid, 0);
	EXPECT_EQ(wc.sl, 3);
	EXPECT_EQ(wc.dlid_path_bits, 0);
}

/* 8|2 and 8|1, as UCX up to 1.13 wants it; what the datagram's priority was stays with it. */
TEST(ProviderCqe, SlOfADatagramSaysItsIpVersion)
{
	tern_cqe cqe = {};
	ibv_wc wc;

	cqe.wc_flags = TERN_WC_GRH | TERN_WC_WITH_NETWORK_HDR;
	for (uint8_t priority = 0; priority < 8; priority++) {
		cqe.sl = priority;
		cqe.network_hdr_type = TERN_NETWORK_IPV4;
		tern::cqe_to_wc(cqe, &wc);
		EXPECT_EQ(wc.sl & 15, 8 | 2);
		EXPECT_EQ(tern::sl_of_address(wc.sl), priority);
		cqe.network_hdr_type = TERN_NETWORK_IPV6;
		tern::cqe_to_wc(cqe, &wc);
		EXPECT_EQ(wc.sl & 15, 8 | 1);
		EXPECT_EQ(tern::sl_of_address(wc.sl), priority);
		EXPECT_EQ(tern::sl_of_address(priority), priority);
	}
	cqe.sl = 0;
	cqe.network_hdr_type = TERN_NETWORK_IPV4;
	tern::cqe_to_wc(cqe, &wc);
	EXPECT_EQ(wc.sl, 10);
}

TEST(ProviderCqe, SlOfAFrameOfRoCEv1IsItsPriority)
{
	tern_cqe cqe = {};
	ibv_wc wc;

	cqe.wc_flags = TERN_WC_GRH | TERN_WC_WITH_NETWORK_HDR;
	cqe.network_hdr_type = TERN_NETWORK_ROCE_V1;
	for (uint8_t priority = 0; priority < 8; priority++) {
		cqe.sl = priority;
		tern::cqe_to_wc(cqe, &wc);
		EXPECT_EQ(wc.sl, priority);
		EXPECT_EQ(tern::sl_of_address(wc.sl), priority);
	}
}

TEST(ProviderCqe, FlagsThatVerbsDoesNotKnowAreHidden)
{
	tern_cqe cqe = {};

	cqe.wc_flags =
		TERN_WC_WITH_SMAC | TERN_WC_WITH_VLAN | TERN_WC_WITH_NETWORK_HDR | TERN_WC_WITH_INV;
	EXPECT_EQ(tern::cqe_wc_flags(cqe), unsigned{IBV_WC_WITH_INV});
}

} // namespace
