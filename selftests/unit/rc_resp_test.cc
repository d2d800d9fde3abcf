// SPDX-License-Identifier: GPL-2.0
// RC responder, one behaviour at a time: messages, duplicates, gaps, the order of answers.
// rc_resp_nak_test.cc has the rest.
#include "rc_resp_fixture.h"

namespace {

// ---- SEND and WRITE ----

TEST_F(RcResp, SendIsPlacedInOrderIntoOneReceive)
{
	rx(OP_SEND_FIRST, 0, kPmtu, false);
	EXPECT_EQ(act.kind, RC_ACT_RECV);
	EXPECT_TRUE(act.begin && act.take_recv && !act.end && !act.complete_recv);
	rx(OP_SEND_MIDDLE, 1, kPmtu, false);
	EXPECT_TRUE(!act.begin && !act.take_recv && !act.end && !act.complete_recv);
	EXPECT_EQ(act.offset, kPmtu);
	rx(OP_SEND_LAST, 2, 7);
	EXPECT_TRUE(!act.begin && !act.take_recv && act.end && act.complete_recv);
	EXPECT_EQ(act.offset, 2u * kPmtu);
	EXPECT_EQ(act.bytes, 7u);
	EXPECT_EQ(act.length, 2u * kPmtu + 7);
	EXPECT_EQ(answers(), (Words{"ack 2"}));
	EXPECT_EQ(r.msn, 1u);
}

TEST_F(RcResp, WriteKeepsItsRethThroughTheMessage)
{
	pkt k = packet(OP_WRITE_FIRST, 0, kPmtu, false);

	k.dma_bytes = 2 * kPmtu + 1;
	rx(k);
	EXPECT_EQ(act.kind, RC_ACT_WRITE);
	EXPECT_TRUE(act.begin && !act.take_recv);
	EXPECT_EQ(act.length, 2u * kPmtu + 1);
	k = packet(OP_WRITE_MIDDLE, 1, kPmtu, false);
	k.va = k.rkey = k.dma_bytes = 0;
	rx(k);
	EXPECT_EQ(act.offset, kPmtu);
	k = packet(OP_WRITE_LAST, 2, 1);
	k.va = k.rkey = k.dma_bytes = 0;
	rx(k);
	EXPECT_EQ(act.va, kVa);
	EXPECT_EQ(act.rkey, kRkey);
	EXPECT_EQ(act.length, 2u * kPmtu + 1);
	EXPECT_TRUE(act.end && !act.complete_recv);
}

TEST_F(RcResp, WriteWithImmediateTakesAReceiveAtItsEnd)
{
	pkt k = packet(OP_WRITE_FIRST, 0, kPmtu, false);

	k.dma_bytes = kPmtu + 1;
	rx(k);
	EXPECT_FALSE(act.take_recv);
	rx(OP_WRITE_LAST_IMM, 1, 1);
	EXPECT_TRUE(act.take_recv && act.complete_recv);
	rx(OP_WRITE_ONLY_IMM, 2, 1);
	EXPECT_TRUE(act.take_recv && act.complete_recv);
}

TEST_F(RcResp, ZeroLengthMessagesAreMessages)
{
	rx(OP_SEND_ONLY, 0);
	EXPECT_TRUE(act.kind == RC_ACT_RECV && act.begin && act.end && act.complete_recv);
	EXPECT_EQ(act.length, 0u);
	rx(OP_WRITE_ONLY, 1);
	EXPECT_TRUE(act.kind == RC_ACT_WRITE && act.end && !act.complete_recv);
	rx(OP_WRITE_ONLY_IMM, 2);
	EXPECT_TRUE(act.kind == RC_ACT_WRITE && act.take_recv);
	read(3, 0);
	EXPECT_EQ(act.kind, RC_ACT_READ);
	EXPECT_EQ(answers(), (Words{"read 3 ONLY"}));
	EXPECT_EQ(r.msn, 4u);
	EXPECT_EQ(r.epsn, psn_add(kPsn, 4));
}

TEST_F(RcResp, OneAckForABatch)
{
	for (u32 i = 0; i < 10; i++)
		rx(OP_SEND_ONLY, i, 4);
	EXPECT_EQ(answers(), (Words{"ack 9"}));
	EXPECT_EQ(answers(), Words{});
}

TEST_F(RcResp, NoAckUnlessAskedFor)
{
	rx(OP_SEND_ONLY, 0, 4, false);
	EXPECT_EQ(answers(), Words{});
}

TEST_F(RcResp, AckThatCouldNotBeSentIsOfferedAgain)
{
	run a;

	rx(OP_SEND_ONLY, 0, 4);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	rc_resp_sent(&r, &a, 0);
	rx(OP_SEND_ONLY, 1, 4);
	EXPECT_EQ(answers(), (Words{"ack 1"}));
}

TEST_F(RcResp, PsnAndMsnWrap)
{
	r.msn = 0xfffffe;
	for (u32 i = 0; i < 6; i++)
		rx(OP_SEND_ONLY, i, 4);
	EXPECT_EQ(r.epsn, 3u);
	EXPECT_EQ(r.msn, 4u);
	EXPECT_EQ(answers(), (Words{"ack 5"}));
}

// ---- duplicates ----

TEST_F(RcResp, DuplicatesAreAckedAgainAndNotPlaced)
{
	for (u32 i = 0; i < 4; i++)
		rx(OP_SEND_ONLY, i, 4);
	answers();
	EXPECT_EQ(rx(OP_SEND_ONLY, 1, 4).kind, RC_ACT_NONE);
	EXPECT_EQ(act.event, RC_EV_DUPLICATE);
	EXPECT_EQ(rx(OP_WRITE_FIRST, 2, kPmtu, false).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), (Words{"ack 3"}));
	EXPECT_EQ(r.msn, 4u);
}

