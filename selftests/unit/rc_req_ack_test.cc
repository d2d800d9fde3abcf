// SPDX-License-Identifier: GPL-2.0
// RC requester, one behaviour at a time: acknowledges, sequence NAKs, the peer's errors.
#include "rc_req_fixture.h"

namespace {

// ---- acknowledges ----

TEST_F(RcReq, CoalescedAckCompletesAllBeforeIt)
{
	for (int i = 0; i < 5; i++)
		post(WR_SEND, 10);
	EXPECT_EQ(packets(send()), 5u);
	ack(3);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
	ack(4);
	EXPECT_EQ(reap(), (Completions{{4, 0}}));
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(RcReq, AckWithinAMessageCompletesOnlyWhatIsWhole)
{
	post(WR_SEND, 10);
	post(WR_WRITE, 256 * 4);
	send();
	ack(2);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	EXPECT_EQ(rel(q.psn_una), 3u);
	ack(4);
	EXPECT_EQ(reap(), (Completions{{1, 0}}));
}

TEST_F(RcReq, GhostAckAheadOfWhatWasSentIsIgnored)
{
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 1, &r));
	rc_req_sent(&q, now, &r, 1);
	EXPECT_EQ(ack(1).event, RC_EV_GHOST);
	EXPECT_EQ(ack(1000).event, RC_EV_GHOST);
	EXPECT_EQ(reap(), Completions{});
	ack(0);
	EXPECT_EQ(reap().size(), 1u);
}

TEST_F(RcReq, OldAckIsIgnored)
{
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	send();
	ack(0);
	EXPECT_EQ(ack(0).event, RC_EV_DUPLICATE);
	EXPECT_EQ(ack(psn_add(0, 0xffff00)).event, RC_EV_DUPLICATE);
	EXPECT_EQ(reap().size(), 1u);
}

TEST_F(RcReq, NothingSentAcceptsNoAck)
{
	EXPECT_EQ(ack(0).event, RC_EV_GHOST);
	EXPECT_NE(ack(psn_add(0, PSN_MASK)).event, RC_EV_NONE);
	EXPECT_EQ(data(OP_READ_RESP_ONLY, 0, 10).kind, RC_REQ_DONE);
	EXPECT_EQ(atomic(0, 1).kind, RC_REQ_DONE);
	EXPECT_FALSE(rc_req_in_error(&q));
}

TEST_F(RcReq, LastPacketOfAMessageAsksForAnAck)
{
	post(WR_SEND, 256 * 3);
	auto runs = send();
	ASSERT_FALSE(runs.empty());
	EXPECT_TRUE(runs.back().ack_req);
	EXPECT_TRUE(runs.back().last);
}

TEST_F(RcReq, AcksAreAskedForBeforeTheWindowIsFull)
{
	post(WR_WRITE, 256 * 100);
	bool asked = false;
	for (const run &r : send())
		asked = asked || r.ack_req;
	EXPECT_TRUE(asked);
	EXPECT_LT(q.since_ackreq, cfg.window);
}

// ---- sequence NAKs ----

TEST_F(RcReq, SeqNakGoesBackToItsPsnAndAcksWhatIsBefore)
{
	for (int i = 0; i < 4; i++)
		post(WR_SEND, 10);
	send();
	EXPECT_EQ(ack(2, AETH_NAK_PSN_SEQ).event, RC_EV_SEQ_NAK);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(rel(runs[0].psn), 2u);
	EXPECT_EQ(rel(runs[1].psn), 3u);
}

TEST_F(RcReq, SeqNakWithinAMessageResendsFromThatPacket)
{
	post(WR_WRITE, 256 * 6);
	send();
	ack(2, AETH_NAK_PSN_SEQ);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	EXPECT_EQ(rel(r.psn), 2u);
	EXPECT_EQ(r.offset, 512u);
	EXPECT_FALSE(r.first);
	pkt k;
	run_pkt(&r, 0, &k);
	EXPECT_EQ(k.opcode, OP_WRITE_MIDDLE);
}

TEST_F(RcReq, SeqNakNeverSkipsWhatWasNotSentYet)
{
	post(WR_WRITE, 256 * 8);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 2, &r));
	rc_req_sent(&q, now, &r, 2);
	EXPECT_EQ(ack(2, AETH_NAK_PSN_SEQ).event, RC_EV_GHOST);
	EXPECT_EQ(rel(q.psn_una), 0u);
	ack(0, AETH_NAK_PSN_SEQ);
	ASSERT_TRUE(rc_req_next(&q, now, 8, &r));
	EXPECT_EQ(rel(r.psn), 0u);
}

