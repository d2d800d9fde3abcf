// SPDX-License-Identifier: GPL-2.0
// Legality of send WQEs: every opcode on every QP type, then every field that can be wrong.
#include "proto/deps.h"
extern "C" {
#include "queue/wqe.h"
}

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

constexpr u32 kMaxSge = 4;
constexpr u32 kMaxInline = 64;

constexpr tern_wqe_limits kUser = {kMaxSge, kMaxInline, true};
constexpr tern_wqe_limits kKernel = {kMaxSge, kMaxInline, false};

// A WQE with the room behind it that tern_sq gives.
struct Wqe {
	tern_send_wqe h{};
	tern_sge sge[TERN_MAX_SGE]{};

	int check(int qp_type, const tern_wqe_limits &lim = kUser) const
	{
		return tern_wqe_check(&h, qp_type, &lim);
	}
};
static_assert(offsetof(Wqe, sge) == TERN_SEND_WQE_BYTES);

// The plainest legal WQE of an opcode.
Wqe plain(u8 opcode)
{
	Wqe w;

	w.h.opcode = opcode;
	switch (opcode) {
	case TERN_WR_ATOMIC_CMP_AND_SWP:
	case TERN_WR_ATOMIC_FETCH_AND_ADD:
	case TERN_WR_ATOMIC_WRITE:
		w.h.num_sge = 1;
		w.sge[0].length = 8;
		break;
	case TERN_WR_FLUSH:
		w.h.flush.placement = TERN_FLUSH_GLOBAL;
		break;
	case TERN_WR_RDMA_WRITE:
	case TERN_WR_RDMA_WRITE_WITH_IMM:
	case TERN_WR_SEND:
	case TERN_WR_SEND_WITH_IMM:
	case TERN_WR_SEND_WITH_INV:
	case TERN_WR_RDMA_READ:
	case TERN_WR_RDMA_READ_WITH_INV:
		w.h.num_sge = 1;
		w.sge[0].length = 4096;
		break;
	}
	return w;
}

struct Operation {
	u8 opcode;
	const char *name;
	const char *user; // letters: R(C), C (UC), D (UD), G(SI), X(RC initiator)
	const char *kernel;
	bool data; // takes SGEs or inline bytes to be sent
	bool sges; // takes any number of SGEs
};

// Independent of the table under test: from ibv_post_send(3), tern-abi.h and IBTA opcodes.
const Operation kOperations[] = {
	{TERN_WR_RDMA_WRITE, "write", "RCX", "RC", true, true},
	{TERN_WR_RDMA_WRITE_WITH_IMM, "write_imm", "RCX", "RC", true, true},
	{TERN_WR_SEND, "send", "RCDX", "RCDG", true, true},
	{TERN_WR_SEND_WITH_IMM, "send_imm", "RCDX", "RCDG", true, true},
	{TERN_WR_RDMA_READ, "read", "RX", "R", false, true},
	{TERN_WR_ATOMIC_CMP_AND_SWP, "cas", "RX", "R", false, false},
	{TERN_WR_ATOMIC_FETCH_AND_ADD, "faa", "RX", "R", false, false},
	{TERN_WR_LOCAL_INV, "local_inv", "RCX", "RC", false, false},
	{TERN_WR_BIND_MW, "bind_mw", "RCX", "RC", false, false},
	{TERN_WR_SEND_WITH_INV, "send_inv", "RX", "R", true, true},
	{TERN_WR_REG_MR, "reg_mr", "", "RC", false, false},
	{TERN_WR_RDMA_READ_WITH_INV, "read_inv", "", "R", false, false},
	{TERN_WR_FLUSH, "flush", "R", "", false, false},
	{TERN_WR_ATOMIC_WRITE, "atomic_write", "R", "R", false, false},
};
static_assert(sizeof(kOperations) / sizeof(kOperations[0]) == TERN_WR_OPCODES);

