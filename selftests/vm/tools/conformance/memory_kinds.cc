// SPDX-License-Identifier: GPL-2.0
// Regions of other memory: device memory, null regions, memory on demand. dma_bufs.cc has dma-bufs.
#include <cstring>
#include <vector>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

constexpr unsigned kDmAccess = unsigned{kAllAccess} | IBV_ACCESS_ZERO_BASED;

// ---- device memory ----

int alloc_error(Bed &bed, size_t bytes, uint32_t log_align = 0, uint32_t mask = 0)
{
	ibv_alloc_dm_attr attr = {bytes, log_align, mask};
	return refusal(Dm(ibv_alloc_dm(bed.context, &attr)));
}

CONFORM(DeviceMemory, one_byte)
{
	make_dm(bed.context, 1);
}

CONFORM(DeviceMemory, limit_is_reported)
{
	make_dm(bed.context, 1);
	EXPECT_GT(bed.device.attr_ex().max_dm_size, 0u);
}

CONFORM(DeviceMemory, of_nothing_is_refused)
{
	make_dm(bed.context, 1);
	EXPECT_ERR(alloc_error(bed, 0), EINVAL);
}

CONFORM(DeviceMemory, more_than_the_limit_is_refused)
{
	make_dm(bed.context, 1);
	EXPECT_NE(alloc_error(bed, bed.device.attr_ex().max_dm_size + 1), 0);
}

CONFORM(DeviceMemory, alignment_of_a_page)
{
	make_dm(bed.context, 1);
	EXPECT_ERR(alloc_error(bed, 64, 12), 0);
}

CONFORM(DeviceMemory, alignment_beyond_an_address_is_refused)
{
	make_dm(bed.context, 1);
	EXPECT_NE(alloc_error(bed, 64, 64), 0);
}

CONFORM(DeviceMemory, unknown_mask_is_refused)
{
	make_dm(bed.context, 1);
	int error = alloc_error(bed, 64, 0, kUnknownMask);
	EXPECT_TRUE(error == EINVAL || error == EOPNOTSUPP) << Errno{error};
}

CONFORM(DeviceMemory, copies_both_ways)
{
	Dm dm = make_dm(bed.context, 8192);
	char in[100], out[100] = {};
	memset(in, 0x5a, sizeof(in));
	ASSERT_OK(ibv_memcpy_to_dm(dm.get(), 8092, in, sizeof(in)));
	ASSERT_OK(ibv_memcpy_from_dm(out, dm.get(), 8092, sizeof(out)));
	EXPECT_EQ(memcmp(in, out, sizeof(in)), 0);
}

CONFORM(DeviceMemory, copy_beyond_its_end_is_refused)
{
	Dm dm = make_dm(bed.context, kPage);
	char bytes[8] = {};
	EXPECT_NE(ibv_memcpy_to_dm(dm.get(), kPage - 4, bytes, 8), 0);
	EXPECT_NE(ibv_memcpy_from_dm(bytes, dm.get(), kPage, 1), 0);
	EXPECT_NE(ibv_memcpy_from_dm(bytes, dm.get(), UINT64_MAX - 3, 8), 0);
}

CONFORM(DeviceMemory, region_of_all)
{
	Dm dm = make_dm(bed.context, kPage);
	Mr mr = made(Mr(ibv_reg_dm_mr(bed.pd.get(), dm.get(), 0, kPage, kDmAccess)),
		     "ibv_reg_dm_mr");
	EXPECT_EQ(mr->length, kPage);
}

CONFORM(DeviceMemory, region_beyond_its_end_is_refused)
{
	Dm dm = make_dm(bed.context, kPage);
	Mr mr(ibv_reg_dm_mr(bed.pd.get(), dm.get(), 1, kPage, kDmAccess));
	EXPECT_ERR(refusal(mr), EINVAL);
}

