// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Consumers that spin on an empty CQ: a poll never asks the kernel for anything, but that
// the only CPU is yielded now and then.
#include <cerrno>

#include "fake_cpus.h"
#include "verbs_test.h"

namespace {

constexpr unsigned kPolls = 100000;
/* So many in vain at least lie between two yields: a system call costs some tens of polls. */
constexpr unsigned kRun = 128;

class Spin : public VerbsTest {
protected:
	void SetUp() override
	{
		VerbsTest::SetUp();
		open_with_cpus(1);
	}
	void TearDown() override
	{
		EXPECT_EQ(ibv_destroy_cq(cq), 0);
		VerbsTest::TearDown();
	}
	void open_with_cpus(int online)
	{
		cpus.online = online;
		if (cq) {
			EXPECT_EQ(ibv_destroy_cq(cq), 0);
		}
		reopen();
		cq = ibv_create_cq(ctx, 8, nullptr, nullptr, 0);
		ASSERT_NE(cq, nullptr);
		find_one();
		cpus.yields = 0;
		asked = kernel.ioctls;
	}
	/* In vain. */
	void poll(unsigned times)
	{
		ibv_wc wc;

		for (unsigned i = 0; i < times; i++)
			ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
	}
	void find_one()
	{
		ibv_wc wc;

		complete(cq, 1);
		ASSERT_EQ(ibv_poll_cq(cq, 1, &wc), 1);
	}

	FakeCpus cpus{1};
	ibv_cq *cq = nullptr;
	int asked = 0; /* the kernel, before */
};

TEST_F(Spin, OnOneCpuYieldsNowAndThen)
{
	errno = 77;
	poll(kPolls);
	EXPECT_EQ(kernel.ioctls, asked);
	EXPECT_GT(cpus.yields, 0u);
	EXPECT_LE(cpus.yields, kPolls / kRun);
	EXPECT_EQ(errno, 77);
}

TEST_F(Spin, OnTwoCpusDoesNothing)
{
	open_with_cpus(2);
	poll(kPolls);
	EXPECT_EQ(kernel.ioctls, asked);
	EXPECT_EQ(cpus.yields, 0u);
}

TEST_F(Spin, OnAnExtendedCqYieldsAsWell)
{
	ibv_cq_init_attr_ex attr = {};
	ibv_poll_cq_attr none = {};

	attr.cqe = 4;
	ibv_cq_ex *ex = ibv_create_cq_ex(ctx, &attr);
	ASSERT_NE(ex, nullptr);
	asked = kernel.ioctls;
	for (unsigned i = 0; i < kPolls; i++)
		ASSERT_EQ(ibv_start_poll(ex, &none), ENOENT);
	EXPECT_EQ(kernel.ioctls, asked);
	EXPECT_GT(cpus.yields, 0u);
	EXPECT_LE(cpus.yields, kPolls / kRun);
	EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

TEST_F(Spin, OnSeveralCqsYieldsForAllOfThem)
{
	ibv_cq *other = ibv_create_cq(ctx, 4, nullptr, nullptr, 0);
	ibv_wc wc;

	ASSERT_NE(other, nullptr);
	for (unsigned i = 0; i < kPolls; i++) {
		poll(1);
		ASSERT_EQ(ibv_poll_cq(other, 1, &wc), 0);
	}
	EXPECT_GT(cpus.yields, 0u);
	EXPECT_LE(cpus.yields, 2 * kPolls / kRun);
	EXPECT_EQ(ibv_destroy_cq(other), 0);
}

TEST_F(Spin, DoesNotYieldWhileCompletionsCome)
{
	ibv_cq *idle = ibv_create_cq(ctx, 4, nullptr, nullptr, 0);
	ibv_wc wc;

	ASSERT_NE(idle, nullptr);
	for (int i = 0; i < 1000; i++) {
		for (unsigned n = 0; n < kRun / 2; n++) {
			poll(1);
			ASSERT_EQ(ibv_poll_cq(idle, 1, &wc), 0);
		}
		find_one();
	}
	EXPECT_EQ(cpus.yields, 0u);
	EXPECT_EQ(ibv_destroy_cq(idle), 0);
}

} // namespace
