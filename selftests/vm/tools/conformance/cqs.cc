// SPDX-License-Identifier: GPL-2.0
// Completion queues and their channels: limits, resize, moderation, notification, overrun.
#include <fcntl.h>
#include <unistd.h>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

using CqOwner = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;

CqOwner try_cq(Bed &bed, int entries, int vector = 0)
{
	return CqOwner(ibv_create_cq(bed.context, entries, nullptr, nullptr, vector));
}

Channel make_channel(Bed &bed)
{
	Channel channel(ibv_create_comp_channel(bed.context));
	require(channel != nullptr, "ibv_create_comp_channel: %m");
	return channel;
}

CONFORM(Cq, of_one_entry)
{
	CqOwner cq = try_cq(bed, 1);
	ASSERT_ERR(refusal(cq), 0);
	EXPECT_GE(cq->cqe, 1);
}

CONFORM(Cq, of_the_limit)
{
	CqOwner cq = try_cq(bed, bed.device.attr().max_cqe);
	ASSERT_ERR(refusal(cq), 0);
	EXPECT_EQ(cq->cqe, bed.device.attr().max_cqe);
}

CONFORM(Cq, of_one_more_than_the_limit_is_refused)
{
	EXPECT_ERR(refusal(try_cq(bed, bed.device.attr().max_cqe + 1)), EINVAL);
}

CONFORM(Cq, of_no_entry_is_refused)
{
	EXPECT_ERR(refusal(try_cq(bed, 0)), EINVAL);
}

CONFORM(Cq, of_a_negative_number_is_refused)
{
	EXPECT_ERR(refusal(try_cq(bed, -1)), EINVAL);
}

CONFORM(Cq, last_completion_vector)
{
	EXPECT_ERR(refusal(try_cq(bed, 16, bed.context->num_comp_vectors - 1)), 0);
}

CONFORM(Cq, vector_beyond_the_last_is_refused)
{
	EXPECT_ERR(refusal(try_cq(bed, 16, bed.context->num_comp_vectors)), EINVAL);
}

CONFORM(Cq, negative_vector_is_refused)
{
	EXPECT_ERR(refusal(try_cq(bed, 16, -1)), EINVAL);
}

CONFORM(Cq, empty_one_has_nothing)
{
	CqOwner cq = try_cq(bed, 16);
	ibv_wc wc;
	EXPECT_EQ(ibv_poll_cq(cq.get(), 1, &wc), 0);
	EXPECT_EQ(ibv_poll_cq(cq.get(), 0, &wc), 0);
}

CONFORM(Cq, is_busy_with_a_qp)
{
	CqOwner cq = try_cq(bed, 16);
	Link link(bed.device, bed.pd.get(), cq.get(), cq.get(), {});
	EXPECT_ERR(ibv_destroy_cq(cq.get()), EBUSY);
}

CONFORM(Cq, polls_as_many_as_asked_for)
{
	Pair pair(bed);
	for (uint64_t id = 0; id < 5; id++)
		post(pair.near, pair.work(IBV_WR_RDMA_READ, id));
	ibv_wc wc[8];
	int got = 0;
	for (double until = now_s() + 10 * slow(); got < 5 && now_s() < until;) {
		int n = ibv_poll_cq(pair.near_cq.get(), std::min(2, 5 - got), wc + got);
		ASSERT_GE(n, 0);
		ASSERT_LE(n, 2);
		got += n;
	}
	ASSERT_EQ(got, 5);
	for (uint64_t id = 0; id < 5; id++) {
		EXPECT_EQ(wc[id].wr_id, id);
		EXPECT_EQ(wc[id].status, IBV_WC_SUCCESS);
		EXPECT_EQ(wc[id].qp_num, pair.near.qp()->qp_num);
	}
}

CONFORM(Cq, overrun_raises_an_event_and_ends_polling)
{
	constexpr int kEntries = 4, kMany = 4096;
	CqOptions small;
	small.entries = kEntries;
	LinkOptions options = impatient_link();
	options.send_wr = kMany;
	Cq cq(bed.device, small);
	Pair other(bed);
	Link near(bed.device, bed.pd.get(), cq.get(), cq.get(), options);
	Link far(bed.device, bed.pd.get(), other.far_cq.get(), other.far_cq.get(), options);
	Connection connection(bed, near, far);
	for (int i = 0; i <= cq.get()->cqe; i++)
		if (try_post(near, other.work(IBV_WR_RDMA_READ)))
			break;
	expect_event(bed.device, IBV_EVENT_CQ_ERR, 10);
	ibv_wc wc;
	int polled = 0;
	while (polled <= cq.get()->cqe && ibv_poll_cq(cq.get(), 1, &wc) > 0)
		polled++;
	EXPECT_LT(ibv_poll_cq(cq.get(), 1, &wc), 0);
}

