// SPDX-License-Identifier: GPL-2.0
// What ibv_post_send() and ibv_post_recv() say at once: full queues, lists with a bad request, QP
// states in which nothing can be posted.
#include "conform.h"
#include "pair.h"
#include "qp_states.h"

namespace vt {
namespace {

ibv_send_wr send_of(uint64_t id, ibv_sge *sge, ibv_send_wr *next)
{
	ibv_send_wr wr = {};
	wr.wr_id = id;
	wr.next = next;
	wr.sg_list = sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	return wr;
}

CONFORM(PostSend, bad_wr_is_the_one_that_is_refused)
{
	Pair pair(bed);
	pair.receive();
	ibv_sge sge = pair.near_mem.sge(0, 64);
	ibv_send_wr third = send_of(3, &sge, nullptr);
	ibv_send_wr second = send_of(2, &sge, &third);
	second.opcode = static_cast<ibv_wr_opcode>(77);
	ibv_send_wr first = send_of(1, &sge, &second), *bad = nullptr;
	EXPECT_ERR(ibv_post_send(pair.near.qp(), &first, &bad), EINVAL);
	EXPECT_EQ(bad, &second);
	// The one before it is posted, those behind it are not.
	pair.near_cq.expect(IBV_WC_SUCCESS, 1);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
	pair.near_cq.expect_none(0.01);
}

CONFORM(PostSend, negative_number_of_SGEs_is_refused)
{
	Pair pair(bed);
	ibv_sge sge = pair.near_mem.sge(0, 64);
	ibv_send_wr wr = send_of(1, &sge, nullptr), *bad = nullptr;
	wr.num_sge = -1;
	EXPECT_NE(ibv_post_send(pair.near.qp(), &wr, &bad), 0);
	EXPECT_EQ(bad, &wr);
}

CONFORM(PostSend, full_queue_is_ENOMEM)
{
	bed.need_roce("a stream takes requests off the queue before the peer receives them");
	LinkOptions options = impatient_link();
	options.send_wr = 4;
	options.min_rnr_timer = 20;
	Pair pair(bed, options);
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};
	ASSERT_OK(ibv_query_qp(pair.near.qp(), &attr, IBV_QP_CAP, &init));
	// far receives nothing, so nothing completes.
	int error = 0;
	uint32_t posted = 0;
	while (!error && posted <= init.cap.max_send_wr) {
		error = try_post(pair.near, pair.work(IBV_WR_SEND, posted));
		posted += !error;
	}
	EXPECT_ERR(error, ENOMEM);
	EXPECT_EQ(posted, init.cap.max_send_wr);
	pair.near.move_to(IBV_QPS_ERR);
	for (uint32_t id = 0; id < posted; id++)
		pair.near_cq.expect(IBV_WC_WR_FLUSH_ERR, id);
}

CONFORM(PostSend, list_that_does_not_fit_is_posted_up_to_the_end_of_the_queue)
{
	bed.need_roce("a stream takes requests off the queue before the peer receives them");
	LinkOptions options = impatient_link();
	options.send_wr = 4;
	Pair pair(bed, options);
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};
	ASSERT_OK(ibv_query_qp(pair.near.qp(), &attr, IBV_QP_CAP, &init));
	std::vector<Work> works(init.cap.max_send_wr + 1, pair.work(IBV_WR_SEND));
	EXPECT_ERR(try_post_list(pair.near, works), ENOMEM);
	pair.near.move_to(IBV_QPS_ERR);
	for (uint32_t i = 0; i < init.cap.max_send_wr; i++)
		pair.near_cq.expect(IBV_WC_WR_FLUSH_ERR, 1);
	pair.near_cq.expect_none(0.01);
}

CONFORM(PostSend, atomic_of_4_bytes_is_refused)
{
	bed.need_for(IBV_WR_ATOMIC_FETCH_AND_ADD);
	Pair pair(bed);
	Work w = pair.work(IBV_WR_ATOMIC_FETCH_AND_ADD);
	w.sges[0].length = 4;
	EXPECT_ERR(try_post(pair.near, w), EINVAL);
}

CONFORM(PostSend, inline_read_is_refused)
{
	LinkOptions options = impatient_link();
	options.inline_bytes = 64;
	Pair pair(bed, options);
	Work w = pair.work(IBV_WR_RDMA_READ);
	w.flags |= IBV_SEND_INLINE;
	EXPECT_ERR(try_post(pair.near, w), EINVAL);
}

CONFORM(PostSend, datagram_without_an_address_is_refused)
{
	Pair pair(bed, impatient_link(IBV_QPT_UD));
	ibv_sge sge = pair.near_mem.sge(0, 64);
	ibv_send_wr wr = send_of(1, &sge, nullptr), *bad = nullptr;
	EXPECT_ERR(ibv_post_send(pair.near.qp(), &wr, &bad), EINVAL);
}

