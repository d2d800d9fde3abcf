// SPDX-License-Identifier: GPL-2.0
// Requester of an iWARP stream: which work request fails when the peer terminates the stream, by
// what it quotes (RFC 5040 4.8), and without that.
#include "iw_req_fixture.h"

namespace {

// ---- nothing is quoted ----

TEST_F(IwReq, ATerminateThatQuotesNothingFailsTheOldestRead)
{
	const std::pair<int, int> table[] = {
		{TERM_PROT_STAG, WR_ST_REM_ACCESS_ERR},
		{TERM_PROT_OTHER, WR_ST_REM_ACCESS_ERR},
		{TERM_DDP_STAG, WR_ST_REM_ACCESS_ERR},
		{TERM_DDP_BOUNDS, WR_ST_REM_ACCESS_ERR},
		{TERM_DDP_NO_BUFFER, WR_ST_REM_INV_REQ_ERR},
		{TERM_DDP_MSN_RANGE, WR_ST_REM_INV_REQ_ERR},
		{TERM_LOCAL, WR_ST_REM_OP_ERR},
		{TERM_OP_OPCODE, WR_ST_REM_OP_ERR},
		{TERM_OP_OTHER, WR_ST_REM_OP_ERR},
		{TERM_DDP_LOCAL, WR_ST_REM_OP_ERR},
		{TERM_MPA_CRC, WR_ST_WR_FLUSH_ERR},
		{TERM_MPA_CLOSED, WR_ST_WR_FLUSH_ERR},
		{0x0300, WR_ST_WR_FLUSH_ERR},
		{0xffff, WR_ST_WR_FLUSH_ERR},
	};

	for (auto [code, status] : table) {
		start();
		post(WR_SEND, 1);
		post(WR_READ, 1);
		post(WR_SEND, 1);
		post(WR_READ, 1);
		send();
		terminated(code);
		EXPECT_TRUE(iw_req_in_error(&q));
		EXPECT_EQ(reap(), (Completions{{0, 0},
					       {1, status},
					       {2, WR_ST_WR_FLUSH_ERR},
					       {3, WR_ST_WR_FLUSH_ERR}}))
			<< std::hex << code;
	}
}

TEST_F(IwReq, ATerminateWithoutReadsMeansTheMessageBeingSent)
{
	post(WR_SEND, 1);
	post(WR_WRITE, 2 * kWrite);
	post(WR_SEND, 1);
	send(2);
	terminated(TERM_DDP_BOUNDS);
	EXPECT_EQ(reap(),
		  (Completions{{0, 0}, {1, WR_ST_REM_ACCESS_ERR}, {2, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(IwReq, ATerminateDoesNotMeanWhatTheStreamHasNotTaken)
{
	iw_seg s;

	post(WR_WRITE, 1, WR_F_IMM);
	ASSERT_TRUE(iw_req_next(&q, &s));
	terminated(TERM_DDP_BOUNDS);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_WR_FLUSH_ERR}}));

	start();
	post(WR_WRITE, 0, WR_F_IMM);
	send(1);
	terminated(TERM_DDP_NO_BUFFER);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_REM_INV_REQ_ERR}}));
}

TEST_F(IwReq, ATerminateWithNothingOnItsWayFlushes)
{
	post(WR_SEND, 1);
	send();
	post(WR_SEND, 1);
	terminated(TERM_DDP_NO_BUFFER);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, WR_ST_WR_FLUSH_ERR}}));

	start();
	terminated(TERM_DDP_NO_BUFFER);
	EXPECT_TRUE(iw_req_in_error(&q));
	EXPECT_EQ(reap(), Completions{});
}

// ---- what is quoted ----

constexpr int kFlushed = WR_ST_WR_FLUSH_ERR;