CONFORM(DeviceMemory, region_that_is_not_zero_based_is_refused)
{
	Dm dm = make_dm(bed.context, kPage);
	Mr mr(ibv_reg_dm_mr(bed.pd.get(), dm.get(), 0, kPage, unsigned{kAllAccess}));
	EXPECT_ERR(refusal(mr), EINVAL);
}

CONFORM(DeviceMemory, is_busy_with_a_region)
{
	Dm dm = make_dm(bed.context, kPage);
	Mr mr = made(Mr(ibv_reg_dm_mr(bed.pd.get(), dm.get(), 0, kPage, kDmAccess)),
		     "ibv_reg_dm_mr");
	EXPECT_ERR(ibv_free_dm(dm.get()), EBUSY);
}

CONFORM(DeviceMemory, is_written_by_a_peer)
{
	Pair pair(bed);
	Dm dm = make_dm(bed.context, kPage);
	Mr mr = made(Mr(ibv_reg_dm_mr(bed.pd.get(), dm.get(), 0, kPage, kDmAccess)),
		     "ibv_reg_dm_mr");
	Work w = pair.work(IBV_WR_RDMA_WRITE);
	w.remote_va = 128;
	w.rkey = mr->rkey;
	pair.ends(w, IBV_WC_SUCCESS);
	// A READ behind it: iWARP's WRITE is complete when it is sent.
	Work back = pair.work(IBV_WR_RDMA_READ, 2);
	back.remote_va = 128;
	back.rkey = mr->rkey;
	back.sges = {pair.near_mem.sge(1024, 64)};
	pair.ends(back, IBV_WC_SUCCESS);
	EXPECT_EQ(memcmp(pair.near_mem.at(0), pair.near_mem.at(1024), 64), 0);
}

// ---- null regions ----

CONFORM(NullMr, swallows_what_a_receive_gets)
{
	Pair pair(bed);
	Mr null = made(Mr(ibv_alloc_null_mr(bed.pd.get())), "ibv_alloc_null_mr");
	pair.receive(7, {{0, 32, null->lkey}, pair.far_mem.sge(0, 32)});
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	EXPECT_EQ(pair.far_cq.expect(IBV_WC_SUCCESS, 7).bytes, 64u);
	pair.expect_same(32, 32, 0);
}

CONFORM(NullMr, reads_as_zeros)
{
	Pair pair(bed);
	Mr null = made(Mr(ibv_alloc_null_mr(bed.pd.get())), "ibv_alloc_null_mr");
	pair.receive();
	Work w = pair.work(IBV_WR_SEND);
	w.sges = {{0, 64, null->lkey}};
	pair.ends(w, IBV_WC_SUCCESS);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	static const char zeros[64] = {};
	EXPECT_EQ(memcmp(pair.far_mem.at(0), zeros, sizeof(zeros)), 0);
}

CONFORM(NullMr, cannot_be_re_registered)
{
	Mr null = made(Mr(ibv_alloc_null_mr(bed.pd.get())), "ibv_alloc_null_mr");
	EXPECT_NE(ibv_rereg_mr(null.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0), 0);
}

// ---- memory on demand ----

bool has_odp(const Bed &bed)
{
	return bed.device.attr_ex().odp_caps.general_caps & IBV_ODP_SUPPORT;
}

void need_odp(const Bed &bed)
{
	if (!has_odp(bed))
		skip("memory on demand: no capability");
}

CONFORM(OnDemand, region)
{
	need_odp(bed);
	Arena arena(bed.pd.get(), kPage, kAllAccess, MrKind::kOnDemand);
	EXPECT_NE(arena.lkey(), 0u);
}

CONFORM(OnDemand, is_refused_without_the_capability)
{
	if (has_odp(bed))
		return;
	Buffer buffer(kPage);
	int err = refusal(Mr(
		ibv_reg_mr(bed.pd.get(), buffer.data(), kPage, kAllAccess | IBV_ACCESS_ON_DEMAND)));
	// EINVAL is what older kernels' uverbs says before the driver is asked.
	EXPECT_ERR(err == EINVAL ? EOPNOTSUPP : err, EOPNOTSUPP);
}

