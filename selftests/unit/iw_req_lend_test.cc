// SPDX-License-Identifier: GPL-2.0
// Requester of an iWARP stream: memory that is lent to the stream, and completions that wait until
// it is returned.
#include "iw_req_fixture.h"

namespace {

constexpr u32 kLent = 1000; // payload of a segment that is lent

class IwReqLend : public IwReq {
protected:
	IwReqLend()
	{
		cfg.max_lent_bytes = kLent;
		start();
	}

	// Lends the next segment as part of a loan; returns its payload.
	u32 lend(u32 loan)
	{
		iw_seg s = {};

		if (!iw_req_next_lent(&q, &s)) {
			ADD_FAILURE() << "nothing to send";
			return 0;
		}
		iw_req_sent(&q, &s);
		iw_req_lend(&q, s.slot, loan);
		return s.bytes;
	}

	// Copies the next segment.
	u32 copy()
	{
		std::vector<iw_seg> segs = send(1);

		return segs.empty() ? 0 : segs[0].bytes;
	}
};

TEST_F(IwReqLend, LentSegmentsAreAsLongAsSaid)
{
	post(WR_WRITE, 2500);
	post(WR_SEND, 1001);
	EXPECT_EQ(lend(0), kLent);
	EXPECT_EQ(lend(0), kLent);
	EXPECT_EQ(lend(0), 500u);
	EXPECT_EQ(lend(0), kLent);
	EXPECT_EQ(lend(0), 1u);
}

TEST_F(IwReqLend, AMessageMayBePartlyLent)
{
	post(WR_WRITE, 2000);
	EXPECT_EQ(copy(), kWrite);
	EXPECT_EQ(lend(0), kLent);
	EXPECT_EQ(copy(), kWrite);
	EXPECT_EQ(lend(1), 2000 - kLent - 2 * kWrite);
	iw_req_return(&q, 1);
	EXPECT_FALSE(iw_req_completed(&q)); // its end belongs to the next loan
	iw_req_return(&q, 2);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS}}));
}

TEST_F(IwReqLend, CompletesWhenReturned)
{
	post(WR_WRITE, 800);
	lend(0);
	EXPECT_FALSE(iw_req_completed(&q));
	EXPECT_EQ(reap(), Completions{});
	iw_req_return(&q, 1);
	EXPECT_TRUE(iw_req_completed(&q));
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS}}));
	EXPECT_EQ(q.num_lent, 0u);
}

TEST_F(IwReqLend, WhatIsCopiedBehindWaitsInOrder)
{
	post(WR_WRITE, 800);
	post(WR_SEND, 10);
	post(WR_LOCAL);
	lend(0);
	send();
	EXPECT_EQ(reap(), Completions{});
	iw_req_return(&q, 1);
	EXPECT_EQ(reap(),
		  (Completions{{0, WR_ST_SUCCESS}, {1, WR_ST_SUCCESS}, {2, WR_ST_SUCCESS}}));
}

TEST_F(IwReqLend, WhatIsCopiedBeforeDoesNotWait)
{
	post(WR_SEND, 10);
	post(WR_WRITE, 800);
	copy();
	lend(0);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS}}));
	EXPECT_EQ(reap(), Completions{});
}

TEST_F(IwReqLend, LoansAreReturnedOneByOne)
{
	for (u32 i = 0; i < 3; i++)
		post(WR_WRITE, 800);
	lend(0);
	lend(1);
	lend(1);
	iw_req_return(&q, 1);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS}}));
	iw_req_return(&q, 2);
	EXPECT_EQ(reap(), (Completions{{1, WR_ST_SUCCESS}, {2, WR_ST_SUCCESS}}));
}

TEST_F(IwReqLend, NumbersOfLoansWrap)
{
	post(WR_WRITE, 800);
	post(WR_WRITE, 800);
	iw_req_return(&q, 0xffffffff);
	lend(0xffffffff);
	lend(0);
	EXPECT_EQ(reap(), Completions{});
	iw_req_return(&q, 0);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS}}));
	iw_req_return(&q, 1);
	EXPECT_EQ(reap(), (Completions{{1, WR_ST_SUCCESS}}));
}

