// SPDX-License-Identifier: GPL-2.0
// RC requester: FLUSH and ATOMIC WRITE (IBTA annex A19), which are answered as a READ of 0 bytes.
#include "rc_req_fixture.h"

namespace {

class RcReqPlacement : public RcReq {
protected:
	u32 flush(u32 bytes, u8 feth = FETH_GLOBAL, u8 flags = 0)
	{
		struct wr wr = {};

		wr.op = WR_FLUSH;
		wr.flags = flags;
		wr.feth = feth;
		wr.flush_bytes = bytes;
		wr.va = 0x20000;
		wr.rkey = 0x66;
		EXPECT_TRUE(rc_req_post(&q, &wr));
		return q.head - 1;
	}

	u32 store(u8 flags = 0) { return post(WR_ATOMIC_WRITE, 8, flags); }

	rc_req_act answer(u32 psn) { return data(OP_READ_RESP_ONLY, psn, 0); }
};

TEST_F(RcReqPlacement, FlushIsOnePacketWithoutPayload)
{
	flush(0x80000000u, FETH_GLOBAL | FETH_PERSISTENT | FETH_REGION);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].bytes, 0u);
	pkt k;
	run_pkt(&runs[0], 0, &k);
	EXPECT_EQ(k.opcode, OP_FLUSH);
	EXPECT_EQ(k.feth, FETH_GLOBAL | FETH_PERSISTENT | FETH_REGION);
	EXPECT_EQ(k.va, 0x20000u);
	EXPECT_EQ(k.rkey, 0x66u);
	EXPECT_EQ(k.dma_bytes, 0x80000000u);
	EXPECT_EQ(k.payload_bytes, 0u);
	EXPECT_TRUE(k.ack_req);
	pkt stretch;
	run_stretch(&runs[0], &stretch);
	EXPECT_EQ(stretch.feth, k.feth);
	EXPECT_EQ(stretch.op_flags, opcode_info(OP_FLUSH)->flags);
	// However long the range is, it takes one PSN.
	EXPECT_EQ(rel(q.psn_next), 1u);
}

TEST_F(RcReqPlacement, AtomicWriteIsOnePacketOfEightBytes)
{
	store();
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].bytes, 8u);
	EXPECT_EQ(runs[0].offset, 0u);
	pkt k;
	run_pkt(&runs[0], 0, &k);
	EXPECT_EQ(k.opcode, OP_ATOMIC_WRITE);
	EXPECT_EQ(k.va, 0x10000u);
	EXPECT_EQ(k.rkey, 0x55u);
	EXPECT_EQ(k.dma_bytes, 8u);
	EXPECT_EQ(k.payload_bytes, 8u);
	EXPECT_TRUE(k.ack_req);
	EXPECT_EQ(rel(q.psn_next), 1u);
}

TEST_F(RcReqPlacement, AnEmptyReadResponseCompletesThem)
{
	post(WR_WRITE, 10);
	flush(100);
	store();
	send();
	// It acknowledges the WRITE before it.
	auto act = answer(1);
	EXPECT_EQ(act.kind, RC_REQ_PLACE);
	EXPECT_EQ(act.bytes, 0u);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
	EXPECT_EQ(answer(2).kind, RC_REQ_PLACE);
	EXPECT_EQ(reap(), (Completions{{2, 0}}));
	EXPECT_EQ(q.rd_out, 0u);
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(RcReqPlacement, AnyOtherAnswerIsBad)
{
	const struct {
		u8 op;
		u16 bytes;
	} wrong[] = {
		{OP_READ_RESP_ONLY, 1},	  {OP_READ_RESP_ONLY, 8},    {OP_READ_RESP_ONLY, 256},
		{OP_READ_RESP_FIRST, 0},  {OP_READ_RESP_FIRST, 256}, {OP_READ_RESP_MIDDLE, 0},
		{OP_READ_RESP_LAST, 256}, {OP_ATOMIC_ACK, 0},
	};

	for (auto w : wrong) {
		for (bool is_flush : {true, false}) {
			start();
			is_flush ? flush(4096) : store();
			send();
			EXPECT_EQ(rx(w.op, 0, kAck, w.bytes).kind, RC_REQ_DONE);
			EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}}))
				<< int(w.op) << " " << w.bytes;
			EXPECT_EQ(q.rd_out, 0u);
		}
	}
}

