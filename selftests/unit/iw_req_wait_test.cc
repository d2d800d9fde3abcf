// SPDX-License-Identifier: GPL-2.0
// Requester of an iWARP stream: which requests may wait for the next response, to leave with
// others.
#include "iw_req_fixture.h"

namespace {

class IwReqWait : public IwReq {
protected:
	IwReqWait()
	{
		cfg.ord = 2 * IW_READS_AHEAD;
		start(4 * IW_READS_AHEAD);
	}

	/* Send n requests and leave them unanswered. */
	void under_way(u32 n, u8 op = WR_READ, u32 length = 8)
	{
		for (u32 i = 0; i < n; i++)
			post(op, length);
		ASSERT_EQ(send().size(), n);
	}

	/* May this one wait, if it is the next? */
	bool waits(u8 op, u32 length = 8, u8 flags = 0)
	{
		post(op, length, flags);
		return iw_req_may_wait(&q);
	}
};

TEST_F(IwReqWait, AReadWaitsBehindManyUnderWay)
{
	under_way(IW_READS_AHEAD);
	EXPECT_TRUE(waits(WR_READ));
}

TEST_F(IwReqWait, AtomicsUnderWayCountAsWell)
{
	under_way(IW_READS_AHEAD - 1, WR_FETCH_ADD);
	under_way(1);
	EXPECT_TRUE(waits(WR_READ));
}

TEST_F(IwReqWait, NoneWaitsWithFewerUnderWay)
{
	EXPECT_FALSE(waits(WR_READ));
	send();
	under_way(IW_READS_AHEAD - 2);
	EXPECT_FALSE(waits(WR_READ));
}

TEST_F(IwReqWait, WhatIsAnsweredIsNotUnderWay)
{
	under_way(IW_READS_AHEAD);
	ASSERT_TRUE(waits(WR_READ));
	ASSERT_EQ(read_resp(0, 0, 8, true).kind, IW_REQ_PLACE);
	EXPECT_FALSE(iw_req_may_wait(&q));
	/* It is sent, and there are as many again. */
	EXPECT_EQ(send().size(), 1u);
	EXPECT_TRUE(waits(WR_READ));
}

TEST_F(IwReqWait, ALongReadDoesNotWait)
{
	under_way(IW_READS_AHEAD);
	EXPECT_TRUE(waits(WR_READ, IW_SHORT_READ_BYTES));
	send();
	EXPECT_FALSE(waits(WR_READ, IW_SHORT_READ_BYTES + 1));
}

TEST_F(IwReqWait, ALongReadWaitsWithManyBytesUnderWay)
{
	under_way(1, WR_READ, IW_READ_BYTES_AHEAD - 1);
	EXPECT_FALSE(iw_req_far_ahead(&q));
	EXPECT_FALSE(waits(WR_READ, 1));
	send();
	EXPECT_TRUE(iw_req_far_ahead(&q));
	EXPECT_TRUE(waits(WR_READ, IW_READ_BYTES_AHEAD));
}

TEST_F(IwReqWait, BytesOfAtomicsAreNotOnTheirWay)
{
	under_way(1, WR_READ, IW_READ_BYTES_AHEAD - 1);
	under_way(1, WR_FETCH_ADD);
	EXPECT_FALSE(iw_req_far_ahead(&q));
}

TEST_F(IwReqWait, AWholeReadIsUnderWayUntilItsLastByte)
{
	constexpr u16 kPiece = 1 << 14;

	under_way(1, WR_READ, IW_READ_BYTES_AHEAD);
	under_way(1, WR_READ, 5);
	for (u32 at = 0; at < IW_READ_BYTES_AHEAD; at += kPiece) {
		EXPECT_TRUE(iw_req_far_ahead(&q));
		ASSERT_EQ(read_resp(0, at, kPiece, at + kPiece == IW_READ_BYTES_AHEAD).kind,
			  IW_REQ_PLACE);
	}
	EXPECT_FALSE(iw_req_far_ahead(&q));
	EXPECT_EQ(q.rd_bytes, 5u);
	ASSERT_EQ(read_resp(1, 0, 5, true).kind, IW_REQ_PLACE);
	EXPECT_EQ(q.rd_bytes, 0u);
}

TEST_F(IwReqWait, AfterAnErrorNoBytesAreUnderWay)
{
	under_way(1, WR_READ, IW_READ_BYTES_AHEAD);
	iw_req_flush(&q);
	EXPECT_FALSE(iw_req_far_ahead(&q));
}

TEST_F(IwReqWait, ManyReadsOfTheLargestSizeDoNotOverflow)
{
	under_way(4, WR_READ, 1u << 31);
	EXPECT_TRUE(iw_req_far_ahead(&q));
}

TEST_F(IwReqWait, AReadWithSomethingElseBehindItDoesNotWait)
{
	for (u8 op : {WR_SEND, WR_WRITE, WR_CMP_SWAP, WR_FETCH_ADD, WR_LOCAL}) {
		start(4 * IW_READS_AHEAD);
		under_way(IW_READS_AHEAD);
		ASSERT_TRUE(waits(WR_READ)) << int{op};
		EXPECT_FALSE(waits(op)) << int{op};
		/* Once sent, it does not keep others from waiting. */
		send();
		EXPECT_TRUE(waits(WR_READ)) << int{op};
	}
}

TEST_F(IwReqWait, NothingElseWaits)
{
	for (u8 op : {WR_SEND, WR_WRITE, WR_CMP_SWAP, WR_FETCH_ADD, WR_LOCAL}) {
		start(4 * IW_READS_AHEAD);
		under_way(IW_READS_AHEAD);
		EXPECT_FALSE(waits(op)) << int{op};
	}
}

TEST_F(IwReqWait, AReadWhoseTurnHasNotComeMakesNothingWait)
{
	under_way(IW_READS_AHEAD);
	post(WR_SEND, 1);
	EXPECT_FALSE(waits(WR_READ));
}

TEST_F(IwReqWait, AReadThatWasBegunDoesNotWait)
{
	iw_seg s = {};

	under_way(IW_READS_AHEAD);
	ASSERT_TRUE(waits(WR_READ));
	ASSERT_TRUE(iw_req_next(&q, &s));
	EXPECT_FALSE(iw_req_may_wait(&q));
}

TEST_F(IwReqWait, WithNothingPostedNothingWaits)
{
	under_way(IW_READS_AHEAD);
	/* What an earlier round left in the ring is ignored. */
	iw_req_sqe(&q, q.head)->wr = wr(WR_READ, 8);
	EXPECT_FALSE(iw_req_may_wait(&q));
}

} // namespace
