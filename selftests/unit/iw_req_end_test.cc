// SPDX-License-Identifier: GPL-2.0
// Requester of an iWARP stream, one behaviour at a time: responses and their places, completions
// and their order, failures, flushes.
#include "iw_req_fixture.h"

namespace {

// ---- READ responses ----

TEST_F(IwReq, ReadResponsesArePlacedOneAfterTheOther)
{
	post(WR_READ, 250);
	send();
	iw_req_act a = read_resp(0, 0, 104, false);
	EXPECT_EQ(a.kind, IW_REQ_PLACE);
	EXPECT_EQ(a.slot, 0u);
	EXPECT_EQ(a.offset, 0u);
	EXPECT_EQ(a.bytes, 104u);
	a = read_resp(0, 104, 100, false);
	EXPECT_EQ(a.offset, 104u);
	EXPECT_EQ(reap(), Completions{});
	a = read_resp(0, 204, 46, true);
	EXPECT_EQ(a.offset, 204u);
	EXPECT_EQ(a.bytes, 46u);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

TEST_F(IwReq, AReadOfNothingHasAnEmptyResponse)
{
	post(WR_READ, 0);
	send();
	EXPECT_EQ(reap(), Completions{});
	EXPECT_EQ(read_resp(0, 0, 0, true).kind, IW_REQ_PLACE);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

// RFC 5041 5.2: of a message of no bytes neither STag nor offset is looked at.
TEST_F(IwReq, AnEmptyReadResponseNamesNoPlace)
{
	post(WR_READ, 0);
	send();
	iw_req_act act = read_resp(0xdeadbeef, 0x123456789, 0, true);
	ASSERT_EQ(act.kind, IW_REQ_PLACE);
	EXPECT_EQ(act.slot, 0u);
	EXPECT_EQ(act.bytes, 0u);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

TEST_F(IwReq, AnEmptyReadResponseIsNoneToAReadOfSomething)
{
	post(WR_READ, 4);
	send();
	expect_fatal(read_resp(0, 0, 0, true), TERM_DDP_BOUNDS);
}

// RFC 5040 7.1: the peer gets a Terminate instead of the request.
TEST_F(IwReq, ALocalFailureSendsATerminateThatQuotesNothing)
{
	for (u8 op : {WR_SEND, WR_WRITE, WR_READ, WR_LOCAL}) {
		iw_seg s = {};
		u32 slot;

		start();
		slot = post(op, op == WR_LOCAL ? 0 : 8);
		ASSERT_TRUE(iw_req_next(&q, &s));
		if (op == WR_LOCAL)
			iw_req_local_done(&q, &other, slot, WR_ST_MW_BIND_ERR);
		else
			iw_req_fail(&q, &other, slot, WR_ST_LOC_PROT_ERR);
		EXPECT_FALSE(iw_req_next(&q, &s));
		ASSERT_TRUE(iw_resp_next(&other, &s));
		EXPECT_EQ(hdr(s), (Bytes{0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0,
					 0,    0,    1, 0, 0, 0, 0, 0, 0, 0, 0}));
	}
}

TEST_F(IwReq, WhatThePeerTerminatedIsNotAnswered)
{
	iw_seg s = {};

	post(WR_READ, 8);
	send();
	terminated(TERM_PROT_STAG);
	EXPECT_FALSE(iw_resp_next(&other, &s));
	// Later failures change nothing.
	iw_req_fail(&q, &other, 0, WR_ST_LOC_PROT_ERR);
	EXPECT_FALSE(iw_resp_next(&other, &s));
}

TEST_F(IwReq, WhatIsNotPlacedDoesNotCount)
{
	post(WR_READ, 4);
	send();
	iw_req_act act = rx_read_resp(0, 0, 4, true);
	EXPECT_EQ(act.kind, IW_REQ_PLACE);
	EXPECT_EQ(reap(), Completions{});
	iw_req_fail(&q, &other, act.slot, WR_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_LOC_PROT_ERR}}));
}

TEST_F(IwReq, AReadResponseInTheWrongPlaceIsFatal)
{
	const struct {
		u32 stag;
		u64 to;
		u16 bytes;
		bool last;
		int term;
	} table[] = {
		{1, 10, 5, false, TERM_DDP_STAG},	   // of the next READ
		{0xffffffff, 10, 5, false, TERM_DDP_STAG}, // of the one before
		{16, 10, 5, false, TERM_DDP_STAG},	   // in the same place of the ring
		{0, 9, 5, false, TERM_DDP_BOUNDS},	   // again
		{0, 11, 5, false, TERM_DDP_BOUNDS},	   // a gap
		{0, 0, 5, false, TERM_DDP_BOUNDS},	   // from the start
		{0, 10 + (1ull << 32), 5, false, TERM_DDP_BOUNDS},
		{0, 10, 21, false, TERM_DDP_BOUNDS}, // beyond its end
		{0, 10, 21, true, TERM_DDP_BOUNDS},
		{0, 10, 0xfff1, true, TERM_DDP_BOUNDS},
		{0, 10, 19, true, TERM_DDP_BOUNDS},  // ends too early
		{0, 10, 20, false, TERM_DDP_BOUNDS}, // does not end
		{0, 10, 0, true, TERM_DDP_BOUNDS},
		{0, 10, 0, false, TERM_OP_OTHER}, // empty
	};

	for (const auto &t : table) {
		start();
		post(WR_READ, 30);
		post(WR_READ, 30);
		send();
		read_resp(0, 0, 10, false);
		expect_fatal(read_resp(t.stag, t.to, t.bytes, t.last), t.term);
		EXPECT_EQ(reap(), Completions{});
	}
}

TEST_F(IwReq, AnUnrequestedReadResponseIsFatal)
{
	expect_fatal(read_resp(0, 0, 1, true), TERM_OP_OPCODE);
	post(WR_READ, 1);
	expect_fatal(read_resp(0, 0, 1, true), TERM_OP_OPCODE);
	send();
	read_resp(0, 0, 1, true);
	expect_fatal(read_resp(0, 0, 1, true), TERM_OP_OPCODE);
}

TEST_F(IwReq, TheOldestRequestIsAnsweredFirst)
{
	post(WR_READ, 1);
	post(WR_READ, 1);
	send();
	expect_fatal(read_resp(1, 0, 1, true), TERM_DDP_STAG);
	read_resp(0, 0, 1, true);
	EXPECT_EQ(read_resp(1, 0, 1, true).kind, IW_REQ_PLACE);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

// ---- atomics ----

TEST_F(IwReq, AnAtomicResponseBringsTheOldValue)
{
	start(16, 5);
	post(WR_CMP_SWAP, 8);
	send();
	iw_req_act a = atomic_resp(1, 5, 0x0102030405060708);
	EXPECT_EQ(a.kind, IW_REQ_PLACE_ATOMIC);
	EXPECT_EQ(a.slot, 5u);
	EXPECT_EQ(a.bytes, 8u);
	EXPECT_EQ(a.value, 0x0102030405060708u);
	EXPECT_EQ(reap(), (Completions{{5, 0}}));
}

TEST_F(IwReq, AtomicResponsesAreNumberedFromOne)
{
	post(WR_FETCH_ADD, 8);
	post(WR_FETCH_ADD, 8);
	send();
	expect_fatal(atomic_resp(0, 0), TERM_DDP_MSN_RANGE);
	expect_fatal(atomic_resp(2, 0), TERM_DDP_MSN_RANGE);
	EXPECT_EQ(atomic_resp(1, 0).kind, IW_REQ_PLACE_ATOMIC);
	expect_fatal(atomic_resp(1, 1), TERM_DDP_MSN_RANGE);
	EXPECT_EQ(atomic_resp(2, 1).kind, IW_REQ_PLACE_ATOMIC);
}

TEST_F(IwReq, AnAtomicResponseToAnotherRequestIsFatal)
{
	expect_fatal(atomic_resp(1, 0), TERM_OP_OPCODE);
	post(WR_FETCH_ADD, 8);
	send();
	expect_fatal(atomic_resp(1, 1), TERM_OP_OPCODE);
	expect_fatal(atomic_resp(1, 16), TERM_OP_OPCODE);
}

TEST_F(IwReq, AResponseOfTheOtherKindIsFatal)
{
	post(WR_FETCH_ADD, 8);
	send();
	expect_fatal(read_resp(0, 0, 8, true), TERM_OP_OPCODE);
	start();
	post(WR_READ, 8);
	send();
	expect_fatal(atomic_resp(1, 0), TERM_OP_OPCODE);
}

// ---- completion ----

TEST_F(IwReq, ASendIsCompleteOnceItsLastSegmentIsOut)
{
	post(WR_SEND, kSend + 1);
	send(1);
	EXPECT_EQ(reap(), Completions{});
	send(1);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

TEST_F(IwReq, CompletionsAreInOrder)
{
	post(WR_SEND, 1);
	post(WR_READ, 1);
	post(WR_SEND, 1);
	post(WR_FETCH_ADD, 8);
	post(WR_WRITE, 1);
	send();
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	read_resp(1, 0, 1, true);
	EXPECT_EQ(reap(), (Completions{{1, 0}, {2, 0}}));
	atomic_resp(1, 3);
	EXPECT_EQ(reap(), (Completions{{3, 0}, {4, 0}}));
}

TEST_F(IwReq, AFullRingTakesNoMoreUntilReaped)
{
	struct wr w = wr(WR_SEND, 1);

	start(2);
	post(w);
	post(w);
	EXPECT_FALSE(iw_req_post(&q, &w));
	send();
	EXPECT_FALSE(iw_req_post(&q, &w));
	EXPECT_EQ(reap().size(), 2u);
	EXPECT_TRUE(iw_req_post(&q, &w));
}

TEST_F(IwReq, IndicesRunThroughTheirWrap)
{
	Completions want;
	u32 first = 0xfffffffa, msn = 1;

	start(4, first);
	for (u32 i = 0; i < 12; i += 3) {
		u32 slot = post(WR_READ, 2);

		EXPECT_EQ(slot, first + i);
		post(WR_FETCH_ADD, 8);
		post(WR_SEND, 1);
		EXPECT_EQ(send().size(), 3u);
		EXPECT_EQ(read_resp(slot, 0, 2, true).kind, IW_REQ_PLACE);
		EXPECT_EQ(atomic_resp(msn++, slot + 1).kind, IW_REQ_PLACE_ATOMIC);
		EXPECT_EQ(reap(), (Completions{{slot, 0}, {slot + 1, 0}, {slot + 2, 0}}));
	}
	EXPECT_EQ(q.tail, 6u);
}

TEST_F(IwReq, AFailureAcrossTheWrapFlushesWhatFollows)
{
	start(8, 0xfffffffe);
	for (int i = 0; i < 4; i++)
		post(WR_READ, 1);
	send();
	read_resp(0xfffffffe, 0, 1, true);
	iw_req_fail(&q, &other, 0xffffffff, WR_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), (Completions{{0xfffffffe, 0},
				       {0xffffffff, WR_ST_LOC_PROT_ERR},
				       {0, WR_ST_WR_FLUSH_ERR},
				       {1, WR_ST_WR_FLUSH_ERR}}));
}

// ---- ends ----

TEST_F(IwReq, AFailureFlushesAllBehindTheOldestThatIsNotComplete)
{
	post(WR_SEND, 1);
	post(WR_READ, 1);
	post(WR_SEND, 1);
	post(WR_SEND, kSend + 1);
	post(WR_SEND, 1);
	send(4);
	iw_req_fail(&q, &other, 3, WR_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), (Completions{{0, 0},
				       {1, WR_ST_WR_FLUSH_ERR},
				       {2, WR_ST_WR_FLUSH_ERR},
				       {3, WR_ST_LOC_PROT_ERR},
				       {4, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(IwReq, AFailureOfWhatIsDoneOrNotPostedIsIgnored)
{
	post(WR_SEND, 1);
	send();
	iw_req_fail(&q, &other, 0, WR_ST_LOC_PROT_ERR);
	iw_req_fail(&q, &other, 1, WR_ST_LOC_PROT_ERR);
	iw_req_fail(&q, &other, 0xffffffff, WR_ST_LOC_PROT_ERR);
	EXPECT_FALSE(iw_req_in_error(&q));
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

TEST_F(IwReq, OnlyTheFirstFailureHasAStatus)
{
	post(WR_READ, 1);
	post(WR_READ, 1);
	send();
	iw_req_fail(&q, &other, 0, WR_ST_LOC_PROT_ERR);
	iw_req_fail(&q, &other, 1, WR_ST_LOC_LEN_ERR);
	terminated(TERM_PROT_STAG);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_LOC_PROT_ERR}, {1, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(IwReq, AFlushKeepsWhatIsCompleteInOrder)
{
	post(WR_SEND, 1);
	post(WR_READ, 1);
	post(WR_SEND, 1);
	post(WR_WRITE, 1, WR_F_FENCE);
	send();
	iw_req_flush(&q);
	EXPECT_EQ(reap(), (Completions{{0, 0},
				       {1, WR_ST_WR_FLUSH_ERR},
				       {2, WR_ST_WR_FLUSH_ERR},
				       {3, WR_ST_WR_FLUSH_ERR}}));
	EXPECT_EQ(reap(), Completions{});
}

TEST_F(IwReq, NothingIsSentOrTakenAfterAnError)
{
	iw_seg s;

	post(WR_SEND, 1);
	post(WR_READ, 1);
	post(WR_FETCH_ADD, 8);
	send();
	post(WR_SEND, 1);
	iw_req_flush(&q);
	EXPECT_FALSE(iw_req_next(&q, &s));
	expect_fatal(read_resp(1, 0, 1, true), TERM_OP_STREAM);
	expect_fatal(atomic_resp(1, 2), TERM_OP_STREAM);
	EXPECT_EQ(reap().size(), 4u);
}

TEST_F(IwReq, WhatIsPostedAfterAnErrorIsFlushed)
{
	iw_req_flush(&q);
	for (int i = 0; i < 3; i++) {
		u32 slot = post(WR_SEND, 1);

		EXPECT_TRUE(send().empty());
		EXPECT_EQ(reap(), (Completions{{slot, WR_ST_WR_FLUSH_ERR}}));
	}
}

TEST_F(IwReq, ASegmentTakenAfterAnErrorChangesNothing)
{
	iw_seg s;

	post(WR_SEND, 1);
	ASSERT_TRUE(iw_req_next(&q, &s));
	iw_req_flush(&q);
	iw_req_sent(&q, &s);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(IwReq, APlacementThatEndsAfterAnErrorChangesNothing)
{
	post(WR_READ, 4);
	send();
	iw_req_act act = rx_read_resp(0, 0, 4, true);
	iw_req_flush(&q);
	iw_req_placed(&q, &act, true);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_WR_FLUSH_ERR}}));
}

} // namespace
