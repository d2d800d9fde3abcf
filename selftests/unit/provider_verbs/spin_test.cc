// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Consumers that spin on an empty CQ of a context opened with TERN_POLL=wait, by a clock of
// their own: when they yield and when they wait, and what of their posted work that depends on.
#include <cstdlib>
#include <vector>

#include "fake_clock.h"
#include "objects.h"
#include "verbs_test.h"

using tern::Patience;

namespace {

class Spin : public VerbsTest {
protected:
	void SetUp() override
	{
		setenv("TERN_POLL", "wait", 1);
		VerbsTest::SetUp();
		cq = ibv_create_cq(ctx, 8, nullptr, nullptr, 0);
		ASSERT_NE(cq, nullptr);
	}
	void TearDown() override
	{
		unsetenv("TERN_POLL");
		EXPECT_EQ(ibv_destroy_cq(cq), 0);
		VerbsTest::TearDown();
	}
	void reopen_with(const char *how)
	{
		setenv("TERN_POLL", how, 1);
		EXPECT_EQ(ibv_destroy_cq(cq), 0);
		reopen();
		cq = ibv_create_cq(ctx, 8, nullptr, nullptr, 0);
		ASSERT_NE(cq, nullptr);
	}

	/* One in vain, which takes as long as the clock takes to be read. */
	void poll()
	{
		ibv_wc wc;

		ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
	}
	void poll(uint64_t times)
	{
		for (uint64_t i = 0; i < times; i++)
			poll();
	}
	void find_one()
	{
		ibv_wc wc;

		complete(cq, 1);
		ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
	}
	/* For how long it spins before it waits in the kernel. */
	uint64_t ns_until_wait()
	{
		const int before = kernel.cq_waits;
		const uint64_t from_ns = clock.now_ns;

		for (int i = 0; i < 1000000 && kernel.cq_waits == before; i++)
			poll();
		EXPECT_EQ(kernel.cq_waits, before + 1);
		return clock.now_ns - from_ns;
	}
	uint32_t under_way() { return tern::to_context(ctx)->under_way; }

	uint32_t to_come() { return tern::to_context(ctx)->to_come; }
	uint32_t how() { return kernel.object(cq->handle).state; }

	/* A list of n sends, the last of which has a completion on a QP that asks for it. */
	static int post(ibv_qp *qp, size_t n, unsigned int last_flags = 0)
	{
		ibv_sge sge = {0x1000, 16, 7};
		std::vector<ibv_send_wr> wr(n);
		ibv_send_wr *bad;

		for (size_t i = 0; i < n; i++) {
			wr[i].next = i + 1 < n ? &wr[i + 1] : nullptr;
			wr[i].sg_list = &sge;
			wr[i].num_sge = 1;
			wr[i].opcode = IBV_WR_SEND;
		}
		wr[n - 1].send_flags = last_flags;
		return ibv_post_send(qp, wr.data(), &bad);
	}

