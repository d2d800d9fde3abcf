// SPDX-License-Identifier: GPL-2.0
// Requester of an iWARP stream, one behaviour at a time: segments and their numbers, immediate
// data, what waits for what. iw_req_end_test.cc has the rest.
#include "iw_req_fixture.h"

namespace {

// ---- segments ----

TEST_F(IwReq, ASendsHeaderIsAsInTheRfc)
{
	post(WR_SEND, 5);
	auto s = send();
	ASSERT_EQ(s.size(), 1u);
	EXPECT_EQ(hdr(s[0]), (Bytes{0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}));
	EXPECT_EQ(s[0].kind, IW_SEG_REQUEST);
	EXPECT_EQ(s[0].bytes, 5);
	EXPECT_EQ(s[0].slot, 0u);
	EXPECT_EQ(s[0].offset, 0u);
}

TEST_F(IwReq, ASendWithInvalidateNamesItsStag)
{
	post(WR_SEND, 0, WR_F_INV);
	auto s = send();
	ASSERT_EQ(s.size(), 1u);
	EXPECT_EQ(hdr(s[0]),
		  (Bytes{0x41, 0x44, 0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}));
}

TEST_F(IwReq, EachKindOfSendHasItsOpcode)
{
	post(WR_SEND, 1);
	post(WR_SEND, 1, WR_F_INV);
	post(WR_SEND, 1, WR_F_SOLICITED);
	post(WR_SEND, 1, WR_F_INV | WR_F_SOLICITED);
	EXPECT_EQ(words(), (Words{"send 1 @0+1", "sinv 2 @0+1", "send! 3 @0+1", "sinv! 4 @0+1"}));
}

TEST_F(IwReq, OnlyASendWithInvalidateNamesAStag)
{
	post(WR_SEND, 1, WR_F_SOLICITED);
	EXPECT_EQ(parsed(send()[0]).inv_stag, 0u);
}

TEST_F(IwReq, AWritesHeaderIsAsInTheRfc)
{
	post(WR_WRITE, 5);
	auto s = send();
	ASSERT_EQ(s.size(), 1u);
	EXPECT_EQ(hdr(s[0]),
		  (Bytes{0xc1, 0x40, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}));
	EXPECT_EQ(s[0].bytes, 5);
}

TEST_F(IwReq, AReadsRequestNamesItsSlotAsSink)
{
	start(16, 0x01000000);
	post(WR_READ, 0x80000000);
	auto s = send();
	ASSERT_EQ(s.size(), 1u);
	EXPECT_EQ(hdr(s[0]),
		  (Bytes{0x41, 0x41, 0, 0, 0,	 0,    0,    0,	   0,	 1,    0,    0,
			 0,    1,    0, 0, 0,	 0,    1,    0,	   0,	 0,    0,    0,
			 0,    0,    0, 0, 0,	 0, // sink
			 0x80, 0,    0, 0,	    // bytes
			 1,    2,    3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18}));
	EXPECT_EQ(s[0].bytes, 0);
	EXPECT_TRUE(s[0].last);
}

TEST_F(IwReq, ACompareAndSwapWorksOnAllBits)
{
	struct wr w = wr(WR_CMP_SWAP, 8);

	w.compare = 0x2122232425262728;
	w.swap_add = 0x3132333435363738;
	post(w);
	auto s = send();
	ASSERT_EQ(s.size(), 1u);
	EXPECT_EQ(hdr(s[0]), (Bytes{0x41, 0x4a, 0,    0,    0,	  0,	0,    0,    0,
				    1,	  0,	0,    0,    1,	  0,	0,    0,    0,
				    0,	  0,	0,    2,    0,	  0,	0,    0, // code, identifier
				    1,	  2,	3,    4,			 // STag
				    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,    // TO
				    0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,    // swap
				    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,    // its mask
				    0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,    // compare
				    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})); // its mask
}

TEST_F(IwReq, AFetchAndAddCarriesThroughAllBits)
{
	struct wr w = wr(WR_FETCH_ADD, 8);
	rdmap_atomic a;

	start(16, 77);
	w.swap_add = w.compare = 5;
	post(w);
	auto s = send();
	ASSERT_EQ(s.size(), 1u);
	rdmap_atomic_parse(s[0].hdr + DDP_UNTAGGED_BYTES, &a);
	EXPECT_EQ(a.op, RDMAP_FETCH_ADD);
	EXPECT_EQ(a.id, 77u);
	EXPECT_EQ(a.swap_add, 5u);
	EXPECT_EQ(a.swap_add_mask, 0u);
	// Not used, but present (RFC 7306 5.2.1).
	EXPECT_EQ(a.compare, 0u);
	EXPECT_EQ(a.compare_mask, ~0ull);
	EXPECT_EQ(s[0].hdr_bytes, DDP_CTRL_MAX_BYTES);
}

TEST_F(IwReq, ALongerOrShorterUlpduCountsFromTheNextSegmentOn)
{
	post(WR_SEND, 300);
	send(1);
	q.cfg.max_ulpdu = DDP_UNTAGGED_BYTES + 60;
	EXPECT_EQ(send(1)[0].bytes, 60);
	q.cfg.max_ulpdu = 1000;
	EXPECT_EQ(words(), (Words{"send 1 @160+140"}));
}

TEST_F(IwReq, ASendIsCutAtTheLongestUlpdu)
{
	const struct {
		u32 length;
		Words words;
	} table[] = {
		{0, {"send 1 @0+0"}},
		{kSend - 1, {"send 1 @0+99"}},
		{kSend, {"send 1 @0+100"}},
		{kSend + 1, {"send 1 @0+100 more", "send 1 @100+1"}},
		{2 * kSend, {"send 1 @0+100 more", "send 1 @100+100"}},
		{2 * kSend + 7, {"send 1 @0+100 more", "send 1 @100+100 more", "send 1 @200+7"}},
	};

	for (const auto &t : table) {
		start();
		post(WR_SEND, t.length);
		EXPECT_EQ(words(), t.words) << t.length;
	}
}

TEST_F(IwReq, AWriteIsCutAtTheLongestUlpdu)
{
	const struct {
		u32 length;
		Words words;
	} table[] = {
		{0, {"write @0+0"}},
		{kWrite, {"write @0+104"}},
		{kWrite + 1, {"write @0+104 more", "write @104+1"}},
		{2 * kWrite, {"write @0+104 more", "write @104+104"}},
	};

	for (const auto &t : table) {
		start();
		post(WR_WRITE, t.length);
		EXPECT_EQ(words(), t.words) << t.length;
	}
}

TEST_F(IwReq, NoSegmentIsLongerThanTheLongestUlpdu)
{
	for (u16 max : {int(DDP_CTRL_MAX_BYTES), 1454, 0xffff}) {
		for (u8 op : {WR_SEND, WR_WRITE, WR_READ, WR_CMP_SWAP}) {
			u32 total = 0;

			cfg.max_ulpdu = max;
			start();
			post(op, 200000);
			for (const iw_seg &s : send()) {
				EXPECT_LE(s.hdr_bytes + s.bytes, max);
				EXPECT_EQ(s.offset, total);
				total += s.bytes;
			}
			EXPECT_EQ(total, op <= WR_WRITE ? 200000u : 0u);
		}
	}
}

TEST_F(IwReq, TheMessageOffsetCountsThePayload)
{
	post(WR_SEND, 2 * kSend + 1);
	auto s = send();
	ASSERT_EQ(s.size(), 3u);
	for (u32 i = 0; i < 3; i++) {
		EXPECT_EQ(parsed(s[i]).mo, i * kSend);
		EXPECT_EQ(parsed(s[i]).msn, 1u);
	}
}

TEST_F(IwReq, AWritesOffsetIsItsAddress)
{
	post(WR_WRITE, 2 * kWrite + 1);
	auto s = send();
	ASSERT_EQ(s.size(), 3u);
	for (u32 i = 0; i < 3; i++)
		EXPECT_EQ(parsed(s[i]).to, 0x1112131415161718u + i * kWrite);
}

TEST_F(IwReq, EachQueueCountsItsMessagesFromOne)
{
	cfg.ord = 8;
	start();
	post(WR_SEND, 1);
	post(WR_READ, 1);
	post(WR_WRITE, 1);
	post(WR_SEND, kSend + 1);
	post(WR_FETCH_ADD, 8);
	post(WR_READ, 1);
	post(WR_WRITE, 1, WR_F_IMM);
	post(WR_SEND, 1);
	EXPECT_EQ(words(), (Words{"send 1 @0+1", "read 1", "write @0+1", "send 2 @0+100 more",
				  "send 2 @100+1", "atomic 2", "read 3", "write @0+1", "imm 3",
				  "send 4 @0+1"}));
}

TEST_F(IwReq, MessageNumbersWrap)
{
	q.send_msn = q.read_msn = 0xffffffff;
	for (int i = 0; i < 2; i++) {
		post(WR_SEND, 1);
		post(WR_READ, 1);
	}
	EXPECT_EQ(words(),
		  (Words{"send 4294967295 @0+1", "read 4294967295", "send 0 @0+1", "read 0"}));
}

TEST_F(IwReq, AskedAgainTheNextSegmentIsTheSame)
{
	iw_seg a = {}, b = {};

	post(WR_SEND, kSend + 1);
	post(WR_READ, 1);
	while (iw_req_next(&q, &a)) {
		ASSERT_TRUE(iw_req_next(&q, &b));
		EXPECT_EQ(hdr(a), hdr(b));
		EXPECT_EQ(a.offset, b.offset);
		EXPECT_EQ(a.bytes, b.bytes);
		iw_req_sent(&q, &a);
	}
	EXPECT_EQ(q.send_msn, 2u);
	EXPECT_EQ(q.read_msn, 2u);
}

TEST_F(IwReq, NothingPostedNothingSent)
{
	EXPECT_TRUE(send().empty());
	EXPECT_EQ(reap(), Completions{});
}

// ---- immediate data ----

TEST_F(IwReq, ImmediateDataFollowTheWriteAsAMessageOfTheirOwn)
{
	struct wr w = wr(WR_WRITE, kWrite + 1, WR_F_IMM);
	const u8 imm[4] = {0xde, 0xad, 0xbe, 0xef};

	memcpy(&w.imm, imm, sizeof(imm));
	post(w);
	auto s = send();
	ASSERT_EQ(s.size(), 3u);
	EXPECT_TRUE(s[1].last);
	EXPECT_EQ(hdr(s[2]), (Bytes{0x41, 0x48, 0, 0, 0, 0,    0,    0,	   0,	 0, 0, 0, 0,
				    1,	  0,	0, 0, 0, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0}));
	EXPECT_EQ(s[2].bytes, 0);
	EXPECT_EQ(s[2].slot, 0u);
}

TEST_F(IwReq, SolicitedImmediateDataHaveTheirOpcode)
{
	post(WR_WRITE, 0, WR_F_IMM | WR_F_SOLICITED);
	EXPECT_EQ(words(), (Words{"write @0+0", "imm! 1"}));
}

TEST_F(IwReq, BetweenItsSegmentsARequestIsInAMessage)
{
	EXPECT_FALSE(iw_req_in_message(&q));
	post(WR_SEND, 2 * kSend);
	EXPECT_FALSE(iw_req_in_message(&q));
	send(1);
	EXPECT_TRUE(iw_req_in_message(&q));
	send(1);
	EXPECT_FALSE(iw_req_in_message(&q));
	post(WR_READ, 1);
	send(1);
	EXPECT_FALSE(iw_req_in_message(&q));
}

TEST_F(IwReq, NothingComesBetweenAWriteAndItsImmediate)
{
	post(WR_WRITE, 0, WR_F_IMM);
	send(1);
	EXPECT_TRUE(iw_req_in_message(&q));
	send(1);
	EXPECT_FALSE(iw_req_in_message(&q));
}

TEST_F(IwReq, AWriteWithImmediateIsCompleteOnceTheImmediateIsOut)
{
	post(WR_WRITE, 1, WR_F_IMM);
	EXPECT_EQ(send(1).size(), 1u);
	EXPECT_EQ(reap(), Completions{});
	send();
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

// ---- what waits for what ----

TEST_F(IwReq, ReadsAndAtomicsUnderWayAreLimited)
{
	post(WR_READ, 1);
	post(WR_FETCH_ADD, 8);
	post(WR_READ, 1);
	post(WR_SEND, 1);
	EXPECT_EQ(words(), (Words{"read 1", "atomic 2"}));
	read_resp(0, 0, 1, true);
	EXPECT_EQ(words(), (Words{"read 3", "send 1 @0+1"}));
}

TEST_F(IwReq, AReadHalfAnsweredStillCounts)
{
	cfg.ord = 1;
	start();
	post(WR_READ, 10);
	post(WR_READ, 1);
	send();
	read_resp(0, 0, 9, false);
	EXPECT_TRUE(send().empty());
	read_resp(0, 9, 1, true);
	EXPECT_EQ(words(), (Words{"read 2"}));
}

TEST_F(IwReq, WithoutAFenceSendsOvertakeReads)
{
	post(WR_READ, 1);
	post(WR_SEND, 1);
	EXPECT_EQ(words(), (Words{"read 1", "send 1 @0+1"}));
}

TEST_F(IwReq, AFenceWaitsForAllReadsAndAtomicsBefore)
{
	for (u8 op : {WR_SEND, WR_WRITE, WR_READ, WR_FETCH_ADD, WR_LOCAL}) {
		cfg.ord = 4;
		start();
		post(WR_READ, 1);
		post(WR_FETCH_ADD, 8);
		post(op, op == WR_LOCAL ? 0 : 8, WR_F_FENCE);
		EXPECT_EQ(send().size(), 2u);
		read_resp(0, 0, 1, true);
		EXPECT_TRUE(send().empty());
		atomic_resp(1, 1);
		EXPECT_EQ(send().size(), 1u) << int(op);
	}
}

TEST_F(IwReq, AFenceWithNothingBeforeDoesNotWait)
{
	post(WR_SEND, 1, WR_F_FENCE);
	EXPECT_EQ(send().size(), 1u);
}

TEST_F(IwReq, LocalRunsInItsTurn)
{
	post(WR_SEND, kSend + 1);
	post(WR_LOCAL);
	post(WR_SEND, 1);
	EXPECT_EQ(words(), (Words{"send 1 @0+100 more", "send 1 @100+1", "local", "send 2 @0+1"}));
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}, {2, 0}}));
}

