/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A device opened through libibverbs on the fake kernel, and shorthands. */
#ifndef VERBS_TEST_H
#define VERBS_TEST_H

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ah.h"
#include "fake_kernel.h"
#include "verbs.h"

/* Private to libibverbs: looked up, so that this program runs with any release's library. */
inline void *verbs_open_device(ibv_device *device, void *private_data)
{
	static const auto real = reinterpret_cast<void *(*)(ibv_device *, void *)>(
		dlsym(RTLD_DEFAULT, "verbs_open_device"));

	return real(device, private_data);
}

class VerbsTest : public ::testing::Test {
protected:
	void SetUp() override
	{
		kernel.reset();
		device.ops = &tern::device_ops;
		device.refcount = 1000;
		device.device.transport_type = IBV_TRANSPORT_IB;
		open();
	}
	void TearDown() override
	{
		if (ctx)
			ibv_close_device(ctx);
		EXPECT_EQ(kernel.complaint, "");
		EXPECT_TRUE(kernel.objects.empty()) << kernel.objects.size() << " objects left";
	}
	void open()
	{
		ctx = static_cast<ibv_context *>(verbs_open_device(&device.device, nullptr));
		ASSERT_NE(ctx, nullptr);
	}
	void reopen()
	{
		ibv_close_device(ctx);
		open();
	}

	/* A PD, two CQs and a QP, destroyed with the test. */
	struct Queues {
		ibv_pd *pd = nullptr;
		ibv_cq *scq = nullptr;
		ibv_cq *rcq = nullptr;
		ibv_qp *qp = nullptr;

		~Queues()
		{
			EXPECT_EQ(qp ? ibv_destroy_qp(qp) : 0, 0);
			EXPECT_EQ(scq ? ibv_destroy_cq(scq) : 0, 0);
			EXPECT_EQ(rcq ? ibv_destroy_cq(rcq) : 0, 0);
			EXPECT_EQ(pd ? ibv_dealloc_pd(pd) : 0, 0);
		}
	};
	ibv_qp_init_attr_ex qp_attr(const Queues &q, ibv_qp_type type)
	{
		ibv_qp_init_attr_ex attr = {};

		attr.send_cq = q.scq;
		attr.recv_cq = q.rcq;
		attr.cap = {4, 4, 2, 2, 32};
		attr.qp_type = type;
		attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = type == IBV_QPT_UD ?
					      IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM :
					      0x3ff;
		if (device.device.transport_type == IBV_TRANSPORT_IWARP)
			attr.send_ops_flags &= ~uint64_t{IBV_QP_EX_WITH_SEND_WITH_IMM};
		attr.pd = q.pd;
		return attr;
	}
	void make(Queues *q, ibv_qp_type type = IBV_QPT_RC, ibv_qp_state state = IBV_QPS_RTS)
	{
		q->pd = ibv_alloc_pd(ctx);
		q->scq = ibv_create_cq(ctx, 8, nullptr, nullptr, 0);
		q->rcq = ibv_create_cq(ctx, 8, nullptr, nullptr, 0);
		ibv_qp_init_attr_ex attr = qp_attr(*q, type);
		q->qp = ibv_create_qp_ex(ctx, &attr);
		ASSERT_NE(q->qp, nullptr);
		set_state(q->qp, state);
	}
	void set_state(ibv_qp *qp, ibv_qp_state state)
	{
		ibv_qp_attr attr = {};

		attr.qp_state = state;
		ASSERT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	}
	FakeRing &sq(ibv_qp *qp) { return *kernel.object(qp->handle).ring; }
	FakeRing &rq(ibv_qp *qp) { return *kernel.object(qp->handle).rq; }
	FakeRing &ring(ibv_cq *cq) { return *kernel.object(cq->handle).ring; }
	FakeRing &ring(ibv_srq *srq) { return *kernel.object(srq->handle).ring; }
	void complete(ibv_cq *cq, uint64_t wr_id, uint32_t qp_num = 1)
	{
		tern_cqe cqe = {};

		cqe.wr_id = wr_id;
		cqe.qp_num = qp_num;
		ASSERT_TRUE(ring(cq).complete(cqe));
	}

	FakeKernel &kernel = FakeKernel::get();
	verbs_device device = {};
	ibv_context *ctx = nullptr;
};

#endif
