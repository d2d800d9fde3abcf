// SPDX-License-Identifier: GPL-2.0
// RC requester, one behaviour at a time: READs and the requests they are cut into, atomics.
#include "rc_req_fixture.h"

namespace {

// ---- READ ----

TEST_F(RcReq, ReadTakesThePsnsOfItsResponses)
{
	post(WR_READ, 256 * 3 + 1);
	post(WR_SEND, 10);
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(runs[0].npkts, 1u);
	EXPECT_EQ(rel(runs[1].psn), 4u);
}

TEST_F(RcReq, ReadCompletesWithItsLastResponse)
{
	post(WR_READ, 256 * 2 + 7);
	send();
	auto act = data(OP_READ_RESP_FIRST, 0, 256);
	EXPECT_EQ(act.offset, 0u);
	act = data(OP_READ_RESP_MIDDLE, 1, 256);
	EXPECT_EQ(act.offset, 256u);
	EXPECT_EQ(reap(), Completions{});
	act = data(OP_READ_RESP_LAST, 2, 7);
	EXPECT_EQ(act.offset, 512u);
	EXPECT_EQ(act.bytes, 7u);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

TEST_F(RcReq, ReadResponseOutsideTheSinkIsNeverPlaced)
{
	const struct {
		u8 op;
		u16 bytes;
	} wrong[] = {
		{OP_READ_RESP_ONLY, 257},  {OP_READ_RESP_ONLY, 255},   {OP_READ_RESP_ONLY, 0},
		{OP_READ_RESP_FIRST, 255}, {OP_READ_RESP_FIRST, 4096}, {OP_READ_RESP_MIDDLE, 0},
		{OP_READ_RESP_LAST, 256},  {OP_READ_RESP_LAST, 65535},
	};

	for (auto w : wrong) {
		start();
		post(WR_READ, 256 * 2);
		post(WR_SEND, 10);
		send();
		EXPECT_EQ(data(w.op, 0, w.bytes).kind, RC_REQ_DONE);
		EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}, {1, WR_ST_WR_FLUSH_ERR}}))
			<< int(w.op) << " " << w.bytes;
	}
}

TEST_F(RcReq, LastReadResponseMustFit)
{
	for (u16 bytes : {0, 6, 8, 256}) {
		start();
		post(WR_READ, 256 + 7);
		send();
		data(OP_READ_RESP_FIRST, 0, 256);
		EXPECT_EQ(data(OP_READ_RESP_LAST, 1, bytes).kind, RC_REQ_DONE);
		EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}})) << bytes;
	}
}

TEST_F(RcReq, ReadThatEndsEarlyOrLateIsBad)
{
	post(WR_READ, 256 * 3);
	send();
	data(OP_READ_RESP_FIRST, 0, 256);
	data(OP_READ_RESP_LAST, 1, 256);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}}));

	start();
	post(WR_READ, 256 * 2);
	send();
	data(OP_READ_RESP_FIRST, 0, 256);
	data(OP_READ_RESP_MIDDLE, 1, 256);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}}));
}

TEST_F(RcReq, ReadResponseToASendIsBad)
{
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(data(OP_READ_RESP_ONLY, 0, 10).kind, RC_REQ_DONE);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}}));
}

TEST_F(RcReq, AtomicResultToAReadIsBad)
{
	post(WR_READ, 8);
	send();
	EXPECT_EQ(atomic(0, 1).kind, RC_REQ_DONE);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}}));
}

TEST_F(RcReq, ReadResponseAcksTheRequestsBeforeIt)
{
	post(WR_SEND, 10);
	post(WR_WRITE, 10);
	post(WR_READ, 10);
	send();
	data(OP_READ_RESP_ONLY, 2, 10);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}, {2, 0}}));
}

TEST_F(RcReq, AckBehindAReadIsAnImpliedNak)
{
	post(WR_SEND, 10);
	post(WR_READ, 256 * 4);
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(ack(5).event, RC_EV_IMPLIED_NAK);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(runs[0].op, WR_READ);
	EXPECT_EQ(rel(runs[0].psn), 1u);
	EXPECT_EQ(runs[0].dma_bytes, 1024u);
}

