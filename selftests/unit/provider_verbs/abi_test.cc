// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The private ABIs: which one a library has, and what each wants where. The numbers were read
// from the libraries themselves (verbs_dummy_ops, ibv_qp_to_qp_ex(), what other providers
// allocate).
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "abi/library.h"
#include "objects.h"
#include "verbs_test.h"

namespace {

using tern::abi::kMaxOps;
using tern::abi::kReleases;
using tern::abi::Release;

/* What a library exports, as "node" and "node/symbol". */
std::set<std::string> exported;

bool has(const char *node, const char *symbol)
{
	return exported.count(symbol ? std::string(node) + "/" + symbol : node) != 0;
}

void export_levels(unsigned int newest)
{
	for (unsigned int level = 0; level <= newest; level++)
		exported.insert("IBVERBS_1." + std::to_string(level));
}

void export_private(unsigned int abi)
{
	const std::string number = std::to_string(abi);

	exported.insert("IBVERBS_PRIVATE_" + number);
	exported.insert("IBVERBS_PRIVATE_" + number + "/verbs_register_driver_" + number);
}

/* The first release of the entry that is chosen; 0: refused. */
unsigned int chosen(unsigned int private_abi, unsigned int level)
{
	const char *why = nullptr;
	const Release *release;

	exported.clear();
	export_levels(level);
	export_private(private_abi);
	release = tern::abi::choose_release(has, &why);
	EXPECT_EQ(release == nullptr, why != nullptr);
	return release ? release->since : 0;
}

TEST(Abi, ReleasesAreToldApartByTheirVersionNodes)
{
	EXPECT_EQ(chosen(34, 14), 36u);
	EXPECT_EQ(chosen(57, 14), 57u);
	EXPECT_EQ(chosen(59, 15), 59u);
	EXPECT_EQ(chosen(59, 16), 62u);
	EXPECT_EQ(chosen(64, 17), 64u);
	EXPECT_EQ(chosen(65, 18), 65u);
}

TEST(Abi, ReleasesThatNobodyLookedAtAreRefused)
{
	EXPECT_EQ(chosen(34, 13), 0u);
	EXPECT_EQ(chosen(65, 17), 0u);
	EXPECT_EQ(chosen(65, 19), 0u);
	EXPECT_EQ(chosen(66, 18), 0u);
}

TEST(Abi, TheLibraryOfThisProcessIsKnown)
{
	ASSERT_NE(tern::abi::library.release, nullptr);
	EXPECT_NE(tern::abi::library.qp_comp_mask, 0u);
}

struct Place {
	const char *name;
	size_t member; /* offset in verbs_context_ops */
	size_t in_44;  /* and in 56 */
	size_t in_65;
};

constexpr Place place(const char *name, size_t member, size_t in_44, size_t in_65)
{
	return {name, member, in_44, in_65};
}

#define PLACE(name, in_44, in_65) place(#name, offsetof(verbs_context_ops, name), in_44, in_65)

const Place places[] = {
	PLACE(alloc_mw, 2, 4),		PLACE(alloc_parent_domain, 4, 6),
	PLACE(alloc_pd, 5, 7),		PLACE(alloc_td, 6, 8),
	PLACE(attach_mcast, 9, 11),	PLACE(bind_mw, 10, 12),
	PLACE(create_ah, 13, 15),	PLACE(create_cq, 15, 18),
	PLACE(create_cq_ex, 16, 19),	PLACE(create_qp, 19, 22),
	PLACE(create_qp_ex, 20, 23),	PLACE(create_srq, 22, 25),
	PLACE(create_srq_ex, 23, 26),	PLACE(dealloc_mw, 25, 29),
	PLACE(dealloc_pd, 26, 30),	PLACE(dealloc_td, 27, 31),
	PLACE(dereg_mr, 28, 32),	PLACE(destroy_ah, 29, 33),
	PLACE(destroy_cq, 31, 36),	PLACE(destroy_qp, 34, 39),
	PLACE(destroy_srq, 36, 41),	PLACE(detach_mcast, 38, 43),
	PLACE(free_context, 39, 46),	PLACE(get_srq_num, 41, 48),
	PLACE(import_mr, 43, 50),	PLACE(import_pd, 44, 51),
	PLACE(modify_qp, 47, 56),	PLACE(modify_qp_rate_limit, 48, 57),
	PLACE(modify_srq, 49, 58),	PLACE(poll_cq, 53, 62),
	PLACE(post_recv, 54, 63),	PLACE(post_send, 55, 64),
	PLACE(post_srq_recv, 57, 66),	PLACE(query_device_ex, 58, 69),
	PLACE(query_ece, 59, 70),	PLACE(query_port, 60, 71),
	PLACE(query_qp, 61, 73),	PLACE(query_qp_data_in_order, 62, 74),
	PLACE(query_rt_values, 63, 75), PLACE(query_srq, 64, 76),
	PLACE(reg_mr, 68, 82),		PLACE(req_notify_cq, 69, 84),
	PLACE(rereg_mr, 70, 85),	PLACE(resize_cq, 71, 86),
	PLACE(set_ece, 72, 88),		PLACE(unimport_mr, 74, 91),
	PLACE(unimport_pd, 75, 92),
};
#undef PLACE

using Op = void (*)();

/* A function's stand-in: never called, each another. */
Op marker(size_t i)
{
	return reinterpret_cast<Op>(i + 1);
}

verbs_context_ops marked_ops()
{
	verbs_context_ops ops;
	Op all[kMaxOps];

	for (size_t i = 0; i < kMaxOps; i++)
		all[i] = marker(i);
	memcpy(static_cast<void *>(&ops), all, sizeof(ops));
	return ops;
}

TEST(Abi, OperationsAreWhereEachReleaseLooksForThem)
{
	const verbs_context_ops ops = marked_ops();
	const Release &first = kReleases[0];
	const Release &last = kReleases[std::size(kReleases) - 1];
	Op in_44[kMaxOps] = {};
	Op in_65[kMaxOps] = {};

	ASSERT_EQ(tern::abi::pack_ops(ops, first, in_44), 76u);
	ASSERT_EQ(tern::abi::pack_ops(ops, last, in_65), 93u);
	for (const Place &place : places) {
		const Op op = marker(place.member / sizeof(Op));

		EXPECT_EQ(in_44[place.in_44], op) << place.name;
		EXPECT_EQ(in_65[place.in_65], op) << place.name;
	}
}

TEST(Abi, EachReleaseGetsAsManyOperationsAsItHas)
{
	for (const Release &release : kReleases) {
		Op table[kMaxOps];

		EXPECT_EQ(tern::abi::pack_ops(marked_ops(), release, table), release.num_ops)
			<< release.since;
		EXPECT_LE(release.context_offset, tern::abi::kMaxContextOffset) << release.since;
	}
}

TEST(Abi, MarkingAQpWritesOneWordWhereTheLibraryLooks)
{
	const size_t real = tern::abi::library.qp_comp_mask;

	for (const size_t offset : tern::abi::kQpCompMaskOffsets) {
		verbs_qp qp;
		verbs_qp expected;
		const uint32_t mask = VERBS_QP_EX;

		memset(&qp, 0xa5, sizeof(qp));
		memset(&expected, 0xa5, sizeof(expected));
		memcpy(&expected.room[offset], &mask, sizeof(mask));
		tern::abi::library.qp_comp_mask = offset;
		tern::abi::set_qp_ex(&qp);
		EXPECT_EQ(memcmp(&qp, &expected, sizeof(qp)), 0) << offset;
	}
	tern::abi::library.qp_comp_mask = real;
}

class AbiContext : public VerbsTest {};

TEST_F(AbiContext, EndsWhereTheLibrarysEnds)
{
	const auto *vctx = reinterpret_cast<const char *>(tern::abi::context_of(ctx));

	EXPECT_EQ(reinterpret_cast<const char *>(ctx) - vctx,
		  static_cast<ptrdiff_t>(tern::abi::library.release->context_offset));
	EXPECT_EQ(&tern::to_context(ctx)->base, ctx);
}

TEST_F(AbiContext, OfAnotherSizeIsRefused)
{
	Release other = *tern::abi::library.release;
	const Release *real = std::exchange(tern::abi::library.release, &other);

	other.context_offset -= 8;
	EXPECT_STREQ(tern::abi::set_ops(ctx, {}),
		     "its struct verbs_context is laid out differently");
	tern::abi::library.release = real;
}

} // namespace