TEST_F(IwReq, LocalDoesNotWaitForReads)
{
	post(WR_READ, 1);
	post(WR_LOCAL);
	EXPECT_EQ(words(), (Words{"read 1", "local"}));
	EXPECT_EQ(reap(), Completions{});
	read_resp(0, 0, 1, true);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

TEST_F(IwReq, LocalThatWaitsForAllWaitsForReads)
{
	post(WR_READ, 1);
	post(WR_LOCAL, 0, WR_F_WAIT_ALL);
	EXPECT_EQ(words(), (Words{"read 1"}));
	read_resp(0, 0, 1, true);
	EXPECT_EQ(words(), (Words{"local"}));
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

TEST_F(IwReq, AFailedLocalFlushesWhatFollows)
{
	iw_seg s;

	post(WR_SEND, 1);
	u32 slot = post(WR_LOCAL);
	post(WR_SEND, 1);
	send(1);
	ASSERT_TRUE(iw_req_next(&q, &s));
	ASSERT_EQ(s.kind, IW_SEG_LOCAL);
	iw_req_local_done(&q, &other, slot, WR_ST_MW_BIND_ERR);
	EXPECT_TRUE(iw_req_in_error(&q));
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, WR_ST_MW_BIND_ERR}, {2, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(IwReq, LocalDoneForWhatIsNotItsTurnIsIgnored)
{
	post(WR_SEND, 1);
	post(WR_LOCAL);
	iw_req_local_done(&q, &other, 0, WR_ST_SUCCESS);
	iw_req_local_done(&q, &other, 1, WR_ST_SUCCESS);
	EXPECT_EQ(reap(), Completions{});
	send();
	iw_req_local_done(&q, &other, 1, WR_ST_MW_BIND_ERR);
	EXPECT_FALSE(iw_req_in_error(&q));
	EXPECT_EQ(reap().size(), 2u);
}

// ---- what is next ----

TEST_F(IwReq, SendsAndWritesHaveTheirPayloadNext)
{
	for (u8 op : {WR_SEND, WR_WRITE}) {
		start();
		post(op, 1000);
		EXPECT_EQ(iw_req_next_bytes(&q), 1000u);
		send(1);
		EXPECT_EQ(iw_req_next_bytes(&q), 1000u - (op == WR_SEND ? kSend : kWrite));
		send();
		EXPECT_EQ(iw_req_next_bytes(&q), 0u);
	}
}

TEST_F(IwReq, ReadsAtomicsAndLocalHaveNoPayloadNext)
{
	for (u8 op : {WR_READ, WR_CMP_SWAP, WR_FETCH_ADD, WR_LOCAL}) {
		start();
		post(op, 8);
		EXPECT_EQ(iw_req_next_bytes(&q), 0u);
	}
}

TEST_F(IwReq, TheRequestWhoseTurnItIsIsNext)
{
	EXPECT_EQ(iw_req_next_bytes(&q), 0u);
	post(WR_READ, 500);
	post(WR_SEND, 50);
	post(WR_WRITE, 70);
	EXPECT_EQ(iw_req_next_bytes(&q), 0u);
	send(1);
	EXPECT_EQ(iw_req_next_bytes(&q), 50u);
	send(1);
	EXPECT_EQ(iw_req_next_bytes(&q), 70u);
	send(1);
	EXPECT_EQ(iw_req_next_bytes(&q), 0u);
}

TEST_F(IwReq, ImmediateDataAreNoPayload)
{
	post(WR_WRITE, kWrite, WR_F_IMM);
	EXPECT_EQ(iw_req_next_bytes(&q), kWrite);
	send(1);
	ASSERT_TRUE(iw_req_in_message(&q));
	EXPECT_EQ(iw_req_next_bytes(&q), 0u);
}

TEST_F(IwReq, InErrorNothingIsNext)
{
	post(WR_WRITE, 1000);
	send(1);
	iw_req_flush(&q);
	EXPECT_EQ(iw_req_next_bytes(&q), 0u);
}

// ---- where it stands ----

TEST_F(IwReq, TellsWhatIsSentAndComplete)
{
	start(16, 0xffffffff);
	EXPECT_TRUE(iw_req_is_empty(&q));
	post(WR_SEND, 2 * kSend);
	post(WR_READ, 8);
	EXPECT_EQ(iw_req_num_unsent(&q), 2u);
	send(1);
	EXPECT_EQ(iw_req_next_slot(&q), 0xffffffff);
	EXPECT_EQ(iw_req_next_offset(&q), kSend);
	EXPECT_EQ(iw_req_unsent_bytes(&q), kSend);
	send(1);
	EXPECT_EQ(iw_req_oldest(&q), 0u);
	EXPECT_EQ(iw_req_next_offset(&q), 0u);
	EXPECT_FALSE(iw_req_awaits_response(&q));
	send();
	EXPECT_FALSE(iw_req_has_unsent(&q));
	EXPECT_TRUE(iw_req_awaits_response(&q));
	EXPECT_FALSE(iw_req_is_complete(&q));
	iw_req_flush(&q);
	reap();
	EXPECT_TRUE(iw_req_is_empty(&q));
}

} // namespace
