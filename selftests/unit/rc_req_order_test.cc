// SPDX-License-Identifier: GPL-2.0
// RC requester, one behaviour at a time: what waits for what, failures in order, draining.
#include "rc_req_fixture.h"

namespace {

// ---- order: fences, READ depth, LOCAL ----

TEST_F(RcReq, MaxRdAtomicBoundsReadsAndAtomics)
{
	post(WR_READ, 10);
	post(WR_FETCH_ADD, 8);
	post(WR_READ, 10);
	post(WR_SEND, 10);
	EXPECT_EQ(send().size(), 2u);
	data(OP_READ_RESP_ONLY, 0, 10);
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(runs[0].op, WR_READ);
}

TEST_F(RcReq, MaxRdAtomicOfZeroFailsAReadAfterWhatIsBeforeIt)
{
	cfg.max_rd_atomic = 0;
	start();
	post(WR_SEND, 10);
	post(WR_READ, 10);
	post(WR_SEND, 10);
	EXPECT_EQ(packets(send()), 1u);
	EXPECT_EQ(reap(), Completions{});
	ack(0);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS},
				       {1, WR_ST_LOC_QP_OP_ERR},
				       {2, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, FenceWaitsForPriorReads)
{
	post(WR_READ, 10);
	post(WR_SEND, 10, WR_F_FENCE);
	EXPECT_EQ(send().size(), 1u);
	data(OP_READ_RESP_ONLY, 0, 10);
	EXPECT_EQ(send().size(), 1u);
}

TEST_F(RcReq, FenceDoesNotWaitForSends)
{
	post(WR_SEND, 10);
	post(WR_SEND, 10, WR_F_FENCE);
	EXPECT_EQ(send().size(), 2u);
}

TEST_F(RcReq, RetransmissionIsNotHeldByItsOwnFence)
{
	post(WR_READ, 10, WR_F_FENCE);
	EXPECT_EQ(send().size(), 1u);
	time_out();
	EXPECT_EQ(send().size(), 1u);
}

TEST_F(RcReq, LocalRunsInOrder)
{
	post(WR_SEND, 10);
	u32 slot = post(WR_LOCAL);
	post(WR_SEND, 10);
	auto runs = send();
	ASSERT_EQ(runs.size(), 3u);
	EXPECT_EQ(runs[1].kind, RUN_LOCAL);
	EXPECT_EQ(runs[1].slot, slot);
	EXPECT_EQ(rel(runs[2].psn), 1u);
	// and completes in order
	EXPECT_EQ(reap(), Completions{});
	ack(1);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}, {2, 0}}));
}

TEST_F(RcReq, LocalBehindAFailureIsFlushedThoughExecuted)
{
	post(WR_SEND, 10);
	post(WR_LOCAL);
	post(WR_SEND, 10);
	post(WR_LOCAL);
	ASSERT_EQ(send().size(), 4u);
	ack(0, AETH_NAK_REM_OP);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_REM_OP_ERR},
				       {1, WR_ST_WR_FLUSH_ERR},
				       {2, WR_ST_WR_FLUSH_ERR},
				       {3, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, LocalIsNeverReplayedByGoingBack)
{
	post(WR_SEND, 10);
	post(WR_LOCAL);
	post(WR_SEND, 10);
	post(WR_LOCAL);
	post(WR_SEND, 10);
	send();
	for (int round = 0; round < 2; round++) {
		if (round == 0)
			ack(0, AETH_NAK_PSN_SEQ);
		else
			time_out();
		auto runs = send();
		ASSERT_EQ(runs.size(), 3u);
		for (const run &r : runs)
			EXPECT_EQ(r.kind, RUN_REQUEST);
	}
	ack(2);
	EXPECT_EQ(reap().size(), 5u);
}

TEST_F(RcReq, LocalWithWaitAllWaitsForEveryPriorRequest)
{
	post(WR_SEND, 10);
	post(WR_LOCAL, 0, WR_F_WAIT_ALL);
	EXPECT_EQ(send().size(), 1u);
	ack(0);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].kind, RUN_LOCAL);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

