// SPDX-License-Identifier: GPL-2.0
// RC requester with a rate limit (pacer.h): how much leaves when, in a simulated time.
#include "rc_req_fixture.h"

#include <algorithm>
#include <random>

namespace {

constexpr u32 kFull = 256 + PACER_PKT_BYTES; // a packet of the fixture's path MTU

// What has left by when.
struct Mark {
	u64 ns, bytes;
};

class RcReqRate : public RcReq {
protected:
	std::vector<Mark> marks;
	u64 left = 0; // bytes, with headers

	void limit(u32 kbps, u32 burst_bytes)
	{
		cfg.rate = {kbps, burst_bytes};
		start();
	}

	u64 ns_for(u64 bytes) const { return bytes * 8000000 / cfg.rate.kbps; }

	// Sends what may go now, and returns how many packets.
	u32 go(u32 max_pkts = 64)
	{
		std::vector<run> runs = send(max_pkts);

		for (const run &r : runs)
			left += r.bytes + u64{r.npkts} * PACER_PKT_BYTES;
		if (!runs.empty())
			marks.push_back({now, left});
		return packets(runs);
	}

	void ack_all()
	{
		if (q.psn_una != q.psn_max)
			ack(rel(psn_add(q.psn_max, PSN_MASK)));
		reap();
	}

	// Until the pacer lets something go. No deadline on the way is a loss.
	void wait()
	{
		u64 until = q.pacer.until_ns;

		ASSERT_GT(until, now);
		while (now < until) {
			now = rc_req_deadline(&q);
			ASSERT_EQ(rc_req_timeout(&q, now), RC_EV_NONE);
		}
		EXPECT_EQ(now, until);
	}

	// Between any two moments: no more than the burst and the rate's share.
	void check_bound(u32 kbps, u64 burst)
	{
		for (size_t i = 0; i < marks.size(); i++) {
			u64 before = i ? marks[i - 1].bytes : 0;

			for (size_t j = i; j < marks.size(); j++) {
				u64 share = (marks[j].ns - marks[i].ns) * kbps / 8000000;

				ASSERT_LE(marks[j].bytes - before, burst + share + 1)
					<< kbps << " kbit/s, burst " << burst;
			}
		}
	}
};

TEST_F(RcReqRate, NeverMoreThanBurstAndRateAndNotMuchLess)
{
	std::mt19937 rng(1);

	cfg.ack_timeout.first_ns = 0;
	for (u32 kbps : {64u, 1000u, 99999u, 10000000u})
		for (u32 burst : {1u, 1000u, 5000u, 100000u}) {
			u64 begin = now;

			marks.clear();
			left = 0;
			limit(kbps, burst);
			for (int i = 0; i < 400; i++) {
				while (q.head - q.tail < 16)
					post(i & 1 ? WR_SEND : WR_WRITE, rng() % 3000);
				go(1 + rng() % 64);
				if (rng() % 4)
					ack_all();
				else
					now += rng() % (1 + ns_for(200));
				while (q.psn_una == q.psn_max && !rc_req_needs_time(&q))
					FAIL();
				if (q.pacer.until_ns > now)
					wait();
				else
					ack_all();
			}
			u64 most = std::max(burst, kFull);

			check_bound(kbps, most);
			// With a smaller burst the least wait costs rate.
			if (most * 8000000 / kbps < 2 * PACER_LEAST_WAIT_NS)
				continue;
			EXPECT_GE(left + 2 * most + 2 * kFull, (now - begin) * kbps / 8000000)
				<< kbps << " " << burst;
		}
}

TEST_F(RcReqRate, ATinyBurstWaitsTheLeastTime)
{
	limit(100000000, 1);
	post(WR_SEND, 2 * 256);
	EXPECT_EQ(go(), 1u);
	EXPECT_EQ(go(), 0u);
	EXPECT_EQ(q.pacer.until_ns, now + PACER_LEAST_WAIT_NS);
}

TEST_F(RcReqRate, ABurstThenHalfOfItAtATime)
{
	cfg.window = 64;
	limit(8000, 10 * kFull); // a byte per microsecond
	post(WR_SEND, 100 * 256);
	EXPECT_EQ(go(), 10u);
	EXPECT_EQ(go(), 0u);
	EXPECT_EQ(q.pacer.until_ns, now + ns_for(5 * kFull));
	ack_all();
	EXPECT_EQ(rc_req_deadline(&q), q.pacer.until_ns);
	wait();
	EXPECT_EQ(go(), 5u);
	ack_all();
	now += ns_for(1000 * kFull); // long enough to be full again, and no fuller
	EXPECT_EQ(rc_req_timeout(&q, now), RC_EV_NONE);
	EXPECT_EQ(go(), 10u);
}

TEST_F(RcReqRate, WithoutALimitTimeIsNotAsked)
{
	post(WR_SEND, 3 * 256);
	EXPECT_FALSE(rc_req_needs_time(&q));
	EXPECT_EQ(go(), 3u);
	limit(1000, 0);
	EXPECT_TRUE(rc_req_needs_time(&q));
}

// Else the ACK timer would run for packets that nobody was asked to acknowledge.
TEST_F(RcReqRate, TheLastPacketOfABurstAsksForAnAck)
{
	run r;

	cfg.window = 64;
	limit(8000, 3 * kFull);
	post(WR_SEND, 100 * 256);
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	EXPECT_EQ(r.npkts, 3u);
	EXPECT_TRUE(r.ack_req);
	rc_req_sent(&q, now, &r, 3);
	EXPECT_FALSE(rc_req_next(&q, now, 64, &r));
	ack(2);
	// Nothing is under way: only the pacer's moment is left.
	EXPECT_EQ(q.deadline_ns, 0u);
	EXPECT_GT(rc_req_deadline(&q), now);
}

TEST_F(RcReqRate, ThePacersMomentIsNoLoss)
{
	cfg.retry_cnt = 0;
	cfg.ack_timeout.first_ns = 1000;
	limit(80, kFull); // 32 ms for a packet: much longer than the ACK timeout
	post(WR_SEND, 5 * 256);
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(go(), 1u) << i;
		ack_all();
		if (i < 4)
			wait();
	}
	EXPECT_EQ(q.state, RC_REQ_READY);
	EXPECT_EQ(q.retry_left, 0);
}

