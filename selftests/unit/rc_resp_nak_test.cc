// SPDX-License-Identifier: GPL-2.0
// RC responder, one behaviour at a time: malformed requests, and what the caller could not do.
#include "rc_resp_fixture.h"

namespace {

// ---- malformed requests ----

class RcRespBadSequence : public RcResp {
protected:
	void expect_refused(const pkt &k, const char *what)
	{
		u32 at = psn_add(r.epsn, 0x1000000 - kPsn);

		EXPECT_EQ(judge(k).kind, RC_ACT_FATAL) << what;
		EXPECT_TRUE(r.in_error) << what;
		EXPECT_EQ(answers(), (Words{"nak61 " + std::to_string(at)})) << what;
		// and nothing is accepted any more
		EXPECT_EQ(judge(packet(OP_SEND_ONLY, at, 4)).kind, RC_ACT_NONE);
		EXPECT_EQ(answers(), Words{});
	}
};

TEST_F(RcRespBadSequence, MiddleOrLastWithoutFirst)
{
	for (u8 op : {OP_SEND_MIDDLE, OP_SEND_LAST, OP_SEND_LAST_IMM, OP_SEND_LAST_INV,
		      OP_WRITE_MIDDLE, OP_WRITE_LAST, OP_WRITE_LAST_IMM}) {
		start();
		expect_refused(packet(op, 0, kPmtu), std::to_string(op).c_str());
	}
}

TEST_F(RcRespBadSequence, NewMessageWithinAMessage)
{
	for (u8 op :
	     {OP_SEND_FIRST, OP_SEND_ONLY, OP_SEND_ONLY_IMM, OP_SEND_ONLY_INV, OP_WRITE_FIRST,
	      OP_WRITE_ONLY, OP_WRITE_ONLY_IMM, OP_READ_REQUEST, OP_CMP_SWAP, OP_FETCH_ADD}) {
		start();
		rx(OP_SEND_FIRST, 0, kPmtu, false);
		expect_refused(packet(op, 1, 8), std::to_string(op).c_str());
	}
}

TEST_F(RcRespBadSequence, SendThatGoesOnAsWriteAndTheReverse)
{
	rx(OP_SEND_FIRST, 0, kPmtu, false);
	expect_refused(packet(OP_WRITE_LAST, 1, 8), "SEND, WRITE");

	start();
	pkt k = packet(OP_WRITE_FIRST, 0, kPmtu, false);
	k.dma_bytes = 2 * kPmtu;
	rx(k);
	expect_refused(packet(OP_SEND_LAST, 1, kPmtu), "WRITE, SEND");
}

TEST_F(RcRespBadSequence, FirstAndMiddleCarryExactlyThePmtu)
{
	for (u16 bytes : {0, 1, kPmtu - 1, kPmtu + 1, 4096}) {
		start();
		expect_refused(packet(OP_SEND_FIRST, 0, bytes), "SEND FIRST");
		start();
		pkt k = packet(OP_WRITE_FIRST, 0, bytes);
		k.dma_bytes = 100000;
		expect_refused(k, "WRITE FIRST");
		start();
		rx(OP_SEND_FIRST, 0, kPmtu, false);
		expect_refused(packet(OP_SEND_MIDDLE, 1, bytes), "SEND MIDDLE");
	}
}

TEST_F(RcRespBadSequence, LastCarriesOneToPmtuBytes)
{
	for (u16 bytes : {0, kPmtu + 1}) {
		start();
		rx(OP_SEND_FIRST, 0, kPmtu, false);
		expect_refused(packet(OP_SEND_LAST, 1, bytes), "SEND LAST");
	}
	start();
	expect_refused(packet(OP_SEND_ONLY, 0, kPmtu + 1), "SEND ONLY");
}

TEST_F(RcRespBadSequence, WriteCarriesWhatItsRethSays)
{
	const struct {
		u8 op;
		u16 bytes;
		u32 dma;
	} table[] = {
		{OP_WRITE_ONLY, 8, 7},		{OP_WRITE_ONLY, 8, 9},
		{OP_WRITE_ONLY, 0, 1},		{OP_WRITE_ONLY, 8, 0},
		{OP_WRITE_FIRST, kPmtu, kPmtu}, {OP_WRITE_FIRST, kPmtu, 1},
		{OP_WRITE_FIRST, kPmtu, 0},	{OP_WRITE_FIRST, kPmtu, 0x80000001u},
		{OP_WRITE_FIRST, kPmtu, ~0u},
	};

	for (auto t : table) {
		start();
		pkt k = packet(t.op, 0, t.bytes);
		k.dma_bytes = t.dma;
		expect_refused(k, std::to_string(t.dma).c_str());
	}
}

TEST_F(RcRespBadSequence, WriteThatEndsEarlyOrLate)
{
	const struct {
		u8 op;
		u16 bytes;
	} table[] = {
		{OP_WRITE_LAST, 1},
		{OP_WRITE_LAST, kPmtu - 1},
		{OP_WRITE_MIDDLE, kPmtu},
	};

	for (auto t : table) {
		start();
		pkt k = packet(OP_WRITE_FIRST, 0, kPmtu, false);
		k.dma_bytes = 2 * kPmtu;
		rx(k);
		expect_refused(packet(t.op, 1, t.bytes), "WRITE");
	}
}

TEST_F(RcRespBadSequence, UnalignedAtomic)
{
	for (u64 va : {1, 2, 4, 7}) {
		start();
		pkt k = packet(OP_FETCH_ADD, 0);
		k.va = kVa + va;
		expect_refused(k, "atomic");
	}
}

TEST_F(RcRespBadSequence, ReadOfMoreThanAMessage)
{
	pkt k = packet(OP_READ_REQUEST, 0);
	k.dma_bytes = 0x80000001u;
	expect_refused(k, "READ");
}

TEST_F(RcRespBadSequence, WhatTheQpDoesNotAllow)
{
	const struct {
		u8 op, without;
	} table[] = {
		{OP_WRITE_ONLY, RC_ACCESS_WRITE},
		{OP_READ_REQUEST, RC_ACCESS_READ},
		{OP_CMP_SWAP, RC_ACCESS_ATOMIC},
		{OP_FETCH_ADD, RC_ACCESS_ATOMIC},
	};
	const u8 all = cfg.access;

	for (auto t : table) {
		cfg.access = all & ~t.without;
		start();
		expect_refused(packet(t.op, 0), "access");
	}
	cfg.access = 0;
	start();
	EXPECT_EQ(rx(OP_SEND_ONLY, 0, 4).kind, RC_ACT_RECV);
}

TEST_F(RcRespBadSequence, MoreReadsThanNegotiated)
{
	read(0, 8);
	read(1, 8);
	EXPECT_EQ(judge(packet(OP_READ_REQUEST, 2)).kind, RC_ACT_FATAL);
	EXPECT_EQ(answers(), (Words{"read 0 ONLY", "read 1 ONLY", "nak61 2"}));

	cfg.max_rd_atomic = 0;
	start();
	expect_refused(packet(OP_READ_REQUEST, 0), "no READs");
}

// ---- what the caller could not do ----

TEST_F(RcResp, RnrNakHasTheTimerAndThePsn)
{
	rx(OP_SEND_ONLY, 0, 4);
	pkt k = packet(OP_SEND_ONLY, 1, 4);
	judge(k);
	rc_resp_fail(&r, &k, RC_FAIL_RNR);
	// What was sent behind it tells nothing new.
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 4).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), (Words{"nak25 1"}));
	EXPECT_FALSE(r.in_error);
	EXPECT_EQ(rx(OP_SEND_ONLY, 3, 4).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), Words{});
	// The retransmission is accepted.
	EXPECT_EQ(rx(OP_SEND_ONLY, 1, 4).kind, RC_ACT_RECV);
	EXPECT_EQ(answers(), (Words{"ack 1"}));
}

