// SPDX-License-Identifier: GPL-2.0
// Stretches: many packets of a message in one call of an engine. Each test compares them with the
// same packets one by one, or with an impossible length.
#include "pkt_members.h"
#include "rc_req_fixture.h"

#include "proto/rc_resp.h"

namespace {

constexpr u16 kPmtu = 256;

class RcStretch : public RcReq {
protected:
	rc_resp r;
	rc_res res[2];
	rc_resp_cfg rcfg = {};
	rc_act act = {};

	RcStretch()
	{
		rcfg.service = BTH_RC;
		rcfg.max_rd_atomic = 2;
		rcfg.min_rnr_timer = 5;
		rcfg.access = RC_ACCESS_WRITE | RC_ACCESS_READ | RC_ACCESS_ATOMIC;
		rcfg.pmtu = kPmtu;
		rcfg.rq_psn = kPsn;
		start_both();
	}

	void start_both()
	{
		start();
		rc_resp_init(&r, res, &rcfg);
	}

	// A request stretch, `psn` after the first.
	static pkt stretch(int op, u32 psn, u32 npkts, u32 bytes)
	{
		pkt k = {};

		k.opcode = static_cast<u8>(op);
		k.op_flags = opcode_info(k.opcode)->flags;
		k.psn = psn_add(kPsn, psn);
		k.npkts = npkts;
		k.payload_bytes = bytes;
		k.dma_bytes = bytes;
		k.ack_req = true;
		return k;
	}

	u8 judge(const pkt &k)
	{
		if (rcfg.service == BTH_RC)
			rc_resp_rx(&r, &k, &act);
		else
			uc_resp_rx(&r, &k, &act);
		return act.kind;
	}

	u8 take(const pkt &k)
	{
		u8 kind = judge(k);

		if (kind != RC_ACT_NONE && kind != RC_ACT_FATAL)
			rc_resp_commit(&r, &k, &act, 0);
		return kind;
	}

