// SPDX-License-Identifier: GPL-2.0
// RC responder: FLUSH and ATOMIC WRITE (IBTA annex A19): verdicts, refusals, duplicates.
#include "rc_resp_fixture.h"

namespace {

class RcRespPlacement : public RcResp {
protected:
	static pkt flush_packet(u32 psn, u32 bytes = 4096, u8 feth = FETH_GLOBAL)
	{
		pkt k = packet(OP_FLUSH, psn);

		k.dma_bytes = bytes;
		k.feth = feth;
		return k;
	}
	static pkt store_packet(u32 psn) { return packet(OP_ATOMIC_WRITE, psn, 8); }

	// The verdict, committed as the caller does when it is carried out.
	rc_act place(const pkt &k)
	{
		judge(k);
		if (act.kind == RC_ACT_FLUSH || act.kind == RC_ACT_ATOMIC_WRITE) {
			executed++;
			rc_resp_commit(&r, &k, &act, 0);
		}
		return act;
	}

	void is_refused(const pkt &k)
	{
		start();
		EXPECT_EQ(judge(k).kind, RC_ACT_FATAL);
		EXPECT_EQ(answers(), (Words{"nak61 0"}));
		EXPECT_TRUE(r.in_error);
	}
};

TEST_F(RcRespPlacement, FlushVerdictNamesRangeAndPlacement)
{
	place(flush_packet(0, 0x80000000u, FETH_PERSISTENT | FETH_REGION));
	EXPECT_EQ(act.kind, RC_ACT_FLUSH);
	EXPECT_TRUE(act.begin && act.end && !act.take_recv && !act.complete_recv);
	EXPECT_EQ(act.va, kVa);
	EXPECT_EQ(act.rkey, kRkey);
	EXPECT_EQ(act.length, 0x80000000u);
	EXPECT_EQ(act.feth, FETH_PERSISTENT | FETH_REGION);
	EXPECT_EQ(r.epsn, psn_add(kPsn, 1));
	EXPECT_EQ(r.msn, 1u);
}

TEST_F(RcRespPlacement, AtomicWriteVerdictIsOfEightBytes)
{
	place(store_packet(0));
	EXPECT_EQ(act.kind, RC_ACT_ATOMIC_WRITE);
	EXPECT_TRUE(act.begin && act.end && !act.take_recv && !act.complete_recv);
	EXPECT_EQ(act.va, kVa);
	EXPECT_EQ(act.rkey, kRkey);
	EXPECT_EQ(act.length, 8u);
	EXPECT_EQ(act.bytes, 8u);
	EXPECT_EQ(r.epsn, psn_add(kPsn, 1));
}

TEST_F(RcRespPlacement, TheAnswerIsAReadResponseOfNothing)
{
	run a;

	place(flush_packet(0));
	ASSERT_TRUE(rc_resp_next(&r, 64, &a));
	EXPECT_EQ(a.kind, RUN_READ_RESP);
	EXPECT_EQ(a.npkts, 1u);
	EXPECT_EQ(a.bytes, 0u);
	EXPECT_EQ(answers(), (Words{"read 0 ONLY"}));
	place(store_packet(1));
	EXPECT_EQ(answers(), (Words{"read 1 ONLY"}));
	EXPECT_EQ(answers(), Words{});
}

TEST_F(RcRespPlacement, AnswersComeInOrder)
{
	cfg.max_rd_atomic = 8;
	start();
	rx(OP_WRITE_ONLY, 0, 4);
	place(flush_packet(1));
	place(store_packet(2));
	read(3, kPmtu + 1);
	add(5, 1);
	rx(OP_SEND_ONLY, 6, 4);
	EXPECT_EQ(answers(), (Words{"read 1 ONLY", "read 2 ONLY", "read 3 FIRST", "read 4 LAST",
				    "atomic 5=100", "ack 6"}));
}

TEST_F(RcRespPlacement, AtomicWriteOfAnotherSizeOrMisalignedIsInvalid)
{
	for (u32 bytes : {0u, 1u, 4u, 7u, 9u, 16u, 256u}) {
		pkt k = store_packet(0);

		k.payload_bytes = bytes;
		is_refused(k);
		k.dma_bytes = bytes;
		is_refused(k);
		k = store_packet(0);
		k.dma_bytes = bytes;
		is_refused(k);
	}
	for (u64 off : {1, 2, 4, 7}) {
		pkt k = store_packet(0);

		k.va += off;
		is_refused(k);
	}
}

TEST_F(RcRespPlacement, FlushThatDoesNotExistIsInvalid)
{
	for (u32 feth = 0; feth < 64; feth++) {
		pkt k = flush_packet(0, 4096, static_cast<u8>(feth));
		u32 placement = feth & 15, selectivity = feth >> 4;

		if (placement >= 1 && placement <= 3 && selectivity <= 1) {
			start();
			EXPECT_EQ(judge(k).kind, RC_ACT_FLUSH) << feth;
		} else {
			is_refused(k);
		}
	}
	is_refused(flush_packet(0, 0x80000001u));
	// Of a whole region the length is ignored.
	start();
	EXPECT_EQ(judge(flush_packet(0, 0xffffffffu, FETH_GLOBAL | FETH_REGION)).kind,
		  RC_ACT_FLUSH);
}

TEST_F(RcRespPlacement, FlushOfNothingIsAFlush)
{
	EXPECT_EQ(place(flush_packet(0, 0)).kind, RC_ACT_FLUSH);
	EXPECT_EQ(answers(), (Words{"read 0 ONLY"}));
}

// ATOMIC WRITE is a WRITE; FLUSH takes the right for each placement type that it names.
TEST_F(RcRespPlacement, RightsOfTheQp)
{
	const struct {
		u8 feth, need;
	} types[] = {
		{FETH_GLOBAL, RC_ACCESS_FLUSH_GLOBAL},
		{FETH_PERSISTENT, RC_ACCESS_FLUSH_PERSISTENT},
		{FETH_GLOBAL | FETH_PERSISTENT,
		 RC_ACCESS_FLUSH_GLOBAL | RC_ACCESS_FLUSH_PERSISTENT},
	};
	for (u8 access = 0; access < 32; access++) {
		cfg.access = access;
		start();
		EXPECT_EQ(judge(store_packet(0)).kind,
			  access & RC_ACCESS_WRITE ? RC_ACT_ATOMIC_WRITE : RC_ACT_FATAL)
			<< int(access);
		for (const auto &type : types)
			for (u8 selectivity : {FETH_RANGE, FETH_REGION}) {
				start();
				judge(flush_packet(0, 4096, type.feth | selectivity));
				EXPECT_EQ(act.kind, (access & type.need) == type.need ?
							    RC_ACT_FLUSH :
							    RC_ACT_FATAL)
					<< int(access) << " type " << int(type.feth);
				if (act.kind == RC_ACT_FATAL) {
					EXPECT_EQ(answers(), (Words{"nak61 0"}));
				}
			}
	}
}

TEST_F(RcRespPlacement, WithinAMessageTheyAreInvalid)
{
	for (const pkt &k : {flush_packet(1), store_packet(1)}) {
		start();
		rx(OP_SEND_FIRST, 0, kPmtu, false);
		EXPECT_EQ(judge(k).kind, RC_ACT_FATAL);
		EXPECT_EQ(answers(), (Words{"nak61 1"}));
	}
}

TEST_F(RcRespPlacement, MoreThanNegotiatedAreInvalid)
{
	for (bool is_flush : {true, false}) {
		cfg.max_rd_atomic = 2;
		start();
		for (u32 i = 0; i < 3; i++)
			place(is_flush ? flush_packet(i) : store_packet(i));
		EXPECT_EQ(act.kind, RC_ACT_FATAL);
		EXPECT_EQ(answers(), (Words{"read 0 ONLY", "read 1 ONLY", "nak61 2"}));
		cfg.max_rd_atomic = 0;
		start();
		EXPECT_EQ(place(is_flush ? flush_packet(0) : store_packet(0)).kind, RC_ACT_FATAL);
	}
}

TEST_F(RcRespPlacement, RefusedKeysAreNakked)
{
	for (const pkt &k : {flush_packet(0), store_packet(0)}) {
		start();
		judge(k);
		rc_resp_fail(&r, &k, RC_FAIL_ACCESS);
		EXPECT_EQ(answers(), (Words{"nak62 0"}));
		EXPECT_TRUE(r.in_error);
	}
}

TEST_F(RcRespPlacement, DuplicatesAreAnsweredAndNotExecuted)
{
	place(store_packet(0));
	place(flush_packet(1));
	answers();
	EXPECT_EQ(place(store_packet(0)).kind, RC_ACT_NONE);
	EXPECT_EQ(act.event, RC_EV_DUPLICATE);
	EXPECT_EQ(place(flush_packet(1)).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), (Words{"read 0 ONLY", "read 1 ONLY"}));
	EXPECT_EQ(executed, 2);
	EXPECT_EQ(r.msn, 2u);
}