TEST_F(RcResp, ACopyDoesNotTakeThePlaceOfTheRnrNak)
{
	pkt k = packet(OP_SEND_ONLY, 0, 4);
	judge(k);
	rc_resp_fail(&r, &k, RC_FAIL_RNR);
	// Sent again before the NAK was sent.
	EXPECT_EQ(rx(OP_SEND_ONLY, 0, 4).kind, RC_ACT_NONE);
	EXPECT_EQ(act.event, RC_EV_DROPPED);
	EXPECT_EQ(answers(), (Words{"nak25 0"}));
	EXPECT_EQ(rx(OP_SEND_ONLY, 0, 4).kind, RC_ACT_RECV);
	EXPECT_EQ(answers(), (Words{"ack 0"}));
}

TEST_F(RcResp, RnrInMidMessageIsResumedThere)
{
	pkt k = packet(OP_WRITE_FIRST, 0, kPmtu, false);

	k.dma_bytes = kPmtu + 1;
	rx(k);
	k = packet(OP_WRITE_LAST_IMM, 1, 1);
	EXPECT_TRUE(judge(k).take_recv);
	rc_resp_fail(&r, &k, RC_FAIL_RNR);
	EXPECT_EQ(answers(), (Words{"nak25 1"}));
	rx(k);
	EXPECT_EQ(act.kind, RC_ACT_WRITE);
	EXPECT_EQ(act.offset, kPmtu);
	EXPECT_EQ(answers(), (Words{"ack 1"}));
}