CONFORM(PostRecv, bad_wr_is_the_one_that_is_refused)
{
	Pair pair(bed);
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};
	ASSERT_OK(ibv_query_qp(pair.far.qp(), &attr, IBV_QP_CAP, &init));
	std::vector<ibv_sge> sges(init.cap.max_recv_sge + 1, pair.far_mem.sge(0, 64));
	ibv_recv_wr third = {9, nullptr, sges.data(), 1};
	ibv_recv_wr second = {8, &third, sges.data(), static_cast<int>(sges.size())};
	ibv_recv_wr first = {7, &second, sges.data(), 1}, *bad = nullptr;
	EXPECT_ERR(ibv_post_recv(pair.far.qp(), &first, &bad), EINVAL);
	EXPECT_EQ(bad, &second);
	pair.ends(pair.work(IBV_WR_SEND), IBV_WC_SUCCESS);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
}

CONFORM(PostRecv, full_queue_is_ENOMEM)
{
	Cq cq(bed.device, {});
	LinkOptions options;
	options.recv_wr = 4;
	Link link(bed.device, bed.pd.get(), cq.get(), cq.get(), options);
	link.to_init();
	Arena arena(bed.pd.get(), 64);
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};
	ASSERT_OK(ibv_query_qp(link.qp(), &attr, IBV_QP_CAP, &init));
	for (uint32_t id = 0; id < init.cap.max_recv_wr; id++)
		ASSERT_OK(try_post_recv(link, id, {arena.sge(0, 64)}));
	EXPECT_ERR(try_post_recv(link, 99, {arena.sge(0, 64)}), ENOMEM);
}

// ---- states (IBTA 10.3.1): sends from RTS on, receives from INIT on ----

bool may_send(ibv_qp_state state)
{
	return state != IBV_QPS_RESET && state != IBV_QPS_INIT && state != IBV_QPS_RTR;
}

const Added states([] {
	for (ibv_qp_state state : quiet_states()) {
		add_case("PostSend",
			 std::string("in_") + state_name(state) +
				 (may_send(state) ? "" : "_is_refused"),
			 [state](Bed &bed) {
				 bed.need_roce("the connection moves its QPs");
				 Cq cq(bed.device, {});
				 Arena arena(bed.pd.get(), 64);
				 Link link(bed.device, bed.pd.get(), cq.get(), cq.get(),
					   impatient_link());
				 bring_to(&link, state);
				 Work w{.id = 3, .sges = {arena.sge(0, 64)}};
				 EXPECT_ERR(try_post(link, w), may_send(state) ? 0 : EINVAL);
				 if (state == IBV_QPS_ERR)
					 cq.expect(IBV_WC_WR_FLUSH_ERR, 3);
			 });
		add_case("PostRecv",
			 std::string("in_") + state_name(state) +
				 (state != IBV_QPS_RESET ? "" : "_is_refused"),
			 [state](Bed &bed) {
				 bed.need_roce("the connection moves its QPs");
				 Cq cq(bed.device, {});
				 Arena arena(bed.pd.get(), 64);
				 Link link(bed.device, bed.pd.get(), cq.get(), cq.get(),
					   impatient_link());
				 bring_to(&link, state);
				 EXPECT_ERR(try_post_recv(link, 3, {arena.sge(0, 64)}),
					    state != IBV_QPS_RESET ? 0 : EINVAL);
				 if (state == IBV_QPS_ERR)
					 cq.expect(IBV_WC_WR_FLUSH_ERR, 3);
			 });
	}
});

CONFORM(PostSend, in_SQD_waits_for_RTS)
{
	bed.need_roce("the connection moves its QPs");
	Pair pair(bed);
	pair.receive();
	pair.near.move_to(IBV_QPS_SQD);
	post(pair.near, pair.work(IBV_WR_SEND));
	pair.near_cq.expect_none(0.02);
	pair.near.move_to(IBV_QPS_RTS);
	pair.near_cq.expect(IBV_WC_SUCCESS, 1);
	pair.far_cq.expect(IBV_WC_SUCCESS, 7);
}

CONFORM(PostRecv, RESET_drops_what_is_posted)
{
	bed.need_roce("the connection moves its QPs");
	Pair pair(bed);
	pair.receive();
	pair.far.move_to(IBV_QPS_RESET);
	pair.far_cq.expect_none(0.01);
}

CONFORM(PostSend, data_in_order_is_known)
{
	Pair pair(bed);
	int in_order = ibv_query_qp_data_in_order(pair.near.qp(), IBV_WR_RDMA_WRITE, 0);
	EXPECT_TRUE(in_order == 0 || in_order == 1) << in_order;
}

} // namespace
} // namespace vt