TEST_F(RcResp, DuplicateDoesNotDisturbTheMessageInProgress)
{
	rx(OP_SEND_ONLY, 0, 4);
	rx(OP_SEND_FIRST, 1, kPmtu, false);
	rx(OP_SEND_ONLY, 0, 4);
	rx(OP_SEND_FIRST, 1, kPmtu, false);
	EXPECT_EQ(act.kind, RC_ACT_NONE);
	EXPECT_EQ(rx(OP_SEND_LAST, 2, 5).offset, kPmtu);
	EXPECT_EQ(answers(), (Words{"ack 2"}));
}

TEST_F(RcResp, DuplicateReadIsReplayedFromTheTable)
{
	read(0, 3 * kPmtu + 1);
	EXPECT_EQ(answers(),
		  (Words{"read 0 FIRST", "read 1 MIDDLE", "read 2 MIDDLE", "read 3 LAST"}));
	EXPECT_EQ(read(0, 3 * kPmtu + 1).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(),
		  (Words{"read 0 FIRST", "read 1 MIDDLE", "read 2 MIDDLE", "read 3 LAST"}));
	EXPECT_EQ(executed, 1);
	EXPECT_EQ(r.msn, 1u);
}

TEST_F(RcResp, DuplicateReadMayAskForAPart)
{
	read(0, 4 * kPmtu);
	answers();
	read(2, 2 * kPmtu, kVa + 2 * kPmtu);
	EXPECT_EQ(answers(), (Words{"read 2 FIRST", "read 3 LAST"}));
	read(3, kPmtu, kVa + 3 * kPmtu);
	EXPECT_EQ(answers(), (Words{"read 3 ONLY"}));
	read(1, 2 * kPmtu, kVa + kPmtu);
	EXPECT_EQ(answers(), (Words{"read 1 FIRST", "read 2 LAST"}));
}

TEST_F(RcResp, DuplicateReadOutsideTheOriginalIsNotAnswered)
{
	const struct {
		u32 psn, length;
		u64 va;
	} table[] = {
		{0, 3 * kPmtu, kVa},	     // longer
		{0, 2 * kPmtu, kVa + 1},     // elsewhere
		{1, kPmtu, kVa},	     // its PSN belongs to another place
		{1, 2 * kPmtu, kVa + kPmtu}, // beyond the end
		{0, kPmtu + 1, kVa},	     // ends within a packet
		{0, 0, kVa},		     // zero bytes of a message that has some
		{1, 0, kVa + kPmtu},
		{0, 0x80000000u, kVa},	       // huge
		{1, 0xffffffffu, kVa + kPmtu}, // more than huge
	};

	read(0, 2 * kPmtu);
	answers();
	for (auto t : table) {
		read(t.psn, t.length, t.va);
		EXPECT_EQ(act.kind, RC_ACT_NONE);
		EXPECT_EQ(answers(), Words{}) << t.psn << " " << t.length;
	}
	pkt k = packet(OP_READ_REQUEST, 0);
	k.dma_bytes = 2 * kPmtu;
	k.rkey++;
	rx(k);
	EXPECT_EQ(answers(), Words{});
	EXPECT_FALSE(r.in_error);
}

TEST_F(RcResp, DuplicateReadOfNothingIsAnsweredWithNothing)
{
	run a;

	read(0, 0);
	answers();
	read(0, 0);
	ASSERT_TRUE(rc_resp_next(&r, 64, &a));
	EXPECT_EQ(a.bytes, 0u);
	EXPECT_EQ(answers(), (Words{"read 0 ONLY"}));
}