// ---- a request waits for a receive WQE ----

class RcRespWait : public RcResp {
protected:
	static constexpr u64 kNow = 1000000, kWait = 400000;

	pkt k = packet(OP_SEND_ONLY, 1, 4);

	RcRespWait()
	{
		cfg.recv_wait_ns = kWait;
		start();
		rx(OP_SEND_ONLY, 0, 4);
		judge(k);
	}

	// Is looked at after_ns after the first try: may it wait longer?
	bool waits(u64 after_ns) { return rc_resp_recv_may_wait(&r, kNow + after_ns); }
	u64 look() { return rc_resp_recv_look_ns(&r) ? rc_resp_recv_look_ns(&r) - kNow : 0; }
};

TEST_F(RcRespWait, NothingIsSaidOfItMeanwhile)
{
	EXPECT_EQ(look(), 0u);
	EXPECT_TRUE(waits(0));
	// But the ACK of what was before it.
	EXPECT_EQ(answers(), (Words{"ack 0"}));
	EXPECT_EQ(rx(k).kind, RC_ACT_RECV);
	EXPECT_EQ(look(), 0u);
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 4).kind, RC_ACT_RECV);
	EXPECT_EQ(answers(), (Words{"ack 2"}));
}

TEST_F(RcRespWait, EachLookIsAfterAsLongAsItHasWaited)
{
	EXPECT_TRUE(waits(0));
	EXPECT_EQ(look(), u64{RC_RESP_RECV_LOOK_NS});
	EXPECT_TRUE(waits(50000));
	EXPECT_EQ(look(), 100000u);
	EXPECT_TRUE(waits(101000));
	EXPECT_EQ(look(), 202000u);
	EXPECT_TRUE(waits(202000));
	EXPECT_EQ(look(), kWait); // not later than that
}

TEST_F(RcRespWait, AtTheEndComesTheRnrNakAndTheNextTryWaitsAgain)
{
	EXPECT_TRUE(waits(kWait - 1));
	EXPECT_TRUE(waits(2 * kWait - 2));
	EXPECT_FALSE(waits(2 * kWait - 1));
	rc_resp_fail(&r, &k, RC_FAIL_RNR);
	EXPECT_EQ(look(), 0u);
	EXPECT_EQ(answers(), (Words{"nak25 1"}));
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 4).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), Words{});
	judge(k);
	EXPECT_TRUE(waits(5 * kWait));
	EXPECT_EQ(look(), 5 * kWait + RC_RESP_RECV_LOOK_NS);
}

TEST_F(RcRespWait, WhatEndsTheQpEndsTheWait)
{
	EXPECT_TRUE(waits(0));
	rc_resp_fail(&r, &k, RC_FAIL_OP);
	EXPECT_EQ(look(), 0u);

	start();
	rx(OP_SEND_ONLY, 0, 4);
	judge(k);
	EXPECT_TRUE(waits(0));
	r.cfg.access = 0; // no right any more
	EXPECT_EQ(judge(packet(OP_WRITE_ONLY, 1, 4)).kind, RC_ACT_FATAL);
	EXPECT_EQ(look(), 0u);
}

TEST_F(RcRespWait, UcDoesNotWait)
{
	r.cfg.service = BTH_UC;
	EXPECT_FALSE(waits(0));
	EXPECT_EQ(look(), 0u);
}