char letter(int qp_type)
{
	switch (qp_type) {
	case TERN_WQE_QPT_RC:
		return 'R';
	case TERN_WQE_QPT_UC:
		return 'C';
	case TERN_WQE_QPT_UD:
		return 'D';
	case TERN_WQE_QPT_GSI:
		return 'G';
	case TERN_WQE_QPT_XRC_INI:
		return 'X';
	}
	return '-';
}

// Where an opcode is legal for a kernel poster, for tests of its fields.
std::vector<int> types_of(const Operation &op)
{
	std::vector<int> types;

	for (int t = TERN_WQE_QPT_GSI; t <= TERN_WQE_QPT_UD; t++)
		if (std::string(op.kernel).find(letter(t)) != std::string::npos)
			types.push_back(t);
	return types;
}

class EveryOperation : public testing::TestWithParam<Operation> {};

INSTANTIATE_TEST_SUITE_P(WqeCheck, EveryOperation, testing::ValuesIn(kOperations),
			 [](const auto &info) { return std::string(info.param.name); });

TEST_P(EveryOperation, IsLegalOnItsQpTypesOnly)
{
	const Operation &op = GetParam();

	for (int t = -2; t < 34; t++) {
		bool user = std::string(op.user).find(letter(t)) != std::string::npos;
		bool kernel = std::string(op.kernel).find(letter(t)) != std::string::npos;

		EXPECT_EQ(plain(op.opcode).check(t, kUser), user ? 0 : -EINVAL) << "type " << t;
		EXPECT_EQ(plain(op.opcode).check(t, kKernel), kernel ? 0 : -EINVAL) << "type " << t;
	}
}

TEST_P(EveryOperation, RefusesUnknownFlags)
{
	for (int t : types_of(GetParam())) {
		for (u32 bit = 0; bit < 8; bit++) {
			Wqe w = plain(GetParam().opcode);

			w.h.flags = static_cast<u8>(1u << bit);
			if (w.h.flags == TERN_SEND_INLINE)
				continue;
			EXPECT_EQ(w.check(t, kKernel),
				  w.h.flags & TERN_SEND_FLAGS_ALL ? 0 : -EINVAL);
		}
	}
}

TEST_P(EveryOperation, TakesInlineOnlyIfItSendsData)
{
	for (int t : types_of(GetParam())) {
		for (u32 bytes : {0u, 1u, kMaxInline}) {
			Wqe w = plain(GetParam().opcode);

			w.h.flags = TERN_SEND_INLINE;
			w.h.num_sge = 0;
			w.h.inline_bytes = bytes;
			EXPECT_EQ(w.check(t, kKernel), GetParam().data ? 0 : -EINVAL);
		}
	}
}

TEST_P(EveryOperation, RefusesTooManyInlineBytes)
{
	for (int t : types_of(GetParam())) {
		for (u32 bytes : {kMaxInline + 1, 0x80000000u, 0xffffffffu}) {
			Wqe w = plain(GetParam().opcode);

			w.h.flags = TERN_SEND_INLINE;
			w.h.num_sge = 0;
			w.h.inline_bytes = bytes;
			EXPECT_EQ(w.check(t, kKernel), -EINVAL);
		}
	}
}

TEST_P(EveryOperation, RefusesSgesBesideInline)
{
	for (int t : types_of(GetParam())) {
		Wqe w = plain(GetParam().opcode);

		w.h.flags = TERN_SEND_INLINE;
		w.h.num_sge = 1;
		w.h.inline_bytes = 8;
		EXPECT_EQ(w.check(t, kKernel), -EINVAL);
	}
}

TEST_P(EveryOperation, RefusesInlineBytesWithoutTheFlag)
{
	for (int t : types_of(GetParam())) {
		Wqe w = plain(GetParam().opcode);

		w.h.inline_bytes = 1;
		EXPECT_EQ(w.check(t, kKernel), -EINVAL);
	}
}

