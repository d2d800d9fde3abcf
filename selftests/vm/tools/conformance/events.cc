// SPDX-License-Identifier: GPL-2.0
// Asynchronous events: each that a program can provoke by itself, and of what it tells. Those of
// CQs and SRQs are beside their verbs.
#include <fcntl.h>

#include "conform.h"
#include "pair.h"

namespace vt {
namespace {

// The next event of this type, not acknowledged.
ibv_async_event wait_for(const Bed &bed, ibv_event_type type)
{
	int fd = bed.context->async_fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	for (double until = now_s() + 10 * slow(); now_s() < until;) {
		ibv_async_event event;
		if (ibv_get_async_event(bed.context, &event))
			continue;
		if (event.event_type == type)
			return event;
		ibv_ack_async_event(&event);
	}
	fail("no event '%s'", ibv_event_type_str(type));
}

void expect_event_of(const Bed &bed, ibv_event_type type, const Link &link)
{
	ibv_async_event event = wait_for(bed, type);
	EXPECT_EQ(event.element.qp, link.qp());
	ibv_ack_async_event(&event);
}

CONFORM(AsyncEvent, without_one_a_file_that_does_not_block_is_EAGAIN)
{
	int fd = bed.context->async_fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	ibv_async_event event;
	EXPECT_EQ(ibv_get_async_event(bed.context, &event), -1);
	EXPECT_ERR(errno, EAGAIN);
}

CONFORM(AsyncEvent, QP_ACCESS_ERR_at_the_responder)
{
	Pair pair(bed);
	Work w = pair.work(IBV_WR_RDMA_READ);
	w.rkey ^= 0x5500;
	pair.ends(w, IBV_WC_REM_ACCESS_ERR);
	expect_event_of(bed, IBV_EVENT_QP_ACCESS_ERR, pair.far);
	EXPECT_EQ(pair.far.state(), IBV_QPS_ERR);
}

CONFORM(AsyncEvent, QP_REQ_ERR_at_the_responder)
{
	Pair pair(bed);
	pair.receive(7, {pair.far_mem.sge(0, 10)});
	post(pair.near, pair.work(IBV_WR_SEND));
	pair.far_cq.expect(IBV_WC_LOC_LEN_ERR, 7);
	expect_event_of(bed, IBV_EVENT_QP_REQ_ERR, pair.far);
	EXPECT_EQ(pair.far.state(), IBV_QPS_ERR);
}

CONFORM(AsyncEvent, QP_FATAL_for_a_receive_of_an_unknown_key)
{
	bed.need_roce("the stream's end is what is told");
	Pair pair(bed);
	ibv_sge sge = pair.far_mem.sge(0, 64);
	sge.lkey ^= 0x5500;
	pair.receive(7, {sge});
	post(pair.near, pair.work(IBV_WR_SEND));
	pair.far_cq.expect(IBV_WC_LOC_PROT_ERR, 7);
	expect_event_of(bed, IBV_EVENT_QP_FATAL, pair.far);
}

CONFORM(AsyncEvent, COMM_EST_for_a_message_in_RTR)
{
	bed.need_roce("rdma_cm tells of the connection");
	Pair pair(bed);
	Link near(bed.device, bed.pd.get(), pair.near_cq.get(), pair.near_cq.get(),
		  impatient_link());
	Link far(bed.device, bed.pd.get(), pair.far_cq.get(), pair.far_cq.get(), impatient_link());
	near.to_init();
	far.to_init();
	post_recv(far, 7, {pair.far_mem.sge(0, 4096)});
	near.to_rtr(far.address());
	far.to_rtr(near.address());
	near.to_rts();
	post(near, pair.work(IBV_WR_SEND));
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	expect_event_of(bed, IBV_EVENT_COMM_EST, far);
}

CONFORM(AsyncEvent, SQ_DRAINED_when_asked_for)
{
	bed.need_roce("it has no SQD");
	Pair pair(bed);
	ibv_qp_attr attr = {};
	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 1;
	ASSERT_OK(pair.near.modify(&attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
	expect_event_of(bed, IBV_EVENT_SQ_DRAINED, pair.near);
}

CONFORM(AsyncEvent, QP_LAST_WQE_REACHED_of_a_qp_with_an_srq)
{
	bed.need_roce("its QPs end with their connection");
	ibv_srq_init_attr attr = {};
	attr.attr = {16, 1, 0};
	Srq srq = made(Srq(ibv_create_srq(bed.pd.get(), &attr)), "ibv_create_srq");
	Cq cq(bed.device, {});
	LinkOptions options;
	options.srq = srq.get();
	Link link(bed.device, bed.pd.get(), cq.get(), cq.get(), options);
	link.to_init();
	link.move_to(IBV_QPS_ERR);
	expect_event_of(bed, IBV_EVENT_QP_LAST_WQE_REACHED, link);
}

CONFORM(AsyncEvent, goes_to_the_context_of_its_object_only)
{
	Pair pair(bed);
	ibv_context *other = ibv_open_device(bed.context->device);
	ASSERT_NE(other, nullptr);
	fcntl(other->async_fd, F_SETFL, fcntl(other->async_fd, F_GETFL) | O_NONBLOCK);
	Work w = pair.work(IBV_WR_RDMA_READ);
	w.rkey ^= 0x5500;
	pair.ends(w, IBV_WC_REM_ACCESS_ERR);
	expect_event_of(bed, IBV_EVENT_QP_ACCESS_ERR, pair.far);
	ibv_async_event event;
	EXPECT_EQ(ibv_get_async_event(other, &event), -1);
	EXPECT_OK(ibv_close_device(other));
}

} // namespace
} // namespace vt
