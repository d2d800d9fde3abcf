// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Polling, extended polling, arming, moderating, resizing.
#include <initializer_list>

#include "verbs_test.h"

namespace {

class Cqs : public VerbsTest {
protected:
	void SetUp() override
	{
		VerbsTest::SetUp();
		cq = ibv_create_cq(ctx, 4, nullptr, nullptr, 0);
		ASSERT_NE(cq, nullptr);
	}
	void TearDown() override
	{
		EXPECT_EQ(ibv_destroy_cq(cq), 0);
		VerbsTest::TearDown();
	}
	ibv_cq_ex *create_ex(uint64_t wc_flags, uint32_t flags = 0)
	{
		ibv_cq_init_attr_ex attr = {};

		attr.cqe = 4;
		attr.wc_flags = wc_flags;
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		attr.flags = flags;
		return ibv_create_cq_ex(ctx, &attr);
	}
	ibv_cq *cq = nullptr;
};

TEST_F(Cqs, PollNeedsNoSystemCall)
{
	ibv_wc wc[8];
	int before = kernel.ioctls;

	for (uint64_t round = 0; round < 10; round++) {
		EXPECT_EQ(ibv_poll_cq(cq, 8, wc), 0);
		complete(cq, round * 3);
		complete(cq, round * 3 + 1);
		complete(cq, round * 3 + 2);
		EXPECT_EQ(ibv_poll_cq(cq, 2, wc), 2);
		EXPECT_EQ(wc[1].wr_id, round * 3 + 1);
		EXPECT_EQ(ibv_poll_cq(cq, 2, wc), 1);
		EXPECT_EQ(wc[0].wr_id, round * 3 + 2);
	}
	EXPECT_EQ(ring(cq).cons(), 30u);
	EXPECT_EQ(kernel.ioctls, before);
	EXPECT_EQ(kernel.doorbells, 0);
}

TEST_F(Cqs, OverrunIsReportedAfterTheLastCompletion)
{
	ibv_wc wc[8];

	complete(cq, 1);
	ring(cq).set_flags(TERN_RING_F_DEAD);
	EXPECT_EQ(ibv_poll_cq(cq, 8, wc), 1);
	EXPECT_EQ(ibv_poll_cq(cq, 8, wc), -1);
}

TEST_F(Cqs, ArmingIsAStore)
{
	int before = kernel.ioctls;

	EXPECT_EQ(ibv_req_notify_cq(cq, 1), 0);
	EXPECT_EQ(ring(cq).hdr->arm, uint32_t{TERN_CQ_ARM_SOLICITED});
	EXPECT_EQ(ibv_req_notify_cq(cq, 0), 0);
	EXPECT_EQ(ring(cq).hdr->arm, uint32_t{TERN_CQ_ARM_ANY});
	EXPECT_EQ(kernel.ioctls, before);
}

TEST_F(Cqs, ModerationIsTheKernels)
{
	ibv_modify_cq_attr attr = {IBV_CQ_ATTR_MODERATE, {17, 99}};
	ibv_device_attr_ex caps;
	ib_uverbs_ex_modify_cq seen;

	ASSERT_EQ(ibv_query_device_ex(ctx, nullptr, &caps), 0);
	EXPECT_EQ(caps.cq_mod_caps.max_cq_count, 300u);
	EXPECT_EQ(caps.cq_mod_caps.max_cq_period, 400u);
	ASSERT_EQ(ibv_modify_cq(cq, &attr), 0);
	memcpy(static_cast<void *>(&seen), kernel.object(cq->handle).request.data(), sizeof(seen));
	EXPECT_EQ(seen.attr_mask, uint32_t{IBV_CQ_ATTR_MODERATE});
	EXPECT_EQ(seen.attr.cq_count, 17);
	EXPECT_EQ(seen.attr.cq_period, 99);
	kernel.fail_command = IB_USER_VERBS_EX_CMD_MODIFY_CQ;
	kernel.fail_errno = EOPNOTSUPP;
	EXPECT_EQ(ibv_modify_cq(cq, &attr), EOPNOTSUPP);
	kernel.fail_command = -1;
}

TEST_F(Cqs, ResizeKeepsWhatIsUnpolledAndTheArming)
{
	ibv_wc wc[16];

	complete(cq, 1);
	complete(cq, 2);
	complete(cq, 3);
	EXPECT_EQ(ibv_poll_cq(cq, 1, wc), 1);
	ibv_req_notify_cq(cq, 0);
	ASSERT_EQ(ibv_resize_cq(cq, 9), 0);
	EXPECT_EQ(cq->cqe, 16);
	EXPECT_EQ(ring(cq).hdr->arm, uint32_t{TERN_CQ_ARM_ANY});
	for (uint64_t id = 4; id < 18; id++)
		complete(cq, id);
	EXPECT_EQ(ibv_poll_cq(cq, 16, wc), 16);
	EXPECT_EQ(wc[0].wr_id, 2u);
	EXPECT_EQ(wc[15].wr_id, 17u);
	EXPECT_EQ(ibv_resize_cq(cq, 0), EINVAL);
}

TEST_F(Cqs, FailedResizeKeepsTheOldRing)
{
	ibv_wc wc[4];

	complete(cq, 1);
	kernel.fail_command = IB_USER_VERBS_CMD_RESIZE_CQ;
	kernel.fail_errno = ENOMEM;
	EXPECT_EQ(ibv_resize_cq(cq, 64), ENOMEM);
	EXPECT_EQ(cq->cqe, 4);
	EXPECT_EQ(ibv_poll_cq(cq, 4, wc), 1);
}

TEST_F(Cqs, UnmappableResizeLeavesAnEmptyCq)
{
	ibv_wc wc[4];

	kernel.fail_mmap = true;
	EXPECT_EQ(ibv_resize_cq(cq, 64), ENOMEM);
	kernel.fail_mmap = false;
	EXPECT_EQ(ibv_poll_cq(cq, 4, wc), 0);
	EXPECT_EQ(ibv_req_notify_cq(cq, 0), 0);
}

TEST_F(Cqs, ExtendedPollReadsEveryField)
{
	ibv_cq_ex *ex =
		create_ex(uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			  IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	ASSERT_NE(ex, nullptr);
	ibv_poll_cq_attr attr = {};
	tern_cqe cqe = {};

	EXPECT_EQ(ibv_start_poll(ex, &attr), ENOENT);
	cqe.wr_id = 5;
	cqe.timestamp_ns = 13;
	cqe.wallclock_ns = 14;
	cqe.qp_num = 6;
	cqe.byte_len = 7;
	cqe.imm = 8;
	cqe.src_qp = 9;
	cqe.opcode = TERN_WC_RECV;
	cqe.wc_flags =
		TERN_WC_GRH | TERN_WC_WITH_IMM | TERN_WC_WITH_VLAN | TERN_WC_WITH_NETWORK_HDR;
	cqe.network_hdr_type = TERN_NETWORK_IPV4;
	cqe.vlan_id = 10;
	cqe.sl = 2;
	cqe.vendor_err = 11;
	ring(ibv_cq_ex_to_cq(ex)).complete(cqe);
	cqe.wr_id = 12;
	cqe.status = IBV_WC_WR_FLUSH_ERR;
	ring(ibv_cq_ex_to_cq(ex)).complete(cqe);

	ASSERT_EQ(ibv_start_poll(ex, &attr), 0);
	EXPECT_EQ(ex->wr_id, 5u);
	EXPECT_EQ(ex->status, IBV_WC_SUCCESS);
	EXPECT_EQ(ibv_wc_read_qp_num(ex), 6u);
	EXPECT_EQ(ibv_wc_read_byte_len(ex), 7u);
	EXPECT_EQ(ibv_wc_read_imm_data(ex), 8u);
	EXPECT_EQ(ibv_wc_read_src_qp(ex), 9u);
	EXPECT_EQ(ibv_wc_read_opcode(ex), IBV_WC_RECV);
	EXPECT_EQ(ibv_wc_read_wc_flags(ex), unsigned{IBV_WC_GRH | IBV_WC_WITH_IMM});
	EXPECT_EQ(ibv_wc_read_cvlan(ex), 10);
	EXPECT_EQ(ibv_wc_read_sl(ex), 2 << 4 | 8 | 2);
	EXPECT_EQ(ibv_wc_read_slid(ex), 0u);
	EXPECT_EQ(ibv_wc_read_dlid_path_bits(ex), 0);
	EXPECT_EQ(ibv_wc_read_vendor_err(ex), 11u);
	EXPECT_EQ(ibv_wc_read_completion_ts(ex), 13u);
	EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(ex), 14u);
	EXPECT_EQ(ring(ibv_cq_ex_to_cq(ex)).cons(), 0u);
	ASSERT_EQ(ibv_next_poll(ex), 0);
	EXPECT_EQ(ring(ibv_cq_ex_to_cq(ex)).cons(), 1u);
	EXPECT_EQ(ex->wr_id, 12u);
	EXPECT_EQ(ex->status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(ibv_next_poll(ex), ENOENT);
	ibv_end_poll(ex);
	EXPECT_EQ(ring(ibv_cq_ex_to_cq(ex)).cons(), 2u);
	attr.comp_mask = 1;
	EXPECT_EQ(ibv_start_poll(ex, &attr), EINVAL);
	EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

TEST_F(Cqs, OptionsGoToTheKernel)
{
	for (const bool wanted : {true, false}) {
		ibv_cq_ex *ex = create_ex(
			wanted ? uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK} : 0,
			wanted ? IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN : 0);
		tern_create_cq_req req;

		ASSERT_NE(ex, nullptr);
		const FakeObject &object = kernel.object(ibv_cq_ex_to_cq(ex)->handle);
		memcpy(&req, object.request.data(), sizeof(req));
		EXPECT_EQ(object.flags, wanted ? uint32_t{IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN} : 0);
		EXPECT_EQ(req.flags, wanted ? uint32_t{TERN_CQ_WALLCLOCK} : 0);
		EXPECT_EQ(req.reserved, 0u);
		EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	}
}

/* It refuses flags and input that it does not know. */
TEST_F(Cqs, AnOlderModuleIsAskedForNoOption)
{
	ibv_poll_cq_attr attr = {};
	timespec raw, real;
	tern_cqe cqe = {};

	EXPECT_EQ(ibv_destroy_cq(cq), 0);
	kernel.features &= ~uint64_t{TERN_FEATURE_CQ_OPTIONS};
	reopen();
	cq = ibv_create_cq(ctx, 4, nullptr, nullptr, 0);
	ASSERT_NE(cq, nullptr);
	ibv_cq_ex *ex = create_ex(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
				  IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
	ASSERT_NE(ex, nullptr);
	clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
	clock_gettime(CLOCK_REALTIME, &real);
	cqe.timestamp_ns = static_cast<uint64_t>(raw.tv_sec * 1000000000 + raw.tv_nsec);
	ring(ibv_cq_ex_to_cq(ex)).complete(cqe);
	ASSERT_EQ(ibv_start_poll(ex, &attr), 0);
	EXPECT_NEAR(static_cast<double>(ibv_wc_read_completion_wallclock_ns(ex)),
		    static_cast<double>(real.tv_sec) * 1e9 + static_cast<double>(real.tv_nsec),
		    1e9);
	ibv_end_poll(ex);
	EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

TEST_F(Cqs, OverwrittenEntriesArePassedBy)
{
	ibv_cq_ex *ex = create_ex(0, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
	ASSERT_NE(ex, nullptr);
	ibv_cq *lapped = ibv_cq_ex_to_cq(ex);
	FakeRing &entries = ring(lapped);
	ibv_wc wc[8];

	ASSERT_EQ(entries.slots, 4u);
	for (uint64_t id = 0; id < 11; id++) {
		entries.slot<tern_cqe>(static_cast<uint32_t>(id))->wr_id = id;
		entries.set_prod(static_cast<uint32_t>(id) + 1);
	}
	ASSERT_EQ(ibv_poll_cq(lapped, 8, wc), 4);
	EXPECT_EQ(wc[0].wr_id, 7u);
	EXPECT_EQ(wc[3].wr_id, 10u);
	EXPECT_EQ(entries.cons(), 11u);
	EXPECT_EQ(ibv_poll_cq(lapped, 8, wc), 0);
	EXPECT_EQ(ibv_destroy_cq(lapped), 0);
}

TEST_F(Cqs, EndOfPollGivesBackTheEntryInHand)
{
	ibv_cq_ex *ex = create_ex(0, IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
					     IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
	ibv_poll_cq_attr attr = {};

	ASSERT_NE(ex, nullptr);
	complete(ibv_cq_ex_to_cq(ex), 1);
	complete(ibv_cq_ex_to_cq(ex), 2);
	ASSERT_EQ(ibv_start_poll(ex, &attr), 0);
	EXPECT_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(ex), 0), 0);
	ibv_end_poll(ex);
	EXPECT_EQ(ring(ibv_cq_ex_to_cq(ex)).cons(), 1u);
	ASSERT_EQ(ibv_start_poll(ex, &attr), 0);
	EXPECT_EQ(ex->wr_id, 2u);
	ibv_end_poll(ex);
	EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
}

TEST_F(Cqs, FieldsThatCannotBeReportedAreRefused)
{
	errno = 0;
	EXPECT_EQ(create_ex(IBV_WC_EX_WITH_TM_INFO), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	EXPECT_EQ(create_ex(IBV_WC_EX_WITH_FLOW_TAG), nullptr);
	EXPECT_EQ(create_ex(0, 1u << 7), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Cqs, CompletionsOfADestroyedQpAreGone)
{
	ibv_wc wc[8];
	uint32_t gone;
	{
		Queues q;

		make(&q);
		gone = q.qp->qp_num;
		complete(q.scq, 1, gone);
		complete(q.scq, 2, gone + 1);
		complete(q.rcq, 3, gone);
		ASSERT_EQ(ibv_destroy_qp(q.qp), 0);
		q.qp = nullptr;
		ASSERT_EQ(ibv_poll_cq(q.scq, 8, wc), 1);
		EXPECT_EQ(wc[0].wr_id, 2u);
		EXPECT_EQ(ibv_poll_cq(q.rcq, 8, wc), 0);
	}
}

TEST_F(Cqs, CompletionsOfAResetQpAreGone)
{
	Queues q;
	ibv_wc wc[8];

	make(&q);
	complete(q.scq, 1, q.qp->qp_num);
	set_state(q.qp, IBV_QPS_RESET);
	EXPECT_EQ(ibv_poll_cq(q.scq, 8, wc), 0);
}

} // namespace