TEST_P(EveryOperation, TakesAsManySgesAsItCan)
{
	const Operation &op = GetParam();
	const u16 only = plain(op.opcode).h.num_sge;

	for (int t : types_of(op)) {
		for (u32 n : {0u, 1u, 2u, kMaxSge, kMaxSge + 1, 32u, 33u, 0xffffu}) {
			Wqe w = plain(op.opcode);
			bool legal = op.sges ? n <= kMaxSge : n == only;

			w.h.num_sge = static_cast<u16>(n);
			EXPECT_EQ(w.check(t, kKernel), legal ? 0 : -EINVAL) << n << " SGEs";
		}
	}
}

TEST_P(EveryOperation, RefusesAnSrqNumberFromUsersOnly)
{
	for (int t : types_of(GetParam())) {
		Wqe w = plain(GetParam().opcode);

		w.h.srqn = 1;
		EXPECT_EQ(w.check(t, kUser), -EINVAL);
		EXPECT_EQ(w.check(t, kKernel), 0);
	}
}

TEST_P(EveryOperation, TakesAnSrqNumberOf24BitsForXrc)
{
	Wqe w = plain(GetParam().opcode);
	const bool legal = w.check(TERN_WQE_QPT_XRC_INI) == 0;

	for (u32 srqn : {0u, 1u, 0xffffffu}) {
		w.h.srqn = srqn;
		EXPECT_EQ(w.check(TERN_WQE_QPT_XRC_INI), legal ? 0 : -EINVAL) << srqn;
	}
	for (u32 srqn : {0x1000000u, 0x80000001u, 0xffffffffu}) {
		w.h.srqn = srqn;
		EXPECT_EQ(w.check(TERN_WQE_QPT_XRC_INI), -EINVAL) << srqn;
	}
}

TEST_P(EveryOperation, IgnoresImmAndKey)
{
	for (int t : types_of(GetParam())) {
		Wqe w = plain(GetParam().opcode);

		w.h.inv_key = 0xffffffff;
		EXPECT_EQ(w.check(t, kKernel), 0);
	}
}

TEST_P(EveryOperation, TakesNoMoreThan2To31Bytes)
{
	const Operation &op = GetParam();

	if (!op.sges)
		return;
	for (int t : types_of(op)) {
		Wqe w = plain(op.opcode);

		w.h.num_sge = 2;
		w.sge[0].length = 0x7fffffff;
		w.sge[1].length = 1;
		EXPECT_EQ(w.check(t, kKernel), 0);
		EXPECT_EQ(tern_wqe_bytes(&w.h), 0x80000000u);

		w.sge[1].length = 2;
		EXPECT_EQ(w.check(t, kKernel), -EINVAL);

		// Sums that are small modulo 2^32.
		w.sge[0].length = w.sge[1].length = 0x80000000u;
		EXPECT_EQ(w.check(t, kKernel), -EINVAL);
		w.sge[0].length = w.sge[1].length = 0xffffffffu;
		EXPECT_EQ(w.check(t, kKernel), -EINVAL);
	}
}

TEST(WqeCheck, RefusesUnknownOpcodes)
{
	for (u32 opcode = TERN_WR_OPCODES; opcode < 256; opcode++) {
		for (int t = 0; t < 16; t++) {
			Wqe w;

			w.h.opcode = static_cast<u8>(opcode);
			EXPECT_EQ(w.check(t, kUser), -EINVAL);
			EXPECT_EQ(w.check(t, kKernel), -EINVAL);
		}
	}
}

TEST(WqeCheck, AtomicsAreOfEightBytes)
{
	for (u8 opcode : {TERN_WR_ATOMIC_CMP_AND_SWP, TERN_WR_ATOMIC_FETCH_AND_ADD}) {
		Wqe w = plain(opcode);

		EXPECT_EQ(tern_wqe_bytes(&w.h), 8u);
		for (u32 length : {0u, 1u, 4u, 7u, 9u, 16u, 0xffffffffu}) {
			w.sge[0].length = length;
			EXPECT_EQ(w.check(TERN_WQE_QPT_RC), -EINVAL) << length;
		}
	}
}

