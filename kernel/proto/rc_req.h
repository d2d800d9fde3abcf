/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requester of a connected QP (RC, UC as the unreliable case, and XRC, which differs by a header):
 * which packets of which work request are sent next, what an acknowledge, a READ response or a
 * timeout means, when a work request is complete and with which status. IBTA 9.7 (requester
 * behaviour), 9.7.5 (ACK protocol), 9.8 (UC), annex A14 (XRC).
 *
 * A READ larger than the window is sent as several READ requests, so that no more responses are
 * under way than the window allows: the responder knows only from the request how much it may send.
 *
 * Sans-IO: the caller serialises calls, moves the bytes, keeps the WQEs' SGEs, and executes what is
 * returned. Times are nanoseconds of one monotonic clock. Work requests live in a ring of struct
 * rc_sqe that the caller allocates, as large as its send queue; indices are free-running.
 *
 * Order of calls: rc_req_post() at any time; rc_req_next() and rc_req_sent() until there is
 * nothing; rc_req_rx(), then rc_req_placed() or rc_req_fail(), for each packet, and for each that
 * it had kept once rc_req_ahead_is_next(); then rc_req_missing() if rc_req_has_missing();
 * rc_req_timeout() at rc_req_deadline(); after each of these rc_req_reap() until it returns false.
 */
#ifndef TERN_PROTO_RC_REQ_H
#define TERN_PROTO_RC_REQ_H

#include "cc.h"
#include "pacer.h"
#include "psn.h"
#include "rtt.h"
#include "run.h"
#include "tuning.h"
#include "wr.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rc_sqe_state {
	RC_SQE_QUEUED,		/* no PSN yet */
	RC_SQE_ACTIVE,		/* PSNs assigned, on the wire or about to be */
	RC_SQE_FAILED,		/* status is set; takes effect when prior requests are complete */
	RC_SQE_DONE,
};

struct rc_sqe {
	struct wr wr;		/* from rc_req_post() */
	/* the engine's */
	u8  state;		/* enum rc_sqe_state */
	u8  status;		/* enum wr_status */
	bool cut;		/* READ: a request ended where none did at first */
	u32 first_psn;
	u32 npkts;
	u32 asked_pkts;		/* wr_has_response(): responses asked for at least once */
	u32 rd_held;		/* wr_has_response(): of max_rd_atomic, how many it holds */
	u32 read_pkts;		/* READ: responses that one READ request asks for */
};

/* How long the requester waits for a peer that is silent. */
struct rc_ack_timeout {
	u64 first_ns;		/* the first wait, until the peer has answered once; 0: never */
	u64 least_ns;		/* no wait is shorter; 0: and none is longer for an unknown peer */
	u64 all_ns;		/* limit of all waits together, if least_ns is not 0; 0: no limit */
};

struct rc_req_cfg {
	u8  service;		/* BTH_RC, BTH_UC or BTH_XRC */
	u8  retry_cnt;		/* 0..7; larger values for tests */
	u8  rnr_retry;		/* 0..6; 7: for ever */
	u8  max_rd_atomic;
	u16 pkey;
	u32 dqpn;
	u32 pmtu;		/* bytes: 256, 512, 1024, 2048 or 4096 */
	u32 sq_psn;
	u32 window;		/* packets under way, requests and READ responses, 1 .. 2^22 */
	/* limit of its growth; if it is not above window: no growth, and no round trip is timed */
	u32 max_window;
	struct rc_ack_timeout ack_timeout;
	/* NULL: the default; none is used without growth of the window */
	const struct cc_ops *cc;
	const struct cc_params *cc_params;	/* NULL: the defaults; else they stay */
	struct pacer_rate rate;	/* of request packets, those that are sent again too */
	u64 clock_ns;		/* a time may be this old where rc_req_times_run() is false */
	/* packets: responses less far ahead of the expected one are kept; 0: none are */
	u32 ahead_pkts;
};

enum rc_gap {
	RC_GAP_NONE,
	RC_GAP_OF_PEER,		/* the peer misses psn_una; how much behind it, is not known */
	RC_GAP_OF_US,		/* responses are missing from psn_una to end_psn */
};

/* A packet of a work request. */
struct rc_place {
	u32 slot;
	u32 pkt;
};