TEST_F(IwReqLend, ASlotIsNotLentWhenItIsUsedAgain)
{
	start(2);
	post(WR_WRITE, 800);
	lend(0);
	iw_req_return(&q, 1);
	reap();
	post(WR_SEND, 1);
	post(WR_SEND, 1);
	send();
	// Loan 0 is returned once more, for another request.
	iw_req_return(&q, 0);
	EXPECT_EQ(reap(), (Completions{{1, WR_ST_SUCCESS}, {2, WR_ST_SUCCESS}}));
}

TEST_F(IwReqLend, AResponseDoesNotOvertake)
{
	post(WR_WRITE, 800);
	u32 read = post(WR_READ, 8);
	lend(0);
	send();
	ASSERT_EQ(read_resp(read, 0, 8, true).kind, IW_REQ_PLACE);
	EXPECT_EQ(reap(), Completions{});
	iw_req_return(&q, 1);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS}, {1, WR_ST_SUCCESS}}));
}

// After an error, too, memory that the stream reads is not given back.

TEST_F(IwReqLend, FlushedWhenReturned)
{
	post(WR_WRITE, 2500);
	post(WR_SEND, 10);
	lend(0);
	iw_req_flush(&q);
	EXPECT_FALSE(iw_req_completed(&q));
	EXPECT_EQ(reap(), Completions{});
	iw_req_return(&q, 1);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_WR_FLUSH_ERR}, {1, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(IwReqLend, SucceedsThoughWhatIsBehindFails)
{
	post(WR_WRITE, 800);
	post(WR_SEND, 10);
	lend(0);
	iw_req_fail(&q, &other, 1, WR_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), Completions{});
	iw_req_return(&q, 1);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS}, {1, WR_ST_LOC_PROT_ERR}}));
}

TEST_F(IwReqLend, FailsWhenReturnedIfItFailsItself)
{
	post(WR_SEND, 2500);
	lend(0);
	iw_req_fail(&q, &other, 0, WR_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), Completions{});
	iw_req_return(&q, 1);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_LOC_PROT_ERR}}));
}

TEST_F(IwReqLend, CompletesBehindAReadThatIsFlushed)
{
	u32 read = post(WR_READ, 8);

	post(WR_WRITE, 800);
	send(1);
	lend(0);
	iw_req_fail(&q, &other, read, WR_ST_REM_ACCESS_ERR);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_REM_ACCESS_ERR}}));
	iw_req_return(&q, 1);
	EXPECT_EQ(reap(), (Completions{{1, WR_ST_WR_FLUSH_ERR}}));
}

// Payload that is not sent.

TEST_F(IwReqLend, UnsentBytesAreThoseOfSendsAndWrites)
{
	post(WR_WRITE, 800);
	post(WR_READ, 4000);
	post(WR_FETCH_ADD, 8);
	post(WR_SEND, 150);
	EXPECT_EQ(q.unsent_bytes, 950u);
	EXPECT_EQ(copy(), kWrite);
	EXPECT_EQ(q.unsent_bytes, 950u - kWrite);
	lend(0);
	EXPECT_EQ(q.unsent_bytes, 150u);
	send();
	EXPECT_EQ(q.unsent_bytes, 0u);
}

TEST_F(IwReqLend, ImmediateDataAreNoPayload)
{
	post(WR_WRITE, 800, WR_F_IMM);
	lend(0);
	EXPECT_EQ(q.unsent_bytes, 0u);
	EXPECT_EQ(words(), Words{"imm 1"});
}

TEST_F(IwReqLend, NothingIsUnsentInError)
{
	post(WR_WRITE, 800);
	iw_req_flush(&q);
	EXPECT_EQ(q.unsent_bytes, 0u);
	post(WR_WRITE, 800);
	EXPECT_EQ(q.unsent_bytes, 0u);
}

} // namespace
