// SPDX-License-Identifier: GPL-2.0
// RC requester, one behaviour at a time. Whole conversations are selftests/sim/.
#include "proto/rc_req.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

constexpr u32 kPsn = 0xfffffd; // three packets before the wrap
constexpr u64 kTimeout = 100000;
constexpr u8 kAck = AETH_ACK | AETH_CREDIT_UNLIMITED;

using Completions = std::vector<std::pair<u32, int>>;

class RcReq : public testing::Test {
protected:
	rc_req q;
	std::vector<rc_sqe> ring;
	rc_req_cfg cfg = {};
	u64 now = 1000000;

	RcReq()
	{
		cfg.service = BTH_RC;
		cfg.retry_cnt = 2;
		cfg.rnr_retry = 2;
		cfg.max_rd_atomic = 2;
		cfg.pkey = PKEY_DEFAULT;
		cfg.dqpn = 0x123;
		cfg.pmtu = 256;
		cfg.sq_psn = kPsn;
		cfg.window = 16;
		cfg.ack_timeout_ns = kTimeout;
		start();
	}

	void start(u32 entries = 16)
	{
		ring.assign(entries, rc_sqe{});
		rc_req_init(&q, ring.data(), entries, &cfg);
	}

	u32 post(u8 op, u32 length = 0, u8 flags = 0)
	{
		rc_sqe wr = {};

		wr.op = op;
		wr.flags = flags;
		wr.length = length;
		wr.va = 0x10000;
		wr.rkey = 0x55;
		EXPECT_TRUE(rc_req_post(&q, &wr));
		return q.head - 1;
	}

	// Everything that may be sent now; LOCAL is executed on the way.
	std::vector<run> send(u32 max_pkts = 64)
	{
		std::vector<run> runs;
		run r;

		while (rc_req_next(&q, now, max_pkts, &r)) {
			runs.push_back(r);
			if (r.kind == RUN_LOCAL)
				rc_req_local_done(&q, r.slot, RC_ST_SUCCESS);
			else
				rc_req_sent(&q, now, &r, r.npkts);
			if (runs.size() > 10000) {
				ADD_FAILURE() << "never ends";
				break;
			}
		}
		return runs;
	}

	static u32 packets(const std::vector<run> &runs)
	{
		u32 n = 0;

		for (const run &r : runs)
			n += r.npkts;
		return n;
	}

	rc_req_act rx(u8 op, u32 psn, u8 syndrome = kAck, u16 bytes = 0, u64 value = 0)
	{
		rc_req_act act;
		pkt k = {};

		k.opcode = op;
		k.op_flags = opcode_info(op)->flags;
		k.psn = psn_add(kPsn, psn);
		k.syndrome = syndrome;
		k.payload_bytes = bytes;
		k.atomic_orig = value;
		rc_req_rx(&q, now, &k, &act);
		return act;
	}

	// PSNs in tests count from kPsn.
	rc_req_act ack(u32 psn, u8 syndrome = kAck) { return rx(OP_ACK, psn, syndrome); }

	rc_req_act data(u8 op, u32 psn, u16 bytes)
	{
		rc_req_act act = rx(op, psn, kAck, bytes);

		if (act.kind == RC_REQ_PLACE)
			rc_req_placed(&q, now, &act);
		return act;
	}

	rc_req_act atomic(u32 psn, u64 value)
	{
		rc_req_act act = rx(OP_ATOMIC_ACK, psn, kAck, 0, value);

		if (act.kind == RC_REQ_PLACE_ATOMIC)
			rc_req_placed(&q, now, &act);
		return act;
	}

	Completions reap()
	{
		Completions c;
		rc_status status;
		u32 slot;

		while (rc_req_reap(&q, &slot, &status))
			c.emplace_back(slot, status);
		return c;
	}

	u32 rel(u32 psn) const { return psn_add(psn, 0x1000000 - kPsn); }

	rc_event time_out()
	{
		u64 at = rc_req_deadline(&q);

		EXPECT_NE(at, 0u);
		now = at;
		return rc_req_timeout(&q, now);
	}
};

// ---- acknowledges ----

TEST_F(RcReq, CoalescedAckCompletesAllBeforeIt)
{
	for (int i = 0; i < 5; i++)
		post(RC_OP_SEND, 10);
	EXPECT_EQ(packets(send()), 5u);
	ack(3);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}, {2, 0}, {3, 0}}));
	ack(4);
	EXPECT_EQ(reap(), (Completions{{4, 0}}));
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(RcReq, AckWithinAMessageCompletesOnlyWhatIsWhole)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_WRITE, 256 * 4);
	send();
	ack(2);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	EXPECT_EQ(rel(q.psn_una), 3u);
	ack(4);
	EXPECT_EQ(reap(), (Completions{{1, 0}}));
}

TEST_F(RcReq, GhostAckAheadOfWhatWasSentIsIgnored)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 1, &r));
	rc_req_sent(&q, now, &r, 1);
	EXPECT_EQ(ack(1).event, RC_EV_GHOST);
	EXPECT_EQ(ack(1000).event, RC_EV_GHOST);
	EXPECT_EQ(reap(), Completions{});
	ack(0);
	EXPECT_EQ(reap().size(), 1u);
}

