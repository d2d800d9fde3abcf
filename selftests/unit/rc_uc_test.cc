// SPDX-License-Identifier: GPL-2.0
// Unreliable connection: both halves, one behaviour at a time.
#include "proto/rc_ack.h"
#include "proto/rc_resp.h"

#include <vector>

#include <gtest/gtest.h>

namespace {

constexpr u32 kPsn = 0xfffffd; // three packets before the wrap
constexpr u16 kPmtu = 256;

class UcReq : public testing::Test {
protected:
	rc_req q;
	rc_sqe ring[8] = {};

	UcReq()
	{
		rc_req_cfg cfg = {};

		cfg.service = BTH_UC;
		cfg.pmtu = kPmtu;
		cfg.sq_psn = kPsn;
		cfg.window = 2;
		cfg.ack_timeout.first_ns = 1000;
		rc_req_init(&q, ring, 8, 0, &cfg);
	}

	void post(u8 op, u32 length)
	{
		struct wr wr = {};

		wr.op = op;
		wr.length = length;
		ASSERT_TRUE(rc_req_post(&q, &wr));
	}
};

TEST_F(UcReq, CompletesWhenHandedToTheNetwork)
{
	wr_status status;
	u32 slot, npkts = 0;
	run r;

	post(WR_SEND, 10 * kPmtu);
	while (rc_req_next(&q, 1, 3, &r)) {
		EXPECT_FALSE(rc_req_reap(&q, &slot, &status));
		EXPECT_FALSE(r.ack_req);
		EXPECT_EQ(r.service, BTH_UC);
		npkts += r.npkts;
		rc_req_sent(&q, 1, &r, r.npkts);
	}
	EXPECT_EQ(npkts, 10u); // no window
	ASSERT_TRUE(rc_req_reap(&q, &slot, &status));
	EXPECT_EQ(status, WR_ST_SUCCESS);
	EXPECT_FALSE(rc_req_reap(&q, &slot, &status));
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(UcReq, LocalDropIsNotACompletion)
{
	wr_status status;
	u32 slot;
	run r;

	post(WR_WRITE, 2 * kPmtu);
	ASSERT_TRUE(rc_req_next(&q, 1, 8, &r));
	rc_req_sent(&q, 1, &r, 1);
	EXPECT_FALSE(rc_req_reap(&q, &slot, &status));
	ASSERT_TRUE(rc_req_next(&q, 1, 8, &r));
	EXPECT_EQ(r.psn, psn_add(kPsn, 1));
	rc_req_sent(&q, 1, &r, 1);
	EXPECT_TRUE(rc_req_reap(&q, &slot, &status));
}

TEST_F(UcReq, LocalWaitsForNothingButItsTurn)
{
	struct wr wr = {};
	run r;

	post(WR_SEND, 1);
	wr.op = WR_LOCAL;
	wr.flags = WR_F_WAIT_ALL | WR_F_FENCE;
	ASSERT_TRUE(rc_req_post(&q, &wr));
	ASSERT_TRUE(rc_req_next(&q, 1, 8, &r));
	EXPECT_EQ(r.kind, RUN_REQUEST);
	rc_req_sent(&q, 1, &r, 1);
	ASSERT_TRUE(rc_req_next(&q, 1, 8, &r));
	EXPECT_EQ(r.kind, RUN_LOCAL);
}

class UcResp : public testing::Test {
protected:
	rc_resp r;
	rc_act act = {};

	UcResp()
	{
		rc_resp_cfg cfg = {};

		cfg.service = BTH_UC;
		cfg.access = RC_ACCESS_WRITE;
		cfg.pmtu = kPmtu;
		cfg.rq_psn = kPsn;
		rc_resp_init(&r, nullptr, &cfg);
	}

	// Commits the verdict unless fail is set.
	rc_act rx(u8 op, u32 psn, u16 bytes = kPmtu, u32 dma_bytes = 2 * kPmtu, bool fail = false)
	{
		pkt k = {};
		run run;

		k.opcode = BTH_UC | op;
		k.op_flags = opcode_info(k.opcode)->flags;
		k.psn = psn_add(kPsn, psn);
		k.payload_bytes = bytes;
		k.npkts = 1;
		k.dma_bytes = dma_bytes;
		k.ack_req = true;
		uc_resp_rx(&r, &k, &act);
		if (act.kind == RC_ACT_RECV || act.kind == RC_ACT_WRITE) {
			if (fail)
				rc_resp_fail(&r, &k, RC_FAIL_RNR);
			else
				rc_resp_commit(&r, &k, &act, 0);
		}
		EXPECT_FALSE(rc_resp_next(&r, 1, &run)) << "UC never answers";
		return act;
	}
};

TEST_F(UcResp, WholeMessagesAreDelivered)
{
	EXPECT_TRUE(rx(OP_SEND_FIRST, 0).take_recv);
	EXPECT_EQ(rx(OP_SEND_MIDDLE, 1).offset, kPmtu);
	EXPECT_TRUE(rx(OP_SEND_LAST_IMM, 2, 9).complete_recv);
	EXPECT_EQ(act.length, 2u * kPmtu + 9);
	EXPECT_TRUE(rx(OP_SEND_ONLY, 3, 4).complete_recv);
	EXPECT_FALSE(act.restart);
}

TEST_F(UcResp, LostMiddleCostsTheMessageOnly)
{
	rx(OP_SEND_FIRST, 0);
	EXPECT_EQ(rx(OP_SEND_LAST, 2, 9).kind, RC_ACT_NONE);
	EXPECT_TRUE(act.restart);
	EXPECT_EQ(rx(OP_SEND_ONLY, 3, 4).kind, RC_ACT_RECV);
	EXPECT_TRUE(act.begin && act.take_recv && act.end);
	EXPECT_FALSE(act.restart);
}

TEST_F(UcResp, LostLastGivesTheReceiveBack)
{
	rx(OP_SEND_FIRST, 0);
	EXPECT_EQ(rx(OP_SEND_FIRST, 2).kind, RC_ACT_RECV);
	EXPECT_TRUE(act.restart && act.begin && act.take_recv);
	EXPECT_EQ(rx(OP_SEND_LAST, 3, 1).offset, kPmtu);
	EXPECT_EQ(act.length, kPmtu + 1u);
}

TEST_F(UcResp, TailOfOneMessageIsNeverJoinedToTheHeadOfAnother)
{
	rx(OP_SEND_FIRST, 0);
	// LAST of this one and FIRST of the next are lost
	EXPECT_EQ(rx(OP_SEND_LAST, 3, 1).kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_SEND_LAST, 4, 1).kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_SEND_ONLY, 5, 1).kind, RC_ACT_RECV);
}

