// SPDX-License-Identifier: GPL-2.0
// RC requester: responses that come out of order are kept, and only the missing ones asked for
// again.
#include "rc_req_fixture.h"

namespace {

class RcReqAhead : public RcReq {
protected:
	RcReqAhead()
	{
		cfg.ahead_pkts = 64;
		cfg.max_rd_atomic = 8;
		start(32);
	}

	rc_req_act respond(u8 op, u32 psn) { return data(op, psn, 256); }
	rc_event missing(bool kept, u32 psn)
	{
		return rc_req_missing(&q, now, kept, psn_add(kPsn, psn));
	}
	bool is_next(u32 psn) { return rc_req_ahead_is_next(&q, psn_add(kPsn, psn)); }
};

TEST_F(RcReqAhead, ResponseAheadIsKept)
{
	post(WR_READ, 256 * 4);
	send();
	respond(OP_READ_RESP_FIRST, 0);
	EXPECT_FALSE(rc_req_has_missing(&q));
	auto act = respond(OP_READ_RESP_MIDDLE, 2);
	EXPECT_EQ(act.kind, RC_REQ_KEEP);
	EXPECT_EQ(act.event, RC_EV_AHEAD);
	EXPECT_TRUE(rc_req_has_missing(&q));
	EXPECT_FALSE(is_next(2));
	respond(OP_READ_RESP_MIDDLE, 1);
	EXPECT_TRUE(is_next(2));
	EXPECT_EQ(respond(OP_READ_RESP_MIDDLE, 2).kind, RC_REQ_PLACE);
	respond(OP_READ_RESP_LAST, 3);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	EXPECT_EQ(missing(false, 0), RC_EV_NONE);
	EXPECT_FALSE(rc_req_has_missing(&q));
}

TEST_F(RcReqAhead, OnlyWhatIsMissingIsAskedForAgain)
{
	post(WR_READ, 256 * 8);
	send();
	respond(OP_READ_RESP_FIRST, 0);
	respond(OP_READ_RESP_MIDDLE, 4);
	EXPECT_EQ(missing(true, 4), RC_EV_IMPLIED_NAK);
	EXPECT_EQ(missing(true, 4), RC_EV_NONE);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(rel(runs[0].psn), 1u);
	EXPECT_EQ(runs[0].va, 0x10000u + 256);
	EXPECT_EQ(runs[0].dma_bytes, 256u * 3);
	EXPECT_EQ(q.rd_out, 1u);
	EXPECT_EQ(missing(true, 4), RC_EV_NONE);
	// It is an answer of its own.
	respond(OP_READ_RESP_FIRST, 1);
	respond(OP_READ_RESP_MIDDLE, 2);
	respond(OP_READ_RESP_LAST, 3);
	for (u32 i = 4; i < 7; i++)
		EXPECT_EQ(respond(OP_READ_RESP_MIDDLE, i).kind, RC_REQ_PLACE);
	respond(OP_READ_RESP_LAST, 7);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	EXPECT_EQ(send().size(), 0u);
}

// A response that ends early where nothing was asked for again is as wrong as ever.
TEST_F(RcReqAhead, EarlyEndIsBadIfNothingWasAskedForAgain)
{
	post(WR_READ, 256 * 8);
	send();
	respond(OP_READ_RESP_FIRST, 0);
	respond(OP_READ_RESP_LAST, 1);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}}));
}

TEST_F(RcReqAhead, GapAcrossReadsAsksForEach)
{
	post(WR_READ, 256 * 2);
	post(WR_READ, 256 * 2);
	post(WR_READ, 256 * 2);
	send();
	respond(OP_READ_RESP_FIRST, 0);
	respond(OP_READ_RESP_FIRST, 4);
	EXPECT_EQ(missing(true, 4), RC_EV_IMPLIED_NAK);
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(rel(runs[0].psn), 1u);
	EXPECT_EQ(runs[0].dma_bytes, 256u);
	EXPECT_EQ(rel(runs[1].psn), 2u);
	EXPECT_EQ(runs[1].dma_bytes, 512u);
}

TEST_F(RcReqAhead, AcknowledgeAheadIsRemembered)
{
	post(WR_READ, 256 * 2);
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(ack(2).event, RC_EV_AHEAD);
	EXPECT_EQ(reap(), Completions{});
	respond(OP_READ_RESP_FIRST, 0);
	respond(OP_READ_RESP_LAST, 1);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(RcReqAhead, WhatThePeerHasIsNotSentAgain)
{
	post(WR_READ, 256 * 2);
	post(WR_SEND, 10);
	post(WR_READ, 256 * 2);
	send();
	ack(2);
	respond(OP_READ_RESP_FIRST, 3);
	EXPECT_EQ(missing(true, 3), RC_EV_IMPLIED_NAK);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].op, WR_READ);
	EXPECT_EQ(rel(runs[0].psn), 0u);
}

TEST_F(RcReqAhead, AcknowledgeAloneShowsWhatIsMissing)
{
	post(WR_READ, 256 * 2);
	post(WR_SEND, 10);
	post(WR_READ, 256);
	post(WR_SEND, 10);
	send();
	ack(4);
	EXPECT_EQ(missing(false, 0), RC_EV_IMPLIED_NAK);
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(runs[0].op, WR_READ);
	EXPECT_EQ(runs[1].op, WR_READ);
	respond(OP_READ_RESP_FIRST, 0);
	respond(OP_READ_RESP_LAST, 1);
	respond(OP_READ_RESP_ONLY, 3);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
}