TEST_F(RcReq, LostReadResponseAsksForTheRestOnly)
{
	post(WR_READ, 256 * 4);
	send();
	data(OP_READ_RESP_FIRST, 0, 256);
	EXPECT_EQ(data(OP_READ_RESP_MIDDLE, 2, 256).event, RC_EV_IMPLIED_NAK);
	// More of the same evidence changes nothing.
	EXPECT_EQ(data(OP_READ_RESP_LAST, 3, 256).kind, RC_REQ_DONE);
	EXPECT_EQ(q.retry_left, cfg.retry_cnt - 1);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(rel(runs[0].psn), 1u);
	EXPECT_EQ(runs[0].va, 0x10000u + 256);
	EXPECT_EQ(runs[0].dma_bytes, 256u * 3);
	// The new transmission begins with FIRST where the old one had MIDDLE.
	EXPECT_EQ(data(OP_READ_RESP_FIRST, 1, 256).offset, 256u);
	EXPECT_EQ(data(OP_READ_RESP_MIDDLE, 2, 256).offset, 512u);
	EXPECT_EQ(data(OP_READ_RESP_LAST, 3, 256).offset, 768u);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

// A response that could not be taken in is asked for again. What the peer had sent behind it says
// that it was lost, before and after it comes again; no retry is counted for that.
TEST_F(RcReq, AskingAgainForAReadResponseIsNoRetry)
{
	q.retry_left = 0;
	post(WR_READ, 256 * 4);
	post(WR_READ, 256 * 4);
	send();
	EXPECT_EQ(rx(OP_READ_RESP_FIRST, 0, kAck, 256).kind, RC_REQ_PLACE);
	rc_req_ask_again(&q, kPsn);
	EXPECT_EQ(data(OP_READ_RESP_MIDDLE, 1, 256).event, RC_EV_IMPLIED_NAK);
	auto runs = send();
	ASSERT_FALSE(runs.empty());
	EXPECT_EQ(rel(runs[0].psn), 0u);
	EXPECT_EQ(data(OP_READ_RESP_FIRST, 0, 256).kind, RC_REQ_PLACE);
	EXPECT_EQ(data(OP_READ_RESP_MIDDLE, 5, 256).event, RC_EV_IMPLIED_NAK);
	EXPECT_EQ(q.state, RC_REQ_READY);
	EXPECT_EQ(reap(), Completions{});
}

TEST_F(RcReq, LateReadResponseAfterCompletionIsNotPlaced)
{
	post(WR_READ, 10);
	send();
	data(OP_READ_RESP_ONLY, 0, 10);
	EXPECT_EQ(reap().size(), 1u);
	post(WR_READ, 10);
	send();
	auto act = data(OP_READ_RESP_ONLY, 0, 10);
	EXPECT_EQ(act.kind, RC_REQ_DONE);
	EXPECT_EQ(act.event, RC_EV_DUPLICATE);
	EXPECT_EQ(reap(), Completions{});
}

TEST_F(RcReq, ReadRetransmissionAfterTimeoutIsOneRequest)
{
	post(WR_READ, 256 * 8);
	send();
	data(OP_READ_RESP_FIRST, 0, 256);
	time_out();
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].npkts, 1u);
	EXPECT_EQ(rel(runs[0].psn), 1u);
	pkt k;
	run_pkt(&runs[0], 0, &k);
	EXPECT_EQ(k.opcode, OP_READ_REQUEST);
	EXPECT_EQ(k.payload_bytes, 0);
	EXPECT_EQ(k.va, 0x10000u + 256);
	EXPECT_EQ(k.dma_bytes, 256u * 7);
}

TEST_F(RcReq, ReadSinkFailureEndsTheQpAfterPriorRequests)
{
	post(WR_SEND, 10);
	post(WR_READ, 256 * 2);
	post(WR_SEND, 10);
	send();
	auto act = rx(OP_READ_RESP_FIRST, 1, kAck, 256);
	ASSERT_EQ(act.kind, RC_REQ_PLACE);
	rc_req_fail(&q, act.slot, WR_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, WR_ST_LOC_PROT_ERR}, {2, WR_ST_WR_FLUSH_ERR}}));
	EXPECT_EQ(q.rd_out, 0u);
}

TEST_F(RcReq, LargeReadIsSentAsSeveralRequests)
{
	post(WR_READ, 256 * 40 + 1);
	std::vector<u32> asked;
	u32 psn = 0;

	while (psn < 41) {
		for (const run &r : send()) {
			EXPECT_EQ(rel(r.psn) * 256 + 0x10000, r.va);
			asked.push_back(r.dma_bytes);
		}
		EXPECT_LE(q.rd_out, cfg.max_rd_atomic);
		EXPECT_LE(rel(q.psn_max), psn + cfg.window);
		bool ends = psn % 8 == 7 || psn == 40;
		ASSERT_EQ(data(ends ? OP_READ_RESP_LAST : OP_READ_RESP_MIDDLE, psn,
			       psn == 40 ? 1 : 256)
				  .kind,
			  RC_REQ_PLACE)
			<< psn;
		psn++;
	}
	EXPECT_EQ(asked, (std::vector<u32>{2048, 2048, 2048, 2048, 2048, 1}));
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	EXPECT_EQ(q.rd_out, 0u);
}