	u32 expected() const { return rel(r.epsn); }
};

// ---- run_stretch() ----

TEST_F(RcStretch, HasTheHeadersOfItsFirstAndLastPacket)
{
	const struct {
		u8 op, flags;
		u8 whole, begin, end;
	} kinds[] = {
		{WR_SEND, 0, OP_SEND_ONLY, OP_SEND_FIRST, OP_SEND_LAST},
		{WR_SEND, WR_F_IMM, OP_SEND_ONLY_IMM, OP_SEND_FIRST, OP_SEND_LAST_IMM},
		{WR_SEND, WR_F_INV, OP_SEND_ONLY_INV, OP_SEND_FIRST, OP_SEND_LAST_INV},
		{WR_WRITE, 0, OP_WRITE_ONLY, OP_WRITE_FIRST, OP_WRITE_LAST},
		{WR_WRITE, WR_F_IMM, OP_WRITE_ONLY_IMM, OP_WRITE_FIRST, OP_WRITE_LAST_IMM},
	};

	set_window(1 << 22);
	for (auto kind : kinds) {
		run a;
		pkt k;

		start();
		set_window(1 << 22);
		post(kind.op, 5 * kPmtu + 1, kind.flags);
		ASSERT_TRUE(rc_req_next(&q, now, 1000, &a));
		run_stretch(&a, &k);
		EXPECT_EQ(k.opcode, kind.whole);
		EXPECT_EQ(k.op_flags, opcode_info(kind.whole)->flags);
		EXPECT_EQ(k.npkts, 6u);
		EXPECT_EQ(k.payload_bytes, 5u * kPmtu + 1);
		EXPECT_TRUE(k.ack_req);

		ASSERT_TRUE(rc_req_next(&q, now, 2, &a));
		run_stretch(&a, &k);
		EXPECT_EQ(k.opcode, kind.begin);
		EXPECT_EQ(k.npkts, 2u);
		EXPECT_EQ(k.payload_bytes, 2u * kPmtu);
		rc_req_sent(&q, now, &a, 2);

		ASSERT_TRUE(rc_req_next(&q, now, 2, &a));
		run_stretch(&a, &k);
		EXPECT_EQ(k.opcode, kind.op == WR_SEND ? OP_SEND_MIDDLE : OP_WRITE_MIDDLE);
		EXPECT_EQ(rel(k.psn), 2u);
		rc_req_sent(&q, now, &a, 2);

		ASSERT_TRUE(rc_req_next(&q, now, 1000, &a));
		run_stretch(&a, &k);
		EXPECT_EQ(k.opcode, kind.end);
		EXPECT_EQ(k.payload_bytes, kPmtu + 1u);
	}
}

TEST_F(RcStretch, OfOnePacketIsThatPacket)
{
	for (u8 op : {WR_SEND, WR_WRITE, WR_READ, WR_CMP_SWAP, WR_FETCH_ADD}) {
		run a;
		pkt k, one;

		start();
		post(op, op >= WR_CMP_SWAP ? 8 : 100, WR_F_SOLICITED);
		ASSERT_TRUE(rc_req_next(&q, now, 1000, &a));
		run_stretch(&a, &k);
		run_pkt(&a, 0, &one);
		one.op_flags = opcode_info(one.opcode)->flags;
		EXPECT_EQ(pkt_members(k), pkt_members(one)) << int(op);
	}
}

// ---- an ACK taken at once ----

TEST_F(RcStretch, ATakenAckIsTheOneThatWouldBeSent)
{
	run a;
	pkt sent, taken;

	ASSERT_EQ(take(stretch(OP_WRITE_ONLY, 0, 4, 4 * kPmtu)), RC_ACT_WRITE);
	ASSERT_TRUE(rc_resp_owes_ack_only(&r));
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	run_stretch(&a, &sent);
	rc_resp_take_ack(&r, &taken);
	EXPECT_EQ(pkt_members(taken), pkt_members(sent));
	EXPECT_FALSE(rc_resp_owes(&r));
}

// ---- responder ----

TEST_F(RcStretch, TakesAsManyPsnsAsItHasPackets)
{
	EXPECT_EQ(take(stretch(OP_SEND_ONLY, 0, 4, 3 * kPmtu + 1)), RC_ACT_RECV);
	EXPECT_TRUE(act.begin && act.end && act.take_recv && act.complete_recv);
	EXPECT_EQ(act.length, 3u * kPmtu + 1);
	EXPECT_EQ(r.epsn, 1u); // around the end of the PSNs
	EXPECT_EQ(r.msn, 1u);

	pkt k = stretch(OP_WRITE_FIRST, 4, 2, 2 * kPmtu);
	k.dma_bytes = 5 * kPmtu;
	EXPECT_EQ(take(k), RC_ACT_WRITE);
	EXPECT_EQ(take(stretch(OP_WRITE_MIDDLE, 6, 2, 2 * kPmtu)), RC_ACT_WRITE);
	EXPECT_EQ(act.offset, 2u * kPmtu);
	EXPECT_EQ(act.bytes, 2u * kPmtu);
	EXPECT_EQ(take(stretch(OP_WRITE_LAST_IMM, 8, 1, kPmtu)), RC_ACT_WRITE);
	EXPECT_TRUE(act.end && act.take_recv && act.complete_recv);
	EXPECT_EQ(expected(), 9u);
	EXPECT_EQ(r.msn, 2u);
}

TEST_F(RcStretch, LengthMustFitItsPackets)
{
	const struct {
		u8 op;
		u32 npkts, bytes;
		bool good;
	} cases[] = {
		{OP_SEND_ONLY, 1, 0, true},
		{OP_SEND_ONLY, 2, 0, false},
		{OP_SEND_ONLY, 2, kPmtu, false},
		{OP_SEND_ONLY, 2, kPmtu + 1, true},
		{OP_SEND_ONLY, 2, 2 * kPmtu, true},
		{OP_SEND_ONLY, 2, 2 * kPmtu + 1, false},
		{OP_SEND_FIRST, 3, 3 * kPmtu, true},
		{OP_SEND_FIRST, 3, 3 * kPmtu - 1, false},
		{OP_SEND_FIRST, 3, 2 * kPmtu, false},
		{OP_SEND_FIRST, 3, 4 * kPmtu, false},
		{OP_WRITE_ONLY, 2, 2 * kPmtu + 1, false},
		{OP_WRITE_ONLY_IMM, 3, 2 * kPmtu + 1, true},
		{OP_SEND_ONLY_INV, 3, 2 * kPmtu, false},
		// in 32 bits, npkts * pmtu would be 0
		{OP_SEND_ONLY, 1 << 24, 0, false},
		{OP_SEND_FIRST, 1 << 24, 0, false},
	};

	for (auto c : cases) {
		start_both();
		EXPECT_EQ(judge(stretch(c.op, 0, c.npkts, c.bytes)) != RC_ACT_FATAL, c.good)
			<< int(c.op) << ": " << c.bytes << " bytes in " << c.npkts;
	}
}

TEST_F(RcStretch, LastOfManyMayNotBeEmptyEither)
{
	take(stretch(OP_SEND_FIRST, 0, 2, 2 * kPmtu));
	EXPECT_EQ(judge(stretch(OP_SEND_LAST, 2, 2, kPmtu)), RC_ACT_FATAL);
	start_both();
	take(stretch(OP_SEND_FIRST, 0, 2, 2 * kPmtu));
	EXPECT_EQ(judge(stretch(OP_SEND_LAST, 2, 2, kPmtu + 1)), RC_ACT_RECV);
}

TEST_F(RcStretch, WriteMustMatchItsReth)
{
	pkt k = stretch(OP_WRITE_ONLY, 0, 2, 2 * kPmtu);

	k.dma_bytes--;
	EXPECT_EQ(judge(k), RC_ACT_FATAL);
	start_both();
	k = stretch(OP_WRITE_FIRST, 0, 2, 2 * kPmtu);
	EXPECT_EQ(judge(k), RC_ACT_FATAL); // no bytes would be left for the LAST
}

TEST_F(RcStretch, PartOfWhichIsKnownIsADuplicate)
{
	run a;

	take(stretch(OP_SEND_ONLY, 0, 1, 10));
	take(stretch(OP_SEND_ONLY, 1, 1, 10));
	rc_resp_sent(&r, (rc_resp_next(&r, 1, &a), &a), 1);
	EXPECT_EQ(take(stretch(OP_SEND_ONLY, 1, 4, 4 * kPmtu)), RC_ACT_NONE);
	EXPECT_EQ(act.event, RC_EV_DUPLICATE);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	EXPECT_EQ(rel(a.psn), 1u); // the newest: what is behind it must be sent again
	EXPECT_EQ(expected(), 2u);
}

TEST_F(RcStretch, BehindAGapGetsOneNak)
{
	run a;

	EXPECT_EQ(take(stretch(OP_SEND_ONLY, 1, 3, 3 * kPmtu)), RC_ACT_NONE);
	EXPECT_EQ(take(stretch(OP_SEND_ONLY, 4, 3, 3 * kPmtu)), RC_ACT_NONE);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	EXPECT_EQ(a.syndrome, AETH_NAK_PSN_SEQ);
	EXPECT_EQ(rel(a.psn), 0u);
	rc_resp_sent(&r, &a, 1);
	EXPECT_FALSE(rc_resp_owes(&r));
}

TEST_F(RcStretch, RefusedOneStaysExpected)
{
	pkt k = stretch(OP_SEND_ONLY, 0, 3, 3 * kPmtu);

	judge(k);
	rc_resp_fail(&r, &k, RC_FAIL_RNR);
	EXPECT_EQ(expected(), 0u);
	run nak;
	ASSERT_TRUE(rc_resp_next(&r, 1, &nak));
	rc_resp_sent(&r, &nak, 1);
	EXPECT_EQ(take(k), RC_ACT_RECV);
	EXPECT_EQ(expected(), 3u);
}

TEST_F(RcStretch, UcForgetsAllOfIt)
{
	rcfg.service = BTH_UC;
	start_both();

	pkt k = stretch(int(BTH_UC) | OP_SEND_ONLY, 0, 3, 3 * kPmtu);
	ASSERT_EQ(judge(k), RC_ACT_RECV);
	rc_resp_fail(&r, &k, RC_FAIL_RNR);
	EXPECT_EQ(expected(), 3u);
	EXPECT_EQ(judge(stretch(int(BTH_UC) | OP_SEND_ONLY, 3, 3, kPmtu)), RC_ACT_NONE);
	EXPECT_EQ(act.event, RC_EV_DROPPED);
	EXPECT_EQ(expected(), 6u);
	EXPECT_EQ(take(stretch(int(BTH_UC) | OP_WRITE_ONLY, 6, 2, 2 * kPmtu)), RC_ACT_WRITE);
	EXPECT_EQ(expected(), 8u);
	EXPECT_FALSE(rc_resp_owes(&r));
}

// ---- requester ----

class RcReadStretch : public RcStretch {
protected:
	rc_req_act got = {};