TEST_F(RcReq, OldAckIsIgnored)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	send();
	ack(0);
	EXPECT_EQ(ack(0).event, RC_EV_DUPLICATE);
	EXPECT_EQ(ack(psn_add(0, 0xffff00)).event, RC_EV_DUPLICATE);
	EXPECT_EQ(reap().size(), 1u);
}

TEST_F(RcReq, NothingSentAcceptsNoAck)
{
	EXPECT_EQ(ack(0).event, RC_EV_GHOST);
	EXPECT_NE(ack(psn_add(0, PSN_MASK)).event, RC_EV_NONE);
	EXPECT_EQ(data(OP_READ_RESP_ONLY, 0, 10).kind, RC_REQ_DONE);
	EXPECT_EQ(atomic(0, 1).kind, RC_REQ_DONE);
	EXPECT_FALSE(rc_req_in_error(&q));
}

TEST_F(RcReq, LastPacketOfAMessageAsksForAnAck)
{
	post(RC_OP_SEND, 256 * 3);
	auto runs = send();
	ASSERT_FALSE(runs.empty());
	EXPECT_TRUE(runs.back().ack_req);
	EXPECT_TRUE(runs.back().last);
}

TEST_F(RcReq, AcksAreAskedForBeforeTheWindowIsFull)
{
	post(RC_OP_WRITE, 256 * 100);
	bool asked = false;
	for (const run &r : send())
		asked = asked || r.ack_req;
	EXPECT_TRUE(asked);
	EXPECT_LT(q.since_ackreq, cfg.window);
}

// ---- sequence NAKs ----

TEST_F(RcReq, SeqNakGoesBackToItsPsnAndAcksWhatIsBefore)
{
	for (int i = 0; i < 4; i++)
		post(RC_OP_SEND, 10);
	send();
	EXPECT_EQ(ack(2, AETH_NAK_PSN_SEQ).event, RC_EV_SEQ_NAK);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(rel(runs[0].psn), 2u);
	EXPECT_EQ(rel(runs[1].psn), 3u);
}

TEST_F(RcReq, SeqNakWithinAMessageResendsFromThatPacket)
{
	post(RC_OP_WRITE, 256 * 6);
	send();
	ack(2, AETH_NAK_PSN_SEQ);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	EXPECT_EQ(rel(r.psn), 2u);
	EXPECT_EQ(r.offset, 512u);
	EXPECT_FALSE(r.first);
	pkt k;
	run_pkt(&r, 0, &k);
	EXPECT_EQ(k.opcode, OP_WRITE_MIDDLE);
}

TEST_F(RcReq, SeqNakNeverSkipsWhatWasNotSentYet)
{
	post(RC_OP_WRITE, 256 * 8);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 2, &r));
	rc_req_sent(&q, now, &r, 2);
	EXPECT_EQ(ack(2, AETH_NAK_PSN_SEQ).event, RC_EV_GHOST);
	EXPECT_EQ(rel(q.psn_una), 0u);
	ack(0, AETH_NAK_PSN_SEQ);
	ASSERT_TRUE(rc_req_next(&q, now, 8, &r));
	EXPECT_EQ(rel(r.psn), 0u);
}

TEST_F(RcReq, AckDuringRetransmissionSkipsAhead)
{
	post(RC_OP_WRITE, 256 * 8);
	send();
	time_out();
	ack(4);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	EXPECT_EQ(rel(r.psn), 5u);
	EXPECT_EQ(r.offset, 256u * 5);
}

TEST_F(RcReq, ReservedSyndromesAreIgnored)
{
	post(RC_OP_SEND, 10);
	send();
	for (u8 syndrome : {0x65, 0x6f, 0x7f, 0x40, 0x5f, 0x80, 0xe0})
		EXPECT_EQ(ack(0, syndrome).event, RC_EV_GHOST) << int(syndrome);
	EXPECT_FALSE(rc_req_in_error(&q));
	EXPECT_EQ(reap(), Completions{});
}

// ---- errors from the peer ----

TEST_F(RcReq, RemoteErrorsHaveTheirStatusAndFlushTheRest)
{
	const std::pair<u8, int> table[] = {
		{AETH_NAK_INVALID_REQ, RC_ST_REM_INV_REQ_ERR},
		{AETH_NAK_REM_ACCESS, RC_ST_REM_ACCESS_ERR},
		{AETH_NAK_REM_OP, RC_ST_REM_OP_ERR},
	};

	for (auto [syndrome, status] : table) {
		start();
		for (int i = 0; i < 4; i++)
			post(RC_OP_SEND, 10);
		send();
		ack(1, syndrome);
		EXPECT_EQ(reap(), (Completions{{0, 0},
					       {1, status},
					       {2, RC_ST_WR_FLUSH_ERR},
					       {3, RC_ST_WR_FLUSH_ERR}}));
		EXPECT_TRUE(rc_req_in_error(&q));
		EXPECT_EQ(reap(), Completions{});
		EXPECT_EQ(rc_req_deadline(&q), 0u);
	}
}