TEST_F(RcResp, DuplicateAtomicIsAnsweredWithTheSavedValueAndNotExecuted)
{
	add(0, 5);
	EXPECT_EQ(answers(), (Words{"atomic 0=100"}));
	add(1, 5);
	EXPECT_EQ(answers(), (Words{"atomic 1=105"}));
	EXPECT_EQ(add(0, 5).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), (Words{"atomic 0=100"}));
	add(1, 5);
	EXPECT_EQ(answers(), (Words{"atomic 1=105"}));
	EXPECT_EQ(counter, 110u);
	EXPECT_EQ(executed, 2);
}

TEST_F(RcResp, ForgottenAtomicIsNeitherExecutedNorAnswered)
{
	for (u32 i = 0; i < 3; i++) {
		add(i, 1);
		answers();
	}
	EXPECT_EQ(add(0, 1).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), Words{});
	EXPECT_EQ(counter, 103u);
}

TEST_F(RcResp, DuplicateOfAnotherKindAtAResourcesPsnIsNotAnsweredFromIt)
{
	add(0, 1);
	read(1, 8);
	answers();
	read(0, 8);
	EXPECT_EQ(answers(), Words{});
	add(1, 1);
	EXPECT_EQ(answers(), Words{});
	EXPECT_EQ(counter, 101u);
}

TEST_F(RcResp, DuplicateAtomicAfterAPsnWrapFindsTheNewest)
{
	add(0, 1);
	answers();
	r.epsn = kPsn; // 2^24 - 1 SENDs later
	add(0, 1);
	EXPECT_EQ(answers(), (Words{"atomic 0=101"}));
	add(0, 1);
	EXPECT_EQ(answers(), (Words{"atomic 0=101"}));
}

TEST_F(RcResp, LateDuplicateReadDoesNotDenyTheNextRequest)
{
	cfg.max_rd_atomic = 1;
	start();
	read(0, 8);
	answers();
	read(0, 8); // a replay is pending in the only resource
	EXPECT_EQ(read(1, 8).kind, RC_ACT_READ);
	EXPECT_EQ(answers(), (Words{"read 1 ONLY"}));
	add(2, 1);
	answers();
	add(2, 1);
	EXPECT_EQ(add(3, 1).kind, RC_ACT_ATOMIC);
	EXPECT_EQ(answers(), (Words{"atomic 3=101"}));
	EXPECT_EQ(answers(), Words{});
}

// ---- gaps ----

TEST_F(RcResp, GapGivesOneNak)
{
	rx(OP_SEND_ONLY, 0, 4);
	answers();
	for (u32 i = 2; i < 6; i++) {
		EXPECT_EQ(rx(OP_SEND_ONLY, i, 4).kind, RC_ACT_NONE);
		EXPECT_EQ(act.event, RC_EV_OUT_OF_SEQ);
	}
	EXPECT_EQ(answers(), (Words{"nak60 1"}));
	rx(OP_SEND_ONLY, 6, 4);
	EXPECT_EQ(answers(), Words{});
}

TEST_F(RcResp, NextGapGivesTheNextNak)
{
	rx(OP_SEND_ONLY, 1, 4);
	EXPECT_EQ(answers(), (Words{"nak60 0"}));
	rx(OP_SEND_ONLY, 0, 4);
	rx(OP_SEND_ONLY, 2, 4);
	EXPECT_EQ(answers(), (Words{"nak60 1"}));
}

TEST_F(RcResp, GapThatClosesBeforeTheNakIsSentGivesAnAck)
{
	rx(OP_SEND_ONLY, 0, 4);
	rx(OP_SEND_ONLY, 2, 4);
	rx(OP_SEND_ONLY, 1, 4, false);
	EXPECT_EQ(answers(), (Words{"ack 1"}));
}

TEST_F(RcResp, DuplicateIsStillAckedWhileAGapIsOpen)
{
	rx(OP_SEND_ONLY, 0, 4);
	rx(OP_SEND_ONLY, 2, 4);
	EXPECT_EQ(answers(), (Words{"nak60 1"}));
	rx(OP_SEND_ONLY, 0, 4);
	EXPECT_EQ(answers(), (Words{"ack 0"}));
}

// ---- order of answers ----

TEST_F(RcResp, AckWaitsForEarlierReadResponses)
{
	read(0, 2 * kPmtu);
	rx(OP_SEND_ONLY, 2, 4);
	rx(OP_SEND_ONLY, 3, 4);
	EXPECT_EQ(answers(1), (Words{"read 0 FIRST", "read 1 LAST", "ack 3"}));
}

TEST_F(RcResp, NakWaitsForEarlierReadResponses)
{
	read(0, 2 * kPmtu);
	rx(OP_SEND_ONLY, 3, 4);
	EXPECT_EQ(answers(1), (Words{"read 0 FIRST", "read 1 LAST", "nak60 2"}));
}

