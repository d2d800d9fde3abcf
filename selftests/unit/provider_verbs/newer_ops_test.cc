// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// ATOMIC WRITE and FLUSH: offered if module, library and transport have them, and their WQEs.
#include <cstring>
#include <iterator>

#include "abi/library.h"
#include "objects.h"
#include "verbs_test.h"

namespace {

using tern::abi::kWithAtomicWrite;
using tern::abi::kWithFlush;
using AtomicWrite = void(ibv_qp_ex *, uint32_t, uint64_t, const void *);
using Flush = void(ibv_qp_ex *, uint32_t, uint64_t, size_t, uint8_t, uint8_t);

class NewerOps : public VerbsTest {
protected:
	void SetUp() override
	{
		real_ = tern::abi::library.qp_comp_mask;
		tern::abi::library.qp_comp_mask = newest();
		VerbsTest::SetUp();
	}
	void TearDown() override
	{
		VerbsTest::TearDown();
		tern::abi::library.qp_comp_mask = real_;
	}
	static size_t newest()
	{
		return tern::abi::kQpCompMaskOffsets[std::size(tern::abi::kQpCompMaskOffsets) - 1];
	}

	/* Creates q's QP with these operations; its error. */
	int create(Queues *q, uint64_t ops, uint32_t max_inline = 32)
	{
		if (!q->pd) {
			q->pd = ibv_alloc_pd(ctx);
			q->scq = ibv_create_cq(ctx, 8, nullptr, nullptr, 0);
			q->rcq = ibv_create_cq(ctx, 8, nullptr, nullptr, 0);
		}
		ibv_qp_init_attr_ex attr = qp_attr(*q, IBV_QPT_RC);
		attr.send_ops_flags = ops;
		attr.cap.max_inline_data = max_inline;
		attr.cap.max_send_sge = 0;
		q->qp = ibv_create_qp_ex(ctx, &attr);
		return q->qp ? 0 : errno;
	}
	/* Whether a QP with these operations is refused. */
	int refusal(uint64_t ops)
	{
		Queues q;

		return create(&q, ops);
	}
	template <typename Function> static Function *op_at(ibv_qp *qp, size_t offset)
	{
		Function *op;

		memcpy(&op, &tern::to_qp(qp)->vqp.room[offset], sizeof(op));
		return op;
	}
	static ibv_qp_ex *ex(ibv_qp *qp) { return &tern::to_qp(qp)->vqp.qp_ex; }
	tern_send_wqe *wqe(ibv_qp *qp, uint32_t i) { return sq(qp).slot<tern_send_wqe>(i); }

private:
	size_t real_ = 0;
};

TEST_F(NewerOps, TheLibraryMustHaveTheMember)
{
	const struct {
		size_t comp_mask;
		bool atomic_write, flush;
	} rows[] = {
		{tern::abi::kQpCompMaskOffsets[0], false, false},
		{tern::abi::kQpCompMaskOffsets[1], true, false},
		{tern::abi::kQpCompMaskOffsets[2], true, true},
	};

	for (const auto &row : rows) {
		tern::abi::library.qp_comp_mask = row.comp_mask;
		reopen();
		EXPECT_EQ(refusal(kWithAtomicWrite), row.atomic_write ? 0 : EOPNOTSUPP);
		EXPECT_EQ(refusal(kWithFlush), row.flush ? 0 : EOPNOTSUPP);
		EXPECT_EQ(refusal(IBV_QP_EX_WITH_SEND), 0);
	}
}

TEST_F(NewerOps, TheModuleMustHaveTheFeature)
{
	kernel.features &= ~uint64_t{TERN_FEATURE_FLUSH};
	reopen();
	EXPECT_EQ(refusal(kWithFlush), EOPNOTSUPP);
	EXPECT_EQ(refusal(kWithAtomicWrite), 0);
	kernel.features &= ~uint64_t{TERN_FEATURE_ATOMIC_WRITE};
	reopen();
	EXPECT_EQ(refusal(kWithAtomicWrite), EOPNOTSUPP);
	EXPECT_EQ(refusal(kWithAtomicWrite | IBV_QP_EX_WITH_SEND), EOPNOTSUPP);
	EXPECT_EQ(refusal(IBV_QP_EX_WITH_SEND), 0);
}

TEST_F(NewerOps, IwarpHasNeither)
{
	device.device.transport_type = IBV_TRANSPORT_IWARP;
	reopen();
	EXPECT_EQ(refusal(kWithFlush), EOPNOTSUPP);
	EXPECT_EQ(refusal(kWithAtomicWrite), EOPNOTSUPP);
}

TEST_F(NewerOps, NotAskedForIsNotThere)
{
	Queues q;

	ASSERT_EQ(create(&q, IBV_QP_EX_WITH_SEND), 0);
	EXPECT_EQ(op_at<AtomicWrite>(q.qp, tern::abi::kWrAtomicWriteAt), nullptr);
	EXPECT_EQ(op_at<Flush>(q.qp, tern::abi::kWrFlushAt), nullptr);
}

TEST_F(NewerOps, AtomicWriteHasRoomThoughNoInlineDataWasAskedFor)
{
	const uint64_t value = 0x0123456789abcdef;
	Queues q;

	ASSERT_EQ(create(&q, kWithAtomicWrite, 0), 0);
	set_state(q.qp, IBV_QPS_RTS);
	ibv_wr_start(ex(q.qp));
	ex(q.qp)->wr_id = 7;
	ex(q.qp)->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	op_at<AtomicWrite>(q.qp, tern::abi::kWrAtomicWriteAt)(ex(q.qp), 0x55, 0x9000, &value);
	EXPECT_EQ(ibv_wr_complete(ex(q.qp)), 0);
	EXPECT_EQ(sq(q.qp).prod(), 1u);
	EXPECT_EQ(wqe(q.qp, 0)->opcode, TERN_WR_ATOMIC_WRITE);
	EXPECT_EQ(uint32_t{wqe(q.qp, 0)->flags},
		  TERN_SEND_SIGNALED | TERN_SEND_FENCE | TERN_SEND_INLINE);
	EXPECT_EQ(wqe(q.qp, 0)->wr_id, 7u);
	EXPECT_EQ(wqe(q.qp, 0)->num_sge, 0);
	EXPECT_EQ(wqe(q.qp, 0)->inline_bytes, 8u);
	EXPECT_EQ(wqe(q.qp, 0)->rdma.remote_addr, 0x9000u);
	EXPECT_EQ(wqe(q.qp, 0)->rdma.rkey, 0x55u);
	EXPECT_EQ(memcmp(wqe(q.qp, 0) + 1, &value, sizeof(value)), 0);
}

TEST_F(NewerOps, FlushIsPostedAsAsked)
{
	Queues q;

	ASSERT_EQ(create(&q, kWithFlush), 0);
	set_state(q.qp, IBV_QPS_RTS);
	ibv_wr_start(ex(q.qp));
	ex(q.qp)->wr_flags = 0;
	op_at<Flush>(q.qp, tern::abi::kWrFlushAt)(ex(q.qp), 0x55, 0x9000, 4096, 3, 0);
	op_at<Flush>(q.qp, tern::abi::kWrFlushAt)(ex(q.qp), 0x56, 0, 0, 1, 1);
	EXPECT_EQ(ibv_wr_complete(ex(q.qp)), 0);
	EXPECT_EQ(sq(q.qp).prod(), 2u);
	EXPECT_EQ(wqe(q.qp, 0)->opcode, TERN_WR_FLUSH);
	EXPECT_EQ(wqe(q.qp, 0)->num_sge, 0);
	EXPECT_EQ(wqe(q.qp, 0)->flush.remote_addr, 0x9000u);
	EXPECT_EQ(wqe(q.qp, 0)->flush.rkey, 0x55u);
	EXPECT_EQ(wqe(q.qp, 0)->flush.bytes, 4096u);
	EXPECT_EQ(wqe(q.qp, 0)->flush.placement, 3);
	EXPECT_EQ(wqe(q.qp, 0)->flush.selectivity, TERN_FLUSH_RANGE);
	EXPECT_EQ(wqe(q.qp, 1)->flush.selectivity, TERN_FLUSH_REGION);
}

TEST_F(NewerOps, WhatCannotBePostedFailsTheBatch)
{
	const uint64_t value = 1;
	ibv_sge sge = {0x1000, 8, 1};
	Queues q;

	ASSERT_EQ(create(&q, kWithFlush | kWithAtomicWrite), 0);
	set_state(q.qp, IBV_QPS_RTS);
	Flush *flush = op_at<Flush>(q.qp, tern::abi::kWrFlushAt);
	AtomicWrite *store = op_at<AtomicWrite>(q.qp, tern::abi::kWrAtomicWriteAt);
	auto fails = [&](auto build) {
		ibv_wr_start(ex(q.qp));
		ex(q.qp)->wr_flags = 0;
		build(ex(q.qp));
		EXPECT_EQ(ibv_wr_complete(ex(q.qp)), EINVAL);
		EXPECT_EQ(sq(q.qp).prod(), 0u);
	};

	fails([&](ibv_qp_ex *e) { flush(e, 1, 0x1000, (1ul << 31) + 1, 1, 0); });
	fails([&](ibv_qp_ex *e) { flush(e, 1, 0x1000, 8, 0, 0); });
	fails([&](ibv_qp_ex *e) { flush(e, 1, 0x1000, 8, 4, 0); });
	fails([&](ibv_qp_ex *e) { flush(e, 1, 0x1000, 8, 1, 2); });
	fails([&](ibv_qp_ex *e) {
		flush(e, 1, 0x1000, 8, 1, 0);
		ibv_wr_set_sge(e, sge.lkey, sge.addr, sge.length);
	});
	fails([&](ibv_qp_ex *e) {
		store(e, 1, 0x1000, &value);
		ibv_wr_set_sge(e, sge.lkey, sge.addr, sge.length);
	});
	fails([&](ibv_qp_ex *e) {
		store(e, 1, 0x1000, &value);
		ibv_wr_set_inline_data(e, &sge, 8);
	});
}

/* ibv_post_send() has no arguments for them. */
TEST_F(NewerOps, AreNotPostedTheClassicWay)
{
	Queues q;

	ASSERT_EQ(create(&q, kWithFlush | kWithAtomicWrite), 0);
	set_state(q.qp, IBV_QPS_RTS);
	for (int opcode = IBV_WR_SEND_WITH_INV + 1; opcode < 20; opcode++) {
		ibv_send_wr wr = {};
		ibv_send_wr *bad = nullptr;

		wr.opcode = static_cast<ibv_wr_opcode>(opcode);
		EXPECT_EQ(ibv_post_send(q.qp, &wr, &bad), EINVAL) << opcode;
	}
	EXPECT_EQ(sq(q.qp).prod(), 0u);
}

} // namespace