TEST_F(RcReq, AckDuringRetransmissionSkipsAhead)
{
	post(WR_WRITE, 256 * 8);
	send();
	time_out();
	ack(4);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	EXPECT_EQ(rel(r.psn), 5u);
	EXPECT_EQ(r.offset, 256u * 5);
}

TEST_F(RcReq, ReservedSyndromesAreIgnored)
{
	for (int i = 0; i < 3; i++)
		post(WR_SEND, 10);
	send();
	// They do not acknowledge what they name, nor what is before it.
	for (u8 syndrome : {0x64, 0x65, 0x6f, 0x7f, 0x40, 0x5f, 0x80, 0xa0, 0xe0})
		for (u32 psn : {0, 2})
			EXPECT_EQ(ack(psn, syndrome).event, RC_EV_GHOST) << int(syndrome);
	EXPECT_EQ(rel(q.psn_una), 0u);
	EXPECT_FALSE(rc_req_in_error(&q));
	EXPECT_EQ(reap(), Completions{});
}

TEST_F(RcReq, DataComesWithAnAckOrNotAtAll)
{
	post(WR_SEND, 10);
	post(WR_READ, 10);
	send();
	for (u8 syndrome : {0x20, 0x3f, 0x40, 0x60, 0x62, 0x80}) {
		EXPECT_EQ(rx(OP_READ_RESP_ONLY, 1, syndrome, 10).event, RC_EV_GHOST)
			<< int(syndrome);
		EXPECT_EQ(rx(OP_ATOMIC_ACK, 1, syndrome).event, RC_EV_GHOST) << int(syndrome);
	}
	EXPECT_EQ(reap(), Completions{});
	EXPECT_EQ(data(OP_READ_RESP_ONLY, 1, 10).kind, RC_REQ_PLACE);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

// ---- errors from the peer ----

TEST_F(RcReq, RemoteErrorsHaveTheirStatusAndFlushTheRest)
{
	const std::pair<u8, int> table[] = {
		{AETH_NAK_INVALID_REQ, WR_ST_REM_INV_REQ_ERR},
		{AETH_NAK_REM_ACCESS, WR_ST_REM_ACCESS_ERR},
		{AETH_NAK_REM_OP, WR_ST_REM_OP_ERR},
	};

	for (auto [syndrome, status] : table) {
		start();
		for (int i = 0; i < 4; i++)
			post(WR_SEND, 10);
		send();
		ack(1, syndrome);
		EXPECT_EQ(reap(), (Completions{{0, 0},
					       {1, status},
					       {2, WR_ST_WR_FLUSH_ERR},
					       {3, WR_ST_WR_FLUSH_ERR}}));
		EXPECT_TRUE(rc_req_in_error(&q));
		EXPECT_EQ(reap(), Completions{});
		EXPECT_EQ(rc_req_deadline(&q), 0u);
	}
}

TEST_F(RcReq, EachRequestCompletesOnceAfterAnError)
{
	for (int i = 0; i < 8; i++)
		post(WR_SEND, 10);
	send();
	ack(3, AETH_NAK_REM_ACCESS);
	EXPECT_EQ(reap().size(), 8u);
	ack(3, AETH_NAK_REM_ACCESS);
	ack(7);
	rc_req_timeout(&q, now + 10 * kTimeout);
	rc_req_flush(&q);
	EXPECT_EQ(reap(), Completions{});
	EXPECT_TRUE(send().empty());
}

TEST_F(RcReq, WorkPostedAfterAnErrorIsFlushed)
{
	rc_req_flush(&q);
	u32 slot = post(WR_SEND, 10);
	EXPECT_TRUE(send().empty());
	EXPECT_EQ(reap(), (Completions{{slot, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, FlushCompletesInOrder)
{
	for (int i = 0; i < 6; i++)
		post(i == 3 ? WR_READ : WR_SEND, 10);
	send();
	ack(1);
	rc_req_flush(&q);
	Completions want{{0, 0}, {1, 0}};
	for (u32 i = 2; i < 6; i++)
		want.emplace_back(i, WR_ST_WR_FLUSH_ERR);
	EXPECT_EQ(reap(), want);
}

TEST_F(RcReq, FullRingRefusesAndTakesAgainAfterReaping)
{
	struct wr wr = {};

	start(4);
	for (int i = 0; i < 4; i++)
		post(WR_SEND);
	EXPECT_FALSE(rc_req_post(&q, &wr));
	send();
	ack(3);
	EXPECT_FALSE(rc_req_post(&q, &wr)); // complete, but not reaped
	EXPECT_EQ(reap().size(), 4u);
	EXPECT_TRUE(rc_req_post(&q, &wr));
}

} // namespace
