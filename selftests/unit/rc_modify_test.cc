// SPDX-License-Identifier: GPL-2.0
// RC engines whose attributes change while they run, as in SQD: the new value applies from then on,
// also for what is under way.
#include "rc_req_fixture.h"

namespace {

// ---- requester: retries ----

TEST_F(RcReq, RetriesThatAreRaisedAreThere)
{
	cfg.retry_cnt = 0;
	cfg.rnr_retry = 0;
	start();
	rc_req_set_retries(&q, 3, 2);
	post(WR_SEND, 10);
	send();
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(ack(0, AETH_RNR_NAK | 1).event, RC_EV_RNR_NAK);
		now = rc_req_deadline(&q);
		rc_req_timeout(&q, now);
		EXPECT_EQ(packets(send()), 1u);
	}
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(time_out(), RC_EV_TIMEOUT);
		ASSERT_FALSE(rc_req_in_error(&q)) << i;
		EXPECT_EQ(packets(send()), 1u);
	}
	time_out();
	EXPECT_TRUE(rc_req_in_error(&q));
}

TEST_F(RcReq, RetriesThatAreTakenAwayAreGone)
{
	post(WR_SEND, 10);
	send();
	rc_req_set_retries(&q, 0, 7);
	time_out();
	EXPECT_TRUE(rc_req_in_error(&q));
	start();
	rc_req_set_retries(&q, 7, 0);
	post(WR_SEND, 10);
	send();
	ack(0, AETH_RNR_NAK | 1);
	EXPECT_TRUE(rc_req_in_error(&q));
}

// ---- requester: the ACK timer ----

TEST_F(RcReq, AckTimeoutCountsForWhatIsUnderWay)
{
	cfg.ack_timeout.first_ns = 0;
	start();
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(rc_req_deadline(&q), 0u); // never
	set_ack_timeout(kTimeout);
	EXPECT_EQ(rc_req_deadline(&q), now + kTimeout);
	set_ack_timeout(2 * kTimeout);
	EXPECT_EQ(rc_req_deadline(&q), now + 2 * kTimeout);
	set_ack_timeout(0);
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(RcReq, AckTimeoutWaitsForSomethingToTime)
{
	set_ack_timeout(3 * kTimeout);
	EXPECT_EQ(rc_req_deadline(&q), 0u);
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(rc_req_deadline(&q), now + 3 * kTimeout);
	// Nor does it shorten an RNR wait.
	ack(0, AETH_RNR_NAK | 14);
	set_ack_timeout(1);
	EXPECT_EQ(rc_req_deadline(&q), now + rc_rnr_timer_ns(14));
}

// ---- requester: READs under way ----

TEST_F(RcReq, ReadThatWaitsWhenThereMayBeNoneAnyMoreFailsInItsTurn)
{
	post(WR_SEND, 10);
	send();
	rc_req_drain(&q, true);
	post(WR_READ, 10);
	q.cfg.max_rd_atomic = 0;
	// Not yet: the number may be raised again before the queue goes on.
	EXPECT_TRUE(send().empty());
	ack(0);
	EXPECT_FALSE(rc_req_in_error(&q));
	rc_req_drain(&q, false);
	EXPECT_TRUE(send().empty());
	EXPECT_TRUE(rc_req_in_error(&q));
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS}, {1, WR_ST_LOC_QP_OP_ERR}}));
}

TEST_F(RcReq, ReadThatWasBegunGoesOnThoughThereMayBeNoneAnyMore)
{
	set_window(4);
	post(WR_READ, 8 * 256); // two responses per request
	auto asked = send();
	ASSERT_FALSE(asked.empty());
	ASSERT_EQ(asked[0].dma_bytes, 2u * 256);
	q.cfg.max_rd_atomic = 0;
	for (u32 i = 0; i < 8; i++) {
		data(i % 2 ? OP_READ_RESP_LAST : OP_READ_RESP_FIRST, i, 256);
		send();
	}
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS}}));
	EXPECT_FALSE(rc_req_in_error(&q));
}

} // namespace
