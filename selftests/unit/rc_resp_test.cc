// SPDX-License-Identifier: GPL-2.0
// RC responder, one behaviour at a time. Whole conversations are selftests/sim/.
#include "proto/rc_resp.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

constexpr u32 kPsn = 0xfffffd; // three packets before the wrap
constexpr u16 kPmtu = 256;
constexpr u8 kAck = AETH_ACK | AETH_CREDIT_UNLIMITED;
constexpr u32 kRkey = 0x55;
constexpr u64 kVa = 0x1000;

class RcResp : public testing::Test {
protected:
	rc_resp r;
	std::vector<rc_res> res;
	rc_resp_cfg cfg = {};
	rc_act act = {};
	u64 counter = 100; // what atomics work on
	int executed = 0;  // READs and atomics

	RcResp()
	{
		cfg.service = BTH_RC;
		cfg.max_rd_atomic = 2;
		cfg.min_rnr_timer = 5;
		cfg.access = RC_ACCESS_WRITE | RC_ACCESS_READ | RC_ACCESS_ATOMIC;
		cfg.pkey = PKEY_DEFAULT;
		cfg.dqpn = 0x321;
		cfg.pmtu = kPmtu;
		cfg.rq_psn = kPsn;
		start();
	}

	void start()
	{
		res.assign(cfg.max_rd_atomic ? cfg.max_rd_atomic : 1, rc_res{});
		rc_resp_init(&r, res.data(), &cfg);
	}

	static pkt packet(u8 op, u32 psn, u16 bytes = 0, bool ack_req = true)
	{
		pkt k = {};

		k.opcode = op;
		k.op_flags = opcode_info(op)->flags;
		k.psn = psn_add(kPsn, psn);
		k.payload_bytes = bytes;
		k.ack_req = ack_req;
		k.va = kVa;
		k.rkey = kRkey;
		k.dma_bytes = bytes;
		return k;
	}

	// The verdict alone.
	rc_act judge(const pkt &k)
	{
		rc_resp_rx(&r, &k, &act);
		return act;
	}

	// The verdict, carried out.
	rc_act rx(const pkt &k)
	{
		u64 old = counter;

		judge(k);
		switch (act.kind) {
		case RC_ACT_ATOMIC:
			counter = !act.cmp_swap	     ? old + act.swap_add :
				  old == act.compare ? act.swap_add :
						       old;
			executed++;
			rc_resp_commit(&r, &k, &act, old);
			break;
		case RC_ACT_READ:
			executed++;
			fallthrough;
		case RC_ACT_RECV:
		case RC_ACT_WRITE:
			rc_resp_commit(&r, &k, &act, 0);
			break;
		default:
			break;
		}
		return act;
	}

	rc_act rx(u8 op, u32 psn, u16 bytes = 0, bool ack_req = true)
	{
		return rx(packet(op, psn, bytes, ack_req));
	}

	rc_act read(u32 psn, u32 length, u64 va = kVa)
	{
		pkt k = packet(OP_READ_REQUEST, psn);

		k.dma_bytes = length;
		k.va = va;
		return rx(k);
	}

	rc_act add(u32 psn, u64 value)
	{
		pkt k = packet(OP_FETCH_ADD, psn);

		k.swap_add = value;
		return rx(k);
	}

	// What is sent back, as words: "ack 3", "nak60 2", "read 1 MIDDLE", "atomic 4=100".
	std::vector<std::string> answers(u32 max_pkts = 64)
	{
		static const char *const read_name[] = {"FIRST", "MIDDLE", "LAST", "ONLY"};
		std::vector<std::string> out;
		run run;

		while (rc_resp_next(&r, max_pkts, &run) && out.size() < 1000) {
			for (u32 i = 0; i < run.npkts; i++) {
				char text[64];
				pkt k;

				run_pkt(&run, i, &k);
				u32 psn = psn_add(k.psn, 0x1000000 - kPsn);
				if (k.opcode == OP_ACK && k.syndrome == kAck)
					snprintf(text, sizeof(text), "ack %u", psn);
				else if (k.opcode == OP_ACK)
					snprintf(text, sizeof(text), "nak%02x %u", k.syndrome, psn);
				else if (k.opcode == OP_ATOMIC_ACK)
					snprintf(text, sizeof(text), "atomic %u=%llu", psn,
						 (unsigned long long)k.atomic_orig);
				else
					snprintf(text, sizeof(text), "read %u %s", psn,
						 read_name[(k.opcode - OP_READ_RESP_FIRST) & 3]);
				out.emplace_back(text);
			}
			rc_resp_sent(&r, &run, run.npkts);
		}
		return out;
	}

	using Words = std::vector<std::string>;
};

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
		{0, 3 * kPmtu, kVa},	       // longer
		{0, 2 * kPmtu, kVa + 1},       // elsewhere
		{1, kPmtu, kVa},	       // its PSN says another place
		{1, 2 * kPmtu, kVa + kPmtu},   // beyond the end
		{0, kPmtu + 1, kVa},	       // ends within a packet
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
	// The request again is a duplicate, as far behind as a PSN can be.
	EXPECT_EQ(read(0, 0x80000000u).event, RC_EV_DUPLICATE);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	EXPECT_TRUE(a.first);
	EXPECT_EQ(a.psn, kPsn);
}

// ---- what the caller could not do ----

TEST_F(RcResp, RnrNakHasTheTimerAndThePsn)
{
	rx(OP_SEND_ONLY, 0, 4);
	pkt k = packet(OP_SEND_ONLY, 1, 4);
	judge(k);
	rc_resp_fail(&r, &k, RC_FAIL_RNR);
	// What was sent behind it says nothing new.
	EXPECT_EQ(rx(OP_SEND_ONLY, 2, 4).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), (Words{"nak25 1"}));
	EXPECT_FALSE(r.in_error);
	EXPECT_EQ(rx(OP_SEND_ONLY, 3, 4).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), Words{});
	// The retransmission is welcome.
	EXPECT_EQ(rx(OP_SEND_ONLY, 1, 4).kind, RC_ACT_RECV);
	EXPECT_EQ(answers(), (Words{"ack 1"}));
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
	rc_resp_read_failed(&r, &a);
	EXPECT_EQ(answers(), (Words{"nak62 1"}));
	EXPECT_TRUE(r.in_error);
}

TEST_F(RcResp, ReplayWhoseMemoryIsGoneDoesNotGoOn)
{
	run a;

	read(0, kPmtu);
	answers();
	read(0, kPmtu);
	ASSERT_TRUE(rc_resp_next(&r, 1, &a));
	rc_resp_read_failed(&r, &a);
	EXPECT_EQ(answers(), (Words{"nak62 0"}));
}

} // namespace