TEST_F(RcReq, EachRequestCompletesOnceAfterAnError)
{
	for (int i = 0; i < 8; i++)
		post(RC_OP_SEND, 10);
	send();
	ack(3, AETH_NAK_REM_ACCESS);
	EXPECT_EQ(reap().size(), 8u);
	ack(3, AETH_NAK_REM_ACCESS);
	ack(7);
	rc_req_timeout(&q, now + 10 * kTimeout);
	rc_req_flush(&q);
	EXPECT_EQ(reap(), Completions{});
	EXPECT_TRUE(send().empty());
}

TEST_F(RcReq, WorkPostedAfterAnErrorIsFlushed)
{
	rc_req_flush(&q);
	u32 slot = post(RC_OP_SEND, 10);
	EXPECT_TRUE(send().empty());
	EXPECT_EQ(reap(), (Completions{{slot, RC_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, FlushCompletesInOrder)
{
	for (int i = 0; i < 6; i++)
		post(i == 3 ? RC_OP_READ : RC_OP_SEND, 10);
	send();
	ack(1);
	rc_req_flush(&q);
	Completions want{{0, 0}, {1, 0}};
	for (u32 i = 2; i < 6; i++)
		want.emplace_back(i, RC_ST_WR_FLUSH_ERR);
	EXPECT_EQ(reap(), want);
}

TEST_F(RcReq, FullRingRefusesAndTakesAgainAfterReaping)
{
	rc_sqe wr = {};

	start(4);
	for (int i = 0; i < 4; i++)
		post(RC_OP_SEND);
	EXPECT_FALSE(rc_req_post(&q, &wr));
	send();
	ack(3);
	EXPECT_FALSE(rc_req_post(&q, &wr)); // complete, but not reaped
	EXPECT_EQ(reap().size(), 4u);
	EXPECT_TRUE(rc_req_post(&q, &wr));
}

// ---- RNR ----

TEST_F(RcReq, RnrNakIsWaitedForAndThenResumed)
{
	const u8 field = 14;
	const u64 wait = rc_rnr_timer_ns(field);

	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	send();
	EXPECT_EQ(ack(0, AETH_RNR_NAK | field).event, RC_EV_RNR_NAK);
	EXPECT_EQ(rc_req_deadline(&q), now + wait);
	u64 end = now + wait;
	now = end - 1;
	EXPECT_TRUE(send().empty());
	rc_req_timeout(&q, now);
	EXPECT_TRUE(send().empty());
	now = end;
	rc_req_timeout(&q, now);
	auto runs = send();
	ASSERT_EQ(packets(runs), 2u);
	EXPECT_EQ(rel(runs[0].psn), 0u);
	EXPECT_NE(rc_req_deadline(&q), 0u);
}

TEST_F(RcReq, WorkPostedDuringAnRnrWaitStaysBack)
{
	post(RC_OP_SEND, 10);
	send();
	ack(0, AETH_RNR_NAK | 1);
	post(RC_OP_SEND, 10);
	EXPECT_TRUE(send().empty());
}

TEST_F(RcReq, RnrRetriesExhaust)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	send();
	for (int i = 0; i < cfg.rnr_retry; i++) {
		ack(0, AETH_RNR_NAK | 1);
		ASSERT_FALSE(rc_req_in_error(&q));
		now = rc_req_deadline(&q);
		rc_req_timeout(&q, now);
		EXPECT_EQ(packets(send()), 2u);
	}
	ack(0, AETH_RNR_NAK | 1);
	EXPECT_EQ(reap(), (Completions{{0, RC_ST_RNR_RETRY_EXC_ERR}, {1, RC_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, DuplicateOfAnRnrNakIsOneWaitAndOneRetry)
{
	post(RC_OP_SEND, 10);
	send();
	ack(0, AETH_RNR_NAK | 5);
	u64 end = rc_req_deadline(&q);
	now += 10;
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(ack(0, AETH_RNR_NAK | 5).event, RC_EV_DUPLICATE);
	EXPECT_EQ(rc_req_deadline(&q), end);
	EXPECT_EQ(q.rnr_left, cfg.rnr_retry - 1);
}

TEST_F(RcReq, RnrRetrySevenIsForEver)
{
	cfg.rnr_retry = 7;
	start();
	post(RC_OP_SEND, 10);
	send();
	for (int i = 0; i < 100; i++) {
		ack(0, AETH_RNR_NAK | 1);
		ASSERT_FALSE(rc_req_in_error(&q));
		now = rc_req_deadline(&q);
		rc_req_timeout(&q, now);
		ASSERT_EQ(packets(send()), 1u);
	}
}

TEST_F(RcReq, ProgressRestoresTheRnrRetries)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	send();
	ack(0, AETH_RNR_NAK | 1);
	now = rc_req_deadline(&q);
	send();
	ack(0);
	EXPECT_EQ(q.rnr_left, cfg.rnr_retry);
}

TEST_F(RcReq, RnrTimerTableIsIbtas)
{
	EXPECT_EQ(rc_rnr_timer_ns(0), 655360000u);
	EXPECT_EQ(rc_rnr_timer_ns(1), 10000u);
	EXPECT_EQ(rc_rnr_timer_ns(8), 160000u);
	EXPECT_EQ(rc_rnr_timer_ns(14), 1280000u);
	EXPECT_EQ(rc_rnr_timer_ns(31), 491520000u);
	for (u8 i = 2; i < 32; i++)
		EXPECT_GT(rc_rnr_timer_ns(i), rc_rnr_timer_ns(i - 1));
}

TEST_F(RcReq, AckTimeoutIsFourMicrosecondsToThePower)
{
	EXPECT_EQ(rc_ack_timeout_ns(0), 0u);
	EXPECT_EQ(rc_ack_timeout_ns(1), 8192u);
	EXPECT_EQ(rc_ack_timeout_ns(14), 4096ull << 14);
	EXPECT_EQ(rc_ack_timeout_ns(31), 4096ull << 31);
}

// ---- time-outs ----

TEST_F(RcReq, TimeoutResendsFromTheOldest)
{
	for (int i = 0; i < 3; i++)
		post(RC_OP_SEND, 10);
	send();
	ack(0);
	EXPECT_EQ(time_out(), RC_EV_TIMEOUT);
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(rel(runs[0].psn), 1u);
}

TEST_F(RcReq, EarlyTimerCallDoesNothing)
{
	post(RC_OP_SEND, 10);
	send();
	EXPECT_EQ(rc_req_timeout(&q, rc_req_deadline(&q) - 1), RC_EV_NONE);
	EXPECT_TRUE(send().empty());
	EXPECT_EQ(q.retry_left, cfg.retry_cnt);
}

TEST_F(RcReq, RetriesExhaust)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	send();
	for (int i = 0; i < cfg.retry_cnt; i++) {
		time_out();
		ASSERT_EQ(packets(send()), 2u);
	}
	time_out();
	EXPECT_EQ(reap(), (Completions{{0, RC_ST_RETRY_EXC_ERR}, {1, RC_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, WaitsDoubleTwiceUntilProgress)
{
	cfg.retry_cnt = 7;
	start();
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	send();
	for (u64 wait : {1, 2, 4, 4, 4}) {
		EXPECT_EQ(rc_req_deadline(&q), now + wait * kTimeout);
		time_out();
		send();
	}
	ack(0);
	EXPECT_EQ(rc_req_deadline(&q), now + kTimeout);
}

TEST_F(RcReq, NakDoesNotLengthenTheWait)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	send();
	now += 10;
	ack(1, AETH_NAK_PSN_SEQ);
	send();
	EXPECT_EQ(rc_req_deadline(&q), now + kTimeout);
}

TEST_F(RcReq, ProgressRestoresTheRetries)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	send();
	time_out();
	send();
	ack(0);
	EXPECT_EQ(q.retry_left, cfg.retry_cnt);
}

TEST_F(RcReq, TimeoutZeroIsNever)
{
	cfg.ack_timeout_ns = 0;
	start();
	post(RC_OP_SEND, 10);
	send();
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(RcReq, TimerStopsWhenAllIsAcknowledged)
{
	post(RC_OP_SEND, 10);
	send();
	EXPECT_EQ(rc_req_deadline(&q), now + kTimeout);
	ack(0);
	EXPECT_EQ(rc_req_deadline(&q), 0u);
	EXPECT_EQ(rc_req_timeout(&q, now + 10 * kTimeout), RC_EV_NONE);
}

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
	post(RC_OP_WRITE, 256 * 10);
	run r;
	for (u32 max : {1u, 2u, 3u}) {
		ASSERT_TRUE(rc_req_next(&q, now, max, &r));
		EXPECT_EQ(r.npkts, max);
		rc_req_sent(&q, now, &r, r.npkts);
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

// ---- READ ----

TEST_F(RcReq, ReadTakesThePsnsOfItsResponses)
{
	post(RC_OP_READ, 256 * 3 + 1);
	post(RC_OP_SEND, 10);
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(runs[0].npkts, 1u);
	EXPECT_EQ(rel(runs[1].psn), 4u);
}

TEST_F(RcReq, ReadCompletesWithItsLastResponse)
{
	post(RC_OP_READ, 256 * 2 + 7);
	send();
	auto act = data(OP_READ_RESP_FIRST, 0, 256);
	EXPECT_EQ(act.offset, 0u);
	act = data(OP_READ_RESP_MIDDLE, 1, 256);
	EXPECT_EQ(act.offset, 256u);
	EXPECT_EQ(reap(), Completions{});
	act = data(OP_READ_RESP_LAST, 2, 7);
	EXPECT_EQ(act.offset, 512u);
	EXPECT_EQ(act.bytes, 7u);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

TEST_F(RcReq, ReadResponseOutsideTheSinkIsNeverPlaced)
{
	const struct {
		u8 op;
		u16 bytes;
	} wrong[] = {
		{OP_READ_RESP_ONLY, 257},  {OP_READ_RESP_ONLY, 255},   {OP_READ_RESP_ONLY, 0},
		{OP_READ_RESP_FIRST, 255}, {OP_READ_RESP_FIRST, 4096}, {OP_READ_RESP_MIDDLE, 0},
		{OP_READ_RESP_LAST, 256},  {OP_READ_RESP_LAST, 65535},
	};

	for (auto w : wrong) {
		start();
		post(RC_OP_READ, 256 * 2);
		post(RC_OP_SEND, 10);
		send();
		EXPECT_EQ(data(w.op, 0, w.bytes).kind, RC_REQ_DONE);
		EXPECT_EQ(reap(), (Completions{{0, RC_ST_BAD_RESP_ERR}, {1, RC_ST_WR_FLUSH_ERR}}))
			<< int(w.op) << " " << w.bytes;
	}
}

TEST_F(RcReq, LastReadResponseMustFit)
{
	for (u16 bytes : {0, 6, 8, 256}) {
		start();
		post(RC_OP_READ, 256 + 7);
		send();
		data(OP_READ_RESP_FIRST, 0, 256);
		EXPECT_EQ(data(OP_READ_RESP_LAST, 1, bytes).kind, RC_REQ_DONE);
		EXPECT_EQ(reap(), (Completions{{0, RC_ST_BAD_RESP_ERR}})) << bytes;
	}
}

TEST_F(RcReq, ReadThatEndsEarlyOrLateIsBad)
{
	post(RC_OP_READ, 256 * 3);
	send();
	data(OP_READ_RESP_FIRST, 0, 256);
	data(OP_READ_RESP_LAST, 1, 256);
	EXPECT_EQ(reap(), (Completions{{0, RC_ST_BAD_RESP_ERR}}));

	start();
	post(RC_OP_READ, 256 * 2);
	send();
	data(OP_READ_RESP_FIRST, 0, 256);
	data(OP_READ_RESP_MIDDLE, 1, 256);
	EXPECT_EQ(reap(), (Completions{{0, RC_ST_BAD_RESP_ERR}}));
}

TEST_F(RcReq, ReadResponseToASendIsBad)
{
	post(RC_OP_SEND, 10);
	send();
	EXPECT_EQ(data(OP_READ_RESP_ONLY, 0, 10).kind, RC_REQ_DONE);
	EXPECT_EQ(reap(), (Completions{{0, RC_ST_BAD_RESP_ERR}}));
}

TEST_F(RcReq, AtomicResultToAReadIsBad)
{
	post(RC_OP_READ, 8);
	send();
	EXPECT_EQ(atomic(0, 1).kind, RC_REQ_DONE);
	EXPECT_EQ(reap(), (Completions{{0, RC_ST_BAD_RESP_ERR}}));
}

TEST_F(RcReq, ReadResponseAcksTheRequestsBeforeIt)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_WRITE, 10);
	post(RC_OP_READ, 10);
	send();
	data(OP_READ_RESP_ONLY, 2, 10);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}, {2, 0}}));
}

TEST_F(RcReq, AckBehindAReadIsAnImpliedNak)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_READ, 256 * 4);
	post(RC_OP_SEND, 10);
	send();
	EXPECT_EQ(ack(5).event, RC_EV_IMPLIED_NAK);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(runs[0].op, RC_OP_READ);
	EXPECT_EQ(rel(runs[0].psn), 1u);
	EXPECT_EQ(runs[0].dma_bytes, 1024u);
}

TEST_F(RcReq, LostReadResponseAsksForTheRestOnly)
{
	post(RC_OP_READ, 256 * 4);
	send();
	data(OP_READ_RESP_FIRST, 0, 256);
	EXPECT_EQ(data(OP_READ_RESP_MIDDLE, 2, 256).event, RC_EV_IMPLIED_NAK);
	// More of the same evidence changes nothing.
	EXPECT_EQ(data(OP_READ_RESP_LAST, 3, 256).kind, RC_REQ_DONE);
	EXPECT_EQ(q.retry_left, cfg.retry_cnt - 1);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(rel(runs[0].psn), 1u);
	EXPECT_EQ(runs[0].va, 0x10000u + 256);
	EXPECT_EQ(runs[0].dma_bytes, 256u * 3);
	// The new transmission begins with FIRST where the old one had MIDDLE.
	EXPECT_EQ(data(OP_READ_RESP_FIRST, 1, 256).offset, 256u);
	EXPECT_EQ(data(OP_READ_RESP_MIDDLE, 2, 256).offset, 512u);
	EXPECT_EQ(data(OP_READ_RESP_LAST, 3, 256).offset, 768u);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
}

TEST_F(RcReq, LateReadResponseAfterCompletionIsNotPlaced)
{
	post(RC_OP_READ, 10);
	send();
	data(OP_READ_RESP_ONLY, 0, 10);
	EXPECT_EQ(reap().size(), 1u);
	post(RC_OP_READ, 10);
	send();
	auto act = data(OP_READ_RESP_ONLY, 0, 10);
	EXPECT_EQ(act.kind, RC_REQ_DONE);
	EXPECT_EQ(act.event, RC_EV_DUPLICATE);
	EXPECT_EQ(reap(), Completions{});
}

TEST_F(RcReq, ReadRetransmissionAfterTimeoutIsOneRequest)
{
	post(RC_OP_READ, 256 * 8);
	send();
	data(OP_READ_RESP_FIRST, 0, 256);
	time_out();
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].npkts, 1u);
	EXPECT_EQ(rel(runs[0].psn), 1u);
	pkt k;
	run_pkt(&runs[0], 0, &k);
	EXPECT_EQ(k.opcode, OP_READ_REQUEST);
	EXPECT_EQ(k.payload_bytes, 0);
	EXPECT_EQ(k.va, 0x10000u + 256);
	EXPECT_EQ(k.dma_bytes, 256u * 7);
}