// A quarter of the ACK timeout, and no longer than RC_RESP_RECV_WAIT_NS.
TEST(RcRespWaitTime, IsLittleOfTheAckTimeout)
{
	EXPECT_EQ(rc_resp_recv_wait_ns(0), u64{RC_RESP_RECV_WAIT_NS});
	EXPECT_EQ(rc_resp_recv_wait_ns(15), u64{RC_RESP_RECV_WAIT_NS});
	EXPECT_EQ(rc_resp_recv_wait_ns(14), (4096ull << 14) / 4);
	EXPECT_EQ(rc_resp_recv_wait_ns(1), (4096ull << 1) / 4);
}

TEST_F(RcResp, FailuresHaveTheirNakAndEndAllAcceptance)
{
	const struct {
		rc_fail why;
		const char *nak;
	} table[] = {
		{RC_FAIL_INVALID_REQ, "nak61 1"},
		{RC_FAIL_ACCESS, "nak62 1"},
		{RC_FAIL_OP, "nak63 1"},
	};

	for (auto t : table) {
		start();
		rx(OP_SEND_ONLY, 0, 4);
		pkt k = packet(OP_WRITE_ONLY, 1, 8);
		judge(k);
		rc_resp_fail(&r, &k, t.why);
		EXPECT_EQ(answers(), (Words{t.nak}));
		EXPECT_EQ(judge(k).kind, RC_ACT_NONE);
		EXPECT_EQ(judge(packet(OP_SEND_ONLY, 0, 4)).kind, RC_ACT_NONE);
		EXPECT_EQ(answers(), Words{});
		EXPECT_EQ(r.msn, 1u);
	}
}

TEST_F(RcResp, ReadWhoseMemoryIsGoneEndsInANakInItsPlace)
{
	run a;

	read(0, 3 * kPmtu);
	read(3, 8);
	rx(OP_SEND_ONLY, 4, 4);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	rc_resp_sent(&r, &a, 1);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	EXPECT_TRUE(rc_resp_read_failed(&r, &a));
	EXPECT_EQ(answers(), (Words{"nak62 1"}));
	EXPECT_TRUE(r.in_error);
}

TEST_F(RcResp, ReplayWhoseMemoryIsGoneIsDropped)
{
	run a;

	read(0, 2 * kPmtu);
	answers();
	read(0, 2 * kPmtu);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	rc_resp_sent(&r, &a, 1);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	EXPECT_FALSE(rc_resp_read_failed(&r, &a));
	EXPECT_EQ(answers(), Words{});
	EXPECT_FALSE(r.in_error);
	// The QP goes on, and if the memory is there again, so does the READ.
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 4).kind, RC_ACT_RECV);
	EXPECT_EQ(answers(), (Words{"ack 2"}));
	read(0, 2 * kPmtu);
	EXPECT_EQ(answers(), (Words{"read 0 FIRST", "read 1 LAST"}));
}

TEST_F(RcResp, DroppedReplayKeepsNoOtherAnswerBack)
{
	run a;

	read(0, kPmtu);
	answers();
	read(0, kPmtu);
	read(1, kPmtu);
	rx(OP_SEND_ONLY, 2, 4);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	ASSERT_EQ(a.slot, 0u);
	EXPECT_FALSE(rc_resp_read_failed(&r, &a));
	EXPECT_EQ(answers(), (Words{"read 1 ONLY", "ack 2"}));
}

// It was requested again before it was answered: its peer still waits.
TEST_F(RcResp, ReadAskedForTwiceAndNeverAnsweredEndsInANak)
{
	run a;

	read(0, 2 * kPmtu);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	rc_resp_sent(&r, &a, 1);
	read(0, 2 * kPmtu);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	EXPECT_TRUE(rc_resp_read_failed(&r, &a));
	EXPECT_EQ(answers(), (Words{"nak62 0"}));
	EXPECT_TRUE(r.in_error);
}

// The NAK that is already due gives the reason.
TEST_F(RcResp, DroppedReplayLeavesAFatalNakAsItIs)
{
	run a;

	read(0, kPmtu);
	answers();
	read(0, kPmtu);
	EXPECT_EQ(judge(packet(OP_SEND_LAST, 1, 4)).kind, RC_ACT_FATAL);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	EXPECT_FALSE(rc_resp_read_failed(&r, &a));
	EXPECT_EQ(answers(), (Words{"nak61 1"}));
}

} // namespace