TEST_F(RcReqRate, ALossIsStillOne)
{
	limit(8000, 4 * kFull);
	post(WR_SEND, 256);
	EXPECT_EQ(go(), 1u);
	EXPECT_EQ(time_out(), RC_EV_TIMEOUT);
	EXPECT_EQ(q.retry_left, 1);
}

TEST_F(RcReqRate, WhatIsSentAgainIsPacedToo)
{
	limit(8000, 4 * kFull);
	post(WR_SEND, 4 * 256);
	EXPECT_EQ(go(), 4u);
	ack(0, AETH_NAK_PSN_SEQ);
	EXPECT_EQ(go(), 0u);
	wait();
	EXPECT_EQ(go(), 2u);
	check_bound(8000, 4 * kFull);
}

// It cannot be answered, so to wait for it costs no further retry.
TEST_F(RcReqRate, WhatIsHeldBackIsNotWaitedFor)
{
	cfg.retry_cnt = 1;
	cfg.ack_timeout.first_ns = 1000;
	limit(80, kFull);
	post(WR_SEND, 256);
	EXPECT_EQ(go(), 1u);
	ack(0, AETH_NAK_PSN_SEQ);
	EXPECT_EQ(q.retry_left, 0);
	EXPECT_EQ(go(), 0u);
	wait();
	EXPECT_EQ(go(), 1u);
	EXPECT_EQ(q.state, RC_REQ_READY);
	EXPECT_EQ(time_out(), RC_EV_TIMEOUT); // and now it is
	EXPECT_EQ(q.state, RC_REQ_ERROR);
}

TEST_F(RcReqRate, ABurstBelowAPacketIsAPacket)
{
	limit(8000, 1);
	post(WR_SEND, 3 * 256);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(go(), 1u);
		ack_all();
		if (i < 2)
			wait();
	}
	check_bound(8000, kFull);
}

TEST_F(RcReqRate, MessagesOfNothingCountToo)
{
	limit(8000, 1000);
	start(64);
	for (int i = 0; i < 64; i++)
		post(WR_SEND, 0);
	u32 n = go();

	EXPECT_LE(n * PACER_PKT_BYTES, 1000u);
	EXPECT_GE(n, 10u);
	EXPECT_GT(q.pacer.until_ns, now);
}

TEST_F(RcReqRate, RequestsForAnswersCountAsOnePacket)
{
	cfg.max_rd_atomic = 16;
	limit(8000, kFull);
	for (int i = 0; i < 16; i++)
		post(i & 1 ? WR_FETCH_ADD : WR_READ, 8);
	u32 n = go();

	EXPECT_EQ(left, n * u64{PACER_PKT_BYTES});
	EXPECT_LT(n, 5u);
	wait();
	EXPECT_GE(go(), 1u);
	check_bound(8000, kFull);
}

TEST_F(RcReqRate, LocalOperationsDoNot)
{
	limit(80, kFull);
	post(WR_SEND, 256);
	post(WR_LOCAL);
	post(WR_LOCAL);
	send();
	EXPECT_EQ(q.cur, q.head);
}

TEST_F(RcReqRate, UnreliableToo)
{
	cfg.service = BTH_UC;
	limit(8000, 2 * kFull);
	post(WR_WRITE, 10 * 256);
	EXPECT_EQ(go(), 2u);
	EXPECT_GT(rc_req_deadline(&q), now);
	for (int i = 0; i < 8; i++) {
		wait();
		EXPECT_EQ(go(), 1u);
	}
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_SUCCESS}}));
	check_bound(8000, 2 * kFull);
}