TEST_F(RcReq, ReadSinkFailureEndsTheQpAfterPriorRequests)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_READ, 256 * 2);
	post(RC_OP_SEND, 10);
	send();
	auto act = rx(OP_READ_RESP_FIRST, 1, kAck, 256);
	ASSERT_EQ(act.kind, RC_REQ_PLACE);
	rc_req_fail(&q, act.slot, RC_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, RC_ST_LOC_PROT_ERR}, {2, RC_ST_WR_FLUSH_ERR}}));
	EXPECT_EQ(q.rd_out, 0u);
}

TEST_F(RcReq, LargeReadIsAskedForInStretchesOfTheWindow)
{
	post(RC_OP_READ, 256 * 40 + 1);
	std::vector<u32> asked;
	u32 psn = 0;

	while (psn < 41) {
		for (const run &r : send()) {
			EXPECT_EQ(rel(r.psn) * 256 + 0x10000, r.va);
			asked.push_back(r.dma_bytes);
		}
		EXPECT_LE(q.rd_out, cfg.max_rd_atomic);
		EXPECT_LE(rel(q.psn_max), psn + cfg.window);
		bool ends = psn % 8 == 7 || psn == 40;
		ASSERT_EQ(data(ends ? OP_READ_RESP_LAST : OP_READ_RESP_MIDDLE, psn,
			       psn == 40 ? 1 : 256)
				  .kind,
			  RC_REQ_PLACE)
			<< psn;
		psn++;
	}
	EXPECT_EQ(asked, (std::vector<u32>{2048, 2048, 2048, 2048, 2048, 1}));
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	EXPECT_EQ(q.rd_out, 0u);
}