TEST_F(UcResp, MessageWhoseHeadWasLostIsDroppedWhole)
{
	EXPECT_EQ(rx(OP_WRITE_MIDDLE, 1).kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_WRITE_MIDDLE, 2).kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_WRITE_LAST, 3).kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_WRITE_ONLY, 4, 8, 8).kind, RC_ACT_WRITE);
}

TEST_F(UcResp, OldPacketsAreNotDeliveredAgain)
{
	rx(OP_SEND_ONLY, 0, 4);
	rx(OP_SEND_ONLY, 1, 4);
	rx(OP_SEND_FIRST, 2);
	for (u32 psn : {0u, 1u, psn_add(0, 0xffff00)}) {
		EXPECT_EQ(rx(OP_SEND_ONLY, psn, 4).kind, RC_ACT_NONE);
		EXPECT_EQ(act.event, RC_EV_DUPLICATE);
		EXPECT_FALSE(act.restart);
	}
	EXPECT_EQ(rx(OP_SEND_FIRST, 2).kind, RC_ACT_NONE);
	// nor do they disturb the present one
	EXPECT_EQ(rx(OP_SEND_LAST, 3, 4).length, kPmtu + 4u);
	EXPECT_EQ(act.kind, RC_ACT_RECV);
}

TEST_F(UcResp, LateMessageDoesNotOvertakeBackwards)
{
	rx(OP_SEND_ONLY, 1, 4);
	EXPECT_EQ(rx(OP_SEND_ONLY, 0, 4).kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 4).kind, RC_ACT_RECV);
}

TEST_F(UcResp, AnOutageOfHalfThePsnSpaceIsSurvived)
{
	for (u32 lost : {1u, 0x7fffffu, 0x800000u, 0x900000u, 0xfe0000u}) {
		r.epsn = kPsn;
		EXPECT_EQ(rx(OP_SEND_ONLY, lost, 4).kind, RC_ACT_RECV) << lost;
	}
}

TEST_F(UcResp, MalformedMessagesAreDroppedAndTheQpLives)
{
	rx(OP_SEND_FIRST, 0);
	EXPECT_EQ(rx(OP_SEND_MIDDLE, 1, 7).kind, RC_ACT_NONE); // not the PMTU
	EXPECT_TRUE(act.restart);
	EXPECT_EQ(rx(OP_WRITE_ONLY, 2, 8, 9).kind, RC_ACT_NONE); // not what RETH says
	EXPECT_EQ(rx(OP_WRITE_FIRST, 3, kPmtu, kPmtu).kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_WRITE_FIRST, 4, kPmtu, 2 * kPmtu).kind, RC_ACT_WRITE);
	EXPECT_EQ(rx(OP_WRITE_LAST, 5, kPmtu - 1).kind, RC_ACT_NONE); // ends early
	EXPECT_TRUE(act.restart);
	EXPECT_EQ(rx(OP_SEND_ONLY, 6, 4).kind, RC_ACT_RECV);
	EXPECT_FALSE(r.in_error);
}

TEST_F(UcResp, FailedPlacementDropsTheMessage)
{
	rx(OP_SEND_FIRST, 0, kPmtu, 0, true);
	EXPECT_EQ(rx(OP_SEND_LAST, 1, 4).kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 4).kind, RC_ACT_RECV);
	EXPECT_FALSE(r.in_error);
}

TEST_F(UcResp, WriteNotAllowedIsDropped)
{
	r.cfg.access = 0;
	EXPECT_EQ(rx(OP_WRITE_ONLY, 0, 8, 8).kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_SEND_ONLY, 1, 8).kind, RC_ACT_RECV);
}

} // namespace