TEST(WqeCheck, AtomicWritesAreOfEightBytesInAnyForm)
{
	Wqe w = plain(TERN_WR_ATOMIC_WRITE);

	for (u32 length : {0u, 1u, 7u, 9u, 16u, 0xffffffffu}) {
		w.sge[0].length = length;
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC), -EINVAL) << length;
	}
	w.h.num_sge = 0;
	w.h.flags = TERN_SEND_INLINE;
	for (u32 bytes : {0u, 1u, 7u, 8u, 9u, 16u, kMaxInline}) {
		w.h.inline_bytes = bytes;
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC), bytes == 8 ? 0 : -EINVAL) << bytes;
	}
	const tern_wqe_limits few = {kMaxSge, 7, true};
	w.h.inline_bytes = 8;
	EXPECT_EQ(w.check(TERN_WQE_QPT_RC, few), -EINVAL);
}

TEST(WqeCheck, FlushSaysWhatAndHowFar)
{
	for (u32 placement = 0; placement < 256; placement++) {
		Wqe w = plain(TERN_WR_FLUSH);

		w.h.flush.placement = static_cast<u8>(placement);
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC), placement >= 1 && placement <= 3 ? 0 : -EINVAL)
			<< placement;
	}
	for (u32 selectivity = 0; selectivity < 256; selectivity++) {
		Wqe w = plain(TERN_WR_FLUSH);

		w.h.flush.selectivity = static_cast<u8>(selectivity);
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC), selectivity <= 1 ? 0 : -EINVAL) << selectivity;
	}
	for (u32 bytes : {0u, 1u, 0x80000000u, 0x80000001u, 0xffffffffu}) {
		Wqe w = plain(TERN_WR_FLUSH);

		w.h.flush.bytes = bytes;
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC), bytes <= 0x80000000u ? 0 : -EINVAL) << bytes;
		EXPECT_EQ(tern_wqe_bytes(&w.h), 0u);
	}
	for (int which : {0, 1, 2}) {
		Wqe w = plain(TERN_WR_FLUSH);

		w.h.srqn = which == 0;
		w.h.flush.reserved0 = which == 1;
		w.h.flush.reserved = which == 2;
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC), -EINVAL) << which;
	}
}

TEST(WqeCheck, AtomicsNeedRoomForAnSge)
{
	const tern_wqe_limits none = {0, kMaxInline, true};

	EXPECT_EQ(plain(TERN_WR_ATOMIC_CMP_AND_SWP).check(TERN_WQE_QPT_RC, none), -EINVAL);
}

TEST(WqeCheck, RefusesReservedArgumentsFromUsersOnly)
{
	for (u8 opcode : {TERN_WR_RDMA_WRITE, TERN_WR_RDMA_WRITE_WITH_IMM, TERN_WR_RDMA_READ}) {
		Wqe w = plain(opcode);

		w.h.rdma.reserved = 0x100;
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC, kUser), -EINVAL);
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC, kKernel), 0);
	}
	for (u8 opcode : {TERN_WR_ATOMIC_CMP_AND_SWP, TERN_WR_ATOMIC_FETCH_AND_ADD}) {
		Wqe w = plain(opcode);

		w.h.atomic.reserved = 0x80000000;
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC, kUser), -EINVAL);
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC, kKernel), 0);
	}
}

TEST(WqeCheck, TakesAnyRdmaArguments)
{
	Wqe w = plain(TERN_WR_RDMA_WRITE);

	w.h.rdma.remote_addr = ~0ull;
	w.h.rdma.rkey = ~0u;
	EXPECT_EQ(w.check(TERN_WQE_QPT_RC), 0);
	EXPECT_EQ(w.check(TERN_WQE_QPT_UC), 0);
}

TEST(WqeCheck, UdAddressesA24BitQp)
{
	for (int t : {TERN_WQE_QPT_UD, TERN_WQE_QPT_GSI}) {
		Wqe w = plain(TERN_WR_SEND);

		w.h.ud.remote_qpn = 0xffffff;
		EXPECT_EQ(w.check(t, kKernel), 0);
		w.h.ud.remote_qpn = 0x1000000;
		EXPECT_EQ(w.check(t, kKernel), -EINVAL);
	}
}

