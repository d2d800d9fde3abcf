/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The half of a requester that hears: what an acknowledge, a response, a NAK or silence means for
 * what is under way, and from where on it is sent again. IBTA 9.7.5 (ACK protocol), 9.7.6.1.3
 * (timeouts). The half that sends is in rc_req.h, and so is the order of calls.
 */
#ifndef TERN_PROTO_RC_ACK_H
#define TERN_PROTO_RC_ACK_H

#include "rc_req.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rc_req_act_kind {
	RC_REQ_DONE,		/* nothing to place */
	RC_REQ_PLACE,		/* payload to offset of slot's SGEs, then rc_req_placed() */
	RC_REQ_PLACE_ATOMIC,	/* value (host order) to slot's SGE, then rc_req_placed() */
	RC_REQ_KEEP,		/* to be given again: rc_req_ahead_is_next() */
};

struct rc_req_act {
	u8  kind;		/* enum rc_req_act_kind */
	u8  event;		/* enum rc_event */
	u32 slot;
	u32 offset;
	u32 bytes;
	u32 npkts;		/* responses to slot */
	u64 value;
};

/*
 * An acknowledge, READ response or atomic acknowledge came in (from pkt_parse()), or several READ
 * responses as one (run_stretch()).
 */
void rc_req_rx(struct rc_req *q, u64 now_ns, const struct pkt *k, struct rc_req_act *act);

/*
 * Of the packets that got RC_REQ_KEEP psn is the first one's PSN. Is it that one's turn? Then the
 * caller takes it out and gives it to rc_req_rx() again. Ask after each rc_req_rx() and
 * rc_req_placed(). The caller may drop any of them, as the wire may, and keeps one of each PSN.
 */
static inline bool rc_req_ahead_is_next(const struct rc_req *q, u32 psn)
{
	return !psn_after(psn, q->psn_una);
}

/* May responses be missing before one that has come? Then rc_req_missing() is due. */
static inline bool rc_req_has_missing(const struct rc_req *q)
{
	return q->resend.heard;
}

/*
 * The packets at hand are worked through, rc_req_has_missing(), and of what is kept none is next:
 * ask for the responses before the first one. kept: something is kept, and psn is the first one's
 * PSN; else psn has no meaning. now_ns is exact. Returns RC_EV_IMPLIED_NAK if they are asked for
 * now; RC_EV_NONE if they are already, or may come by themselves until rc_req_deadline(). The QP
 * may be in error afterwards: no retry was left.
 */
enum rc_event rc_req_missing(struct rc_req *q, u64 now_ns, bool kept, u32 psn);

/* The placement that rc_req_rx() asked for succeeded. */
void rc_req_placed(struct rc_req *q, u64 now_ns, const struct rc_req_act *act);

/*
 * The local network refused packets after rc_req_sent(), from psn on. They are sent again, and no
 * retry is counted. RC only.
 */
void rc_req_unsend(struct rc_req *q, u32 psn);

/*
 * The response for psn, which is the expected one, could not be taken in now: it is asked for
 * again. No retry is counted, nor for what else was asked for and comes meanwhile.
 */
void rc_req_ask_again(struct rc_req *q, u32 psn);

/* A CNP came, or a READ response with a mark: this requester has too much under way. */
void rc_req_cnp(struct rc_req *q, u64 now_ns);

/*
 * 0: no timer needed; else call rc_req_timeout() at that time or later. It returns RC_EV_TIMEOUT if
 * the ACK timer has expired, RC_EV_PROBE if one packet goes again to find out, else RC_EV_NONE. The
 * QP may be in error afterwards, whichever it is.
 */
u64 rc_req_deadline(const struct rc_req *q);
enum rc_event rc_req_timeout(struct rc_req *q, u64 now_ns);

#ifdef __cplusplus
}
#endif

#endif
