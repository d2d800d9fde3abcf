/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requester of a connected QP (RC, and UC as the unreliable case): which
 * packets of which work request to send next, what an acknowledge, a READ
 * response or a timer means, when a work request is complete and how.
 * IBTA 9.7 (requester behaviour), 9.7.5 (ACK protocol), 9.8 (UC).
 *
 * A READ larger than the window is asked for in several READ requests, so that
 * no more responses are under way than the window allows: the responder has
 * no other word than the request for how much may be sent at once.
 *
 * Sans-IO: the caller serialises calls, moves the bytes, keeps the WQEs'
 * SGEs, and executes what is returned. Times are nanoseconds of one monotonic
 * clock. Work requests live in a ring of struct rc_sqe that the caller
 * allocates, as large as its send queue; indices are free-running.
 *
 * Order of calls: rc_req_post() any time; rc_req_next()/rc_req_sent() until
 * it has nothing; rc_req_rx() (+ rc_req_placed() or rc_req_fail()) per
 * packet; rc_req_timeout() when rc_req_deadline() has come; after each of
 * these rc_req_reap() until it returns false.
 */
#ifndef TERN_PROTO_RC_REQ_H
#define TERN_PROTO_RC_REQ_H

#include "psn.h"
#include "rc_window.h"
#include "run.h"
#include "tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rc_op {
	RC_OP_SEND,
	RC_OP_WRITE,
	RC_OP_READ,
	RC_OP_CMP_SWAP,
	RC_OP_FETCH_ADD,
	RC_OP_LOCAL,		/* executed by the caller in send queue order */
};

enum rc_sqe_flags {
	RC_SQE_IMM	 = 1u << 0,
	RC_SQE_INV	 = 1u << 1,
	RC_SQE_SOLICITED = 1u << 2,
	RC_SQE_FENCE	 = 1u << 3,	/* wait for prior READs and atomics (IBTA 10.8.3.3) */
	RC_SQE_WAIT_ALL	 = 1u << 4,	/* LOCAL: wait until every prior request is complete */
};

/* Completion status of a work request; values of enum ibv_wc_status. */
enum rc_status {
	RC_ST_SUCCESS		= 0,
	RC_ST_LOC_LEN_ERR	= 1,
	RC_ST_LOC_QP_OP_ERR	= 2,
	RC_ST_LOC_PROT_ERR	= 4,
	RC_ST_WR_FLUSH_ERR	= 5,
	RC_ST_MW_BIND_ERR	= 6,
	RC_ST_BAD_RESP_ERR	= 7,
	RC_ST_REM_INV_REQ_ERR	= 9,
	RC_ST_REM_ACCESS_ERR	= 10,
	RC_ST_REM_OP_ERR	= 11,
	RC_ST_RETRY_EXC_ERR	= 12,
	RC_ST_RNR_RETRY_EXC_ERR	= 13,
};

enum rc_sqe_state {
	RC_SQE_QUEUED,		/* no PSN yet */
	RC_SQE_ACTIVE,		/* PSNs assigned, on the wire or about to be */
	RC_SQE_FAILED,		/* status set; taken once prior requests are complete */
	RC_SQE_DONE,
};

struct rc_sqe {
	/* set by the caller for rc_req_post() */
	u8  op;			/* enum rc_op */
	u8  flags;		/* enum rc_sqe_flags */
	u32 length;		/* bytes, at most 2^31; 8 for atomics */
	u32 rkey;
	u64 va;
	u64 compare;
	u64 swap_add;
	__be32 imm;
	u32 inv_rkey;
	/* the engine's */
	u8  state;		/* enum rc_sqe_state */
	u8  status;		/* enum rc_status */
	u32 first_psn;
	u32 npkts;
	u32 asked_pkts;		/* READ, atomic: responses asked for at least once */
	u32 rd_held;		/* READ, atomic: how many of max_rd_atomic */
	u32 read_pkts;		/* READ: asked for in stretches of so many responses */
};

/* How long the peer is waited for, if it says nothing at all. */
struct rc_ack_timeout {
	u64 first_ns;		/* the first wait, of a peer that has not answered yet; 0: never */
	u64 least_ns;		/* no wait is shorter; 0: nor longer for what is not known of the peer */
	u64 all_ns;		/* all waits together, should least_ns (not 0) allow it; 0: no limit */
};

