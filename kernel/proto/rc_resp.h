/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Responder of a connected QP: whether a request is expected, a duplicate or out of order, and well
 * formed, where its payload goes, and what is sent back when. IBTA 9.7.4, 9.7.5 (RC responder),
 * 9.8.2 (UC: uc_resp_rx()), annex A14 (XRC). Whether there is the SRQ that an XRC request names is
 * for the caller to find out.
 *
 * Sans-IO: rc_resp_rx() gives a verdict. The caller takes receive WQEs, checks keys, moves bytes,
 * and then calls rc_resp_commit() or rc_resp_fail(). After a batch of packets it sends what
 * rc_resp_next() returns, until that returns false. Calls are serialised.
 */
#ifndef TERN_PROTO_RC_RESP_H
#define TERN_PROTO_RC_RESP_H

#include "psn.h"
#include "rc_req.h"
#include "run.h"
#include "tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rc_access {
	RC_ACCESS_WRITE	 = 1u << 0,
	RC_ACCESS_READ	 = 1u << 1,
	RC_ACCESS_ATOMIC = 1u << 2,
	RC_ACCESS_FLUSH_GLOBAL = 1u << 3,
	RC_ACCESS_FLUSH_PERSISTENT = 1u << 4,
};

struct rc_resp_cfg {
	u8  service;		/* BTH_RC, BTH_UC or BTH_XRC */
	u8  max_rd_atomic;	/* responder resources: entries used of res[] */
	u8  min_rnr_timer;	/* 5-bit field sent in RNR NAKs */
	u8  access;		/* enum rc_access: what the QP allows */
	u16 pkey;
	u32 dqpn;
	u32 pmtu;		/* bytes */
	u32 rq_psn;
	u64 recv_wait_ns;	/* rc_resp_recv_wait_ns(); 0: RNR NAKs are sent at once */
	/* RC, packets: requests less far ahead of the expected one are kept; 0: none are */
	u32 ahead_pkts;
};

enum rc_res_state {
	RC_RES_FREE,
	RC_RES_PENDING,		/* response packets still to send */
	RC_RES_SENT,		/* kept for duplicates */
};

/* One OPF_LIMITED request that the responder executed and may have to answer again. */
struct rc_res {
	u8  state;		/* enum rc_res_state */
	u8  kind;		/* enum rc_act_kind */
	bool answered;		/* was answered completely once: what is pending now is a replay */
	u32 first_psn;
	u32 npkts;
	u32 start_pkt;		/* first packet of the present transmission */
	u32 next_pkt;
	u32 end_pkt;		/* one after its last packet */
	u32 then_pkt;		/* what it interrupted goes on here ... */
	u32 then_end;		/* ... up to here; 0: nothing */
	u32 msn;
	u64 va;			/* of packet 0 */
	u32 rkey;
	u32 length;		/* bytes of the answer; atomic: 8 */
	u32 srqn;		/* XRC: that the request names */
	u64 orig;		/* atomic: value before */
};

#define RC_MAX_RD_ATOMIC	128

struct rc_resp {
	struct rc_resp_cfg cfg;
	struct rc_res *res;	/* caller's array of at least max(1, cfg.max_rd_atomic) */
	u32 res_next;		/* slot of the next OPF_LIMITED request */
	u32 npending;		/* entries in RC_RES_PENDING */
	u32 epsn;
	u32 msn;
	bool in_error;		/* a fatal NAK is queued or sent: nothing is accepted */
	bool nak_sent;		/* a sequence or RNR NAK is out: send no other until epsn comes */
	bool ack_due;
	bool nak_due;
	u8  nak_syndrome;
	u32 nak_psn;
	u64 recv_since_ns;	/* the expected request waits for a receive WQE; 0: it does not */
	u64 recv_look_ns;	/* when to look at it again */
	/* the message being received */
	bool in_msg;
	bool is_write;
	u32 offset;		/* bytes placed */
	u32 length;		/* WRITE: dma length */
	u64 va;
	u32 rkey;
	u32 srqn;		/* XRC: that each of its packets names */
};

