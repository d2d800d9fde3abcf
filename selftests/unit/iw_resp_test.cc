// SPDX-License-Identifier: GPL-2.0
// Responder of an iWARP stream, one behaviour at a time, on segments built as bytes and parsed:
// verdicts, message numbers, answers and their order. iw_resp_term_test.cc has what ends a stream.
#include "iw_resp_fixture.h"

namespace {

// ---- Sends ----

TEST_F(IwResp, ASendTakesAReceiveAndCompletesIt)
{
	rx(send(1, 5));
	EXPECT_EQ(act.kind, IW_ACT_RECV);
	EXPECT_TRUE(act.begin && act.end && !act.solicited && !act.invalidate);
	EXPECT_EQ(act.offset, 0u);
	EXPECT_EQ(act.bytes, 5u);
	EXPECT_EQ(act.length, 5u);
	EXPECT_TRUE(answers().empty());
}

TEST_F(IwResp, ASendInSegmentsIsOneReceive)
{
	rx(send(1, 100, 0, false));
	EXPECT_TRUE(act.begin && !act.end);
	rx(send(1, 100, 100, false));
	EXPECT_TRUE(!act.begin && !act.end);
	EXPECT_EQ(act.offset, 100u);
	rx(send(1, 7, 200));
	EXPECT_TRUE(!act.begin && act.end);
	EXPECT_EQ(act.offset, 200u);
	EXPECT_EQ(act.bytes, 7u);
	EXPECT_EQ(act.length, 207u);
	rx(send(2, 1));
	EXPECT_TRUE(act.begin && act.end);
}

TEST_F(IwResp, ASendOfNothingTakesAReceive)
{
	rx(send(1, 0));
	EXPECT_EQ(act.kind, IW_ACT_RECV);
	EXPECT_TRUE(act.begin && act.end);
	EXPECT_EQ(act.length, 0u);
}

TEST_F(IwResp, AnEmptyLastSegmentEndsASend)
{
	rx(send(1, 5, 0, false));
	rx(send(1, 0, 5));
	EXPECT_TRUE(act.end);
	EXPECT_EQ(act.length, 5u);
}

TEST_F(IwResp, EachKindOfSendSaysWhatItAsksFor)
{
	const struct {
		u8 opcode;
		bool solicited, invalidate;
	} table[] = {
		{RDMAP_SEND, false, false},
		{RDMAP_SEND_INV, false, true},
		{RDMAP_SEND_SE, true, false},
		{RDMAP_SEND_SE_INV, true, true},
	};
	u32 msn = 1;

	for (const auto &t : table) {
		rx(send(msn++, 1, 0, true, t.opcode));
		EXPECT_EQ(act.solicited, t.solicited);
		EXPECT_EQ(act.invalidate, t.invalidate);
		EXPECT_EQ(act.inv_stag, t.invalidate ? 0x99u : 0u);
	}
}

TEST_F(IwResp, ASendMustHaveTheNextNumber)
{
	for (u32 msn : {0u, 2u, 0x80000001u, ~0u}) {
		start();
		expect_fatal(send(msn, 1), TERM_DDP_MSN_RANGE);
	}
	start();
	rx(send(1, 1));
	expect_fatal(send(1, 1), TERM_DDP_MSN_RANGE);
}

TEST_F(IwResp, ASendsNumbersWrap)
{
	r.recv_msn = 0xffffffff;
	rx(send(0xffffffff, 1));
	EXPECT_EQ(act.kind, IW_ACT_RECV);
	rx(send(0, 1));
	EXPECT_EQ(act.kind, IW_ACT_RECV);
}

TEST_F(IwResp, ASendMustGoOnWhereItIs)
{
	expect_fatal(send(1, 1, 1), TERM_DDP_MO);
	for (u32 mo : {0u, 9u, 11u, ~0u}) {
		start();
		rx(send(1, 10, 0, false));
		expect_fatal(send(1, 1, mo), TERM_DDP_MO);
	}
	start();
	rx(send(1, 10, 0, false));
	expect_fatal(send(2, 1, 0), TERM_DDP_MSN_RANGE);
}

TEST_F(IwResp, ASendMayNotChangeItsKind)
{
	rx(send(1, 10, 0, false));
	expect_fatal(send(1, 1, 10, true, RDMAP_SEND_SE), TERM_OP_OPCODE);
}

TEST_F(IwResp, ASendMayHaveTwoGigabytesAndNoMore)
{
	r.in_msg = true;
	r.msg_opcode = RDMAP_SEND;
	r.msg_bytes = 0x80000000u - 10;
	iw_resp before = r;
	rx(send(1, 10, 0x80000000u - 10));
	EXPECT_EQ(act.kind, IW_ACT_RECV);
	EXPECT_EQ(act.length, 0x80000000u);
	r = before;
	expect_fatal(send(1, 11, 0x80000000u - 10), TERM_DDP_TOO_LONG);
}

TEST_F(IwResp, ASegmentOfNothingThatEndsNothingIsRefused)
{
	expect_fatal(send(1, 0, 0, false), TERM_OP_OTHER);
	start();
	expect_fatal(write(0, kTo, false), TERM_OP_OTHER);
}

// ---- immediate data ----

TEST_F(IwResp, ImmediateDataCompleteAReceive)
{
	rx(imm(1));
	EXPECT_EQ(act.kind, IW_ACT_IMM);
	EXPECT_TRUE(act.begin && act.end && !act.solicited);
	EXPECT_EQ(act.bytes, 0u);
	const u8 want[4] = {0xde, 0xad, 0xbe, 0xef};
	EXPECT_EQ(memcmp(&act.imm, want, 4), 0);
	rx(imm(2, RDMAP_IMM_SE));
	EXPECT_TRUE(act.solicited);
}

TEST_F(IwResp, ImmediateDataTellTheLengthOfTheWriteBefore)
{
	rx(write(70));
	rx(write(10, kTo, false));
	rx(write(20, kTo + 10, false));
	rx(write(3, kTo + 30));
	rx(imm(1));
	EXPECT_EQ(act.length, 33u);
	rx(imm(2));
	EXPECT_EQ(act.length, 0u);
	rx(write(70));
	rx(write(0));
	rx(imm(3));
	EXPECT_EQ(act.length, 0u);
	/* Immediate data after an incomplete Write do not. */
	rx(write(10, kTo, false));
	rx(imm(4));
	EXPECT_EQ(act.length, 0u);
}

TEST_F(IwResp, ImmediateDataAndSendsCountTogether)
{
	rx(send(1, 1));
	rx(imm(2));
	rx(send(3, 1));
	EXPECT_EQ(act.kind, IW_ACT_RECV);
	expect_fatal(imm(3), TERM_DDP_MSN_RANGE);
}

TEST_F(IwResp, ImmediateDataWithinASendAreRefused)
{
	rx(send(1, 1, 0, false));
	expect_fatal(imm(1), TERM_OP_OPCODE);
}

// ---- Writes ----

TEST_F(IwResp, AWriteSaysWhereEachSegmentGoes)
{
	rx(write(5, kTo, false));
	EXPECT_EQ(act.kind, IW_ACT_WRITE);
	EXPECT_EQ(act.stag, kStag);
	EXPECT_EQ(act.va, kTo);
	EXPECT_EQ(act.bytes, 5u);
	EXPECT_TRUE(!act.begin && !act.end);
	rx(write(6, 7));
	EXPECT_EQ(act.va, 7u);
	EXPECT_TRUE(answers().empty());
}

TEST_F(IwResp, AWriteMayComeBetweenTheSegmentsOfASend)
{
	rx(send(1, 10, 0, false));
	rx(write(5));
	rx(send(1, 1, 10));
	EXPECT_EQ(act.length, 11u);
}

TEST_F(IwResp, AWriteOfNothingNeedsNoRights)
{
	cfg.access = 0;
	start();
	rx(write(0));
	EXPECT_EQ(act.kind, IW_ACT_NONE);
	EXPECT_FALSE(r.in_error);
	expect_fatal(write(1), TERM_DDP_STAG);
}

TEST_F(IwResp, AWriteMayReachTheLastAddressButNotBeyond)
{
	rx(write(8, ~0ull - 7));
	EXPECT_EQ(act.kind, IW_ACT_WRITE);
	expect_fatal(write(9, ~0ull - 7), TERM_DDP_WRAP);
}

// ---- READs ----

TEST_F(IwResp, AReadIsAnsweredInSegmentsOfTheLongestUlpdu)
{
	const struct {
		u32 bytes;
		Words words;
	} table[] = {
		{0, {"read 0+0"}},
		{1, {"read 0+1"}},
		{kChunk, {"read 0+100"}},
		{kChunk + 1, {"read 0+100 more", "read 100+1"}},
		{3 * kChunk, {"read 0+100 more", "read 100+100 more", "read 200+100"}},
	};

	for (const auto &t : table) {
		start();
		rx(read(1, t.bytes));
		EXPECT_EQ(act.kind, IW_ACT_READ);
		EXPECT_EQ(act.stag, kStag);
		EXPECT_EQ(act.va, kTo);
		EXPECT_EQ(act.length, t.bytes);
		EXPECT_EQ(words(), t.words) << t.bytes;
		EXPECT_EQ(words(), Words{});
	}
}

TEST_F(IwResp, BetweenItsSegmentsAReadResponseIsInAMessage)
{
	iw_seg seg = {};

	rx(read(1, 2 * kChunk));
	EXPECT_FALSE(iw_resp_in_message(&r));
	ASSERT_TRUE(iw_resp_next(&r, &seg));
	iw_resp_sent(&r, &seg);
	EXPECT_TRUE(iw_resp_in_message(&r));
	ASSERT_TRUE(iw_resp_next(&r, &seg));
	iw_resp_sent(&r, &seg);
	EXPECT_FALSE(iw_resp_in_message(&r));
}

TEST_F(IwResp, AReadResponseNamesTheSinkAndTakesFromTheSource)
{
	rx(read(1, kChunk + 1));
	auto s = answers();
	ASSERT_EQ(s.size(), 2u);
	EXPECT_EQ(hdr(s[0]), (Bytes{0x81, 0x42, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34,
				    0x35, 0x36, 0x37, 0x38}));
	EXPECT_EQ(hdr(s[1]), (Bytes{0xc1, 0x42, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34,
				    0x35, 0x36, 0x37, 0x9c}));
	for (u32 i = 0; i < 2; i++) {
		EXPECT_EQ(s[i].kind, IW_SEG_READ_RESP);
		EXPECT_EQ(s[i].stag, kStag);
		EXPECT_EQ(s[i].va, kTo + i * kChunk);
	}
}

TEST_F(IwResp, AskedAgainTheNextAnswerIsTheSame)
{
	iw_seg a = {}, b = {};

	rx(read(1, kChunk + 1));
	rx(atomic(2));
	while (iw_resp_next(&r, &a)) {
		ASSERT_TRUE(iw_resp_next(&r, &b));
		EXPECT_EQ(hdr(a), hdr(b));
		EXPECT_EQ(a.va, b.va);
		EXPECT_EQ(a.bytes, b.bytes);
		iw_resp_sent(&r, &a);
	}
}

TEST_F(IwResp, ReadsAndAtomicsAreAnsweredInOrder)
{
	rx(read(1, kChunk + 1));
	rx(atomic(2));
	rx(read(3, 1));
	EXPECT_EQ(words(), (Words{"read 0+100 more", "read 100+1", "atomic 1=100", "read 0+1"}));
}

TEST_F(IwResp, ReadsAndAtomicsCountTogether)
{
	expect_fatal(read(0, 1), TERM_DDP_MSN_RANGE);
	start();
	rx(read(1, 1));
	expect_fatal(atomic(1), TERM_DDP_MSN_RANGE);
	start();
	rx(atomic(1));
	expect_fatal(read(3, 1), TERM_DDP_MSN_RANGE);
	start();
	r.read_msn = 0xffffffff;
	rx(read(0xffffffff, 1));
	rx(read(0, 1));
	EXPECT_EQ(act.kind, IW_ACT_READ);
}

TEST_F(IwResp, MoreReadsThanAgreedAreRefused)
{
	rx(read(1, 1));
	rx(atomic(2));
	rx(read(3, 1));
	EXPECT_EQ(act.kind, IW_ACT_READ);
	expect_fatal(read(4, 1), TERM_DDP_NO_BUFFER);
	start();
	for (u32 msn = 1; msn <= 3; msn++)
		rx(read(msn, 1));
	expect_fatal(atomic(4), TERM_DDP_NO_BUFFER);
}

TEST_F(IwResp, AnAnsweredReadMakesRoom)
{
	for (u32 msn = 1; msn <= 3; msn++)
		rx(read(msn, 2 * kChunk));
	answers(2);
	rx(read(4, 1));
	EXPECT_EQ(act.kind, IW_ACT_READ);
}

TEST_F(IwResp, AReadHalfAnsweredTakesRoom)
{
	for (u32 msn = 1; msn <= 3; msn++)
		rx(read(msn, 2 * kChunk));
	answers(1);
	rx(read(4, 1));
	EXPECT_EQ(act.term, TERM_DDP_NO_BUFFER);
}

TEST_F(IwResp, WhereNoReadsWereAgreedNoneIsTaken)
{
	cfg.ird = 0;
	start();
	expect_fatal(read(1, 0), TERM_DDP_NO_BUFFER);
}

TEST_F(IwResp, TheRingOfRequestsRunsThroughItsWrap)
{
	r.irq_head = r.irq_tail = 0xfffffffd;
	for (u32 msn = 1; msn <= 12; msn += 3) {
		rx(read(msn, kChunk + 1));
		rx(atomic(msn + 1));
		rx(read(msn + 2, 2));
		EXPECT_EQ(act.kind, IW_ACT_READ);
		Words w = words();
		ASSERT_EQ(w.size(), 4u);
		EXPECT_EQ(w[1], "read 100+1");
		EXPECT_EQ(w[3], "read 0+2");
	}
	EXPECT_EQ(r.irq_tail, 9u);
}

TEST_F(IwResp, ReadsNeedTheRightAndAPossibleRange)
{
	rx(read(1, 8, ~0ull - 7));
	EXPECT_EQ(act.kind, IW_ACT_READ);
	expect_fatal(read(2, 9, ~0ull - 7), TERM_PROT_WRAP);
	start();
	rx(read(1, 0xffffffff, 0)); // RFC 5040 4.4
	EXPECT_EQ(act.kind, IW_ACT_READ);
	EXPECT_EQ(act.length, 0xffffffffu);
	cfg.access = IW_ACCESS_WRITE | IW_ACCESS_ATOMIC;
	start();
	rx(read(1, 0));
	EXPECT_EQ(act.kind, IW_ACT_READ);
	expect_fatal(read(2, 1), TERM_PROT_ACCESS);
}

// ---- atomics ----

TEST_F(IwResp, AFetchAndAddSaysWhatToDo)
{
	rx(atomic(1, fetch_add(5)));
	EXPECT_EQ(act.kind, IW_ACT_ATOMIC);
	EXPECT_FALSE(act.atomic.cmp_swap);
	EXPECT_EQ(act.stag, kStag);
	EXPECT_EQ(act.va, 0x1000u);
	EXPECT_EQ(act.length, 8u);
	EXPECT_EQ(act.atomic.swap_add, 5u);
	EXPECT_EQ(counter, 105u);
}

TEST_F(IwResp, ACompareAndSwapSaysWhatToDo)
{
	rx(atomic(1, cmp_swap(100, 7)));
	EXPECT_EQ(act.kind, IW_ACT_ATOMIC);
	EXPECT_TRUE(act.atomic.cmp_swap);
	EXPECT_EQ(act.atomic.compare, 100u);
	EXPECT_EQ(act.atomic.swap_add, 7u);
	rx(atomic(2, cmp_swap(100, 8)));
	EXPECT_EQ(counter, 7u);
	EXPECT_EQ(words(), (Words{"atomic 1=100", "atomic 2=7"}));
}

TEST_F(IwResp, AnAtomicResponseIsAsInTheRfc)
{
	counter = 0x6162636465666768;
	rx(atomic(1));
	auto s = answers();
	ASSERT_EQ(s.size(), 1u);
	EXPECT_EQ(s[0].kind, IW_SEG_RESP);
	EXPECT_EQ(s[0].bytes, 0);
	EXPECT_EQ(hdr(s[0]), (Bytes{0x41, 0x4b, 0,    0,    0,	  0,	0,    0,    0,	  3,
				    0,	  0,	0,    1,    0,	  0,	0,    0,    0x51, 0x52,
				    0x53, 0x54, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68}));
}

TEST_F(IwResp, AtomicsWorkUnderTheirMasks)
{
	rdmap_atomic a = fetch_add(0x0101);

	counter = 0x00ff;
	a.swap_add_mask = 0x0080; // no carry out of the lower byte
	rx(atomic(1, a));
	EXPECT_EQ(act.atomic.swap_add_mask, 0x0080u);
	EXPECT_EQ(counter, 0x0100u);

	a = cmp_swap(0xff01, 0x7777);
	a.compare_mask = 0x0f00;
	a.swap_add_mask = 0x00f0;
	rx(atomic(2, a));
	EXPECT_EQ(act.atomic.compare_mask, 0x0f00u);
	EXPECT_EQ(counter, 0x0100u);
	a.compare = 0xf1ff;
	rx(atomic(3, a));
	EXPECT_EQ(counter, 0x0170u);
	EXPECT_EQ(words(), (Words{"atomic 1=255", "atomic 2=256", "atomic 3=256"}));
}

TEST_F(IwResp, OnlyAddsAndSwapsAreKnown)
{
	for (u8 op = 0; op < 16; op++) {
		rdmap_atomic a = cmp_swap(1, 2);

		a.op = op;
		if (op == RDMAP_FETCH_ADD || op == RDMAP_CMP_SWAP)
			continue;
		start();
		expect_fatal(atomic(1, a), TERM_OP_OTHER);
		EXPECT_EQ(counter, 100u);
	}
}

// An aligned offset need not be an aligned address, nor the reverse.
TEST_F(IwResp, AlignmentIsThatOfTheMemoryNotOfTheOffset)
{
	for (u64 to = 0x1001; to < 0x1008; to++) {
		start();
		EXPECT_EQ(rx(atomic(1, fetch_add(1, to)), IW_FAIL_ALIGN).term, TERM_OP_STREAM);
		EXPECT_EQ(act.va, to);
		EXPECT_EQ(words(), (Words{"term 0207"}));
	}
}

TEST_F(IwResp, AtomicsNeedTheRight)
{
	cfg.access = IW_ACCESS_WRITE | IW_ACCESS_READ;
	start();
	expect_fatal(atomic(1), TERM_PROT_ACCESS);
}

// ---- what is next ----

TEST_F(IwResp, AReadResponseHasWhatIsNotSentOfItNext)
{
	EXPECT_EQ(iw_resp_next_bytes(&r), 0u);
	rx(read(1, 250));
	EXPECT_EQ(iw_resp_next_bytes(&r), 250u);
	answers(1);
	EXPECT_EQ(iw_resp_next_bytes(&r), 250u - kChunk);
	answers();
	EXPECT_EQ(iw_resp_next_bytes(&r), 0u);
}

TEST_F(IwResp, TheAnswerWhoseTurnItIsIsNext)
{
	rx(atomic(1));
	rx(read(2, 50));
	rx(read(3, 0));
	EXPECT_EQ(iw_resp_next_bytes(&r), 0u);
	answers(1);
	EXPECT_EQ(iw_resp_next_bytes(&r), 50u);
	answers(1);
	EXPECT_EQ(iw_resp_next_bytes(&r), 0u);
}

TEST_F(IwResp, BesideATerminateNoPayloadIsNext)
{
	rx(read(1, 250));
	answers(1);
	iw_resp_terminate(&r, TERM_OP_OTHER, nullptr, 0, 0);
	EXPECT_EQ(iw_resp_next_bytes(&r), 0u);
}

} // namespace
