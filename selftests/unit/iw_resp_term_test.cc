// SPDX-License-Identifier: GPL-2.0
// How the responder of an iWARP stream ends it: each Terminate and what it quotes, that there is at
// most one, that nothing is accepted after it, and the peer's Terminate.
#include "iw_resp_fixture.h"

namespace {

// ---- Terminates of ours ----

TEST_F(IwResp, EachFailureOfAPlacementHasItsCode)
{
	const struct {
		iw_fail why;
		int placed, named;
	} table[] = {
		{IW_FAIL_NO_RECV, TERM_DDP_NO_BUFFER, TERM_OP_OTHER},
		{IW_FAIL_TOO_LONG, TERM_DDP_TOO_LONG, TERM_OP_OTHER},
		{IW_FAIL_STAG, TERM_DDP_STAG, TERM_PROT_STAG},
		{IW_FAIL_BOUNDS, TERM_DDP_BOUNDS, TERM_PROT_BOUNDS},
		{IW_FAIL_ACCESS, TERM_DDP_STAG, TERM_PROT_ACCESS},
		{IW_FAIL_STREAM, TERM_DDP_STREAM, TERM_PROT_STREAM},
		{IW_FAIL_ALIGN, TERM_OP_OTHER, TERM_OP_STREAM},
		{IW_FAIL_INVALIDATE, TERM_PROT_INVALIDATE, TERM_PROT_INVALIDATE},
		{IW_FAIL_LOCAL, TERM_LOCAL, TERM_LOCAL},
	};

	for (const auto &t : table) {
		for (const Bytes &b : {send(1, 3), write(3), imm(1), read(1, 3), atomic(1)}) {
			bool is_request = b[1] == 0x41 || b[1] == 0x4a;
			int want = is_request ? t.named : t.placed;
			char text[16];

			start();
			EXPECT_EQ(rx(b, t.why).term, want);
			snprintf(text, sizeof(text), "term %04x", want);
			EXPECT_EQ(words(), (Words{text}));
		}
	}
}

TEST_F(IwResp, ATerminateIsTheFirstMessageOfItsQueue)
{
	expect_fatal(send(2, 3), TERM_DDP_MSN_RANGE);
	start();
	Bytes bad = send(2, 3);
	rx(bad);
	auto s = answers();
	ASSERT_EQ(s.size(), 1u);
	EXPECT_EQ(s[0].kind, IW_SEG_RESP);
	EXPECT_EQ(hdr(s[0]),
		  (Bytes{0x41, 0x47, 0,	   0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, // DDP
			 0x12, 0x03, 0xc0, 0,						// control
			 0,    21,							// length
			 0x41, 0x43, 0,	   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0}));
}

TEST_F(IwResp, ATerminateForAReadQuotesItWhole)
{
	Bytes bad = read(1, 3);

	rx(bad, IW_FAIL_STAG);
	auto s = answers();
	ASSERT_EQ(s.size(), 1u);
	Bytes h = hdr(s[0]);
	ASSERT_EQ(h.size(), 18u + RDMAP_TERM_MAX_BYTES);
	EXPECT_EQ(Bytes(h.begin() + 18, h.end()), (Bytes{0x01, 0x00, 0xe0, 0, 0, 46}) + bad);
}

TEST_F(IwResp, ATerminateForAWriteQuotesTheSegmentsLengthAndHeader)
{
	Bytes bad = write(1000);

	rx(bad, IW_FAIL_BOUNDS);
	auto s = answers();
	ASSERT_EQ(s.size(), 1u);
	Bytes h = hdr(s[0]);
	bad.resize(DDP_TAGGED_BYTES);
	EXPECT_EQ(Bytes(h.begin() + 18, h.end()), (Bytes{0x11, 0x01, 0xc0, 0, 0x03, 0xf6}) + bad);
}

TEST_F(IwResp, ATerminateWithoutASegmentQuotesNothing)
{
	iw_resp_terminate(&r, TERM_MPA_CRC, nullptr, 0, 0);
	auto s = answers();
	ASSERT_EQ(s.size(), 1u);
	Bytes h = hdr(s[0]);
	EXPECT_EQ(Bytes(h.begin() + 18, h.end()), (Bytes{0x20, 0x02, 0, 0}));
}

TEST_F(IwResp, TheFirstTerminateCountsAndIsSentOnce)
{
	iw_resp_terminate(&r, TERM_OP_OPCODE, nullptr, 0, 0);
	iw_resp_terminate(&r, TERM_MPA_CRC, nullptr, 0, 0);
	EXPECT_EQ(words(), (Words{"term 0206"}));
	iw_resp_terminate(&r, TERM_MPA_CRC, nullptr, 0, 0);
	EXPECT_EQ(words(), Words{});
}

TEST_F(IwResp, ATerminateComesInsteadOfAnswersThatAreDue)
{
	rx(read(1, 2 * kChunk));
	rx(atomic(2));
	answers(1);
	expect_fatal(send(5, 1), TERM_DDP_MSN_RANGE);
	EXPECT_EQ(words(), Words{});
}

TEST_F(IwResp, AnAnswerOnItsWayDoesNotCountAsTheTerminate)
{
	for (const Bytes &request : {read(1, 5), atomic(1)}) {
		iw_seg s;

		start();
		rx(request);
		ASSERT_TRUE(iw_resp_next(&r, &s));
		rx(send(5, 1));
		iw_resp_sent(&r, &s);
		EXPECT_EQ(words(), (Words{"term 1203"}));
	}
}

TEST_F(IwResp, AReadWhoseMemoryWentAwayIsTerminated)
{
	iw_seg s;

	rx(read(1, 2 * kChunk));
	rx(read(2, 1));
	answers(1);
	ASSERT_TRUE(iw_resp_next(&r, &s));
	iw_resp_read_failed(&r, &s, IW_FAIL_ACCESS);
	EXPECT_EQ(words(), (Words{"term 0102"}));
}

// RFC 5040 4.8: the request, without the part that is answered.
TEST_F(IwResp, AReadWhoseMemoryWentAwayIsQuotedAsItStands)
{
	const rdmap_read left = {kSinkStag, kSinkTo + kChunk, 3, kStag, kTo + kChunk};
	Bytes want(RDMAP_READ_BYTES);
	iw_seg s;

	rx(read(1, 1));
	rx(read(2, kChunk + 3));
	rx(atomic(3));
	answers(2);
	ASSERT_TRUE(iw_resp_next(&r, &s));
	iw_resp_read_failed(&r, &s, IW_FAIL_STAG);
	auto t = answers();
	ASSERT_EQ(t.size(), 1u);
	Bytes h = hdr(t[0]);
	rdmap_read_build(want.data(), &left);
	want = untagged(RDMAP_READ_REQ, DDP_QN_READ_REQ, 2, want);
	EXPECT_EQ(Bytes(h.begin() + 18, h.end()), (Bytes{0x01, 0x00, 0xe0, 0, 0, 46}) + want);
}

TEST_F(IwResp, OnlyAReadsMemoryCanGoAway)
{
	iw_seg s;

	rx(atomic(1));
	ASSERT_TRUE(iw_resp_next(&r, &s));
	iw_resp_read_failed(&r, &s, IW_FAIL_STAG);
	EXPECT_EQ(words(), (Words{"atomic 1=100"}));
}

TEST_F(IwResp, NothingIsTakenAfterAnError)
{
	iw_resp_terminate(&r, TERM_MPA_CRC, nullptr, 0, 0);
	for (const Bytes &b : {send(1, 3), write(3), imm(1), read(1, 3), atomic(1), send(9, 9)})
		EXPECT_EQ(rx(b).kind, IW_ACT_NONE);
	EXPECT_EQ(counter, 100u);
	EXPECT_EQ(words(), (Words{"term 2002"}));
}

TEST_F(IwResp, WhatIsNotARequestIsRefused)
{
	for (u8 opcode : {RDMAP_READ_RESP, RDMAP_ATOMIC_RESP}) {
		ddp_seg s = {};
		u8 p[DDP_CTRL_MAX_BYTES] = {};

		start();
		s.opcode = opcode;
		s.hdr_bytes = DDP_UNTAGGED_BYTES;
		iw_resp_rx(&r, &s, p, sizeof(p), &act);
		EXPECT_EQ(act.kind, IW_ACT_FATAL);
		EXPECT_EQ(act.term, TERM_OP_OPCODE);
	}
}

// ---- Terminates of the peer's ----

TEST_F(IwResp, ATerminateEndsTheStreamAndIsNotAnswered)
{
	rx(read(1, 1));
	rx(terminate({0x11, 0x01, 0, 0}));
	EXPECT_EQ(act.kind, IW_ACT_TERMINATED);
	EXPECT_EQ(act.term, TERM_DDP_BOUNDS);
	EXPECT_EQ(words(), Words{});
	EXPECT_EQ(rx(send(1, 1)).kind, IW_ACT_NONE);
	EXPECT_EQ(words(), Words{});
}

TEST_F(IwResp, ATerminateThatQuotesIsRead)
{
	rx(terminate(Bytes{0x01, 0x00, 0xe0, 0, 0, 46} + read(1, 3)));
	EXPECT_EQ(act.term, TERM_PROT_STAG);
}

TEST_F(IwResp, ATerminateThatIsTooShortEndsTheStreamAllTheSame)
{
	for (u32 n = 0; n < 4; n++) {
		start();
		rx(terminate(Bytes(n, 0x11)));
		EXPECT_EQ(act.kind, IW_ACT_TERMINATED);
		EXPECT_EQ(act.term, TERM_OP_OTHER);
		EXPECT_EQ(words(), Words{});
	}
}

TEST_F(IwResp, ATerminateThatCrossesOursMakesItNeedless)
{
	iw_resp_terminate(&r, TERM_OP_OPCODE, nullptr, 0, 0);
	rx(terminate({0x01, 0x02, 0, 0}));
	EXPECT_EQ(act.kind, IW_ACT_TERMINATED);
	EXPECT_EQ(words(), Words{});
}

} // namespace
