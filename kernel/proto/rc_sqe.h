/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requester's ring of work requests, for its two halves: rc_req.c, which sends, and rc_ack.c,
 * which hears. The sections of the ring are in rc_req.c.
 */
#ifndef TERN_PROTO_RC_SQE_H
#define TERN_PROTO_RC_SQE_H

#include "rc_req.h"

static inline struct rc_sqe *rc_sqe_at(const struct rc_req *q, u32 slot)
{
	return &q->ring[slot & q->mask];
}

static inline bool rc_req_is_reliable(const struct rc_req *q)
{
	return q->cfg.service != BTH_UC;
}

/* One after the work request's last PSN. */
static inline u32 rc_sqe_end_psn(const struct rc_sqe *s)
{
	return psn_add(s->first_psn, s->npkts);
}

/* How far psn is ahead of una: up to 2^23, too far for psn_diff(). */
static inline u32 rc_psns_since(u32 psn, u32 una)
{
	return (psn - una) & PSN_MASK;
}

static inline void rc_sqe_complete(struct rc_req *q, struct rc_sqe *s, enum wr_status status)
{
	s->state = RC_SQE_DONE;
	s->status = (u8)status;
	q->rd_out -= s->rd_held;
	s->rd_held = 0;
}

/* The pacer has the lower rate: the program's, or the controller's. */
static inline void rc_req_steer(struct rc_req *q)
{
	u32 kbps = rc_window_is_fixed(&q->window) ? 0 : q->cc.kbps;

	if (q->cfg.rate.kbps && kbps >= q->cfg.rate.kbps)
		kbps = 0;
	if (kbps == q->steered_kbps)
		return;
	WRITE_ONCE(q->steered_kbps, kbps);
	if (kbps)
		pacer_steer(&q->pacer, kbps, CC_BURST_NS, q->cfg.pmtu);
	else
		pacer_init(&q->pacer, &q->cfg.rate, q->cfg.pmtu);
}

/* Remove DONE work requests from the unacknowledged section; a FAILED one ends the QP. */
static inline void rc_req_advance(struct rc_req *q)
{
	while (q->una != q->head) {
		struct rc_sqe *s = rc_sqe_at(q, q->una);

		if (s->state == RC_SQE_FAILED) {
			s->state = RC_SQE_DONE;
			q->una++;
			rc_req_flush(q);
			return;
		}
		if (s->state != RC_SQE_DONE)
			return;
		q->una++;
		if ((s32)(q->una - q->cur) > 0) {
			q->cur = q->una;
			q->cur_pkt = 0;
		}
	}
}

#endif