// ---- resize ----

// Skips the case if the verb is not supported.
int resize(ibv_cq *cq, int entries)
{
	int error = ibv_resize_cq(cq, entries);
	if (means_unsupported(error))
		refuse("ibv_resize_cq", error);
	return error;
}

CONFORM(ResizeCq, to_more)
{
	CqOwner cq = try_cq(bed, 16);
	EXPECT_OK(resize(cq.get(), 1000));
	EXPECT_GE(cq->cqe, 1000);
}

CONFORM(ResizeCq, to_fewer)
{
	CqOwner cq = try_cq(bed, 1000);
	EXPECT_OK(resize(cq.get(), 10));
	EXPECT_GE(cq->cqe, 10);
}

CONFORM(ResizeCq, to_the_limit)
{
	CqOwner cq = try_cq(bed, 16);
	EXPECT_OK(resize(cq.get(), bed.device.attr().max_cqe));
}

CONFORM(ResizeCq, beyond_the_limit_is_refused)
{
	CqOwner cq = try_cq(bed, 16);
	EXPECT_ERR(resize(cq.get(), bed.device.attr().max_cqe + 1), EINVAL);
	EXPECT_GE(cq->cqe, 16);
}

CONFORM(ResizeCq, to_nothing_is_refused)
{
	CqOwner cq = try_cq(bed, 16);
	EXPECT_ERR(resize(cq.get(), 0), EINVAL);
}

// Eight completions that are not polled yet.
struct FilledCq {
	explicit FilledCq(Bed &bed) : pair(bed)
	{
		for (uint64_t id = 0; id < 8; id++)
			post(pair.near, pair.work(IBV_WR_RDMA_READ, id));
		// By a queue of its own, the last one tells.
		pair.near_cq.expect(IBV_WC_SUCCESS, 0);
		usleep(20000 * static_cast<unsigned>(slow()));
	}
	void expect_rest()
	{
		for (uint64_t id = 1; id < 8; id++)
			pair.near_cq.expect(IBV_WC_SUCCESS, id);
	}
	Pair pair;
};

CONFORM(ResizeCq, keeps_what_is_not_polled)
{
	FilledCq filled(bed);
	EXPECT_OK(resize(filled.pair.near_cq.get(), 1000));
	filled.expect_rest();
}

CONFORM(ResizeCq, below_what_is_not_polled_is_refused)
{
	FilledCq filled(bed);
	EXPECT_ERR(resize(filled.pair.near_cq.get(), 2), EINVAL);
	filled.expect_rest();
}

// ---- moderation ----

int moderate(ibv_cq *cq, uint16_t count, uint16_t period_us, uint32_t mask = IBV_CQ_ATTR_MODERATE)
{
	ibv_modify_cq_attr attr = {};
	attr.attr_mask = mask;
	attr.moderate = {count, period_us};
	int error = ibv_modify_cq(cq, &attr);
	if (means_unsupported(error) && mask == IBV_CQ_ATTR_MODERATE)
		refuse("ibv_modify_cq", error);
	return error;
}

CONFORM(ModifyCq, moderation)
{
	CqOwner cq = try_cq(bed, 16);
	EXPECT_OK(moderate(cq.get(), 4, 1000));
	EXPECT_OK(moderate(cq.get(), 0, 0));
}

CONFORM(ModifyCq, moderation_to_the_limits)
{
	CqOwner cq = try_cq(bed, 16);
	const ibv_cq_moderation_caps &caps = bed.device.attr_ex().cq_mod_caps;
	EXPECT_OK(moderate(cq.get(), caps.max_cq_count, caps.max_cq_period));
	EXPECT_GT(caps.max_cq_count, 0);
	EXPECT_GT(caps.max_cq_period, 0);
}

CONFORM(ModifyCq, unknown_attribute_is_refused)
{
	CqOwner cq = try_cq(bed, 16);
	moderate(cq.get(), 0, 0);
	int error = moderate(cq.get(), 4, 1000, IBV_CQ_ATTR_MODERATE << 1);
	EXPECT_TRUE(error == EINVAL || error == EOPNOTSUPP) << Errno{error};
}