TEST_F(RcReq, StretchThatEndsEarlyOrLateIsBad)
{
	for (u8 op : {OP_READ_RESP_MIDDLE, OP_READ_RESP_LAST}) {
		start();
		post(RC_OP_READ, 256 * 40);
		send();
		u32 psn = op == OP_READ_RESP_LAST ? 6 : 7;
		for (u32 i = 0; i < psn; i++)
			data(OP_READ_RESP_MIDDLE, i, 256);
		EXPECT_EQ(data(op, psn, 256).kind, RC_REQ_DONE);
		EXPECT_EQ(reap(), (Completions{{0, RC_ST_BAD_RESP_ERR}})) << psn;
	}
}

TEST_F(RcReq, ReadOfTwoGibAtPmtu256FitsThePsnSpace)
{
	const u32 near = 0x7ffff0; // 16 packets before the end

	post(RC_OP_READ, 0x80000000u);
	EXPECT_EQ(send().size(), 2u);
	EXPECT_EQ(rel(q.psn_next), 0x800000u);
	post(RC_OP_SEND, 1);
	// All but the last two stretches have come.
	q.psn_una = q.psn_max = psn_add(kPsn, near);
	q.cur_pkt = ring[0].asked_pkts = near;
	q.rd_out = ring[0].rd_held = 0;
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(runs[1].va, 0x10000u + 0x80000000ull - 8 * 256);
	EXPECT_EQ(runs[1].dma_bytes, 8u * 256);
	for (u32 i = 0; i < 16; i++) {
		auto act =
			data(i % 8 == 7 ? OP_READ_RESP_LAST : OP_READ_RESP_MIDDLE, near + i, 256);
		EXPECT_EQ(act.offset, (near + i) * 256);
	}
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(rel(runs[0].psn), 0x800000u);
	ack(0x800000);
	EXPECT_EQ(reap(), (Completions{{1, 0}}));
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

TEST_F(RcReq, NothingBeginsThatWouldWrapThePsnSpace)
{
	// The READ takes 2^23 PSNs: it begins alone and nothing begins beside it.
	for (u8 op : {RC_OP_READ, RC_OP_SEND}) {
		cfg.max_rd_atomic = 16;
		cfg.window = 1u << 22;
		start();
		post(RC_OP_READ, 0x80000000u);
		post(op, op == RC_OP_READ ? 0x80000000u : 1);
		send();
		EXPECT_EQ(ring[0].state, RC_SQE_ACTIVE);
		EXPECT_EQ(ring[1].state, RC_SQE_QUEUED);
	}
	start();
	post(RC_OP_SEND, 1);
	post(RC_OP_READ, 0x80000000u);
	send();
	EXPECT_EQ(ring[1].state, RC_SQE_QUEUED);
	ack(0);
	send();
	EXPECT_EQ(ring[1].state, RC_SQE_ACTIVE);
}

// ---- atomics ----

TEST_F(RcReq, AtomicResultIsPlaced)
{
	post(RC_OP_FETCH_ADD, 8);
	post(RC_OP_CMP_SWAP, 8);
	send();
	auto act = atomic(0, 0x1122334455667788);
	EXPECT_EQ(act.kind, RC_REQ_PLACE_ATOMIC);
	EXPECT_EQ(act.value, 0x1122334455667788u);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	atomic(1, 1);
	EXPECT_EQ(reap(), (Completions{{1, 0}}));
}

TEST_F(RcReq, LostAtomicAckIsAskedForAgain)
{
	post(RC_OP_FETCH_ADD, 8);
	post(RC_OP_FETCH_ADD, 8);
	send();
	// The second one's result does not stand for the first's.
	EXPECT_EQ(atomic(1, 43).kind, RC_REQ_DONE);
	EXPECT_EQ(reap(), Completions{});
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(rel(runs[0].psn), 0u);
	EXPECT_EQ(atomic(0, 42).value, 42u);
	EXPECT_EQ(atomic(1, 43).value, 43u);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

TEST_F(RcReq, AtomicResultToASendIsBad)
{
	post(RC_OP_SEND, 8);
	send();
	EXPECT_EQ(atomic(0, 1).kind, RC_REQ_DONE);
	EXPECT_EQ(reap(), (Completions{{0, RC_ST_BAD_RESP_ERR}}));
}

TEST_F(RcReq, PlainAckOfAnAtomicIsAnImpliedNak)
{
	post(RC_OP_FETCH_ADD, 8);
	send();
	EXPECT_EQ(ack(0).event, RC_EV_IMPLIED_NAK);
	EXPECT_EQ(reap(), Completions{});
	EXPECT_EQ(packets(send()), 1u);
}

// ---- order: fences, READ depth, LOCAL ----

TEST_F(RcReq, MaxRdAtomicBoundsReadsAndAtomics)
{
	post(RC_OP_READ, 10);
	post(RC_OP_FETCH_ADD, 8);
	post(RC_OP_READ, 10);
	post(RC_OP_SEND, 10);
	EXPECT_EQ(send().size(), 2u);
	data(OP_READ_RESP_ONLY, 0, 10);
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(runs[0].op, RC_OP_READ);
}

TEST_F(RcReq, MaxRdAtomicOfZeroSendsNoRead)
{
	cfg.max_rd_atomic = 0;
	start();
	post(RC_OP_READ, 10);
	EXPECT_TRUE(send().empty());
}

TEST_F(RcReq, FenceWaitsForPriorReads)
{
	post(RC_OP_READ, 10);
	post(RC_OP_SEND, 10, RC_SQE_FENCE);
	EXPECT_EQ(send().size(), 1u);
	data(OP_READ_RESP_ONLY, 0, 10);
	EXPECT_EQ(send().size(), 1u);
}

TEST_F(RcReq, FenceDoesNotWaitForSends)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10, RC_SQE_FENCE);
	EXPECT_EQ(send().size(), 2u);
}