/* What is sent again: rc_resend.h. */
struct rc_resend {
	union {
		struct {
			u8  gap;	/* enum rc_gap: what is known to be missing */
			/* all is sent again because of a gap: whether the peer keeps shows now */
			bool learns;
			bool behind;	/* sending went back; over when cur is at far again */
			/* what is before end_psn goes again, then sending is at next */
			bool hole;
			/* the peer has all before heard_psn, and responses are missing */
			bool heard;
			/* the peer misses nak_psn, and responses before it are missing */
			bool nak_ahead;
			/* a loss of what is before cut_psn does not cut the window again */
			bool cut;
			u8  unused;
		};
		u64 any;	/* 0: none of these, all goes its usual way */
	};
	u64 hole_ns;		/* until when a gap is left alone; 0: none is */
	u64 probe_ns;		/* when the next probe is due; 0: none is */
	bool keeps;		/* the peer keeps what comes out of order */
	bool began;		/* something was sent again since sending went back */
	u8  misses;		/* in a row: more was missing where what was sent again ended */
	u8  probes;		/* since there was progress */
	u8  backoff;		/* doublings of the wait for a probe, since an answer was timed */
	bool reorders;		/* gaps have closed by themselves */
	u8  in_order;		/* gaps in a row that did not; 0: the next one is left alone */
	struct rc_place far;	/* all before it was sent once */
	struct rc_place next;	/* where sending stood before the hole */
	u32 resent_psn;		/* all before it was sent again, since sending went back */
	u32 end_psn;		/* of the gap, or the probe, as far as it is sent again */
	u32 sent_max;		/* psn_max when the gap was found: all before it was sent earlier */
	u32 pkts;		/* that the peer's next gap is believed to have */
	u32 heard_psn;
	u32 nak_psn;
	u32 cut_psn;
};

enum rc_req_state {
	RC_REQ_READY,
	RC_REQ_DRAINING,	/* SQD: begins no new work request */
	RC_REQ_ERROR,		/* everything left is flushed */
};

/* What happened, for counters; never for control. */
enum rc_event {
	RC_EV_NONE,
	RC_EV_GHOST,		/* acknowledge outside the window */
	RC_EV_DUPLICATE,
	RC_EV_OUT_OF_SEQ,
	RC_EV_SEQ_NAK,
	RC_EV_RNR_NAK,
	RC_EV_IMPLIED_NAK,
	RC_EV_TIMEOUT,
	RC_EV_PROBE,		/* an answer is late: one packet goes again to find out */
	RC_EV_HOLE,		/* a gap that was left alone is sent again */
	RC_EV_AHEAD,		/* an answer that was expected later: one before it is missing */
	RC_EV_REMOTE_ERR,
	RC_EV_BAD_RESP,
	RC_EV_REQ_ERR,		/* responder: request refused */
	RC_EV_DROPPED,		/* responder: waits for a retransmission, or is in error */
};

struct rc_req {
	struct rc_req_cfg cfg;
	struct rc_sqe *ring;
	u32 mask;

	u32 head;		/* rc_req_post() fills this slot */
	u32 cur;		/* slot being sent */
	u32 cur_pkt;		/* next packet of it */
	u32 una;		/* oldest slot that is not DONE */
	u32 tail;		/* oldest slot that is not reaped */

	u32 psn_next;		/* for the next new packet */
	u32 psn_max;		/* one after the last PSN sent (READ: after its last response) */
	u32 psn_una;		/* oldest unacknowledged */
	u32 since_ackreq;	/* packets sent since one asked for an ACK */
	struct rc_window window;
	struct cc cc;
	struct rtt rtt;
	struct pacer pacer;
	u32 steered_kbps;	/* the controller's rate that the pacer has; 0: it has cfg.rate */
	/* of the last rc_req_next() */
	u32 most_pkts;		/* that pacer and hole let go */
	u32 ask_end;		/* one after the last response that its request asks for */

	u32 rd_out;		/* requests on the wire that max_rd_atomic limits */
	u8  state;		/* enum rc_req_state */
	u8  retry_left;
	u8  rnr_left;
	u8  backoff;		/* doublings of the next wait */
	bool recovering;	/* went back: ignore old evidence of the loss until progress */
	bool asking_again;	/* the same until again_psn: rc_req_ask_again() */
	u32 again_psn;
	u64 deadline_ns;	/* 0: timer off */
	u64 armed_ns;		/* when that was set */
	u64 silent_ns;		/* when the peer began to owe an answer */
	u64 answer_ns;		/* time of an answer: the longest, slowly forgotten; 0: not known */
	u64 rnr_until_ns;	/* 0: not waiting */
	u64 rnr_wait_ns;	/* the last wait; 0: none since there was progress */
	struct rc_resend resend;
};

