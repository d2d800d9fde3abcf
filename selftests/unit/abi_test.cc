// SPDX-License-Identifier: GPL-2.0
// The kernel/user contract: layout of every struct of uapi/ in C++,
// in C (abi_c.c), and as written down in abi_layout.inc; values that equal
// those of libibverbs.
#include "abi_c.h"
#include "tern-abi.h"
#include "tern-dump.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

namespace {

#define TYPE(t, size, align)                                                                       \
	static_assert(sizeof(t) == (size) && alignof(t) == (align));                               \
	static_assert(std::is_standard_layout_v<t> && std::is_trivially_copyable_v<t>);
#define FIELD(t, member, offset, size)                                                             \
	static_assert(offsetof(t, member) == (offset));                                            \
	static_assert(sizeof(std::declval<t &>().member) == (size));
#include "abi_layout.inc"
#undef TYPE
#undef FIELD

const abi_row kRows[] = {
#define TYPE(t, size, align)	       {#t, "", align, size},
#define FIELD(t, member, offset, size) {#t, #member, offset, size},
#include "abi_layout.inc"
#undef TYPE
#undef FIELD
};

TEST(Abi, CompilersOfCAndCxxAgreeWithTheContract)
{
	ASSERT_EQ(abi_c_row_count, std::size(kRows));
	for (size_t i = 0; i < abi_c_row_count; i++) {
		EXPECT_STREQ(abi_c_rows[i].type, kRows[i].type);
		EXPECT_STREQ(abi_c_rows[i].member, kRows[i].member);
		EXPECT_EQ(abi_c_rows[i].offset_or_align, kRows[i].offset_or_align)
			<< kRows[i].type << "." << kRows[i].member;
		EXPECT_EQ(abi_c_rows[i].size, kRows[i].size)
			<< kRows[i].type << "." << kRows[i].member;
	}
}

// A struct or member that someone adds to the header must be added here too.
TEST(Abi, ContractNamesEveryStructOfTheHeaders)
{
	const std::string open = "struct ", close = " {";
	std::set<std::string> in_header, in_contract;

	for (const char *name : {"/uapi/tern-abi.h", "/uapi/tern-dump.h"}) {
		std::ifstream header(std::string(TERN_TOP) + name);
		size_t before = in_header.size();
		for (std::string line; std::getline(header, line);) {
			if (line.starts_with(open) && line.ends_with(close))
				in_header.insert(line.substr(
					open.size(), line.size() - open.size() - close.size()));
		}
		ASSERT_GT(in_header.size(), before) << name;
	}
	for (const abi_row &row : kRows)
		in_contract.insert(row.type);
	EXPECT_EQ(in_header, in_contract);
}

// No compiler-made padding: top-level members follow each other without holes.
TEST(Abi, NoHolesBetweenMembers)
{
	size_t end = 0;
	size_t total = 0;
	std::string type;

	for (const abi_row &row : kRows) {
		if (!*row.member) {
			EXPECT_EQ(end, total) << "tail of " << type;
			type = row.type;
			total = row.size;
			end = 0;
			continue;
		}
		if (std::string(row.member).find('.') != std::string::npos)
			continue;
		EXPECT_LE(row.offset_or_align, end) << row.type << "." << row.member;
		end = std::max(end, row.offset_or_align + row.size);
	}
	EXPECT_EQ(end, total) << "tail of " << type;
}

TEST(Abi, NamedSizesAreTheRealOnes)
{
	EXPECT_EQ(sizeof(tern_ring_hdr), static_cast<size_t>(TERN_RING_HDR_BYTES));
	EXPECT_EQ(sizeof(tern_send_wqe), static_cast<size_t>(TERN_SEND_WQE_BYTES));
	EXPECT_EQ(sizeof(tern_recv_wqe), static_cast<size_t>(TERN_RECV_WQE_BYTES));
	EXPECT_EQ(sizeof(tern_cqe), static_cast<size_t>(TERN_CQE_BYTES));
}

TEST(Abi, RingWordsWithDifferentWritersLiveInDifferentCacheLines)
{
	const size_t words[] = {offsetof(tern_ring_hdr, prod), offsetof(tern_ring_hdr, cons),
				offsetof(tern_ring_hdr, flags), offsetof(tern_ring_hdr, arm)};
	std::set<size_t> lines;

	for (size_t at : words)
		lines.insert(at / 64);
	EXPECT_EQ(lines.size(), std::size(words));
}

TEST(Abi, CompletionOpcodesEqualThoseOfLibibverbs)
{
	EXPECT_EQ(int{TERN_WC_SEND}, int{IBV_WC_SEND});
	EXPECT_EQ(int{TERN_WC_RDMA_WRITE}, int{IBV_WC_RDMA_WRITE});
	EXPECT_EQ(int{TERN_WC_RDMA_READ}, int{IBV_WC_RDMA_READ});
	EXPECT_EQ(int{TERN_WC_COMP_SWAP}, int{IBV_WC_COMP_SWAP});
	EXPECT_EQ(int{TERN_WC_FETCH_ADD}, int{IBV_WC_FETCH_ADD});
	EXPECT_EQ(int{TERN_WC_BIND_MW}, int{IBV_WC_BIND_MW});
	EXPECT_EQ(int{TERN_WC_LOCAL_INV}, int{IBV_WC_LOCAL_INV});
	EXPECT_EQ(int{TERN_WC_FLUSH}, 8); // IBV_WC_FLUSH, from rdma-core 45 on
	EXPECT_EQ(int{TERN_WC_ATOMIC_WRITE}, int{IBV_WC_ATOMIC_WRITE});
	EXPECT_EQ(int{TERN_WC_RECV}, int{IBV_WC_RECV});
	EXPECT_EQ(int{TERN_WC_RECV_RDMA_WITH_IMM}, int{IBV_WC_RECV_RDMA_WITH_IMM});
}

TEST(Abi, CompletionFlagsEqualThoseOfLibibverbs)
{
	EXPECT_EQ(int{TERN_WC_GRH}, int{IBV_WC_GRH});
	EXPECT_EQ(int{TERN_WC_WITH_IMM}, int{IBV_WC_WITH_IMM});
	EXPECT_EQ(int{TERN_WC_WITH_INV}, int{IBV_WC_WITH_INV});
}

TEST(Abi, SendOpcodesEqualThoseOfLibibverbs)
{
	EXPECT_EQ(int{TERN_WR_RDMA_WRITE}, int{IBV_WR_RDMA_WRITE});
	EXPECT_EQ(int{TERN_WR_RDMA_WRITE_WITH_IMM}, int{IBV_WR_RDMA_WRITE_WITH_IMM});
	EXPECT_EQ(int{TERN_WR_SEND}, int{IBV_WR_SEND});
	EXPECT_EQ(int{TERN_WR_SEND_WITH_IMM}, int{IBV_WR_SEND_WITH_IMM});
	EXPECT_EQ(int{TERN_WR_RDMA_READ}, int{IBV_WR_RDMA_READ});
	EXPECT_EQ(int{TERN_WR_ATOMIC_CMP_AND_SWP}, int{IBV_WR_ATOMIC_CMP_AND_SWP});
	EXPECT_EQ(int{TERN_WR_ATOMIC_FETCH_AND_ADD}, int{IBV_WR_ATOMIC_FETCH_AND_ADD});
	EXPECT_EQ(int{TERN_WR_LOCAL_INV}, int{IBV_WR_LOCAL_INV});
	EXPECT_EQ(int{TERN_WR_BIND_MW}, int{IBV_WR_BIND_MW});
	EXPECT_EQ(int{TERN_WR_SEND_WITH_INV}, int{IBV_WR_SEND_WITH_INV});
}

TEST(Abi, SendFlagsEqualThoseOfLibibverbs)
{
	EXPECT_EQ(int{TERN_SEND_FENCE}, int{IBV_SEND_FENCE});
	EXPECT_EQ(int{TERN_SEND_SIGNALED}, int{IBV_SEND_SIGNALED});
	EXPECT_EQ(int{TERN_SEND_SOLICITED}, int{IBV_SEND_SOLICITED});
	EXPECT_EQ(int{TERN_SEND_INLINE}, int{IBV_SEND_INLINE});
	EXPECT_EQ(TERN_SEND_FLAGS_ALL,
		  TERN_SEND_FENCE | TERN_SEND_SIGNALED | TERN_SEND_SOLICITED | TERN_SEND_INLINE);
}

TEST(Abi, InlineLimitKeepsWqesInThirtyTwoSlots)
{
	EXPECT_EQ(TERN_MAX_INLINE % TERN_WQE_ALIGN, 0);
	EXPECT_EQ(TERN_MAX_INLINE, TERN_MAX_SGE * static_cast<int>(sizeof(tern_sge)));
}

} // namespace