struct rc_req_cfg {
	u8  service;		/* BTH_RC or BTH_UC */
	u8  retry_cnt;		/* 0..7; larger values for tests */
	u8  rnr_retry;		/* 0..6; 7: for ever */
	u8  max_rd_atomic;
	u16 pkey;
	u32 dqpn;
	u32 pmtu;		/* bytes: 256, 512, 1024, 2048 or 4096 */
	u32 sq_psn;
	u32 window;		/* packets under way, requests and READ responses, 1 .. 2^22 */
	u32 max_window;		/* what it may grow to; no more than window: it stays as it is */
	struct rc_ack_timeout ack_timeout;
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
	u32 psn_max;		/* one after the last PSN ever sent (READ: one after its responses) */
	u32 psn_una;		/* oldest unacknowledged */
	u32 since_ackreq;	/* packets sent since one asked for an ACK */
	struct rc_window window;

	u32 rd_out;		/* READ and atomic requests on the wire */
	u8  state;		/* enum rc_req_state */
	u8  retry_left;
	u8  rnr_left;
	u8  backoff;		/* so often the next wait is doubled */
	bool recovering;	/* went back; until progress, stale evidence of the same loss is ignored */
	u64 deadline_ns;	/* 0: timer off */
	u64 armed_ns;		/* when that was set */
	u64 silent_ns;		/* since when the peer owes an answer */
	u64 answer_ns;		/* how long it takes for one: the longest, slowly forgotten; 0: not known */
	u64 rnr_until_ns;	/* 0: not waiting */
	u64 rnr_wait_ns;	/* the last one; 0: none since there was progress */
};

enum rc_req_act_kind {
	RC_REQ_DONE,		/* nothing to place */
	RC_REQ_PLACE,		/* payload to offset of slot's SGEs, then rc_req_placed() */
	RC_REQ_PLACE_ATOMIC,	/* value (host order) to slot's SGE, then rc_req_placed() */
};

struct rc_req_act {
	u8  kind;		/* enum rc_req_act_kind */
	u8  event;		/* enum rc_event */
	u32 slot;
	u32 offset;
	u32 bytes;
	u32 npkts;		/* that were responses to slot */
	u64 value;
};

/*
 * entries: power of two, ring zeroed or not. first: index of the first work request, so that
 * engine and send queue count alike. Starts READY.
 */
void rc_req_init(struct rc_req *q, struct rc_sqe *ring, u32 entries, u32 first,
		 const struct rc_req_cfg *cfg);

/*
 * From now on this is the window, and the READs begun from now on are asked for
 * in stretches to match. More may be under way already, but unless
 * rc_req_answer_is_due() it may take the ACK timer to learn what became of them.
 */
static inline void rc_req_set_window(struct rc_req *q, const struct rc_window *window)
{
	q->window = *window;
}

/* A copy of the window, for a later rc_req_set_window(). */
static inline struct rc_window rc_req_get_window(const struct rc_req *q)
{
	return q->window;
}

/* As rc_window_limit(): from now on the window grows to max packets. */
static inline void rc_req_limit_window(struct rc_req *q, u32 max)
{
	rc_window_limit(&q->window, max);
}

/* Append a work request; false if the ring is full (head - tail == entries). */
static inline bool rc_req_post(struct rc_req *q, const struct rc_sqe *wr)
{
	struct rc_sqe *s;

	if (q->head - q->tail > q->mask)
		return false;
	s = &q->ring[q->head & q->mask];
	*s = *wr;
	s->state = RC_SQE_QUEUED;
	s->status = RC_ST_SUCCESS;
	s->first_psn = 0;
	s->npkts = 0;
	s->asked_pkts = 0;
	s->rd_held = 0;
	s->read_pkts = 0;
	q->head++;
	return true;
}

/* Does rc_req_next() want the time? If not it may be 0. */
static inline bool rc_req_waits_rnr(const struct rc_req *q)
{
	return q->rnr_until_ns;
}

/*
 * The next packets to send, at most max_pkts (>= 1); false if there is
 * nothing to do now. Calling again without rc_req_sent() gives the same run.
 */
bool rc_req_next(struct rc_req *q, u64 now_ns, u32 max_pkts, struct run *run);

/* n <= run->npkts packets of the run were handed to the network. 0: none, try later. */
void rc_req_sent(struct rc_req *q, u64 now_ns, const struct run *run, u32 n);

/*
 * What rc_req_sent() was told of, from packet psn on, was refused by the local
 * network after all: it is to be sent again, at the cost of no retry. RC only.
 */
void rc_req_unsend(struct rc_req *q, u32 psn);

/*
 * A RUN_LOCAL was executed, before the next call of rc_req_next(); status
 * RC_ST_SUCCESS or the error that ends the QP.
 */
