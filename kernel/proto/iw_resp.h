/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Responder of an iWARP stream: what the peer's Sends, Writes, Read and Atomic Requests, immediate
 * data and Terminates mean, in which order they are answered, and which Terminate ends the stream
 * after a wrong one. RFC 5041 5 (MSN, MO), RFC 5040 5 (ordering), RFC 7306.
 *
 * Sans-IO: iw_resp_rx() gives a verdict on a segment whose CRC is right. The caller takes receive
 * WQEs, checks keys, moves bytes, and then calls iw_resp_commit() or iw_resp_fail(). It sends what
 * iw_resp_next() returns. Calls are serialised.
 */
#ifndef TERN_PROTO_IW_RESP_H
#define TERN_PROTO_IW_RESP_H

#include "atomic.h"
#include "iw_req.h"

#ifdef __cplusplus
extern "C" {
#endif

enum iw_access {
	IW_ACCESS_WRITE	 = 1u << 0,
	IW_ACCESS_READ	 = 1u << 1,
	IW_ACCESS_ATOMIC = 1u << 2,
};

struct iw_resp_cfg {
	u16 ird;		/* the peer's READs and atomics under way, at most */
	u16 max_ulpdu;		/* bytes; may change */
	u8  access;		/* enum iw_access: what the QP allows */
};

/* A Read or Atomic Request that is not answered completely. */
struct iw_irq {
	bool is_atomic;
	u32 stag;		/* READ: source */
	u64 to;
	u32 bytes;
	u32 sent_bytes;
	u32 sink_stag;
	u64 sink_to;
	u32 id;			/* atomic: the peer's name for it */
	u64 orig;
};

struct iw_resp {
	struct iw_resp_cfg cfg;
	struct iw_irq *irq;	/* caller's array of iw_irq_entries(cfg.ird) */
	u32 irq_mask;
	u32 irq_head;		/* free-running: next to fill, next to answer */
	u32 irq_tail;
	u32 recv_msn;		/* expected on each queue */
	u32 read_msn;
	u32 atomic_resp_msn;	/* for the next Atomic Response */
	bool in_msg;		/* a Send is partly received */
	u8  msg_opcode;		/* of it */
	u32 msg_bytes;		/* of it, so far */
	bool in_write;		/* a Write is partly received */
	u32 write_bytes;	/* of the last Write, so far */
	bool in_error;		/* nothing is accepted or answered any more */
	bool term_due;		/* except this Terminate */
	int term;
	u16 term_bytes;
	u8  term_payload[RDMAP_TERM_MAX_BYTES];
};

enum iw_act_kind {
	IW_ACT_NONE,		/* nothing to place */
	IW_ACT_RECV,		/* payload to the receive WQE at offset */
	IW_ACT_IMM,		/* no payload: completes a receive WQE with imm */
	IW_ACT_WRITE,		/* payload to key stag at va */
	IW_ACT_READ,		/* check that key stag allows reading length bytes at va */
	IW_ACT_ATOMIC,		/* execute on the 8 bytes at va of key stag; commit the old value */
	IW_ACT_TERMINATED,	/* the peer terminated the stream with term */
	IW_ACT_FATAL,		/* refused, Terminate queued: the QP goes to error */
};

struct iw_act {
	u8  kind;		/* enum iw_act_kind */
	bool begin;		/* RECV, IMM: a receive WQE is needed before anything is placed */
	bool end;		/* RECV, IMM: after commit, generate the receive completion */
	bool solicited;
	bool invalidate;	/* at end: inv_stag, before the completion */
	__be32 imm;
	u32 inv_stag;
	u32 offset;
	u32 bytes;		/* payload of this segment */
	u32 length;		/* RECV at end: of the message; IMM: of the last Write; READ */
	u32 stag;
	u64 va;
	struct atomic_op atomic;
	int term;		/* FATAL, TERMINATED: enum rdmap_term_code */
};

enum iw_fail {
	IW_FAIL_NO_RECV,	/* no receive WQE */
	IW_FAIL_TOO_LONG,	/* longer than the receive WQE */
	IW_FAIL_STAG,		/* no such key */
	IW_FAIL_BOUNDS,
	IW_FAIL_ACCESS,
	IW_FAIL_STREAM,		/* of another PD or QP */
	IW_FAIL_ALIGN,		/* an atomic's memory */
	IW_FAIL_INVALIDATE,	/* inv_stag must not be invalidated */
	IW_FAIL_LOCAL,		/* receive WQE's SGEs refused, CQ overrun */
};

/* The next power of two, for a free-running index. */
static inline u32 iw_irq_entries(u16 ird)
{
	u32 n = 1;

	while (n < ird)
		n <<= 1;
	return n;
}

void iw_resp_init(struct iw_resp *r, struct iw_irq *irq, const struct iw_resp_cfg *cfg);

/*
 * A parsed segment, except Read and Atomic Responses. p: its headers and what follows; min(have,
 * DDP_CTRL_MAX_BYTES) bytes are readable.
 */
void iw_resp_rx(struct iw_resp *r, const struct ddp_seg *s, const u8 *p, u32 have,
		struct iw_act *act);

/* The action was carried out; atomic_orig is the old value of IW_ACT_ATOMIC. */
void iw_resp_commit(struct iw_resp *r, const struct ddp_seg *s, const struct iw_act *act,
		    const u8 *p, u64 atomic_orig);

/* The action could not be carried out: queues the Terminate. Returns its code, for counters. */
int iw_resp_fail(struct iw_resp *r, const struct ddp_seg *s, const u8 *p, u32 have,
		 enum iw_fail why);

/*
 * End the stream with a Terminate for code, quoting the ULPDU at p (NULL: none). Only the first
 * call has an effect.
 */
void iw_resp_terminate(struct iw_resp *r, int code, const u8 *p, u32 have, u32 ulpdu_bytes);

/* Is there anything to send back? */
static inline bool iw_resp_pending(const struct iw_resp *r)
{
	return r->in_error ? r->term_due : r->irq_tail != r->irq_head;
}

/* Does the stream end with a Terminate of ours, already sent or not? */
static inline bool iw_resp_is_terminating(const struct iw_resp *r)
{
	return r->term != TERM_NONE;
}

/* Its enum rdmap_term_code. */
static inline int iw_resp_term(const struct iw_resp *r)
{
	return r->term;
}

/* Is that Terminate not yet sent? */
static inline bool iw_resp_owes_terminate(const struct iw_resp *r)
{
	return r->term_due;
}

/* For segments that iw_resp_next() returns from now on. */
static inline void iw_resp_set_max_ulpdu(struct iw_resp *r, u16 max_ulpdu)
{
	r->cfg.max_ulpdu = max_ulpdu;
}

/* Payload of the next response that is not sent; 0: nothing to send back. */
static inline u32 iw_resp_next_bytes(const struct iw_resp *r)
{
	const struct iw_irq *irq = &r->irq[r->irq_tail & r->irq_mask];

	if (r->in_error || r->irq_tail == r->irq_head || irq->is_atomic)
		return 0;
	return irq->bytes - irq->sent_bytes;
}

/*
 * The next segment to send back; false if there is none. A second call without iw_resp_sent() gives
 * the same.
 */
bool iw_resp_next(struct iw_resp *r, struct iw_seg *seg);
void iw_resp_sent(struct iw_resp *r, const struct iw_seg *seg);
/* As iw_req_in_message(): is a Read Response sent in part? */
static inline bool iw_resp_in_message(const struct iw_resp *r)
{
	return r->irq_tail != r->irq_head && r->irq[r->irq_tail & r->irq_mask].sent_bytes;
}

/* The memory of an IW_SEG_READ_RESP is no longer readable: send a Terminate instead. */
void iw_resp_read_failed(struct iw_resp *r, const struct iw_seg *seg, enum iw_fail why);

#ifdef __cplusplus
}
#endif

#endif
