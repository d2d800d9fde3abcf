// SPDX-License-Identifier: GPL-2.0
// RC requester, one behaviour at a time: what goes out within the window, and its
// headers.
#include "pkt_members.h"
#include "rc_req_fixture.h"

#include <algorithm>
#include <cstring>

namespace {

// ---- window, batches ----

TEST_F(RcReq, WindowIsNeverExceeded)
{
	post(RC_OP_WRITE, 256 * 1000);
	EXPECT_EQ(packets(send(7)), cfg.window);
	ack(4);
	EXPECT_EQ(packets(send(7)), 5u);
	time_out();
	EXPECT_EQ(packets(send(7)), cfg.window);
	EXPECT_EQ(rel(q.psn_max), 5 + cfg.window);
}

TEST_F(RcReq, WindowOfOneMovesOn)
{
	cfg.window = 1;
	start();
	post(RC_OP_WRITE, 256 * 3);
	for (u32 i = 0; i < 3; i++) {
		auto runs = send();
		ASSERT_EQ(packets(runs), 1u);
		EXPECT_TRUE(runs[0].ack_req);
		ack(i);
	}
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

TEST_F(RcReq, NextWithoutSentIsTheSameRun)
{
	post(RC_OP_WRITE, 256 * 3);
	run a, b;
	ASSERT_TRUE(rc_req_next(&q, now, 2, &a));
	ASSERT_TRUE(rc_req_next(&q, now, 2, &b));
	EXPECT_EQ(a.psn, b.psn);
	EXPECT_EQ(a.npkts, b.npkts);
	EXPECT_EQ(a.ack_req, b.ack_req);
	rc_req_sent(&q, now, &a, 0);
	ASSERT_TRUE(rc_req_next(&q, now, 2, &b));
	EXPECT_EQ(a.psn, b.psn);
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(RcReq, LocalDropResumesAfterWhatWasTaken)
{
	post(RC_OP_WRITE, 256 * 4);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 4, &r));
	ASSERT_EQ(r.npkts, 4u);
	rc_req_sent(&q, now, &r, 1);
	EXPECT_EQ(rel(q.psn_max), 1u);
	ASSERT_TRUE(rc_req_next(&q, now, 4, &r));
	EXPECT_EQ(rel(r.psn), 1u);
	EXPECT_EQ(r.npkts, 3u);
	EXPECT_FALSE(r.first);
	EXPECT_TRUE(r.last);
	EXPECT_TRUE(r.ack_req);
}

TEST_F(RcReq, MaxPktsIsHonoured)
{
	set_window(64);
	post(RC_OP_WRITE, 256 * 10);
	run r;
	for (u32 max : {1u, 2u, 3u}) {
		ASSERT_TRUE(rc_req_next(&q, now, max, &r));
		EXPECT_EQ(r.npkts, max);
		rc_req_sent(&q, now, &r, r.npkts);
	}
}

// A transport's batch has room for so many, and that is never a quarter of the window.
TEST_F(RcReq, AcknowledgesAreAskedForThoughNoRunIsTakenWhole)
{
	u32 asked = 0, sent = 0;
	run r;

	set_window(64);
	post(RC_OP_WRITE, 256 * 1000);
	while (rc_req_next(&q, now, 64, &r)) {
		u32 n = std::min(r.npkts, 7u);

		rc_req_sent(&q, now, &r, n);
		sent += n;
		if (n == r.npkts && r.ack_req) {
			asked++;
			EXPECT_EQ(sent % 16, 0u);
		}
	}
	EXPECT_EQ(sent, 64u);
	EXPECT_EQ(asked, 4u);
}

// Whatever was in the run, and in the packet, before.
TEST_F(RcReq, RunsAndPacketsSetEveryMember)
{
	for (u8 op : {RC_OP_SEND, RC_OP_WRITE, RC_OP_READ, RC_OP_CMP_SWAP, RC_OP_FETCH_ADD}) {
		run zeros, ones;
		pkt of_zeros, of_ones;

		start();
		post(op, op >= RC_OP_CMP_SWAP ? 8 : 700, op == RC_OP_SEND ? RC_SQE_IMM : 0);
		memset(&zeros, 0, sizeof(zeros));
		memset(&ones, 1, sizeof(ones));
		ASSERT_TRUE(rc_req_next(&q, now, 64, &zeros));
		ASSERT_TRUE(rc_req_next(&q, now, 64, &ones));
		EXPECT_EQ(zeros.slot, ones.slot);
		EXPECT_EQ(zeros.offset, ones.offset);
		EXPECT_EQ(zeros.bytes, ones.bytes);
		EXPECT_EQ(zeros.npkts, ones.npkts);
		EXPECT_EQ(zeros.pmtu, ones.pmtu);
		for (u32 i = 0; i < zeros.npkts; i++) {
			memset(&of_zeros, 0, sizeof(of_zeros));
			memset(&of_ones, 1, sizeof(of_ones));
			run_pkt(&zeros, i, &of_zeros);
			run_pkt(&ones, i, &of_ones);
			EXPECT_EQ(pkt_members(of_zeros), pkt_members(of_ones)) << int(op) << i;
		}
		run_stretch(&zeros, &of_zeros);
		run_stretch(&ones, &of_ones);
		EXPECT_EQ(pkt_members(of_zeros), pkt_members(of_ones)) << int(op);
	}
}

TEST_F(RcReq, RunPayloadIsTheMessageAndNoMore)
{
	for (u32 length : {0u, 1u, 255u, 256u, 257u, 512u, 513u}) {
		start();
		post(RC_OP_SEND, length);
		u64 bytes = 0;
		bool seen_last = false;
		for (const run &r : send(2)) {
			for (u32 i = 0; i < r.npkts; i++) {
				pkt k;
				run_pkt(&r, i, &k);
				EXPECT_EQ(r.offset + i * r.pmtu, bytes);
				EXPECT_LE(k.payload_bytes, cfg.pmtu);
				EXPECT_FALSE(seen_last);
				seen_last = opcode_info(k.opcode)->flags & OPF_LAST;
				bytes += k.payload_bytes;
			}
		}
		EXPECT_EQ(bytes, length);
		EXPECT_TRUE(seen_last) << length;
	}
}

TEST_F(RcReq, ZeroLengthOperationsTakeOnePacket)
{
	post(RC_OP_SEND);
	post(RC_OP_WRITE);
	post(RC_OP_READ);
	EXPECT_EQ(packets(send()), 3u);
	ack(1);
	data(OP_READ_RESP_ONLY, 2, 0);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}, {2, 0}}));
}