void rc_req_local_done(struct rc_req *q, u32 slot, enum rc_status status);

/*
 * An acknowledge, READ response or atomic acknowledge came in (pkt_parse()d),
 * or a stretch of READ responses (run_stretch()).
 */
void rc_req_rx(struct rc_req *q, u64 now_ns, const struct pkt *k, struct rc_req_act *act);

/* The placement that rc_req_rx() asked for succeeded. */
void rc_req_placed(struct rc_req *q, u64 now_ns, const struct rc_req_act *act);

/*
 * Work request slot cannot go on for a local reason (its SGEs refused). It
 * fails after all prior requests completed; the QP is in error from then on.
 */
void rc_req_fail(struct rc_req *q, u32 slot, enum rc_status status);

/* In place of cfg's, for what is under way, too: it is counted, and waited for, anew. */
void rc_req_set_retries(struct rc_req *q, u8 retry_cnt, u8 rnr_retry);
void rc_req_set_ack_timeout(struct rc_req *q, u64 now_ns, const struct rc_ack_timeout *timeout);

/* 0: no timer wanted; else call rc_req_timeout() at that time or later. */
u64 rc_req_deadline(const struct rc_req *q);
enum rc_event rc_req_timeout(struct rc_req *q, u64 now_ns);

/* Next completion in order; false if none. */
bool rc_req_reap(struct rc_req *q, u32 *slot, enum rc_status *status);

/* QP to ERROR: what is not complete is reaped with RC_ST_WR_FLUSH_ERR. */
void rc_req_flush(struct rc_req *q);

/* SQD and back. Drained: every begun work request is complete. */
void rc_req_drain(struct rc_req *q, bool on);
bool rc_req_is_drained(const struct rc_req *q);

/* Is nothing under way? Then nothing of what was sent can come in late and matter. */
static inline bool rc_req_is_quiet(const struct rc_req *q)
{
	return q->psn_una == q->psn_max;
}

/* Was the last packet sent one that is answered by itself? */
static inline bool rc_req_answer_is_due(const struct rc_req *q)
{
	return !q->since_ackreq;
}

/* Was the run's first packet sent before? */
static inline bool rc_req_is_resent(const struct rc_req *q, const struct run *run)
{
	return psn_before(run->psn, q->psn_max);
}

static inline bool rc_req_in_error(const struct rc_req *q)
{
	return q->state == RC_REQ_ERROR;
}

/* ---- where the requester stands ---- */

/* Posted requests that are not sent to their end: rc_req_next() may have something. */
static inline u32 rc_req_num_unsent(const struct rc_req *q)
{
	return q->head - q->cur;
}

static inline bool rc_req_has_unsent(const struct rc_req *q)
{
	return q->cur != q->head;
}

/* Has everything before this index been sent, at least once? It has not for indices to come. */
static inline bool rc_req_has_sent_before(const struct rc_req *q, u32 index)
{
	return (s32)(index - q->cur) <= 0;
}

/* The PSN that the next new packet gets. */
static inline u32 rc_req_psn(const struct rc_req *q)
{
	return q->psn_next;
}

static inline u32 rc_req_pmtu(const struct rc_req *q)
{
	return q->cfg.pmtu;
}

/* cfg's ack_timeout.first_ns: the longest first wait for an acknowledge. 0: none. */
static inline u64 rc_req_first_wait_ns(const struct rc_req *q)
{
	return q->cfg.ack_timeout.first_ns;
}

/* cfg's ack_timeout.all_ns, for the waits that begin from now on. */
static inline void rc_req_set_peer_timeout(struct rc_req *q, u64 all_ns)
{
	q->cfg.ack_timeout.all_ns = all_ns;
}

/* For the READs and atomics that go out from now on. */
static inline void rc_req_set_max_rd_atomic(struct rc_req *q, u8 max_rd_atomic)
{
	q->cfg.max_rd_atomic = max_rd_atomic;
}

/* What rc_req_rx() reads first. Without locks. */
static inline void rc_req_prefetch(const struct rc_req *q)
{
	prefetch(&q->ring);
	prefetch(&q->psn_una);
}

/* RNR timer field (5 bits) to nanoseconds (IBTA table 45). */
u64 rc_rnr_timer_ns(u8 field);

/* Local ACK timeout field (5 bits): 4.096 us * 2^field; 0 for 0 (never). */
u64 rc_ack_timeout_ns(u8 field);

#ifdef __cplusplus
}
#endif

#endif