TEST_F(RcResp, AccessNakWaitsForEarlierReadResponses)
{
	read(0, 8);
	pkt k = packet(OP_WRITE_ONLY, 1, 8);
	EXPECT_EQ(judge(k).kind, RC_ACT_WRITE);
	rc_resp_fail(&r, &k, RC_FAIL_ACCESS);
	EXPECT_EQ(answers(), (Words{"read 0 ONLY", "nak62 1"}));
	EXPECT_EQ(judge(packet(OP_SEND_ONLY, 1, 4)).kind, RC_ACT_NONE);
}

TEST_F(RcResp, ReadsAndAtomicsAreAnsweredInOrder)
{
	add(0, 1);
	read(1, kPmtu + 1);
	EXPECT_EQ(answers(), (Words{"atomic 0=100", "read 1 FIRST", "read 2 LAST"}));
	read(3, 1);
	add(4, 1);
	EXPECT_EQ(answers(), (Words{"read 3 ONLY", "atomic 4=101"}));
}

TEST_F(RcResp, ReadResponsesResumeAfterALocalDrop)
{
	run a;

	read(0, 4 * kPmtu);
	ASSERT_TRUE(rc_resp_next(&r, 64, &a));
	EXPECT_EQ(a.npkts, 4u);
	rc_resp_sent(&r, &a, 1);
	ASSERT_TRUE(rc_resp_next(&r, 2, &a));
	EXPECT_EQ(a.npkts, 2u);
	EXPECT_EQ(a.offset, kPmtu);
	rc_resp_sent(&r, &a, 0);
	EXPECT_EQ(answers(), (Words{"read 1 MIDDLE", "read 2 MIDDLE", "read 3 LAST"}));
}

TEST_F(RcResp, ReadResponsesCarryTheRequestsMsn)
{
	run a;

	rx(OP_SEND_ONLY, 0, 4);
	read(1, 8);
	rx(OP_SEND_ONLY, 2, 4);
	ASSERT_TRUE(rc_resp_next(&r, 64, &a));
	EXPECT_EQ(a.kind, RUN_READ_RESP);
	EXPECT_EQ(a.msn, 2u);
	rc_resp_sent(&r, &a, 1);
	ASSERT_TRUE(rc_resp_next(&r, 64, &a));
	EXPECT_EQ(a.msn, 3u);
}

TEST_F(RcResp, ReadResponsePayloadIsWhatWasAskedFor)
{
	for (u32 length : {0u, 1u, 255u, 256u, 257u, 1024u, 1025u}) {
		start();
		read(0, length);
		u64 bytes = 0;
		run a;
		while (rc_resp_next(&r, 2, &a)) {
			for (u32 i = 0; i < a.npkts; i++) {
				pkt k;
				run_pkt(&a, i, &k);
				EXPECT_EQ(a.offset + i * a.pmtu, bytes);
				bytes += k.payload_bytes;
			}
			EXPECT_EQ(a.va, kVa);
			rc_resp_sent(&r, &a, a.npkts);
		}
		EXPECT_EQ(bytes, length);
	}
}

TEST_F(RcResp, ReadOfTwoGibAtPmtu256IsAnsweredToItsEnd)
{
	EXPECT_EQ(read(0, 0x80000000u).kind, RC_ACT_READ);
	EXPECT_EQ(r.epsn, psn_add(kPsn, 0x800000));
	run a;
	ASSERT_TRUE(rc_resp_next(&r, 0x800000, &a));
	EXPECT_EQ(a.npkts, 0x800000u);
	EXPECT_EQ(a.bytes, 0x80000000u);
	rc_resp_sent(&r, &a, a.npkts);
	EXPECT_EQ(answers(), Words{});
	// The same request is a duplicate, as far behind as a PSN can be.
	EXPECT_EQ(read(0, 0x80000000u).event, RC_EV_DUPLICATE);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	EXPECT_TRUE(a.first);
	EXPECT_EQ(a.psn, kPsn);
}

// ---- refused by the local network after all ----

TEST_F(RcResp, ARefusedAckIsDueAgain)
{
	rx(OP_SEND_ONLY, 0, 1);
	EXPECT_EQ(answers(), (Words{"ack 0"}));
	rc_resp_unsend_ack(&r);
	EXPECT_EQ(answers(), (Words{"ack 0"}));
	EXPECT_EQ(answers(), (Words{}));
}

TEST_F(RcResp, ARefusedAckDoesNotFollowANak)
{
	rx(OP_SEND_ONLY, 0, 1);
	EXPECT_EQ(answers(), (Words{"ack 0"}));
	rx(OP_SEND_ONLY, 5, 1);
	rc_resp_unsend_ack(&r);
	EXPECT_EQ(answers(), (Words{"nak60 1"}));
}

} // namespace