TEST_F(RcReqRate, APartThatWasTakenCountsAlone)
{
	run r;

	limit(8000, 4 * kFull);
	post(WR_SEND, 4 * 256);
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	EXPECT_EQ(r.npkts, 4u);
	rc_req_sent(&q, now, &r, 1);
	ASSERT_TRUE(rc_req_next(&q, now, 64, &r));
	EXPECT_EQ(r.npkts, 3u);
	rc_req_sent(&q, now, &r, 3);
	EXPECT_LE(q.pacer.full_ns, now + ns_for(4 * kFull));
}

TEST_F(RcReqRate, AnRnrWaitComesFirst)
{
	limit(8000, kFull);
	post(WR_SEND, 3 * 256);
	EXPECT_EQ(go(), 1u);
	EXPECT_EQ(go(), 0u);
	ack(0, AETH_RNR_NAK | 20);
	EXPECT_EQ(q.pacer.until_ns, 0u); // else a moment that is over would remain
	now += rc_rnr_timer_ns(20);
	EXPECT_EQ(rc_req_deadline(&q), now);
	EXPECT_EQ(rc_req_timeout(&q, now), RC_EV_NONE);
	EXPECT_EQ(go(), 1u);
}

TEST_F(RcReqRate, ItCanBeChangedAndLifted)
{
	const pacer_rate twice = {16000, kFull}, none = {0, 0};

	limit(8000, kFull);
	post(WR_SEND, 16 * 256);
	EXPECT_EQ(go(), 1u);
	EXPECT_EQ(go(), 0u);
	rc_req_set_rate(&q, &twice);
	EXPECT_EQ(go(), 1u);
	EXPECT_EQ(go(), 0u);
	EXPECT_EQ(q.pacer.until_ns, now + ns_for(kFull) / 2);
	rc_req_set_rate(&q, &none);
	EXPECT_EQ(go(), 14u);
	EXPECT_FALSE(rc_req_needs_time(&q));
}

TEST_F(RcReqRate, ExtremesDoNotOverflow)
{
	for (u32 kbps : {1u, 0xffffffffu})
		for (u32 burst : {0u, 1u, 0xffffffffu})
			for (u64 at : {u64{1}, u64{1} << 62}) {
				now = at;
				limit(kbps, burst);
				set_window(1 << 20);
				post(WR_WRITE, 0x80000000u);
				EXPECT_GT(go(1 << 20), 0u);
				EXPECT_TRUE(!q.pacer.until_ns || q.pacer.until_ns > now);
			}
}

// Of the program's and the congestion controller's.
TEST_F(RcReqRate, TheLowerOfTwoRatesHolds)
{
	rc_window grows, fixed;

	cfg.max_window = 100;
	limit(10000, 0);
	grows = rc_req_get_window(&q);
	rc_window_init(&fixed, 100, 0);
	q.cc.kbps = 4000;
	rc_req_set_window(&q, &grows);
	EXPECT_EQ(q.pacer.kbps, 4000u);
	rc_req_set_window(&q, &fixed); // within the host there is no controller
	EXPECT_EQ(q.pacer.kbps, 10000u);
	rc_req_set_window(&q, &grows);
	EXPECT_EQ(q.pacer.kbps, 4000u);
	q.cc.kbps = 20000;
	rc_req_set_window(&q, &grows);
	EXPECT_EQ(q.pacer.kbps, 10000u);
	q.cc.kbps = 4000;
	rc_req_set_window(&q, &grows);
	cfg.rate.kbps = 1000;
	rc_req_set_rate(&q, &cfg.rate);
	EXPECT_EQ(q.pacer.kbps, 1000u);
}

// It has never more than one packet to send, so the rate is what stops it each time.
TEST_F(RcReqRate, AfterMarksOneMessageAtATimeBecomesFasterAgain)
{
	constexpr u64 kAnswer = 20000;
	auto one = [&] {
		post(WR_WRITE, 64);
		if (!go()) {
			wait();
			EXPECT_EQ(go(), 1u);
		}
		now += kAnswer;
		ack_all();
	};

	cfg.max_window = 1024;
	cfg.cc = cc_find("hybrid");
	cfg.ack_timeout.first_ns = 1000000000;
	start(64);
	for (int i = 0; i < 1000; i++) {
		one();
		rc_req_cnp(&q, now);
	}
	EXPECT_LT(q.cc.kbps, 5000u);
	EXPECT_GT(q.cc.kbps, 0u);
	for (int i = 0; i < 1000; i++)
		one();
	EXPECT_TRUE(!q.cc.kbps || q.cc.kbps > 20000) << q.cc.kbps;
}

} // namespace
