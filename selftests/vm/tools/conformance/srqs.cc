// SPDX-License-Identifier: GPL-2.0
// Shared receive queues: limits, posting, the limit event, resize.
#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

Srq try_srq(Bed &bed, uint32_t wrs, uint32_t sges, uint32_t limit = 0)
{
	ibv_srq_init_attr attr = {};
	attr.attr = {wrs, sges, limit};
	return Srq(ibv_create_srq(bed.pd.get(), &attr));
}

Srq make_srq(Bed &bed, uint32_t wrs = 16, uint32_t sges = 1)
{
	return made(try_srq(bed, wrs, sges), "ibv_create_srq");
}

ibv_srq_attr query(ibv_srq *srq)
{
	ibv_srq_attr attr = {};
	int error = ibv_query_srq(srq, &attr);
	require(!error, "ibv_query_srq: %d", error);
	return attr;
}

int modify(ibv_srq *srq, uint32_t wrs, uint32_t limit, int mask)
{
	ibv_srq_attr attr = {wrs, 0, limit};
	return ibv_modify_srq(srq, &attr, mask);
}

uint32_t max_wr(Bed &bed)
{
	return static_cast<uint32_t>(bed.device.attr().max_srq_wr);
}

uint32_t max_sge(Bed &bed)
{
	return static_cast<uint32_t>(bed.device.attr().max_srq_sge);
}

CONFORM(Srq, gives_at_least_what_was_asked_for)
{
	ibv_srq_init_attr attr = {};
	attr.attr = {10, 3, 0};
	Srq srq = made(Srq(ibv_create_srq(bed.pd.get(), &attr)), "ibv_create_srq");
	EXPECT_GE(attr.attr.max_wr, 10u);
	EXPECT_GE(attr.attr.max_sge, 3u);
	EXPECT_EQ(query(srq.get()).max_wr, attr.attr.max_wr);
	EXPECT_EQ(query(srq.get()).max_sge, attr.attr.max_sge);
}

CONFORM(Srq, of_the_limit)
{
	make_srq(bed, max_wr(bed));
}

CONFORM(Srq, of_one_more_than_the_limit_is_refused)
{
	make_srq(bed);
	EXPECT_ERR(refusal(try_srq(bed, max_wr(bed) + 1, 1)), EINVAL);
}

CONFORM(Srq, of_no_request_is_refused)
{
	make_srq(bed);
	EXPECT_ERR(refusal(try_srq(bed, 0, 1)), EINVAL);
}

CONFORM(Srq, of_the_limit_of_SGEs)
{
	make_srq(bed, 16, max_sge(bed));
}

CONFORM(Srq, of_one_SGE_more_than_the_limit_is_refused)
{
	make_srq(bed);
	EXPECT_ERR(refusal(try_srq(bed, 16, max_sge(bed) + 1)), EINVAL);
}

CONFORM(Srq, limit_is_not_armed_at_creation)
{
	Srq srq = made(try_srq(bed, 16, 1, 8), "ibv_create_srq");
	EXPECT_EQ(query(srq.get()).srq_limit, 0u);
}

CONFORM(Srq, is_busy_with_a_qp)
{
	Srq srq = make_srq(bed);
	Cq cq(bed.device, {});
	LinkOptions options;
	options.srq = srq.get();
	Link link(bed.device, bed.pd.get(), cq.get(), cq.get(), options);
	EXPECT_ERR(ibv_destroy_srq(srq.get()), EBUSY);
}

CONFORM(Srq, qp_with_one_takes_no_receive_of_its_own)
{
	Srq srq = make_srq(bed);
	Cq cq(bed.device, {});
	LinkOptions options;
	options.srq = srq.get();
	Link link(bed.device, bed.pd.get(), cq.get(), cq.get(), options);
	link.to_init();
	ibv_recv_wr wr = {}, *bad = nullptr;
	EXPECT_NE(ibv_post_recv(link.qp(), &wr, &bad), 0);
}

// ---- posting ----

CONFORM(PostSrqRecv, until_it_is_full)
{
	Srq srq = make_srq(bed);
	Arena arena(bed.pd.get(), 64);
	uint32_t most = query(srq.get()).max_wr;
	for (uint32_t i = 0; i < most; i++)
		ASSERT_OK(try_post_srq(srq.get(), i, {arena.sge(0, 64)})) << i << " of " << most;
	EXPECT_ERR(try_post_srq(srq.get(), most, {arena.sge(0, 64)}), ENOMEM);
}

CONFORM(PostSrqRecv, too_many_SGEs_are_refused)
{
	Srq srq = make_srq(bed);
	Arena arena(bed.pd.get(), 64);
	std::vector<ibv_sge> sges(query(srq.get()).max_sge + 1, arena.sge(0, 1));
	EXPECT_ERR(try_post_srq(srq.get(), 1, sges), EINVAL);
}

CONFORM(PostSrqRecv, bad_wr_is_the_one_that_is_refused)
{
	Srq srq = make_srq(bed);
	Arena arena(bed.pd.get(), 64);
	std::vector<ibv_sge> sges(query(srq.get()).max_sge + 1, arena.sge(0, 1));
	ibv_recv_wr third = {3, nullptr, nullptr, 0};
	ibv_recv_wr second = {2, &third, sges.data(), static_cast<int>(sges.size())};
	ibv_recv_wr first = {1, &second, sges.data(), 1}, *bad = nullptr;
	EXPECT_ERR(ibv_post_srq_recv(srq.get(), &first, &bad), EINVAL);
	EXPECT_EQ(bad, &second);
}