// RFC 5040 4.8, figure 10: DDP's codes quote the DDP header, RDMAP's protection errors the Read
// Request as well.
TEST_F(IwReq, ATerminateFailsTheReadThatItQuotes)
{
	const std::pair<int, int> table[] = {{TERM_PROT_STAG, WR_ST_REM_ACCESS_ERR},
					     {TERM_DDP_NO_BUFFER, WR_ST_REM_INV_REQ_ERR},
					     {TERM_OP_OTHER, WR_ST_REM_OP_ERR}};

	cfg.ord = 4;
	for (auto [code, status] : table) {
		for (u32 wrong = 0; wrong < 4; wrong++) {
			Completions want;

			start(8, 0xfffffffe);
			for (u32 i = 0; i < 4; i++) {
				post(i == 2 ? WR_FETCH_ADD : WR_READ, 8);
				want.emplace_back(0xfffffffe + i, i == wrong ? status : kFlushed);
			}
			terminated(code, send()[wrong]);
			EXPECT_TRUE(iw_req_in_error(&q));
			EXPECT_EQ(reap(), want) << std::hex << code << " " << wrong;
		}
	}
}

TEST_F(IwReq, WhatWasAnsweredBeforeATerminateIsComplete)
{
	post(WR_READ, 8);
	post(WR_READ, 8);
	std::vector<iw_seg> segs = send();
	read_resp(0, 0, 8, true);
	terminated(TERM_PROT_BOUNDS, segs[1]);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, WR_ST_REM_ACCESS_ERR}}));
}

// They are done, and their completions wait behind the READ.
TEST_F(IwReq, ATerminateFailsTheSendThatItQuotes)
{
	for (u8 flags : {0, int{WR_F_SOLICITED}, int{WR_F_INV}, WR_F_INV | WR_F_SOLICITED}) {
		start();
		post(WR_READ, 1);
		post(WR_SEND, 1, flags);
		post(WR_SEND, 1, flags);
		post(WR_WRITE, 1);
		post(WR_READ, 1);
		terminated(TERM_DDP_TOO_LONG, send()[2]);
		EXPECT_EQ(reap(), (Completions{{0, kFlushed},
					       {1, kFlushed},
					       {2, WR_ST_REM_INV_REQ_ERR},
					       {3, kFlushed},
					       {4, kFlushed}}));
	}
}

TEST_F(IwReq, ATerminateFailsTheWriteThatItQuotes)
{
	struct wr at = wr(WR_WRITE, 2 * kWrite);
	struct wr key = at, before = at, behind = at;

	key.rkey ^= 1;
	before.va -= before.length;
	behind.va += behind.length;
	// Its first segment, or its last byte.
	for (u32 segment : {6, 7}) {
		start();
		post(WR_READ, 1);
		for (const struct wr &w : {key, before, behind, at})
			post(w);
		terminated(TERM_DDP_BOUNDS, send()[1 + segment]);
		EXPECT_EQ(reap(), (Completions{{0, kFlushed},
					       {1, kFlushed},
					       {2, kFlushed},
					       {3, kFlushed},
					       {4, WR_ST_REM_ACCESS_ERR}}));
	}
}

TEST_F(IwReq, ATerminateQuotesAWriteOrItsImmediateData)
{
	for (u32 segment : {3, 4}) {
		start();
		post(WR_READ, 1);
		post(WR_WRITE, 0);
		post(WR_SEND, 1);
		post(WR_WRITE, 1, WR_F_IMM);
		terminated(TERM_DDP_NO_BUFFER, send()[segment]);
		EXPECT_EQ(reap(), (Completions{{0, kFlushed},
					       {1, kFlushed},
					       {2, kFlushed},
					       {3, WR_ST_REM_INV_REQ_ERR}}));
	}
}

TEST_F(IwReq, ATerminateMayQuoteTheMessageBeingSent)
{
	post(WR_READ, 1);
	post(WR_SEND, 2 * kSend);
	terminated(TERM_DDP_TOO_LONG, send(2)[1]);
	EXPECT_EQ(reap(), (Completions{{0, kFlushed}, {1, WR_ST_REM_INV_REQ_ERR}}));
}