	u8 response(u8 op, u32 psn, u32 npkts, u32 bytes)
	{
		pkt k = stretch(op, psn, npkts, bytes);

		k.syndrome = kAck;
		rc_req_rx(&q, now, &k, &got);
		if (got.kind == RC_REQ_PLACE)
			rc_req_placed(&q, now, &got);
		return got.kind;
	}
};

TEST_F(RcReadStretch, CompletesTheRead)
{
	post(WR_SEND, 10);
	post(WR_READ, 3 * kPmtu + 7);
	send();
	EXPECT_EQ(response(OP_READ_RESP_ONLY, 1, 4, 3 * kPmtu + 7), RC_REQ_PLACE);
	EXPECT_EQ(got.offset, 0u);
	EXPECT_EQ(got.npkts, 4u);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
	EXPECT_EQ(q.rd_out, 0u);
	EXPECT_TRUE(rc_req_is_quiet(&q));
}

TEST_F(RcReadStretch, MayComeInParts)
{
	post(WR_READ, 5 * kPmtu);
	send();
	EXPECT_EQ(response(OP_READ_RESP_FIRST, 0, 2, 2 * kPmtu), RC_REQ_PLACE);
	EXPECT_EQ(response(OP_READ_RESP_MIDDLE, 2, 1, kPmtu), RC_REQ_PLACE);
	EXPECT_EQ(got.offset, 2u * kPmtu);
	EXPECT_EQ(reap(), Completions{});
	EXPECT_EQ(response(OP_READ_RESP_LAST, 3, 2, 2 * kPmtu), RC_REQ_PLACE);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

TEST_F(RcReadStretch, OfAWrongLengthIsNeverPlaced)
{
	const struct {
		u8 op;
		u32 npkts, bytes;
	} wrong[] = {
		{OP_READ_RESP_ONLY, 4, 3 * kPmtu + 8},	{OP_READ_RESP_ONLY, 4, 3 * kPmtu},
		{OP_READ_RESP_ONLY, 3, 3 * kPmtu},	{OP_READ_RESP_ONLY, 5, 3 * kPmtu + 7},
		{OP_READ_RESP_FIRST, 4, 3 * kPmtu + 7}, {OP_READ_RESP_FIRST, 2, 2 * kPmtu + 1},
		{OP_READ_RESP_FIRST, 5, 5 * kPmtu},	{OP_READ_RESP_FIRST, 1 << 23, 0},
	};

	for (auto w : wrong) {
		start();
		post(WR_READ, 3 * kPmtu + 7);
		post(WR_SEND, 10 * kPmtu); // PSNs behind the READ's are under way
		send();
		EXPECT_EQ(response(w.op, 0, w.npkts, w.bytes), RC_REQ_DONE)
			<< int(w.op) << ": " << w.bytes << " in " << w.npkts;
		EXPECT_EQ(reap(), (Completions{{0, WR_ST_BAD_RESP_ERR}, {1, WR_ST_WR_FLUSH_ERR}}));
	}
}

TEST_F(RcReadStretch, EndsWithTheRequestThatItAnswers)
{
	// window 16, two READs: 8 responses per request
	post(WR_READ, 16 * kPmtu);
	send();
	EXPECT_EQ(response(OP_READ_RESP_ONLY, 0, 16, 16 * kPmtu), RC_REQ_DONE);
	EXPECT_EQ(got.event, RC_EV_BAD_RESP);

	start();
	post(WR_READ, 16 * kPmtu);
	send();
	EXPECT_EQ(q.rd_out, 2u);
	EXPECT_EQ(response(OP_READ_RESP_ONLY, 0, 8, 8 * kPmtu), RC_REQ_PLACE);
	EXPECT_EQ(q.rd_out, 1u);
	EXPECT_EQ(response(OP_READ_RESP_ONLY, 8, 8, 8 * kPmtu), RC_REQ_PLACE);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

TEST_F(RcReadStretch, OldOneIsADuplicate)
{
	post(WR_READ, 4 * kPmtu);
	send();
	response(OP_READ_RESP_FIRST, 0, 2, 2 * kPmtu);
	EXPECT_EQ(response(OP_READ_RESP_ONLY, 1, 3, 3 * kPmtu), RC_REQ_DONE);
	EXPECT_EQ(got.event, RC_EV_DUPLICATE);
	EXPECT_EQ(response(OP_READ_RESP_LAST, 2, 2, 2 * kPmtu), RC_REQ_PLACE);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

// ---- the window changes on the way ----

TEST_F(RcReadStretch, WindowOfAnotherCarriageAppliesToWhatBeginsLater)
{
	post(WR_READ, 16 * kPmtu);
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	set_window(1 << 22);
	post(WR_READ, 64 * kPmtu);
	// The request that has begun is answered as it was sent ...
	EXPECT_EQ(response(OP_READ_RESP_ONLY, 0, 8, 8 * kPmtu), RC_REQ_PLACE);
	runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].dma_bytes, 64u * kPmtu); // ... the next one is not cut
	EXPECT_EQ(response(OP_READ_RESP_ONLY, 8, 8, 8 * kPmtu), RC_REQ_PLACE);
	EXPECT_EQ(response(OP_READ_RESP_ONLY, 16, 64, 64 * kPmtu), RC_REQ_PLACE);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

TEST_F(RcReadStretch, SmallerWindowWaitsForWhatIsUnderWay)
{
	set_window(1 << 22);
	post(WR_SEND, 100 * kPmtu);
	post(WR_SEND, 10);
	EXPECT_EQ(packets(send(100)), 101u);
	EXPECT_TRUE(rc_req_answer_is_due(&q));
	set_window(4);
	post(WR_SEND, 8 * kPmtu);
	EXPECT_EQ(send().size(), 0u);
	EXPECT_FALSE(rc_req_is_quiet(&q));
	ack(100);
	EXPECT_TRUE(rc_req_is_quiet(&q));
	EXPECT_EQ(packets(send()), 4u);
}

} // namespace