// ---- modification ----

CONFORM(ModifySrq, limit_is_shown_by_a_query)
{
	Srq srq = make_srq(bed);
	Arena arena(bed.pd.get(), 64);
	// With fewer receives than the limit the event comes at once.
	for (uint64_t id = 0; id < 8; id++)
		ASSERT_OK(try_post_srq(srq.get(), id, {arena.sge(0, 64)}));
	ASSERT_OK(modify(srq.get(), 0, 5, IBV_SRQ_LIMIT));
	EXPECT_EQ(query(srq.get()).srq_limit, 5u);
}

CONFORM(ModifySrq, limit_of_all)
{
	Srq srq = make_srq(bed);
	EXPECT_OK(modify(srq.get(), 0, query(srq.get()).max_wr, IBV_SRQ_LIMIT));
}

CONFORM(ModifySrq, limit_beyond_all_is_refused)
{
	Srq srq = make_srq(bed);
	EXPECT_ERR(modify(srq.get(), 0, query(srq.get()).max_wr + 1, IBV_SRQ_LIMIT), EINVAL);
}

CONFORM(ModifySrq, unknown_mask_is_refused)
{
	Srq srq = make_srq(bed);
	EXPECT_ERR(modify(srq.get(), 0, 0, 1 << 5), EINVAL);
}

// Skips the case if a resize is not supported.
int resize(Bed &bed, ibv_srq *srq, uint32_t wrs)
{
	if (!bed.device.can(IBV_DEVICE_SRQ_RESIZE))
		skip("SRQ resize: no capability");
	return modify(srq, wrs, 0, IBV_SRQ_MAX_WR);
}

CONFORM(ModifySrq, resize_keeps_what_is_posted)
{
	Srq srq = make_srq(bed);
	Pair pair(bed);
	LinkOptions options = impatient_link();
	for (uint64_t id = 0; id < 4; id++)
		ASSERT_OK(try_post_srq(srq.get(), id, {pair.far_mem.sge(0, 64)}));
	ASSERT_OK(resize(bed, srq.get(), 1000));
	EXPECT_GE(query(srq.get()).max_wr, 1000u);
	Link near(bed.device, bed.pd.get(), pair.near_cq.get(), pair.near_cq.get(), options);
	options.srq = srq.get();
	Link far(bed.device, bed.pd.get(), pair.far_cq.get(), pair.far_cq.get(), options);
	Connection connection(bed, near, far);
	for (uint64_t id = 0; id < 4; id++) {
		post(near, pair.work(IBV_WR_SEND, id));
		pair.near_cq.expect(IBV_WC_SUCCESS, id);
		pair.far_cq.expect(IBV_WC_SUCCESS, id);
	}
}

CONFORM(ModifySrq, resize_below_what_is_posted_is_refused)
{
	Srq srq = make_srq(bed, 64);
	Arena arena(bed.pd.get(), 64);
	for (uint64_t id = 0; id < 40; id++)
		ASSERT_OK(try_post_srq(srq.get(), id, {arena.sge(0, 64)}));
	EXPECT_ERR(resize(bed, srq.get(), 8), EINVAL);
}

CONFORM(ModifySrq, resize_beyond_the_limit_is_refused)
{
	Srq srq = make_srq(bed);
	EXPECT_ERR(resize(bed, srq.get(), max_wr(bed) + 1), EINVAL);
}

CONFORM(ModifySrq, resize_to_nothing_is_refused)
{
	Srq srq = make_srq(bed);
	EXPECT_ERR(resize(bed, srq.get(), 0), EINVAL);
}

CONFORM(ModifySrq, limit_event_comes_once)
{
	Srq srq = make_srq(bed);
	Pair pair(bed);
	LinkOptions options = impatient_link();
	Link near(bed.device, bed.pd.get(), pair.near_cq.get(), pair.near_cq.get(), options);
	options.srq = srq.get();
	Link far(bed.device, bed.pd.get(), pair.far_cq.get(), pair.far_cq.get(), options);
	Connection connection(bed, near, far);
	for (uint64_t id = 0; id < 4; id++)
		ASSERT_OK(try_post_srq(srq.get(), id, {pair.far_mem.sge(0, 64)}));
	ASSERT_OK(modify(srq.get(), 0, 3, IBV_SRQ_LIMIT));
	for (uint64_t id = 0; id < 3; id++) {
		post(near, pair.work(IBV_WR_SEND, id));
		pair.near_cq.expect(IBV_WC_SUCCESS, id);
		pair.far_cq.expect(IBV_WC_SUCCESS, id);
	}
	expect_event(bed.device, IBV_EVENT_SRQ_LIMIT_REACHED, 10);
	EXPECT_EQ(query(srq.get()).srq_limit, 0u);
	std::optional<ibv_event_type> again = next_event(bed.device, 0.02);
	EXPECT_TRUE(!again || *again != IBV_EVENT_SRQ_LIMIT_REACHED);
}

} // namespace
} // namespace vt