TEST_F(RcReqAhead, AtomicAheadIsKept)
{
	post(WR_FETCH_ADD, 8);
	post(WR_FETCH_ADD, 8);
	send();
	EXPECT_EQ(atomic(1, 7).kind, RC_REQ_KEEP);
	EXPECT_EQ(missing(true, 1), RC_EV_IMPLIED_NAK);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(rel(runs[0].psn), 0u);
	EXPECT_EQ(atomic(0, 6).kind, RC_REQ_PLACE_ATOMIC);
	EXPECT_EQ(atomic(1, 7).kind, RC_REQ_PLACE_ATOMIC);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

TEST_F(RcReqAhead, TooFarAheadIsLost)
{
	cfg.ahead_pkts = 3;
	start(32);
	post(WR_READ, 256 * 8);
	send();
	EXPECT_EQ(respond(OP_READ_RESP_MIDDLE, 2).kind, RC_REQ_KEEP);
	EXPECT_EQ(respond(OP_READ_RESP_MIDDLE, 3).kind, RC_REQ_DONE);
}

// The peer says so once.
TEST_F(RcReqAhead, NakAheadIsRemembered)
{
	post(WR_READ, 256 * 2);
	post(WR_WRITE, 256 * 6);
	send();
	respond(OP_READ_RESP_LAST, 1);
	EXPECT_EQ(missing(true, 1), RC_EV_IMPLIED_NAK);
	EXPECT_EQ(packets(send()), 1u);
	EXPECT_EQ(ack(5, AETH_NAK_PSN_SEQ).event, RC_EV_SEQ_NAK);
	EXPECT_EQ(send().size(), 0u);
	respond(OP_READ_RESP_ONLY, 0);
	respond(OP_READ_RESP_LAST, 1);
	auto runs = send();
	ASSERT_GE(runs.size(), 1u);
	EXPECT_EQ(rel(runs[0].psn), 5u);
}

TEST_F(RcReqAhead, NakAheadIsOldWhenAllWasSentAgain)
{
	post(WR_READ, 256 * 2);
	post(WR_WRITE, 256 * 6);
	send();
	ack(5, AETH_NAK_PSN_SEQ);
	time_out();
	send();
	respond(OP_READ_RESP_FIRST, 0);
	respond(OP_READ_RESP_LAST, 1);
	ack(4);
	EXPECT_EQ(send().size(), 0u);
}

TEST_F(RcReqAhead, AcknowledgeAheadNeverGoesBack)
{
	post(WR_READ, 256 * 2);
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	send();
	ack(3);
	ack(2);
	respond(OP_READ_RESP_FIRST, 0);
	respond(OP_READ_RESP_LAST, 1);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}, {2, 0}}));
}

TEST_F(RcReqAhead, MissingResponseCutsTheWindow)
{
	for (u32 keep : {0, 64}) {
		cfg.window = 64;
		cfg.max_window = 4096;
		cfg.ahead_pkts = keep;
		start(32);
		post(WR_READ, 256 * 4);
		send();
		u32 window = rc_req_window_pkts(&q);
		respond(OP_READ_RESP_MIDDLE, 2);
		missing(true, 2);
		EXPECT_LT(q.window.threshold, window);
	}
}

TEST_F(RcReqAhead, AnswerThatDoesNotEndIsBadAfterAGapToo)
{
	post(WR_READ, 256 * 8);
	send();
	respond(OP_READ_RESP_FIRST, 0);
	respond(OP_READ_RESP_MIDDLE, 4);
	missing(true, 4);
	send();
	for (u32 i = 1; i < 7; i++)
		respond(OP_READ_RESP_MIDDLE, i);
	respond(OP_READ_RESP_MIDDLE, 7);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}}));
}

TEST_F(RcReqAhead, ProgressWithinTheGapAsksForNothing)
{
	post(WR_READ, 256 * 8);
	send();
	respond(OP_READ_RESP_MIDDLE, 4);
	missing(true, 4);
	send();
	respond(OP_READ_RESP_FIRST, 0);
	EXPECT_EQ(missing(true, 4), RC_EV_NONE);
	EXPECT_EQ(send().size(), 0u);
}

TEST_F(RcReqAhead, RetriesAreCounted)
{
	cfg.retry_cnt = 0;
	start(32);
	post(WR_READ, 256 * 8);
	send();
	respond(OP_READ_RESP_MIDDLE, 4);
	missing(true, 4);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_RETRY_EXC_ERR}}));
}

// Pages of the sink were absent: all is asked for again when they are there, not before.
TEST_F(RcReqAhead, ResponseThatCouldNotBeTakenInIsAskedForOnce)
{
	post(WR_READ, 256 * 4);
	send();
	rx(OP_READ_RESP_FIRST, 0, kAck, 256);
	rc_req_ask_again(&q, psn_add(kPsn, 0));
	EXPECT_EQ(respond(OP_READ_RESP_MIDDLE, 1).kind, RC_REQ_KEEP);
	EXPECT_EQ(missing(true, 1), RC_EV_NONE);
	EXPECT_EQ(packets(send()), 1u);
	EXPECT_EQ(missing(true, 1), RC_EV_NONE);
	EXPECT_EQ(packets(send()), 0u);
	EXPECT_EQ(rc_req_retries_left(&q), cfg.retry_cnt);
}

} // namespace