/*
 * entries: power of two; the ring need not be zeroed. first: index of the first work request, so
 * that engine and send queue count alike. Starts READY.
 */
void rc_req_init(struct rc_req *q, struct rc_sqe *ring, u32 entries, u32 first,
		 const struct rc_req_cfg *cfg);

/*
 * Replace the window. READs that begin later are cut to match it. More than that may already be
 * under way; unless rc_req_answer_is_due(), the requester may need the ACK timer to learn what
 * became of it. The controller's rate holds while the window is one that changes.
 */
void rc_req_set_window(struct rc_req *q, const struct rc_window *window);

/* A copy of the window, for a later rc_req_set_window(). */
static inline struct rc_window rc_req_get_window(const struct rc_req *q)
{
	return q->window;
}

/* Limit the window's growth to max packets from now on; see rc_window_limit(). */
static inline void rc_req_limit_window(struct rc_req *q, u32 max)
{
	rc_window_limit(&q->window, max);
}

/* Append a work request; false if the ring is full (head - tail == entries). */
static inline bool rc_req_post(struct rc_req *q, const struct wr *wr)
{
	struct rc_sqe *s;

	if (q->head - q->tail > q->mask)
		return false;
	s = &q->ring[q->head & q->mask];
	s->wr = *wr;
	s->state = RC_SQE_QUEUED;
	s->status = WR_ST_SUCCESS;
	s->cut = false;
	s->first_psn = 0;
	s->npkts = 0;
	s->asked_pkts = 0;
	s->rd_held = 0;
	s->read_pkts = 0;
	q->head++;
	return true;
}

/* Does rc_req_next() need the time? If not, now_ns may be 0. */
static inline bool rc_req_needs_time(const struct rc_req *q)
{
	return q->rnr_until_ns || q->pacer.kbps;
}

/*
 * The next packets to send, at most max_pkts (>= 1). False if there is nothing to do now. A second
 * call without rc_req_sent() gives the same run.
 */
bool rc_req_next(struct rc_req *q, u64 now_ns, u32 max_pkts, struct run *run);

/* The network took n <= run->npkts packets of the run. 0: none, try later. */
void rc_req_sent(struct rc_req *q, u64 now_ns, const struct run *run, u32 n);

/*
 * A RUN_LOCAL was executed, before the next call of rc_req_next(). status: WR_ST_SUCCESS, or the
 * error that ends the QP.
 */
void rc_req_local_done(struct rc_req *q, u32 slot, enum wr_status status);

/*
 * Work request slot cannot go on for a local reason (its SGEs are refused). It fails once all prior
 * requests are complete; then the QP is in error.
 */
void rc_req_fail(struct rc_req *q, u32 slot, enum wr_status status);

/* Change an attribute of cfg, for what is under way, too: counting and waiting start again. */
void rc_req_set_retries(struct rc_req *q, u8 retry_cnt, u8 rnr_retry);
void rc_req_set_ack_timeout(struct rc_req *q, u64 now_ns, const struct rc_ack_timeout *timeout);
/* Begins with a burst. */
void rc_req_set_rate(struct rc_req *q, const struct pacer_rate *rate);

/* The next completion in order; false if there is none. */
bool rc_req_reap(struct rc_req *q, u32 *slot, enum wr_status *status);

/* QP to ERROR: what is not complete is reaped with WR_ST_WR_FLUSH_ERR. */
void rc_req_flush(struct rc_req *q);

/* Enter or leave SQD. Drained: every work request that has begun is complete. */
void rc_req_drain(struct rc_req *q, bool on);
bool rc_req_is_drained(const struct rc_req *q);

/* Is nothing under way? Then no late answer can matter. */
static inline bool rc_req_is_quiet(const struct rc_req *q)
{
	return q->psn_una == q->psn_max;
}

/* Does the last packet sent ask for an answer? */
static inline bool rc_req_answer_is_due(const struct rc_req *q)
{
	return !q->since_ackreq;
}