enum rc_act_kind {
	RC_ACT_NONE,		/* nothing to place (drop, duplicate, NAK queued) */
	RC_ACT_RECV,		/* payload to the receive WQE at offset */
	RC_ACT_WRITE,		/* payload to rkey at va + offset */
	RC_ACT_READ,		/* check that rkey allows reading va .. va + length */
	RC_ACT_ATOMIC,		/* execute on the 8 bytes at va; commit with the old value */
	RC_ACT_ATOMIC_WRITE,	/* the 8 bytes of payload to va in one store, after all before */
	RC_ACT_KEEP,		/* out of order: given again in its turn, rc_resp_ahead_is_next() */
	RC_ACT_FLUSH,		/* what was written to va .. va + length goes on, as feth says */
	RC_ACT_FATAL,		/* request refused, NAK queued: the QP goes to error */
};

struct rc_act {
	u8  kind;		/* enum rc_act_kind */
	u8  event;		/* enum rc_event */
	bool begin;		/* first packet of a message */
	bool end;		/* last packet of a message */
	bool take_recv;		/* a receive WQE is needed before anything is placed */
	bool complete_recv;	/* after commit: generate the receive completion */
	bool restart;		/* UC: the previous message was cut off; reuse its receive WQE */
	bool cmp_swap;		/* ATOMIC: compare and swap; else fetch and add */
	u8  feth;		/* FLUSH: enum feth_bits, legal */
	u32 offset;		/* of this payload in the message */
	u32 bytes;		/* payload of this packet or stretch */
	u32 length;		/* of the message: announced (WRITE: check all of it at begin), */
				/* requested (READ, FLUSH), received (at end) */
	u32 rkey;
	u64 va;			/* of offset 0 */
	u64 compare;
	u64 swap_add;
};

enum rc_fail {
	RC_FAIL_RNR,		/* no receive WQE */
	RC_FAIL_INVALID_REQ,	/* message longer than the receive WQE, malformed atomics, ... */
	RC_FAIL_ACCESS,		/* key, bounds or rights */
	RC_FAIL_OP,		/* local failure: receive WQE's SGEs refused, CQ overrun */
};

void rc_resp_init(struct rc_resp *r, struct rc_res *res, const struct rc_resp_cfg *cfg);

/*
 * Change max_rd_atomic, with an array for it. False, and nothing is changed: more requests than
 * that are unanswered. RC only, and not while a run is handed out.
 */
bool rc_resp_resize(struct rc_resp *r, struct rc_res *res, u8 max_rd_atomic);

/*
 * k: a parsed request packet of the QP's service, or a stretch of a SEND or WRITE (run_stretch()).
 * If it begins before the expected PSN, all of it is a duplicate; the ACK tells the requester where
 * to go on. RC only.
 */
void rc_resp_rx(struct rc_resp *r, const struct pkt *k, struct rc_act *act);

/*
 * Of the packets that got RC_ACT_KEEP psn is the first one's PSN. Is it that one's turn? Then the
 * caller takes it out and gives it to rc_resp_rx() again, once all before it are committed. The
 * caller may drop any of them, as the wire may, and keeps one of each PSN.
 */
static inline bool rc_resp_ahead_is_next(const struct rc_resp *r, u32 psn)
{
	return !psn_after(psn, r->epsn);
}

/* The same for UC: it never answers, and drops incomplete messages whole. */
void uc_resp_rx(struct rc_resp *r, const struct pkt *k, struct rc_act *act);

/* The action was carried out; atomic_orig is the old value of RC_ACT_ATOMIC. */
void rc_resp_commit(struct rc_resp *r, const struct pkt *k, const struct rc_act *act,
		    u64 atomic_orig);

