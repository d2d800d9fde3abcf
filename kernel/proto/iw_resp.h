/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The other half of an iWARP stream: what the peer's Sends, Writes, Read and
 * Atomic Requests, immediate data and Terminates mean, in which order they are
 * answered, and with which Terminate a wrong one ends the stream. RFC 5041 5
 * (MSN, MO), RFC 5040 5 (ordering), RFC 7306.
 *
 * Sans-IO: iw_resp_rx() gives a verdict on a segment whose CRC was right; the
 * caller takes receive WQEs, checks keys, moves bytes, and then says
 * iw_resp_commit() or iw_resp_fail(). What is to be sent back it gets from
 * iw_resp_next(). Calls are serialised.
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
	u16 ird;		/* of the peer's READs and atomics under way, at most */
	u16 max_ulpdu;		/* bytes; may change */
	u8  access;		/* enum iw_access: what the QP allows */
};

/* A Read or Atomic Request that is not answered to its end. */
struct iw_irq {
	bool is_atomic;
	u32 stag;		/* READ: source */
	u64 to;
	u32 bytes;
	u32 sent_bytes;
	u32 sink_stag;
	u64 sink_to;
	u32 id;			/* atomic: as the peer called it */
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
	bool in_msg;		/* a Send is half received */
	u8  msg_opcode;		/* of it */
	u32 msg_bytes;		/* of it, so far */
	bool in_write;		/* so is a Write */
	u32 write_bytes;	/* of the last Write, so far */
	bool in_error;		/* nothing is accepted or answered any more */
	bool term_due;		/* but this Terminate */
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
	IW_ACT_ATOMIC,		/* execute on the 8 bytes at va of key stag; commit with the old value */
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
	u32 length;		/* RECV at end: the message's; IMM: of the Write before it; READ: asked for */
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
	IW_FAIL_INVALIDATE,	/* inv_stag may not be */
	IW_FAIL_LOCAL,		/* receive WQE's SGEs refused, CQ overrun */
};

/* For an index that runs freely: the next power of two. */
static inline u32 iw_irq_entries(u16 ird)
{
	u32 n = 1;

	while (n < ird)
		n <<= 1;
	return n;
}

void iw_resp_init(struct iw_resp *r, struct iw_irq *irq, const struct iw_resp_cfg *cfg);

/*
 * A parsed segment other than Read and Atomic Responses. p: its headers and
 * what follows, at least min(all, DDP_CTRL_MAX_BYTES) readable; ulpdu_bytes in all.
 */
void iw_resp_rx(struct iw_resp *r, const struct ddp_seg *s, const u8 *p, u32 have,
		struct iw_act *act);

/* The action was carried out; atomic_orig is the old value of IW_ACT_ATOMIC. */
void iw_resp_commit(struct iw_resp *r, const struct ddp_seg *s, const struct iw_act *act,
		    const u8 *p, u64 atomic_orig);

/* It was not: queues the Terminate. Returns the code, for counters. */
int iw_resp_fail(struct iw_resp *r, const struct ddp_seg *s, const u8 *p, u32 have,
		 enum iw_fail why);

/*
 * End the stream with a Terminate for code, quoting the ULPDU at p (NULL:
 * none). The first one counts.
 */
void iw_resp_terminate(struct iw_resp *r, int code, const u8 *p, u32 have, u32 ulpdu_bytes);

/* Is there something to send back? */
static inline bool iw_resp_pending(const struct iw_resp *r)
{
	return r->in_error ? r->term_due : r->irq_tail != r->irq_head;
}

/* Does the stream end with a Terminate of ours, sent or still to be sent? */
static inline bool iw_resp_is_terminating(const struct iw_resp *r)
{
	return r->term != TERM_NONE;
}

/* Is it still to be sent? */
static inline bool iw_resp_owes_terminate(const struct iw_resp *r)
{
	return r->term_due;
}

/* For the segments that iw_resp_next() gives from now on. */
static inline void iw_resp_set_max_ulpdu(struct iw_resp *r, u16 max_ulpdu)
{
	r->cfg.max_ulpdu = max_ulpdu;
}

/* What the response whose turn it is has of payload yet; 0: nothing to send back. */
static inline u32 iw_resp_next_bytes(const struct iw_resp *r)
{
	const struct iw_irq *irq = &r->irq[r->irq_tail & r->irq_mask];

	if (r->in_error || r->irq_tail == r->irq_head || irq->is_atomic)
		return 0;
	return irq->bytes - irq->sent_bytes;
}

/* Next segment to send back; false if none. Again without iw_resp_sent(): the same. */
bool iw_resp_next(struct iw_resp *r, struct iw_seg *seg);
void iw_resp_sent(struct iw_resp *r, const struct iw_seg *seg);
/* As iw_req_in_message(): a Read Response is half sent. */
static inline bool iw_resp_in_message(const struct iw_resp *r)
{
	return r->irq_tail != r->irq_head && r->irq[r->irq_tail & r->irq_mask].sent_bytes;
}

/* The memory of an IW_SEG_READ_RESP is no longer readable: Terminate in its place. */
void iw_resp_read_failed(struct iw_resp *r, const struct iw_seg *seg, enum iw_fail why);

#ifdef __cplusplus
}
#endif

#endif