	FakeClock clock;
	ibv_cq *cq = nullptr;
};

TEST_F(Spin, YieldsTheCpuAfterAWhileInVain)
{
	const uint64_t polls = Patience::kYieldNs / clock.read_takes_ns;
	const int before = kernel.ioctls;

	/* The first begins the while. */
	poll(polls);
	EXPECT_EQ(clock.yields, 0u);
	poll();
	EXPECT_EQ(clock.yields, 1u);
	/* Then, whenever that time has doubled. */
	poll(polls - 10);
	EXPECT_EQ(clock.yields, 1u);
	poll(10);
	EXPECT_EQ(clock.yields, 2u);
	EXPECT_EQ(kernel.ioctls, before);
}

TEST_F(Spin, OnAnExtendedCqYieldsAsWell)
{
	ibv_cq_init_attr_ex attr = {};
	ibv_poll_cq_attr none = {};

	attr.cqe = 4;
	ibv_cq_ex *ex = ibv_create_cq_ex(ctx, &attr);
	ASSERT_NE(ex, nullptr);
	for (uint64_t i = 0; i <= Patience::kYieldNs / clock.read_takes_ns; i++) {
		EXPECT_EQ(clock.yields, 0u);
		ASSERT_EQ(ibv_start_poll(ex, &none), ENOENT);
	}
	EXPECT_EQ(clock.yields, 1u);
	EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

TEST_F(Spin, DoesNotYieldWhileCompletionsCome)
{
	for (int i = 0; i < 100; i++) {
		poll(Patience::kYieldNs / clock.read_takes_ns);
		find_one();
	}
	EXPECT_EQ(clock.yields, 0u);
}

TEST_F(Spin, DoesNotYieldIfToldToSpin)
{
	reopen_with("spin");
	poll(2 * Patience::kSpinNs / clock.read_takes_ns);
	EXPECT_EQ(clock.yields, 0u);
	EXPECT_EQ(kernel.cq_waits, 0);
}

TEST_F(Spin, WaitsAfterYieldsThatTookLong)
{
	clock.yield_takes_ns = Patience::kAwayNs;
	ns_until_wait();
	EXPECT_EQ(clock.yields, uint32_t{Patience::kAways});
}

TEST_F(Spin, YieldsOnAfterYieldsThatTookLessLong)
{
	clock.yield_takes_ns = Patience::kAwayNs / 2;
	EXPECT_GE(ns_until_wait(), uint64_t{Patience::kSpinNs});
	EXPECT_GT(clock.yields, uint32_t{Patience::kAways});
}

/* ---- what is under way ---- */

TEST_F(Spin, WhatIsPostedAndNotCompleteIsUnderWay)
{
	Queues q;

	make(&q);
	EXPECT_EQ(under_way(), 0u);
	EXPECT_EQ(post(q.qp, 1), 0);
	EXPECT_EQ(under_way(), 1u);
	EXPECT_EQ(post(q.qp, 2), 0);
	EXPECT_EQ(under_way(), 3u);
	sq(q.qp).set_cons(2);
	EXPECT_EQ(post(q.qp, 1), 0);
	EXPECT_EQ(under_way(), 2u);
	sq(q.qp).set_cons(4);
	EXPECT_EQ(post(q.qp, 1), 0);
	EXPECT_EQ(under_way(), 1u);
}

TEST_F(Spin, WhoReceivesAndPostsNothingSoonWaits)
{
	Queues q;

	make(&q);
	for (uint32_t i = 0; i < Patience::kOneWay; i++) {
		poll(Patience::kSpinNs / 4 / clock.read_takes_ns);
		find_one();
	}
	EXPECT_EQ(kernel.cq_waits, 0);
	EXPECT_LT(ns_until_wait(), 2 * Patience::kShortSpinNs);
	/* A post, and it may be an answer that it waits for. */
	find_one();
	EXPECT_EQ(post(q.qp, 1), 0);
	EXPECT_GE(ns_until_wait(), uint64_t{Patience::kSpinNs});
}

TEST_F(Spin, OfAListThatDidNotFitWhatDidIsUnderWay)
{
	Queues q;

	make(&q);
	EXPECT_EQ(post(q.qp, 6), ENOMEM);
	EXPECT_EQ(under_way(), 4u);
}

TEST_F(Spin, WhatIsPostedWithoutADoorbellIsUnderWay)
{
	Queues q;

	make(&q);
	sq(q.qp).set_flags(TERN_RING_F_DRAINING);
	EXPECT_EQ(post(q.qp, 2), 0);
	EXPECT_EQ(under_way(), 2u);
	EXPECT_EQ(kernel.doorbells, 0);
}

TEST_F(Spin, CountsRoundTheRing)
{
	Queues q;

	make(&q);
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(post(q.qp, 3), 0);
		EXPECT_EQ(under_way(), 3u);
		sq(q.qp).set_cons(sq(q.qp).prod());
	}
}

TEST_F(Spin, ItIsTheQueueThatWasPostedToLast)
{
	Queues q, other;

	make(&q);
	make(&other);
	EXPECT_EQ(post(q.qp, 4), 0);
	EXPECT_EQ(post(other.qp, 1), 0);
	EXPECT_EQ(under_way(), 1u);
}

TEST_F(Spin, ABatchIsUnderWayWhenItIsComplete)
{
	Queues q;

	make(&q);
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(q.qp);
	auto build = [&](int n) {
		ibv_wr_start(ex);
		for (int i = 0; i < n; i++) {
			ibv_wr_send(ex);
			ibv_wr_set_sge(ex, 7, 0x1000, 16);
		}
	};
	build(2);
	EXPECT_EQ(under_way(), 0u);
	EXPECT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(under_way(), 2u);
	build(1);
	ibv_wr_abort(ex);
	EXPECT_EQ(under_way(), 2u);
	build(1);
	EXPECT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(under_way(), 3u);
}

TEST_F(Spin, WithMuchUnderWayWaitsSooner)
{
	Queues q;

	make(&q);
	/* It takes a while until each completion comes. */
	for (int i = 0; i < 8; i++) {
		poll(2 * Patience::kBulkGapNs / clock.read_takes_ns);
		find_one();
	}
	ASSERT_EQ(kernel.cq_waits, 0);
	ASSERT_EQ(post(q.qp, Patience::kBulk), 0);
	EXPECT_LT(ns_until_wait(), 2 * Patience::kShortSpinNs);
	find_one();
	/* All are complete but one, and one is new. */
	sq(q.qp).set_cons(Patience::kBulk - 1);
	ASSERT_EQ(post(q.qp, 1), 0);
	EXPECT_GE(ns_until_wait(), uint64_t{Patience::kSpinNs});
}

TEST_F(Spin, CompletionsToComeAreThoseThatWereAskedFor)
{
	Queues q;

	make(&q);
	EXPECT_EQ(post(q.qp, 2, IBV_SEND_SIGNALED), 0);
	EXPECT_EQ(to_come(), 1u);
	EXPECT_EQ(post(q.qp, 2, IBV_SEND_SIGNALED), 0);
	EXPECT_EQ(to_come(), 2u);
	sq(q.qp).set_cons(4);
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(post(q.qp, 1, IBV_SEND_SIGNALED), 0);
	EXPECT_EQ(to_come(), 4u);
}

TEST_F(Spin, WithManyToComeWaitsForSeveral)
{
	Queues q;
	ibv_cq *other = ibv_create_cq(ctx, 4, nullptr, nullptr, 0);
	ibv_wc wc;

	make(&q);
	ibv_qp_init_attr_ex attr = qp_attr(q, IBV_QPT_RC);
	attr.cap.max_send_wr = 64;
	EXPECT_EQ(ibv_destroy_qp(q.qp), 0);
	q.qp = ibv_create_qp_ex(ctx, &attr);
	ASSERT_NE(q.qp, nullptr);
	set_state(q.qp, IBV_QPS_RTS);
	for (int i = 0; i < 8; i++) {
		poll(2 * Patience::kBulkGapNs / clock.read_takes_ns);
		find_one();
	}
	for (int i = 0; i < 64; i++)
		ASSERT_EQ(post(q.qp, 1, IBV_SEND_SIGNALED), 0);
	ns_until_wait();
	EXPECT_EQ(how() & TERN_CQ_WAIT_CQES, 64 / Patience::kOneIn << 16);
	EXPECT_GE(how() & TERN_CQ_WAIT_US, uint32_t{TERN_CQ_WAIT_MAX_US});
	EXPECT_FALSE(how() & TERN_CQ_WAIT_ANY);
	/* Who looks at another one, too, may be wanted there. */
	const int before = kernel.cq_waits;

	while (kernel.cq_waits == before) {
		ASSERT_EQ(ibv_poll_cq(other, 1, &wc), 0);
		poll();
	}
	EXPECT_EQ(kernel.object(cq->handle).state & TERN_CQ_WAIT_CQES, 1u << 16);
	EXPECT_TRUE(how() & TERN_CQ_WAIT_ANY);
	EXPECT_EQ(ibv_destroy_cq(other), 0);
}

TEST_F(Spin, NothingIsToldToWhoSpinsOn)
{
	reopen_with("spin");
	Queues q;

	make(&q);
	EXPECT_EQ(post(q.qp, 2), 0);
	EXPECT_EQ(under_way(), 0u);
}

} // namespace