// ---- headers ----

TEST_F(RcReq, OpcodesFollowPositionImmediateAndInvalidate)
{
	const struct {
		u8 op, flags;
		u8 first, middle, last, only;
	} table[] = {
		{RC_OP_SEND, 0, OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST, OP_SEND_ONLY},
		{RC_OP_SEND, RC_SQE_IMM, OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST_IMM,
		 OP_SEND_ONLY_IMM},
		{RC_OP_SEND, RC_SQE_INV, OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST_INV,
		 OP_SEND_ONLY_INV},
		{RC_OP_WRITE, 0, OP_WRITE_FIRST, OP_WRITE_MIDDLE, OP_WRITE_LAST, OP_WRITE_ONLY},
		{RC_OP_WRITE, RC_SQE_IMM, OP_WRITE_FIRST, OP_WRITE_MIDDLE, OP_WRITE_LAST_IMM,
		 OP_WRITE_ONLY_IMM},
	};

	for (auto t : table) {
		for (u32 max : {1u, 3u}) {
			start();
			post(t.op, 3 * 256, t.flags);
			post(t.op, 256, t.flags);
			std::vector<u8> ops;
			for (const run &r : send(max)) {
				for (u32 i = 0; i < r.npkts; i++) {
					pkt k;
					run_pkt(&r, i, &k);
					ops.push_back(k.opcode);
				}
			}
			EXPECT_EQ(ops, (std::vector<u8>{t.first, t.middle, t.last, t.only}));
		}
	}
}