/*
 * There is no receive WQE for the request. True: it waits. The caller keeps it and all requests
 * behind it, and gives them to rc_resp_rx() again, in order, when a receive may have been posted,
 * at rc_resp_recv_look_ns() at the latest. (If the caller drops one, it counts as lost on the
 * wire.) False: call rc_resp_fail().
 */
bool rc_resp_recv_may_wait(struct rc_resp *r, u64 now_ns);

/* There is one after all. What the request waits for now is the caller's. */
static inline void rc_resp_recv_found(struct rc_resp *r)
{
	r->recv_since_ns = 0;
}

/* When to give the waiting request to rc_resp_rx() again. 0: none waits. */
static inline u64 rc_resp_recv_look_ns(const struct rc_resp *r)
{
	return r->recv_since_ns && !r->in_error ? r->recv_look_ns : 0;
}

/*
 * For cfg.recv_wait_ns: a wait that a requester allows if its ACK timer is no shorter than ours (a
 * field of modify_qp). The peer's timer is unknown, but most often both are the same.
 */
u64 rc_resp_recv_wait_ns(u8 ack_timeout_field);

/*
 * The action could not be carried out. RC: queues the NAK; all but RC_FAIL_RNR are fatal
 * (in_error). UC: drops the message; the QP goes on.
 */
void rc_resp_fail(struct rc_resp *r, const struct pkt *k, enum rc_fail why);

/*
 * The next packets to send back, at most max_pkts; false if there are none. A second call without
 * rc_resp_sent() gives the same run.
 */
bool rc_resp_next(struct rc_resp *r, u32 max_pkts, struct run *run);

/* Would rc_resp_next() have something? */
static inline bool rc_resp_owes(const struct rc_resp *r)
{
	return r->npending || r->nak_due || r->ack_due;
}

static inline bool rc_resp_owes_nak(const struct rc_resp *r)
{
	return r->nak_due;
}

static inline bool rc_resp_owes_ack_only(const struct rc_resp *r)
{
	return r->ack_due && !r->npending && !r->nak_due;
}

void rc_resp_sent(struct rc_resp *r, const struct run *run, u32 n);
/*
 * Only if rc_resp_owes_ack_only(): the ACK, as pkt_parse() would fill it, for a requester that gets
 * it at once. Replaces rc_resp_next(), run_stretch() and rc_resp_sent().
 */
void rc_resp_take_ack(struct rc_resp *r, struct pkt *k);
/* The local network refused a plain ACK after rc_resp_sent(). */
void rc_resp_unsend_ack(struct rc_resp *r);

/*
 * The memory of a RUN_READ_RESP is no longer readable. True: a fatal NAK is queued instead. False:
 * it was a replay, and is dropped.
 */
bool rc_resp_read_failed(struct rc_resp *r, const struct run *run);

/* ---- where the responder stands, and attributes that change ---- */

/* The expected PSN. */
static inline u32 rc_resp_psn(const struct rc_resp *r)
{
	return r->epsn;
}

static inline u32 rc_resp_pmtu(const struct rc_resp *r)
{
	return r->cfg.pmtu;
}

/* Is a SEND or WRITE partly received? */
static inline bool rc_resp_in_message(const struct rc_resp *r)
{
	return r->in_msg;
}

/* access: enum rc_access, for requests that come from now on. */
static inline void rc_resp_set_access(struct rc_resp *r, u8 access)
{
	r->cfg.access = access;
}

/* The 5-bit field of the RNR NAKs that are queued from now on. */
static inline void rc_resp_set_min_rnr_timer(struct rc_resp *r, u8 min_rnr_timer)
{
	r->cfg.min_rnr_timer = min_rnr_timer;
}

/* Set cfg's recv_wait_ns; holds for a request that already waits, too. */
static inline void rc_resp_set_recv_wait(struct rc_resp *r, u64 recv_wait_ns)
{
	r->cfg.recv_wait_ns = recv_wait_ns;
}

#ifdef __cplusplus
}
#endif

#endif