TEST_F(RcReq, RetransmissionIsNotHeldByItsOwnFence)
{
	post(RC_OP_READ, 10, RC_SQE_FENCE);
	EXPECT_EQ(send().size(), 1u);
	time_out();
	EXPECT_EQ(send().size(), 1u);
}

TEST_F(RcReq, LocalRunsInOrder)
{
	post(RC_OP_SEND, 10);
	u32 slot = post(RC_OP_LOCAL);
	post(RC_OP_SEND, 10);
	auto runs = send();
	ASSERT_EQ(runs.size(), 3u);
	EXPECT_EQ(runs[1].kind, RUN_LOCAL);
	EXPECT_EQ(runs[1].slot, slot);
	EXPECT_EQ(rel(runs[2].psn), 1u);
	// and completes in order
	EXPECT_EQ(reap(), Completions{});
	ack(1);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}, {2, 0}}));
}

TEST_F(RcReq, LocalBehindAFailureIsFlushedThoughExecuted)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_LOCAL);
	post(RC_OP_SEND, 10);
	post(RC_OP_LOCAL);
	ASSERT_EQ(send().size(), 4u);
	ack(0, AETH_NAK_REM_OP);
	EXPECT_EQ(reap(), (Completions{{0, RC_ST_REM_OP_ERR},
				       {1, RC_ST_WR_FLUSH_ERR},
				       {2, RC_ST_WR_FLUSH_ERR},
				       {3, RC_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, LocalIsNeverReplayedByGoingBack)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_LOCAL);
	post(RC_OP_SEND, 10);
	post(RC_OP_LOCAL);
	post(RC_OP_SEND, 10);
	send();
	for (int round = 0; round < 2; round++) {
		if (round == 0)
			ack(0, AETH_NAK_PSN_SEQ);
		else
			time_out();
		auto runs = send();
		ASSERT_EQ(runs.size(), 3u);
		for (const run &r : runs)
			EXPECT_EQ(r.kind, RUN_REQUEST);
	}
	ack(2);
	EXPECT_EQ(reap().size(), 5u);
}

TEST_F(RcReq, LocalWithWaitAllWaitsForEveryPriorRequest)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_LOCAL, 0, RC_SQE_WAIT_ALL);
	EXPECT_EQ(send().size(), 1u);
	ack(0);
	auto runs = send();
	ASSERT_EQ(runs.size(), 1u);
	EXPECT_EQ(runs[0].kind, RUN_LOCAL);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, 0}}));
}