TEST_F(RcReq, SolicitedBitIsOnTheLastPacketOnly)
{
	post(RC_OP_SEND, 3 * 256, RC_SQE_SOLICITED);
	std::vector<bool> bits;
	for (const run &r : send()) {
		for (u32 i = 0; i < r.npkts; i++) {
			pkt k;
			run_pkt(&r, i, &k);
			bits.push_back(k.solicited);
		}
	}
	EXPECT_EQ(bits, (std::vector<bool>{false, false, true}));
}

TEST_F(RcReq, PsnsWrapThroughAMessage)
{
	post(RC_OP_WRITE, 256 * 6);
	std::vector<u32> psns;
	for (const run &r : send()) {
		for (u32 i = 0; i < r.npkts; i++) {
			pkt k;
			run_pkt(&r, i, &k);
			psns.push_back(k.psn);
		}
	}
	EXPECT_EQ(psns, (std::vector<u32>{0xfffffd, 0xfffffe, 0xffffff, 0, 1, 2}));
	ack(5);
	EXPECT_EQ(reap().size(), 1u);
	EXPECT_EQ(q.psn_una, 3u);
}

TEST_F(RcReq, SlotIndicesWrapAt32Bits)
{
	start(16, 0xfffffffe);
	for (int i = 0; i < 4; i++)
		post(RC_OP_SEND, 10);
	EXPECT_EQ(send().size(), 4u);
	ack(1, AETH_NAK_PSN_SEQ);
	EXPECT_EQ(packets(send()), 3u);
	ack(3);
	EXPECT_EQ(reap(), (Completions{{0xfffffffe, 0}, {0xffffffff, 0}, {0, 0}, {1, 0}}));
}

// ---- refused by the local network after all ----

TEST_F(RcReq, WhatWasRefusedIsSentAgainAtTheCostOfNoRetry)
{
	cfg.retry_cnt = 0;
	start();
	post(RC_OP_WRITE, 10);
	send();
	post(RC_OP_WRITE, 3 * 256);
	post(RC_OP_SEND, 10);
	auto first = send();
	ASSERT_EQ(packets(first), 4u);
	rc_req_unsend(&q, first[0].psn);

	auto again = send();
	ASSERT_EQ(packets(again), 4u);
	EXPECT_EQ(again[0].psn, first[0].psn);
	EXPECT_TRUE(again[0].first);
	ack(4);
	EXPECT_EQ(reap(),
		  (Completions{{0, RC_ST_SUCCESS}, {1, RC_ST_SUCCESS}, {2, RC_ST_SUCCESS}}));
}

TEST_F(RcReq, RefusedFromTheMiddleOfAMessageGoesOnThere)
{
	post(RC_OP_WRITE, 4 * 256);
	auto first = send(2);
	ASSERT_EQ(first.size(), 2u);
	rc_req_unsend(&q, first[1].psn);

	auto again = send();
	ASSERT_EQ(packets(again), 2u);
	EXPECT_EQ(rel(again[0].psn), 2u);
	EXPECT_FALSE(again[0].first);
	EXPECT_TRUE(again[0].last);
}

TEST_F(RcReq, RefusedReadsAndAtomicsAreAskedForAgainAndHoldWhatTheyHeld)
{
	post(RC_OP_READ, 2 * 256);
	post(RC_OP_FETCH_ADD, 8);
	auto first = send();
	ASSERT_EQ(first.size(), 2u);
	EXPECT_EQ(q.rd_out, 2u);
	rc_req_unsend(&q, first[0].psn);
	EXPECT_EQ(send().size(), 2u);
	EXPECT_EQ(q.rd_out, 2u);
	data(OP_READ_RESP_FIRST, 0, 256);
	data(OP_READ_RESP_LAST, 1, 256);
	atomic(2, 7);
	EXPECT_EQ(q.rd_out, 0u);
	EXPECT_EQ(reap(), (Completions{{0, RC_ST_SUCCESS}, {1, RC_ST_SUCCESS}}));
}

TEST_F(RcReq, NothingIsSentAgainInError)
{
	post(RC_OP_WRITE, 10);
	auto first = send();
	rc_req_flush(&q);
	rc_req_unsend(&q, first[0].psn);
	EXPECT_TRUE(send().empty());
}

} // namespace