CONFORM(OnDemand, region_of_all_the_address_space)
{
	need_odp(bed);
	if (!(bed.device.attr_ex().odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT))
		skip("memory on demand: no implicit regions");
	Mr mr(ibv_reg_mr(bed.pd.get(), nullptr, SIZE_MAX, kAllAccess | IBV_ACCESS_ON_DEMAND));
	EXPECT_ERR(refusal(mr), 0);
}

CONFORM(OnDemand, write_and_read_of_untouched_memory)
{
	need_odp(bed);
	Pair pair(bed);
	Arena arena(bed.pd.get(), 1 << 20, kAllAccess, MrKind::kOnDemand);
	Work w = pair.work(IBV_WR_RDMA_WRITE);
	w.remote_va = arena.va(500000);
	w.rkey = arena.mr()->rkey;
	pair.ends(w, IBV_WC_SUCCESS);
	EXPECT_EQ(memcmp(pair.near_mem.at(0), arena.at(500000), 64), 0);
	Arena fresh(bed.pd.get(), 1 << 20, kAllAccess, MrKind::kOnDemand);
	Work back = pair.work(IBV_WR_RDMA_READ, 2);
	back.remote_va = fresh.va(500000);
	back.rkey = fresh.mr()->rkey;
	pair.ends(back, IBV_WC_SUCCESS);
	EXPECT_EQ(memcmp(pair.near_mem.at(0), fresh.at(500000), 64), 0);
}

int advise(Bed &bed, ibv_advise_mr_advice advice, uint32_t flags, std::vector<ibv_sge> sges)
{
	int error = ibv_advise_mr(bed.pd.get(), advice, flags, sges.data(),
				  static_cast<uint32_t>(sges.size()));
	return error;
}

const Added advices([] {
	struct {
		const char *name;
		ibv_advise_mr_advice advice;
	} rows[] = {{"PREFETCH", IBV_ADVISE_MR_ADVICE_PREFETCH},
		    {"PREFETCH_WRITE", IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE},
		    {"PREFETCH_NO_FAULT", IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT}};
	for (const auto &row : rows)
		for (uint32_t flags : {0u, unsigned{IBV_ADVISE_MR_FLAG_FLUSH}})
			add_case("AdviseMr", std::string(row.name) + (flags ? "_FLUSH" : ""),
				 [row, flags](Bed &bed) {
					 need_odp(bed);
					 Arena arena(bed.pd.get(), kPage, kAllAccess,
						     MrKind::kOnDemand);
					 need_ok(advise(bed, row.advice, flags,
							{arena.sge(0, kPage)}),
						 "ibv_advise_mr");
				 });
});

CONFORM(AdviseMr, range_beyond_the_region_is_refused)
{
	need_odp(bed);
	Arena arena(bed.pd.get(), kPage, kAllAccess, MrKind::kOnDemand);
	EXPECT_NE(advise(bed, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH,
			 {arena.sge(1, kPage)}),
		  0);
}

CONFORM(AdviseMr, no_range_is_refused)
{
	need_odp(bed);
	EXPECT_ERR(advise(bed, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, {}),
		   EINVAL);
}

CONFORM(AdviseMr, unknown_key_is_refused)
{
	need_odp(bed);
	Arena arena(bed.pd.get(), kPage, kAllAccess, MrKind::kOnDemand);
	ibv_sge sge = arena.sge(0, kPage);
	sge.lkey ^= 0x5500;
	EXPECT_NE(advise(bed, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, {sge}), 0);
}

CONFORM(AdviseMr, unknown_flag_is_refused)
{
	need_odp(bed);
	Arena arena(bed.pd.get(), kPage, kAllAccess, MrKind::kOnDemand);
	EXPECT_NE(advise(bed, IBV_ADVISE_MR_ADVICE_PREFETCH, 1 << 10, {arena.sge(0, kPage)}), 0);
}

} // namespace
} // namespace vt