CONFORM(ModifyCq, events_wait_for_the_number)
{
	CqOptions with_events;
	with_events.events = true;
	Pair pair(bed, impatient_link(), kAllAccess, with_events);
	moderate(pair.far_cq.get(), 4, UINT16_MAX);
	for (uint64_t id = 0; id < 4; id++)
		pair.receive(id);
	pair.far_cq.arm(false);
	for (uint64_t id = 0; id < 4; id++)
		pair.ends(pair.work(IBV_WR_SEND, id), IBV_WC_SUCCESS);
	EXPECT_TRUE(pair.far_cq.wait_event(10 * slow()));
	for (uint64_t id = 0; id < 4; id++)
		pair.far_cq.expect(IBV_WC_SUCCESS, id);
}

// ---- channels and notification ----

CONFORM(CompChannel, has_no_event_at_first)
{
	Channel channel = make_channel(bed);
	fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
	ibv_cq *cq;
	void *context;
	EXPECT_EQ(ibv_get_cq_event(channel.get(), &cq, &context), -1);
	EXPECT_ERR(errno, EAGAIN);
}

CONFORM(CompChannel, is_busy_with_a_cq)
{
	Channel channel = make_channel(bed);
	CqOwner cq(ibv_create_cq(bed.context, 16, nullptr, channel.get(), 0));
	ASSERT_NE(cq, nullptr);
	EXPECT_ERR(ibv_destroy_comp_channel(channel.get()), EBUSY);
}

CONFORM(CompChannel, serves_two_cqs)
{
	Channel channel = make_channel(bed);
	CqOwner one(ibv_create_cq(bed.context, 16, &bed, channel.get(), 0));
	CqOwner two(ibv_create_cq(bed.context, 16, nullptr, channel.get(), 0));
	ASSERT_NE(one, nullptr);
	ASSERT_NE(two, nullptr);
	Link link(bed.device, bed.pd.get(), two.get(), one.get(), {});
	ASSERT_OK(ibv_req_notify_cq(one.get(), 0));
	link.to_init();
	Arena arena(bed.pd.get(), 64);
	post_recv(link, 1, {arena.sge(0, 64)});
	link.move_to(IBV_QPS_ERR);
	ibv_cq *from;
	void *context;
	ASSERT_EQ(ibv_get_cq_event(channel.get(), &from, &context), 0);
	EXPECT_EQ(from, one.get());
	EXPECT_EQ(context, &bed);
	ibv_ack_cq_events(one.get(), 1);
}

// far's CQ, which has events.
Pair make_notified(Bed &bed)
{
	CqOptions with_events;
	with_events.events = true;
	return Pair(bed, impatient_link(), kAllAccess, with_events);
}

CONFORM(ReqNotifyCq, event_of_a_completion)
{
	Pair pair = make_notified(bed);
	pair.receive();
	pair.far_cq.arm(false);
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	EXPECT_TRUE(pair.far_cq.wait_event(10 * slow()));
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
}

CONFORM(ReqNotifyCq, no_event_if_it_is_not_armed)
{
	Pair pair = make_notified(bed);
	pair.receive();
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	EXPECT_FALSE(pair.far_cq.wait_event(0.05));
}

CONFORM(ReqNotifyCq, one_event_for_each_arming)
{
	Pair pair = make_notified(bed);
	pair.receive(7);
	pair.receive(8);
	pair.far_cq.arm(false);
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	EXPECT_TRUE(pair.far_cq.wait_event(10 * slow()));
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	EXPECT_FALSE(pair.far_cq.wait_event(0.05));
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	pair.far_cq.expect(IBV_WC_SUCCESS, 8);
}

CONFORM(ReqNotifyCq, solicited_only_ignores_other_messages)
{
	Pair pair = make_notified(bed);
	pair.receive(7);
	pair.receive(8);
	pair.far_cq.arm(true);
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	EXPECT_FALSE(pair.far_cq.wait_event(0.05));
	Work solicited = pair.work(IBV_WR_SEND);
	solicited.flags |= IBV_SEND_SOLICITED;
	pair.ends(solicited, IBV_WC_SUCCESS);
	EXPECT_TRUE(pair.far_cq.wait_event(10 * slow()));
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	pair.far_cq.expect(IBV_WC_SUCCESS, 8);
}

CONFORM(ReqNotifyCq, solicited_only_reports_errors)
{
	Pair pair = make_notified(bed);
	pair.receive();
	pair.far_cq.arm(true);
	pair.far.move_to(IBV_QPS_ERR);
	EXPECT_TRUE(pair.far_cq.wait_event(10 * slow()));
	pair.far_cq.expect(IBV_WC_WR_FLUSH_ERR, 7);
}

} // namespace
} // namespace vt
