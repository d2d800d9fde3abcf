/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requester of an iWARP stream: which segment of which work request is sent next, what a Read or
 * Atomic Response means, when a work request is complete. RFC 5040 5 (ordering and completion), RFC
 * 7306 (atomics, immediate data).
 *
 * TCP neither loses nor reorders, so nothing is sent twice. A Send or Write is complete when the
 * stream has taken its last segment and has returned memory that was lent to it instead of copied;
 * READs and atomics when their response is placed. Completions are in order, also after an error:
 * memory that the stream still reads never goes back to its owner.
 *
 * The peer knows a READ's sink by slot and offset, not by a key. Only the response to the oldest
 * READ under way is accepted, exactly where it continues. So its SGEs need no remote rights, there
 * may be many, and a peer cannot write anywhere else.
 *
 * Sans-IO: the caller serialises calls, moves the bytes, and keeps the WQEs. Work requests live in
 * a ring of struct iw_sqe that the caller allocates, as large as its send queue; indices are
 * free-running.
 */
#ifndef TERN_PROTO_IW_REQ_H
#define TERN_PROTO_IW_REQ_H

#include "ddp.h"
#include "tuning.h"
#include "wr.h"

#ifdef __cplusplus
extern "C" {
#endif

enum iw_sqe_state {
	IW_SQE_QUEUED,
	IW_SQE_ACTIVE,
	IW_SQE_SENT,		/* READ, atomic: waits for the response */
	IW_SQE_DONE,
};

struct iw_sqe {
	struct wr wr;		/* from iw_req_post() */
	/* the engine's */
	u8  state;		/* enum iw_sqe_state */
	u8  status;		/* enum wr_status */
	bool body_sent;		/* WRITE with immediate: the Write is sent */
	bool lent;		/* not reaped before loan is returned */
	u32 loan;
	u32 msn;		/* of the untagged message */
	u32 done_bytes;		/* sent (SEND, WRITE) or placed (READ) */
};

struct iw_resp;

struct iw_req_cfg {
	u16 ord;		/* READs and atomics under way, at most; 0: none may be posted */
	u16 max_ulpdu;		/* bytes, DDP_CTRL_MAX_BYTES .. MPA_MAX_ULPDU_BYTES; may change */
	u16 max_lent_bytes;	/* payload of a segment whose memory is lent */
};

enum iw_req_state {
	IW_REQ_READY,
	IW_REQ_ERROR,		/* everything left is flushed */
};

struct iw_req {
	struct iw_req_cfg cfg;
	struct iw_sqe *ring;
	u32 mask;

	u32 head;		/* iw_req_post() fills this slot */
	u32 cur;		/* slot being sent */
	u32 una;		/* oldest slot that is not DONE */
	u32 tail;		/* oldest slot that is not reaped */
	u32 resp;		/* oldest slot that waits for a response, if rd_out */

	u32 others;		/* requests from cur on that are not READs */
	u64 unsent_bytes;	/* payload of SENDs and WRITEs that the stream has not taken */
	u32 num_lent;		/* slots that are lent */
	u32 returned;		/* loans before this one are returned */
	u32 rd_out;		/* READs and atomics under way */
	u64 rd_bytes;		/* of these READs, as a whole */
	u32 send_msn;		/* of the next message on each queue: the first is 1 */
	u32 read_msn;
	u32 atomic_resp_msn;	/* expected */
	u8  state;		/* enum iw_req_state */
};

enum iw_seg_kind {
	IW_SEG_REQUEST,		/* payload: bytes at offset of slot's SGEs */
	IW_SEG_LOCAL,		/* execute slot, then iw_req_local_done() */
	IW_SEG_READ_RESP,	/* payload: bytes at va of key stag */
	IW_SEG_RESP,		/* headers only: Atomic Response, Terminate */
};

/* One segment for the stream: hdr, then bytes of payload. */
struct iw_seg {
	u8  kind;		/* enum iw_seg_kind */
	bool last;		/* of its message */
	u16 hdr_bytes;
	u16 bytes;		/* payload that the caller adds */
	u32 slot;		/* REQUEST, LOCAL */
	u32 offset;		/* REQUEST */
	u32 stag;		/* READ_RESP */
	u64 va;
	u8  hdr[DDP_UNTAGGED_BYTES + RDMAP_TERM_MAX_BYTES];
};

static_assert(DDP_UNTAGGED_BYTES + RDMAP_TERM_MAX_BYTES >= DDP_CTRL_MAX_BYTES,
	      "an Atomic Request fits");

enum iw_req_act_kind {
	IW_REQ_PLACE,		/* payload to offset of slot's SGEs, then iw_req_placed() */
	IW_REQ_PLACE_ATOMIC,	/* value (host order) to slot's SGE, then iw_req_placed() */
	IW_REQ_FATAL,		/* terminate the stream with term */
};

struct iw_req_act {
	u8  kind;		/* enum iw_req_act_kind */
	u32 slot;
	u32 offset;
	u32 bytes;
	u64 value;
	int term;		/* enum rdmap_term_code */
};

/*
 * entries: power of two. first: index of the first work request, so that engine and send queue
 * count alike.
 */
void iw_req_init(struct iw_req *q, struct iw_sqe *ring, u32 entries, u32 first,
		 const struct iw_req_cfg *cfg);

static inline struct iw_sqe *iw_req_sqe(const struct iw_req *q, u32 slot)
{
	return &q->ring[slot & q->mask];
}

/* Is it sent in part? */
static inline bool iw_sqe_half_sent(const struct iw_sqe *s)
{
	return s->state == IW_SQE_ACTIVE && (s->done_bytes || s->body_sent);
}

/* ---- where the requester stands ---- */

/* Work requests not sent to their end. If it is not 0, iw_req_next() may have something. */
static inline u32 iw_req_num_unsent(const struct iw_req *q)
{
	return q->head - q->cur;
}

static inline bool iw_req_has_unsent(const struct iw_req *q)
{
	return q->cur != q->head;
}

/* Is everything that was posted reaped? */
static inline bool iw_req_is_empty(const struct iw_req *q)
{
	return q->tail == q->head;
}

/* Is everything that was posted complete? Some may still have to be reaped. */
static inline bool iw_req_is_complete(const struct iw_req *q)
{
	return q->una == q->head;
}

/* The oldest incomplete request. Needs no lock: the value may be old. */
static inline u32 iw_req_oldest(const struct iw_req *q)
{
	return READ_ONCE(q->una);
}

/* Does the stream have memory of requests that are not reaped? Needs no lock: may be old. */
static inline bool iw_req_has_lent(const struct iw_req *q)
{
	return READ_ONCE(q->num_lent);
}

/* Does a READ or an atomic wait for its response? */
static inline bool iw_req_awaits_response(const struct iw_req *q)
{
	return q->rd_out;
}

/* Payload of posted SENDs and WRITEs that the stream has not taken. */
static inline u64 iw_req_unsent_bytes(const struct iw_req *q)
{
	return q->unsent_bytes;
}

/* The request that is sent next, if iw_req_has_unsent() ... */
static inline u32 iw_req_next_slot(const struct iw_req *q)
{
	return q->cur;
}

/* ... and how much of its payload is sent. */
static inline u32 iw_req_next_offset(const struct iw_req *q)
{
	return iw_req_sqe(q, q->cur)->done_bytes;
}

/* May READs and atomics be posted? (cfg.ord is not 0.) */
static inline bool iw_req_may_read(const struct iw_req *q)
{
	return q->cfg.ord;
}

/* For segments that iw_req_next() returns from now on. */
static inline void iw_req_set_max_ulpdu(struct iw_req *q, u16 max_ulpdu)
{
	q->cfg.max_ulpdu = max_ulpdu;
}

/* Append a work request; false if the ring is full. */
bool iw_req_post(struct iw_req *q, const struct wr *wr);

/*
 * The next segment; false if there is nothing to do now. A second call without iw_req_sent() gives
 * the same.
 */
bool iw_req_next(struct iw_req *q, struct iw_seg *seg);

/* The same, but a SEND or WRITE segment has up to max_lent_bytes of payload, for iw_req_lend(). */
bool iw_req_next_lent(struct iw_req *q, struct iw_seg *seg);

/*
 * Is a message sent in part? Then nothing else may be sent (RFC 5041 5.3), nor between a Write and
 * its immediate data.
 */
static inline bool iw_req_in_message(const struct iw_req *q)
{
	return q->cur != q->head && iw_sqe_half_sent(iw_req_sqe(q, q->cur));
}

/* Payload of the next request that is not sent; 0: nothing to send. */
static inline u32 iw_req_next_bytes(const struct iw_req *q)
{
	const struct iw_sqe *s = iw_req_sqe(q, q->cur);

	if (q->state != IW_REQ_READY || q->cur == q->head || !wr_has_payload(&s->wr))
		return 0;
	return s->wr.length - s->done_bytes;
}

/* Are enough bytes to come that READs may wait for the next acknowledge? */
static inline bool iw_req_far_ahead(const struct iw_req *q)
{
	return q->rd_bytes >= IW_READ_BYTES_AHEAD;
}

/*
 * Is the next request a READ that may wait for the next response and leave with what follows that?
 * Not if anything but READs is behind it: that would wait as well.
 */
static inline bool iw_req_may_wait(const struct iw_req *q)
{
	const struct iw_sqe *s = iw_req_sqe(q, q->cur);

	return q->cur != q->head && !q->others && s->state == IW_SQE_QUEUED &&
	       (iw_req_far_ahead(q) ||
		(q->rd_out >= IW_READS_AHEAD && s->wr.length <= IW_SHORT_READ_BYTES));
}

/* The stream took the whole segment. */
void iw_req_sent(struct iw_req *q, const struct iw_seg *seg);

/*
 * The stream gets the memory of a segment's payload instead of a copy: slot is not reaped before
 * loan is returned. Loans are numbered in order, from 0 on. Call iw_req_sent() as well.
 */
void iw_req_lend(struct iw_req *q, u32 slot, u32 loan);

/* Loans before this one are returned. */
static inline void iw_req_return(struct iw_req *q, u32 loan)
{
	q->returned = loan;
}

/*
 * An IW_SEG_LOCAL was executed, before the next call of iw_req_next(). If it failed, this does what
 * iw_req_fail() does.
 */
void iw_req_local_done(struct iw_req *q, struct iw_resp *r, u32 slot, enum wr_status status);

/* A parsed RDMAP_READ_RESP or RDMAP_ATOMIC_RESP; for the latter, payload is readable at p. */
void iw_req_rx(struct iw_req *q, const struct ddp_seg *s, const u8 *p, struct iw_req_act *act);

/* The placement that iw_req_rx() asked for succeeded. last: the segment's. */
void iw_req_placed(struct iw_req *q, const struct iw_req_act *act, bool last);

/*
 * Work request slot fails for a local reason. The QP is in error from now on, and r, the other half
 * of the stream, tells the peer (RFC 5040 7.1).
 */
void iw_req_fail(struct iw_req *q, struct iw_resp *r, u32 slot, enum wr_status status);

/*
 * The peer terminated the stream with code; of the Terminate's payload, bytes are readable at p. If
 * code says that something of ours was wrong, one request fails: the one that is quoted, or, if
 * that is complete or none is quoted, the oldest incomplete one that was sent. None if what is
 * quoted is an answer of ours.
 */
void iw_req_terminated(struct iw_req *q, int code, const u8 *p, u32 bytes);

/* QP to ERROR: what is not complete is reaped with WR_ST_WR_FLUSH_ERR. */
void iw_req_flush(struct iw_req *q);

static inline bool iw_req_in_error(const struct iw_req *q)
{
	return q->state == IW_REQ_ERROR;
}

/* Does the stream have memory of the request that is reaped next? */
static inline bool iw_req_tail_lent(const struct iw_req *q)
{
	const struct iw_sqe *s = iw_req_sqe(q, q->tail);

	return q->num_lent && s->lent && (s32)(s->loan - q->returned) >= 0;
}

/* Is there a completion? */
static inline bool iw_req_completed(const struct iw_req *q)
{
	return q->tail != q->head && (q->tail != q->una || iw_req_in_error(q)) &&
	       !iw_req_tail_lent(q);
}

/* The next completion in order; false if there is none. */
bool iw_req_reap(struct iw_req *q, u32 *slot, enum wr_status *status);

#ifdef __cplusplus
}
#endif

#endif
