// SPDX-License-Identifier: GPL-2.0
// RC requester, one behaviour at a time: RNR waits, timeouts, and how many of either.
#include "rc_req_fixture.h"

namespace {

// ---- RNR ----

TEST_F(RcReq, RnrNakIsWaitedForAndThenResumed)
{
	const u8 field = 14;
	const u64 wait = rc_rnr_timer_ns(field);

	post(WR_SEND, 10);
	post(WR_SEND, 10);
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

TEST_F(RcReq, RnrWaitIsOverInTimeThoughTheTimerIsLate)
{
	post(WR_SEND, 10);
	send();
	ack(0, AETH_RNR_NAK | 14);
	now += rc_rnr_timer_ns(14);
	EXPECT_EQ(packets(send()), 1u);
}

TEST_F(RcReq, WorkPostedDuringAnRnrWaitStaysBack)
{
	post(WR_SEND, 10);
	send();
	ack(0, AETH_RNR_NAK | 1);
	post(WR_SEND, 10);
	EXPECT_TRUE(send().empty());
}

TEST_F(RcReq, RnrRetriesExhaust)
{
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	send();
	for (int i = 0; i < cfg.rnr_retry; i++) {
		ack(0, AETH_RNR_NAK | 1);
		ASSERT_FALSE(rc_req_in_error(&q));
		now = rc_req_deadline(&q);
		rc_req_timeout(&q, now);
		EXPECT_EQ(packets(send()), 2u);
	}
	ack(0, AETH_RNR_NAK | 1);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_RNR_RETRY_EXC_ERR}, {1, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, DuplicateOfAnRnrNakIsOneWaitAndOneRetry)
{
	post(WR_SEND, 10);
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
	post(WR_SEND, 10);
	send();
	for (int i = 0; i < 100; i++) {
		ack(0, AETH_RNR_NAK | 1);
		ASSERT_FALSE(rc_req_in_error(&q));
		now = rc_req_deadline(&q);
		rc_req_timeout(&q, now);
		ASSERT_EQ(packets(send()), 1u);
	}
}

// If softirqs only asked, the program would have no time to become ready.
TEST_F(RcReq, ReceiverThatIsNotReadyAgainAndAgainIsAskedLessOften)
{
	u64 wait = rc_rnr_timer_ns(1);

	cfg.rnr_retry = 7;
	cfg.max_window = 64;
	start();
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	send();
	for (int i = 0; i < 20; i++) {
		ack(0, AETH_RNR_NAK | 1);
		EXPECT_EQ(rc_req_deadline(&q), now + wait) << i;
		now = rc_req_deadline(&q);
		EXPECT_EQ(packets(send()), i ? 1u : 2u) << i;
		wait = std::min(2 * wait, u64{RC_REQ_RNR_BACKOFF_NS});
	}
	ack(0);
	send();
	ack(1, AETH_RNR_NAK | 1);
	EXPECT_EQ(rc_req_deadline(&q), now + rc_rnr_timer_ns(1));
}

TEST_F(RcReq, LongRnrWaitsStayAsTheyAre)
{
	cfg.rnr_retry = 7;
	start();
	post(WR_SEND, 10);
	send();
	for (int i = 0; i < 3; i++) {
		ack(0, AETH_RNR_NAK | 20);
		EXPECT_EQ(rc_req_deadline(&q), now + rc_rnr_timer_ns(20));
		now = rc_req_deadline(&q);
		send();
	}
}

TEST_F(RcReq, ProgressRestoresTheRnrRetries)
{
	post(WR_SEND, 10);
	post(WR_SEND, 10);
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

// ---- timeouts ----

TEST_F(RcReq, TimeoutResendsFromTheOldest)
{
	for (int i = 0; i < 3; i++)
		post(WR_SEND, 10);
	send();
	ack(0);
	EXPECT_EQ(time_out(), RC_EV_TIMEOUT);
	auto runs = send();
	ASSERT_EQ(runs.size(), 2u);
	EXPECT_EQ(rel(runs[0].psn), 1u);
}

TEST_F(RcReq, EarlyTimerCallDoesNothing)
{
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(rc_req_timeout(&q, rc_req_deadline(&q) - 1), RC_EV_NONE);
	EXPECT_TRUE(send().empty());
	EXPECT_EQ(q.retry_left, cfg.retry_cnt);
}

TEST_F(RcReq, RetriesExhaust)
{
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	send();
	for (int i = 0; i < cfg.retry_cnt; i++) {
		time_out();
		ASSERT_EQ(packets(send()), 2u);
	}
	time_out();
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_RETRY_EXC_ERR}, {1, WR_ST_WR_FLUSH_ERR}}));
}

TEST_F(RcReq, WaitsDoubleTwiceUntilProgress)
{
	cfg.retry_cnt = 7;
	start();
	post(WR_SEND, 10);
	post(WR_SEND, 10);
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
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	send();
	now += 10;
	ack(1, AETH_NAK_PSN_SEQ);
	send();
	EXPECT_EQ(rc_req_deadline(&q), now + kTimeout);
}