TEST_F(RcReqPlacement, PlainAckIsAnImpliedNak)
{
	flush(100);
	store();
	post(WR_SEND, 1);
	send();
	EXPECT_EQ(ack(2).event, RC_EV_IMPLIED_NAK);
	EXPECT_EQ(reap(), Completions{});
	auto runs = send();
	ASSERT_EQ(runs.size(), 3u);
	EXPECT_EQ(runs[0].op, WR_FLUSH);
	EXPECT_EQ(runs[1].op, WR_ATOMIC_WRITE);
	EXPECT_EQ(runs[1].bytes, 8u);
}

TEST_F(RcReqPlacement, LostAnswerIsAskedForAgain)
{
	store();
	store();
	send();
	// The second answer says that the first one was lost.
	EXPECT_EQ(answer(1).event, RC_EV_IMPLIED_NAK);
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(rel(runs[0].psn), 0u);
	answer(0);
	answer(1);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
	EXPECT_EQ(answer(1).event, RC_EV_DUPLICATE);
}

TEST_F(RcReqPlacement, TimeoutSendsThemAgain)
{
	flush(100, FETH_PERSISTENT);
	send();
	EXPECT_EQ(time_out(), RC_EV_TIMEOUT);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].op, WR_FLUSH);
	EXPECT_EQ(runs[0].feth, FETH_PERSISTENT);
	EXPECT_EQ(runs[0].dma_bytes, 100u);
	for (int i = 0; i < cfg.retry_cnt; i++) {
		time_out();
		send();
	}
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_RETRY_EXC_ERR}}));
}

TEST_F(RcReqPlacement, TheyCountAgainstMaxRdAtomic)
{
	flush(1);
	store();
	post(WR_READ, 8);
	EXPECT_EQ(send().size(), cfg.max_rd_atomic);
	EXPECT_EQ(q.rd_out, cfg.max_rd_atomic);
	answer(0);
	EXPECT_EQ(send().size(), 1u);
	EXPECT_EQ(q.rd_out, cfg.max_rd_atomic);
}

TEST_F(RcReqPlacement, WithoutRdAtomicTheyFailAtOnce)
{
	for (bool is_flush : {true, false}) {
		cfg.max_rd_atomic = 0;
		start();
		is_flush ? flush(1) : store();
		EXPECT_EQ(send().size(), 0u);
		EXPECT_EQ(reap(), (Completions{{0, WR_ST_LOC_QP_OP_ERR}}));
	}
}

TEST_F(RcReqPlacement, FenceWaitsForThem)
{
	flush(1);
	post(WR_SEND, 1, WR_F_FENCE);
	EXPECT_EQ(send().size(), 1u);
	answer(0);
	EXPECT_EQ(send().size(), 1u);
	store(WR_F_FENCE);
	EXPECT_EQ(send().size(), 1u);
}

TEST_F(RcReqPlacement, NaksEndThemWithTheirStatus)
{
	const struct {
		u8 nak;
		int status;
	} rows[] = {
		{AETH_NAK_INVALID_REQ, WR_ST_REM_INV_REQ_ERR},
		{AETH_NAK_REM_ACCESS, WR_ST_REM_ACCESS_ERR},
		{AETH_NAK_REM_OP, WR_ST_REM_OP_ERR},
	};

	for (auto row : rows) {
		for (bool is_flush : {true, false}) {
			start();
			is_flush ? flush(1) : store();
			send();
			ack(0, row.nak);
			EXPECT_EQ(reap(), (Completions{{0, row.status}}));
			EXPECT_EQ(q.rd_out, 0u);
		}
	}
}

// A peer of the same host that has done a part of a FLUSH has it brought again.
TEST_F(RcReqPlacement, UnsentOnesAreSentAgainWithoutARetry)
{
	flush(1 << 20, FETH_PERSISTENT);
	for (int i = 0; i < 100; i++) {
		auto runs = send();
		ASSERT_EQ(runs.size(), 1u);
		rc_req_unsend(&q, runs[0].psn);
		EXPECT_EQ(q.rd_out, 1u);
	}
	EXPECT_EQ(q.retry_left, cfg.retry_cnt);
	send();
	answer(0);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	EXPECT_EQ(q.rd_out, 0u);
}

} // namespace