TEST_F(RcReq, LocalFailureEndsTheQpInItsTurn)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_LOCAL);
	post(RC_OP_SEND, 10);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 8, &r));
	rc_req_sent(&q, now, &r, 1);
	ASSERT_TRUE(rc_req_next(&q, now, 8, &r));
	ASSERT_EQ(r.kind, RUN_LOCAL);
	rc_req_local_done(&q, r.slot, RC_ST_MW_BIND_ERR);
	EXPECT_TRUE(send().empty());
	EXPECT_EQ(reap(), Completions{});
	ack(0);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, RC_ST_MW_BIND_ERR}, {2, RC_ST_WR_FLUSH_ERR}}));
}

// ---- local failures ----

TEST_F(RcReq, LocalReasonFailsAfterPriorRequestsAreComplete)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	post(RC_OP_SEND, 10);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 8, &r));
	rc_req_sent(&q, now, &r, 1);
	ASSERT_TRUE(rc_req_next(&q, now, 8, &r));
	rc_req_fail(&q, r.slot, RC_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), Completions{});
	EXPECT_FALSE(rc_req_in_error(&q));
	EXPECT_TRUE(send().empty());
	// What was sent before it is still retransmitted.
	time_out();
	EXPECT_EQ(packets(send()), 1u);
	ack(0);
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, RC_ST_LOC_PROT_ERR}, {2, RC_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, LocalReasonInMidMessage)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_WRITE, 256 * 4);
	send(2);
	rc_req_fail(&q, 1, RC_ST_LOC_PROT_ERR);
	EXPECT_TRUE(send().empty());
	ack(2); // some of the failed one, too
	EXPECT_EQ(reap(), (Completions{{0, 0}, {1, RC_ST_LOC_PROT_ERR}}));
	EXPECT_TRUE(rc_req_in_error(&q));
}