TEST(WqeCheck, UdUsersPickNoPkey)
{
	Wqe w = plain(TERN_WR_SEND_WITH_IMM);

	w.h.ud.pkey_index = 1;
	EXPECT_EQ(w.check(TERN_WQE_QPT_UD, kUser), -EINVAL);
	EXPECT_EQ(w.check(TERN_WQE_QPT_UD, kKernel), 0);
	EXPECT_EQ(w.check(TERN_WQE_QPT_GSI, kKernel), 0);
}

TEST(WqeCheck, ConnectedSendsIgnoreUdArguments)
{
	Wqe w = plain(TERN_WR_SEND);

	w.h.ud.remote_qpn = 0x1000000;
	w.h.ud.pkey_index = 1;
	EXPECT_EQ(w.check(TERN_WQE_QPT_RC), 0);
	EXPECT_EQ(w.check(TERN_WQE_QPT_UC), 0);
}

TEST(WqeCheck, WindowsGrantRemoteAccessOnly)
{
	for (u32 bit = 0; bit < 32; bit++) {
		Wqe w = plain(TERN_WR_BIND_MW);
		// REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC, ZERO_BASED.
		bool legal = bit == 1 || bit == 2 || bit == 3 || bit == 5;

		w.h.mw.access = 1u << bit;
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC, kUser), legal ? 0 : -EINVAL) << bit;
		EXPECT_EQ(w.check(TERN_WQE_QPT_RC, kKernel), legal ? 0 : -EINVAL) << bit;
	}
}

TEST(WqeCheck, ReadWithInvalidateHasOneSge)
{
	Wqe w = plain(TERN_WR_RDMA_READ_WITH_INV);

	w.sge[0].length = 0x80000000u;
	EXPECT_EQ(w.check(TERN_WQE_QPT_RC, kKernel), 0);
	w.sge[0].length = 0x80000001u;
	EXPECT_EQ(w.check(TERN_WQE_QPT_RC, kKernel), -EINVAL);
}

TEST(WqeTail, IsClippedToTheSlot)
{
	Wqe w = plain(TERN_WR_SEND);

	for (u32 n : {0u, 1u, 4u, 5u, 0xffffu}) {
		w.h.num_sge = static_cast<u16>(n);
		EXPECT_EQ(tern_wqe_tail_bytes(&w.h, 64), n < 4 ? n * 16 : 64);
	}
	w.h.flags = TERN_SEND_INLINE;
	for (u32 n : {0u, 1u, 63u, 64u, 65u, 0xffffffffu}) {
		w.h.inline_bytes = n;
		EXPECT_EQ(tern_wqe_tail_bytes(&w.h, 64), n < 64 ? n : 64);
	}
	EXPECT_EQ(tern_wqe_tail_bytes(&w.h, 0), 0u);
}

TEST(WqeTail, OfUnknownOpcodesAndFlagsIsClippedToo)
{
	Wqe w;

	memset(&w.h, 0xff, sizeof(w.h));
	EXPECT_EQ(tern_wqe_tail_bytes(&w.h, 128), 128u);
	w.h.flags = static_cast<u8>(~TERN_SEND_INLINE);
	EXPECT_EQ(tern_wqe_tail_bytes(&w.h, 128), 128u);
}

TEST(WqeBytes, AreThePayload)
{
	Wqe w = plain(TERN_WR_SEND);

	w.h.num_sge = 3;
	w.sge[1].length = 0;
	w.sge[2].length = 7;
	EXPECT_EQ(tern_wqe_bytes(&w.h), 4103u);

	w.h.num_sge = 0;
	EXPECT_EQ(tern_wqe_bytes(&w.h), 0u);

	w.h.flags = TERN_SEND_INLINE;
	w.h.inline_bytes = 33;
	EXPECT_EQ(tern_wqe_bytes(&w.h), 33u);

	w = plain(TERN_WR_BIND_MW);
	EXPECT_EQ(tern_wqe_bytes(&w.h), 0u);
}

} // namespace