TEST_F(RcReq, ResponseThatEndsEarlyOrLateIsBad)
{
	for (u8 op : {OP_READ_RESP_MIDDLE, OP_READ_RESP_LAST}) {
		start();
		post(WR_READ, 256 * 40);
		send();
		u32 psn = op == OP_READ_RESP_LAST ? 6 : 7;
		for (u32 i = 0; i < psn; i++)
			data(OP_READ_RESP_MIDDLE, i, 256);
		EXPECT_EQ(data(op, psn, 256).kind, RC_REQ_DONE);
		EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}})) << psn;
	}
}

TEST_F(RcReq, ReadOfTwoGibAtPmtu256FitsThePsnSpace)
{
	const u32 near = 0x7ffff0; // 16 packets before the end

	post(WR_READ, 0x80000000u);
	EXPECT_EQ(send().size(), 2u);
	EXPECT_EQ(rel(q.psn_next), 0x800000u);
	post(WR_SEND, 1);
	// All responses but those of the last two requests have come.
	q.psn_una = q.psn_max = psn_add(kPsn, near);
	q.cur_pkt = ring[0].asked_pkts = near;
	q.rd_out = ring[0].rd_held = 0;
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(runs[1].va, 0x10000u + 0x80000000ull - 8 * 256);
	EXPECT_EQ(runs[1].dma_bytes, 8u * 256);
	for (u32 i = 0; i < 16; i++) {
		auto act =
			data(i % 8 == 7 ? OP_READ_RESP_LAST : OP_READ_RESP_MIDDLE, near + i, 256);
		EXPECT_EQ(act.offset, (near + i) * 256);
	}
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(rel(runs[0].psn), 0x800000u);
	ack(0x800000);
	EXPECT_EQ(reap(), (Completions{{1, 0}}));
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(RcReq, NothingBeginsThatWouldWrapThePsnSpace)
{
	// The READ takes 2^23 PSNs: it begins alone and nothing begins beside it.
	for (u8 op : {WR_READ, WR_SEND}) {
		cfg.max_rd_atomic = 16;
		cfg.window = 1u << 22;
		start();
		post(WR_READ, 0x80000000u);
		post(op, op == WR_READ ? 0x80000000u : 1);
		send();
		EXPECT_EQ(ring[0].state, RC_SQE_ACTIVE);
		EXPECT_EQ(ring[1].state, RC_SQE_QUEUED);
	}
	start();
	post(WR_SEND, 1);
	post(WR_READ, 0x80000000u);
	send();
	EXPECT_EQ(ring[1].state, RC_SQE_QUEUED);
	ack(0);
	send();
	EXPECT_EQ(ring[1].state, RC_SQE_ACTIVE);
}

// ---- atomics ----

TEST_F(RcReq, AtomicResultIsPlaced)
{
	post(WR_FETCH_ADD, 8);
	post(WR_CMP_SWAP, 8);
	send();
	auto act = atomic(0, 0x1122334455667788);
	EXPECT_EQ(act.kind, RC_REQ_PLACE_ATOMIC);
	EXPECT_EQ(act.value, 0x1122334455667788u);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	atomic(1, 1);
	EXPECT_EQ(reap(), (Completions{{1, 0}}));
}

TEST_F(RcReq, LostAtomicAckIsAskedForAgain)
{
	post(WR_FETCH_ADD, 8);
	post(WR_FETCH_ADD, 8);
	send();
	// The second result is not taken for the first.
	EXPECT_EQ(atomic(1, 43).kind, RC_REQ_DONE);
	EXPECT_EQ(reap(), Completions{});
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(rel(runs[0].psn), 0u);
	EXPECT_EQ(atomic(0, 42).value, 42u);
	EXPECT_EQ(atomic(1, 43).value, 43u);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

TEST_F(RcReq, AtomicResultToASendIsBad)
{
	post(WR_SEND, 8);
	send();
	EXPECT_EQ(atomic(0, 1).kind, RC_REQ_DONE);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}}));
}

TEST_F(RcReq, PlainAckOfAnAtomicIsAnImpliedNak)
{
	post(WR_FETCH_ADD, 8);
	send();
	EXPECT_EQ(ack(0).event, RC_EV_IMPLIED_NAK);
	EXPECT_EQ(reap(), Completions{});
	EXPECT_EQ(packets(send()), 1u);
}

} // namespace