TEST_F(RcReq, FailedReadGivesItsDepthBack)
{
	post(RC_OP_SEND, 10);
	post(RC_OP_READ, 10);
	send();
	rc_req_fail(&q, 1, RC_ST_LOC_PROT_ERR);
	EXPECT_EQ(q.rd_out, 0u);
	rc_req_fail(&q, 1, RC_ST_LOC_PROT_ERR);
	EXPECT_EQ(q.rd_out, 0u);
}

TEST_F(RcReq, FailOfACompletedOrUnknownSlotIsIgnored)
{
	post(RC_OP_SEND, 10);
	send();
	ack(0);
	rc_req_fail(&q, 0, RC_ST_LOC_PROT_ERR);
	rc_req_fail(&q, 7, RC_ST_LOC_PROT_ERR);
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	EXPECT_FALSE(rc_req_in_error(&q));
}

// ---- SQD ----

TEST_F(RcReq, DrainBeginsNothingNewAndFinishesTheOld)
{
	post(RC_OP_WRITE, 256 * 4);
	post(RC_OP_SEND, 10);
	run r;
	ASSERT_TRUE(rc_req_next(&q, now, 1, &r));
	rc_req_sent(&q, now, &r, 1);
	rc_req_drain(&q, true);
	EXPECT_FALSE(rc_req_is_drained(&q));
	EXPECT_EQ(packets(send()), 3u);
	time_out();
	EXPECT_EQ(packets(send()), 4u); // retransmission goes on
	ack(3);
	EXPECT_TRUE(rc_req_is_drained(&q));
	EXPECT_TRUE(send().empty());
	EXPECT_EQ(reap(), (Completions{{0, 0}}));
	rc_req_drain(&q, false);
	EXPECT_EQ(packets(send()), 1u);
}

TEST_F(RcReq, IdleQueueIsDrainedAtOnce)
{
	rc_req_drain(&q, true);
	EXPECT_TRUE(rc_req_is_drained(&q));
	post(RC_OP_LOCAL);
	EXPECT_TRUE(send().empty());
	EXPECT_TRUE(rc_req_is_drained(&q));
}

TEST_F(RcReq, DrainDoesNotReviveAnErrorState)
{
	rc_req_flush(&q);
	rc_req_drain(&q, true);
	rc_req_drain(&q, false);
	EXPECT_TRUE(rc_req_in_error(&q));
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
	q.head = q.cur = q.una = q.tail = 0xfffffffe;
	for (int i = 0; i < 4; i++)
		post(RC_OP_SEND, 10);
	EXPECT_EQ(send().size(), 4u);
	ack(1, AETH_NAK_PSN_SEQ);
	EXPECT_EQ(packets(send()), 3u);
	ack(3);
	EXPECT_EQ(reap(), (Completions{{0xfffffffe, 0}, {0xffffffff, 0}, {0, 0}, {1, 0}}));
}

} // namespace