TEST_F(RcReq, LocalFailureEndsTheQpInItsTurn)
{
	post(WR_SEND, 10);
	post(WR_LOCAL);
	post(WR_SEND, 10);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 8, &r));
	rc_req_sent(&q, now, &r, 1);
	ASSERT_TRUE(rc_req_next(&q, now, 8, &r));
	ASSERT_EQ(r.kind, RUN_LOCAL);
	rc_req_local_done(&q, r.slot, WR_ST_MW_BIND_ERR);
	EXPECT_TRUE(send().empty());
	EXPECT_EQ(reap(), Completions{});
	ack(0);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, WR_ST_MW_BIND_ERR}, {2, WR_ST_WR_FLUSH_ERR}}));
}

// ---- local failures ----

TEST_F(RcReq, LocalReasonFailsAfterPriorRequestsAreComplete)
{
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 8, &r));
	rc_req_sent(&q, now, &r, 1);
	ASSERT_TRUE(rc_req_next(&q, now, 8, &r));
	rc_req_fail(&q, r.slot, WR_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), Completions{});
	EXPECT_FALSE(rc_req_in_error(&q));
	EXPECT_TRUE(send().empty());
	// What was sent before it is still retransmitted.
	time_out();
	EXPECT_EQ(packets(send()), 1u);
	ack(0);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, WR_ST_LOC_PROT_ERR}, {2, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, LocalReasonInMidMessage)
{
	post(WR_SEND, 10);
	post(WR_WRITE, 256 * 4);
	send(2);
	rc_req_fail(&q, 1, WR_ST_LOC_PROT_ERR);
	EXPECT_TRUE(send().empty());
	ack(2); // some of the failed one, too
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, WR_ST_LOC_PROT_ERR}}));
	EXPECT_TRUE(rc_req_in_error(&q));
}

TEST_F(RcReq, FailedReadGivesItsDepthBack)
{
	post(WR_SEND, 10);
	post(WR_READ, 10);
	send();
	rc_req_fail(&q, 1, WR_ST_LOC_PROT_ERR);
	EXPECT_EQ(q.rd_out, 0u);
	rc_req_fail(&q, 1, WR_ST_LOC_PROT_ERR);
	EXPECT_EQ(q.rd_out, 0u);
}

TEST_F(RcReq, FailOfACompletedOrUnknownSlotIsIgnored)
{
	post(WR_SEND, 10);
	send();
	ack(0);
	rc_req_fail(&q, 0, WR_ST_LOC_PROT_ERR);
	rc_req_fail(&q, 7, WR_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	EXPECT_FALSE(rc_req_in_error(&q));
}

// ---- SQD ----

TEST_F(RcReq, DrainBeginsNothingNewAndFinishesTheOld)
{
	post(WR_WRITE, 256 * 4);
	post(WR_SEND, 10);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 1, &r));
	rc_req_sent(&q, now, &r, 1);
	rc_req_drain(&q, true);
	EXPECT_FALSE(rc_req_is_drained(&q));
	EXPECT_EQ(packets(send()), 3u);
	time_out();
	EXPECT_EQ(packets(send()), 4u); // retransmission goes on
	ack(3);
	EXPECT_TRUE(rc_req_is_drained(&q));
	EXPECT_TRUE(send().empty());
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	rc_req_drain(&q, false);
	EXPECT_EQ(packets(send()), 1u);
}

TEST_F(RcReq, IdleQueueIsDrainedAtOnce)
{
	rc_req_drain(&q, true);
	EXPECT_TRUE(rc_req_is_drained(&q));
	post(WR_LOCAL);
	EXPECT_TRUE(send().empty());
	EXPECT_TRUE(rc_req_is_drained(&q));
}

TEST_F(RcReq, DrainDoesNotReviveAnErrorState)
{
	rc_req_flush(&q);
	rc_req_drain(&q, true);
	rc_req_drain(&q, false);
	EXPECT_TRUE(rc_req_in_error(&q));
}

} // namespace