// The program knows that by its completion. It learns the cause from what is not complete.
TEST_F(IwReq, ATerminateForWhatIsCompleteFailsTheOldestRead)
{
	post(WR_WRITE, 1);
	post(WR_SEND, 1);
	post(WR_READ, 1);
	std::vector<iw_seg> segs = send();
	for (u32 wrong : {0, 1}) {
		start();
		post(WR_WRITE, 1);
		post(WR_SEND, 1);
		post(WR_READ, 1);
		post(WR_READ, 1);
		send();
		terminated(TERM_DDP_STAG, segs[wrong]);
		EXPECT_EQ(reap(),
			  (Completions{{0, 0}, {1, 0}, {2, WR_ST_REM_ACCESS_ERR}, {3, kFlushed}}));
	}
}

TEST_F(IwReq, ATerminateForAnAnswerOfOursFailsNoRequest)
{
	for (u8 opcode : {RDMAP_READ_RESP, RDMAP_ATOMIC_RESP}) {
		iw_seg answer = {};
		ddp_seg h = {};

		h.opcode = opcode;
		h.tagged = opcode == RDMAP_READ_RESP;
		h.qn = DDP_QN_ATOMIC_RESP;
		h.msn = 1;
		answer.hdr_bytes = static_cast<u16>(ddp_build(answer.hdr, &h));
		start();
		post(WR_READ, 1);
		send();
		terminated(TERM_DDP_STAG, answer);
		EXPECT_EQ(reap(), (Completions{{0, kFlushed}}));
	}
}

// As siw does when a READ's memory has gone: the MSN is wrong.
TEST_F(IwReq, TheSinkNamesAReadBeforeTheMsn)
{
	post(WR_READ, 1);
	post(WR_READ, 1);
	iw_seg wrong = send()[1];
	put_unaligned_be32(1, wrong.hdr + 10);
	terminated(TERM_PROT_STAG, wrong);
	EXPECT_EQ(reap(), (Completions{{0, kFlushed}, {1, WR_ST_REM_ACCESS_ERR}}));
}

TEST_F(IwReq, AQuoteThatNamesNothingUnderWayIsAsNone)
{
	const struct {
		u32 byte;
		u8 value;
		int code;
	} table[] = {
		{0, 0x40, TERM_DDP_NO_BUFFER},				   // DDP version
		{1, 0x4f, TERM_DDP_NO_BUFFER},				   // opcode
		{1, 0x47, TERM_DDP_NO_BUFFER},				   // of a Terminate
		{1, 0x43, TERM_DDP_NO_BUFFER},				   // of a Send
		{6, 0xff, TERM_DDP_NO_BUFFER},				   // queue
		{13, 3, TERM_DDP_NO_BUFFER},				   // MSN: not yet sent
		{13, 0, TERM_DDP_NO_BUFFER},   {18, 0x80, TERM_PROT_STAG}, // sink
		{21, 2, TERM_PROT_STAG},
	};

	for (const auto &t : table) {
		start();
		post(WR_READ, 1);
		post(WR_READ, 1);
		post(WR_READ, 1);
		iw_seg wrong = send()[1];
		wrong.hdr[t.byte] = t.value;
		terminated(t.code, wrong);
		EXPECT_EQ(reap(),
			  (Completions{{0, t.code == TERM_PROT_STAG ? WR_ST_REM_ACCESS_ERR :
								      WR_ST_REM_INV_REQ_ERR},
				       {1, kFlushed},
				       {2, kFlushed}}))
			<< t.byte << " " << int{t.value};
	}
}

TEST_F(IwReq, AQuoteThatIsCutOffIsAsNone)
{
	for (u32 bytes = 0; bytes < RDMAP_TERM_MAX_BYTES; bytes++) {
		const bool whole = bytes >= RDMAP_TERM_BYTES + 2 + DDP_UNTAGGED_BYTES;

		start();
		post(WR_READ, 1);
		post(WR_READ, 1);
		Bytes p = term(TERM_PROT_STAG, send()[1]);
		p.resize(bytes);
		iw_req_terminated(&q, TERM_PROT_STAG, p.data(), bytes);
		EXPECT_EQ(reap(), (Completions{{0, whole ? kFlushed : int{WR_ST_REM_ACCESS_ERR}},
					       {1, whole ? int{WR_ST_REM_ACCESS_ERR} : kFlushed}}))
			<< bytes;
	}
}

} // namespace