TEST_F(RcReq, ProgressRestoresTheRetries)
{
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	send();
	time_out();
	send();
	ack(0);
	EXPECT_EQ(q.retry_left, cfg.retry_cnt);
}

TEST_F(RcReq, TimeoutZeroIsNever)
{
	cfg.ack_timeout.first_ns = 0;
	start();
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(rc_req_deadline(&q), 0u);
}

// ---- a silent peer ----

// What rdma_cm sets: a timeout of 19, and seven retries.
class RcReqSilence : public RcReq {
protected:
	static constexpr u64 kNominal = 4096ull << 19, kAll = 60000000000;

	RcReqSilence()
	{
		cfg.retry_cnt = 7;
		cfg.ack_timeout = {4 * kNominal, kNominal, kAll};
		start();
	}

	// How long until the peer is given up; each wait has its full length.
	u64 silence(u64 least)
	{
		u64 began = now;

		send();
		while (!rc_req_in_error(&q)) {
			u64 then = now;

			time_out();
			EXPECT_GE(now - then, least);
			send();
		}
		return now - began;
	}
};

TEST_F(RcReqSilence, IsNoLongerThanAllOfIt)
{
	post(WR_SEND, 10);
	EXPECT_LE(silence(kNominal), kAll);
	EXPECT_EQ(reap(), (Completions{{0, WR_ST_RETRY_EXC_ERR}}));
}

TEST_F(RcReqSilence, IsWithinItAfterAnswersToo)
{
	post(WR_SEND, 10);
	send();
	now += 1000;
	ack(0);
	post(WR_SEND, 10);
	EXPECT_LE(silence(kNominal), kAll);
}

// The specification's minimum has priority.
TEST_F(RcReqSilence, MakesAllAttemptsWithinAShortLimit)
{
	cfg.ack_timeout.all_ns = 5000000000;
	start();
	post(WR_SEND, 10);
	EXPECT_EQ(silence(kNominal), 8 * kNominal);
}

TEST_F(RcReqSilence, EndsWithEachAnswer)
{
	for (int i = 0; i < 3; i++)
		post(WR_SEND, 10);
	send();
	for (int i = 0; i < 6; i++)
		time_out(), send();
	ack(0);
	EXPECT_GT(silence(kNominal), 3 * kAll / 4);
}

TEST_F(RcReqSilence, IsEndedByASequenceNak)
{
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	send();
	for (int i = 0; i < 5; i++)
		time_out(), send();
	u64 at = rc_req_deadline(&q);
	ack(0, AETH_NAK_PSN_SEQ);
	send();
	EXPECT_GE(rc_req_deadline(&q), at);
}

TEST_F(RcReqSilence, IsSoonNoticedOfAPeerThatAnswersSoon)
{
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(rc_req_deadline(&q), now + kAll / 8);
	now += 1000000;
	ack(0);
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(rc_req_deadline(&q),
		  now + kNominal + RC_REQ_PEER_OFF_NS + RC_REQ_ANSWER_TIMES * 1000000ull);
	// An answer to what was sent twice does not tell how long an answer takes.
	time_out();
	send();
	now += kNominal;
	ack(1);
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(rc_req_deadline(&q),
		  now + kNominal + RC_REQ_PEER_OFF_NS + RC_REQ_ANSWER_TIMES * 1000000ull);
}

// The next twenty answers do not hide one slow answer.
TEST_F(RcReqSilence, RemembersASlowAnswer)
{
	constexpr u64 kSlow = 300000000, kQuick = 1000;
	start(32);
	for (u32 i = 0; i < 20; i++) {
		post(WR_SEND, 10);
		send();
		now += i ? kQuick : kSlow;
		ack(i);
	}
	post(WR_SEND, 10);
	send();
	EXPECT_GE(rc_req_deadline(&q), now + kNominal + RC_REQ_PEER_OFF_NS + kSlow);
	EXPECT_LT(rc_req_deadline(&q), now + kNominal + RC_REQ_PEER_OFF_NS + 2 * kSlow);
}

// It does not shorten a usual timeout.
TEST_F(RcReqSilence, ShortTimeoutsStayFourTimesAsLong)
{
	cfg.ack_timeout = {4 * (4096ull << 14), 4096ull << 14, kAll};
	start();
	post(WR_SEND, 10);
	send();
	now += 1000;
	ack(0);
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(rc_req_deadline(&q), now + 4 * (4096ull << 14));
}

// A coarse clock may seem to go back a little.
TEST_F(RcReqSilence, EndsThoughTheClockIsCoarse)
{
	post(WR_SEND, 10);
	post(WR_SEND, 10);
	send();
	now -= 500;
	ack(0);
	EXPECT_LE(rc_req_deadline(&q), now + kAll);
	EXPECT_LE(q.answer_ns, 1u);
}

TEST_F(RcReq, TimerStopsWhenAllIsAcknowledged)
{
	post(WR_SEND, 10);
	send();
	EXPECT_EQ(rc_req_deadline(&q), now + kTimeout);
	ack(0);
	EXPECT_EQ(rc_req_deadline(&q), 0u);
	EXPECT_EQ(rc_req_timeout(&q, now + 10 * kTimeout), RC_EV_NONE);
}

} // namespace