TEST_F(RcRespPlacement, ForgottenOnesAreNeitherExecutedNorAnswered)
{
	for (u32 i = 0; i < 3; i++) {
		place(store_packet(i));
		answers();
	}
	EXPECT_EQ(place(store_packet(0)).kind, RC_ACT_NONE);
	EXPECT_EQ(answers(), Words{});
	EXPECT_EQ(executed, 3);
}

TEST_F(RcRespPlacement, DuplicatesOfAnotherKindAreNotAnswered)
{
	const pkt others[] = {flush_packet(0), store_packet(0), packet(OP_READ_REQUEST, 0),
			      packet(OP_FETCH_ADD, 0)};

	for (const pkt &first : others) {
		for (const pkt &again : others) {
			start();
			rx(first);
			place(first);
			answers();
			judge(again);
			EXPECT_EQ(act.kind, RC_ACT_NONE);
			EXPECT_EQ(answers().size(), first.opcode == again.opcode)
				<< int(first.opcode) << " " << int(again.opcode);
		}
	}
}

// Executed in parts: the verdict is the same until it is committed.
TEST_F(RcRespPlacement, UncommittedFlushIsJudgedAgain)
{
	rx(OP_WRITE_ONLY, 0, 4);
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(judge(flush_packet(1, 1 << 20, FETH_PERSISTENT)).kind, RC_ACT_FLUSH);
		EXPECT_EQ(act.length, 1u << 20);
		EXPECT_EQ(answers(), i ? Words{} : Words{"ack 0"});
	}
	EXPECT_EQ(place(flush_packet(1, 1 << 20, FETH_PERSISTENT)).kind, RC_ACT_FLUSH);
	EXPECT_EQ(answers(), (Words{"read 1 ONLY"}));
}

TEST_F(RcRespPlacement, UcHasNeither)
{
	EXPECT_EQ(opcode_info(u8{BTH_UC} | OP_FLUSH)->flags, 0u);
	EXPECT_EQ(opcode_info(u8{BTH_UC} | OP_ATOMIC_WRITE)->flags, 0u);
	cfg.service = BTH_UC;
	start();
	for (const pkt &k : {flush_packet(0), store_packet(0)}) {
		uc_resp_rx(&r, &k, &act);
		EXPECT_EQ(act.kind, RC_ACT_NONE);
		EXPECT_EQ(act.event, RC_EV_DROPPED);
		r.epsn = kPsn;
	}
}

TEST_F(RcRespPlacement, TableKeepsThemWhenItIsResized)
{
	rc_res bigger[4];

	place(store_packet(0));
	place(flush_packet(1));
	ASSERT_TRUE(rc_resp_resize(&r, bigger, 4));
	EXPECT_EQ(answers(), (Words{"read 0 ONLY", "read 1 ONLY"}));
	place(store_packet(0));
	EXPECT_EQ(answers(), (Words{"read 0 ONLY"}));
}

} // namespace