/* Was the run's first packet sent before? */
static inline bool rc_req_is_resent(const struct rc_req *q, const struct run *run)
{
	return psn_before(run->psn, q->psn_max);
}

/* Is the time that answers take measured? A window that never changes is of no network. */
static inline bool rc_req_is_timed(const struct rc_req *q)
{
	return !rc_window_is_fixed(&q->window);
}

/* Does the congestion controller say when packets leave? Any context may ask. */
static inline bool rc_req_is_steered(const struct rc_req *q)
{
	return READ_ONCE(q->steered_kbps);
}

/* One packet of these is timed, and a round has no fewer. */
static inline u32 rc_req_rtt_pkts(const struct rc_req *q)
{
	return q->window.pkts < RC_RTT_PKTS ? q->window.pkts : RC_RTT_PKTS;
}

/* Does the timing of an answer begin with this run, which was not sent before? */
static inline bool rc_req_begins_timing(const struct rc_req *q, const struct run *run)
{
	return run->ack_req && rc_req_is_timed(q) &&
	       rtt_is_due(&q->rtt, run->psn, rc_req_rtt_pkts(q)) &&
	       q->resend.gap == RC_GAP_NONE && !q->resend.learns;
}

/* Does rc_req_sent() need the exact time for this run? Others may be given an older one. */
static inline bool rc_req_times_run(const struct rc_req *q, const struct run *run)
{
	return rc_req_begins_timing(q, run) || (rc_req_is_timed(q) && rc_req_is_resent(q, run));
}

/* Does rc_req_rx() need it for this packet? */
static inline bool rc_req_times_answer(const struct rc_req *q, const struct pkt *k)
{
	return rtt_is_answer(&q->rtt, psn_add(k->psn, k->npkts)) || q->resend.any ||
	       aeth_is_nak(k->syndrome);
}

static inline bool rc_req_in_error(const struct rc_req *q)
{
	return q->state == RC_REQ_ERROR;
}

/* ---- where the requester stands ---- */

/* Work requests not sent to their end. If it is not 0, rc_req_next() may have something. */
static inline u32 rc_req_num_unsent(const struct rc_req *q)
{
	return q->head - q->cur;
}

static inline bool rc_req_has_unsent(const struct rc_req *q)
{
	return q->cur != q->head;
}

/* Is everything before index sent, at least once? False for an index that is not yet posted. */
static inline bool rc_req_has_sent_before(const struct rc_req *q, u32 index)
{
	return (s32)(index - q->cur) <= 0;
}

/* The PSN of the next new packet. */
static inline u32 rc_req_psn(const struct rc_req *q)
{
	return q->psn_next;
}

/* The oldest PSN that is not acknowledged. */
static inline u32 rc_req_oldest_psn(const struct rc_req *q)
{
	return q->psn_una;
}

/* Of cfg's retry_cnt and rnr_retry, what is left. */
static inline u8 rc_req_retries_left(const struct rc_req *q)
{
	return q->retry_left;
}

static inline u8 rc_req_rnr_retries_left(const struct rc_req *q)
{
	return q->rnr_left;
}

/* The window now. */
static inline u32 rc_req_window_pkts(const struct rc_req *q)
{
	return q->window.pkts;
}

static inline u32 rc_req_pmtu(const struct rc_req *q)
{
	return q->cfg.pmtu;
}

/* cfg's ack_timeout.first_ns: no first wait for an acknowledge is longer. 0: there is none. */
static inline u64 rc_req_first_wait_ns(const struct rc_req *q)
{
	return q->cfg.ack_timeout.first_ns;
}

/* Set cfg's ack_timeout.all_ns, for waits that begin from now on. */
static inline void rc_req_set_peer_timeout(struct rc_req *q, u64 all_ns)
{
	q->cfg.ack_timeout.all_ns = all_ns;
}

/* Set cfg's max_rd_atomic, for requests that go out from now on. */
static inline void rc_req_set_max_rd_atomic(struct rc_req *q, u8 max_rd_atomic)
{
	q->cfg.max_rd_atomic = max_rd_atomic;
}

/* RNR timer field (5 bits) to nanoseconds (IBTA table 45). */
u64 rc_rnr_timer_ns(u8 field);

/* Local ACK timeout field (5 bits): 4.096 us * 2^field; 0 for 0 (never). */
u64 rc_ack_timeout_ns(u8 field);

#ifdef __cplusplus
}
#endif

#endif
