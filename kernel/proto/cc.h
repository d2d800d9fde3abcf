/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion control of a requester: how many packets may be under way, and how fast they leave.
 * A controller is a file with a struct cc_ops, and a row in cc.c. It is told about rounds, losses,
 * marks and silence. A round is the time in which all comes through that was under way when it
 * began, and no fewer packets than RC_RTT_PKTS or a window. A controller sets the window and, if it
 * wants to, a rate for the pacer.
 *
 * An acknowledge alone calls no controller. A window that never changes has none: it is of a path
 * without a network.
 *
 * Times are nanoseconds of one monotonic clock.
 */
#ifndef TERN_PROTO_CC_H
#define TERN_PROTO_CC_H

#include "rc_window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a device, for DCQCN; changes count for QPs that send already. The defaults are published. */
struct cc_params {
	u32 dcqcn_alpha_ns;	/* without a CNP in it alpha falls; more than 0 */
	u32 dcqcn_rate_ns;	/* the rate rises once in it; more than 0 */
	u32 dcqcn_rate_bytes;	/* and each time as many were acknowledged; more than 0 */
	u32 dcqcn_ai_kbps;	/* additive increase */
	u32 dcqcn_hai_kbps;	/* hyper increase */
	u32 dcqcn_g_shift;	/* g = 2^-g_shift, 0 .. 10 */
};

/* A round, as far as it is over. */
struct cc_round {
	u64 now_ns;
	u64 rtt_ns;		/* the newest that was measured in it, exact; 0: none was */
	u32 rtt_pkts;		/* that were acknowledged while it was measured */
	u32 acked_pkts;
	u32 lost_pkts;
	bool limited;		/* the window or the rate was what stopped the requester */
};

#define CC_STATE_WORDS	8

struct cc_ops;

struct cc {
	const struct cc_ops *ops;
	const struct cc_params *params;
	u32 kbps;		/* the controller's: packets leave no faster. 0: no limit */
	u32 pkt_bytes;		/* of a packet of full size, with headers */
	u64 smooth_ns;		/* smoothed round trip (RFC 6298 2); 0: not known */
	bool reorders;		/* packets of this path come late, too */
	u64 base_ns;		/* the shortest round trip of the last minutes; 0: not known */
	u64 state[CC_STATE_WORDS];	/* the controller's own */
	/* the rest is cc.c's */
	u64 now_ns;		/* the latest of all times: some are as old as a tick */
	u64 next_base_ns;	/* the shortest since base_from_ns; 0: none */
	u64 base_from_ns;
	u64 rtt_ns;		/* of this round */
	u32 rtt_pkts;
	u32 round_psn;		/* it is over when all before it is acknowledged */
	u32 acked_pkts;		/* since the beginning */
	u32 round_from;		/* acked_pkts when the round began, */
	u32 timed_from;		/* and when the packet left that is timed */
	u32 lost_pkts;		/* in this round */
	bool limited;
};

/*
 * Each gets the controller's state in cc->state, zeroed at first, and may change w->pkts within
 * 1 .. w->max, w->threshold, and cc->kbps.
 */
struct cc_ops {
	const char *name;
	bool marks;		/* data is sent as ECN-capable */
	/* w is new; NULL: nothing to do */
	void (*init)(struct cc *cc, struct rc_window *w);
	void (*round)(struct cc *cc, struct rc_window *w, const struct cc_round *r);
	/* Something was lost of what was under way: once for all of it. */
	void (*lost)(struct cc *cc, struct rc_window *w);
	/* Nothing came back for too long, or the peer is not ready. */
	void (*restart)(struct cc *cc, struct rc_window *w);
	/* A CNP: what this QP sends was marked. NULL: it makes no difference */
	void (*marked)(struct cc *cc, struct rc_window *w, u64 now_ns);
};

/* All, the default first; the last is NULL. */
extern const struct cc_ops *const cc_all[];
extern const struct cc_params cc_default_params;

/* NULL: there is none of this name. */
const struct cc_ops *cc_find(const char *name);

/* psn: of the first packet. pmtu: in bytes. params stay. */
void cc_init(struct cc *cc, struct rc_window *w, const struct cc_ops *ops,
	     const struct cc_params *params, u32 psn, u32 pmtu);

/* A round trip was measured. now_ns and rtt_ns are exact. */
void cc_measured(struct cc *cc, u64 now_ns, u64 rtt_ns);

/* All that was under way is acknowledged; psn_max: the next round ends there. */
void cc_end_round(struct cc *cc, struct rc_window *w, u64 now_ns, u32 psn_max);

static inline void cc_begin_timing(struct cc *cc)
{
	cc->timed_from = cc->acked_pkts;
}

static inline void cc_acked(struct cc *cc, struct rc_window *w, u32 pkts)
{
	rc_window_acked(w, pkts);
	cc->acked_pkts += pkts;
	cc->limited |= w->full;
}

/* Packets that were lost go again. */
static inline void cc_sent_again(struct cc *cc, u32 pkts)
{
	cc->lost_pkts += pkts;
}

static inline void cc_lost(struct cc *cc, struct rc_window *w)
{
	if (!rc_window_is_fixed(w))
		cc->ops->lost(cc, w);
}

static inline void cc_restart(struct cc *cc, struct rc_window *w)
{
	if (!rc_window_is_fixed(w))
		cc->ops->restart(cc, w);
}

/* Time does not go back. */
static inline u64 cc_time(struct cc *cc, u64 now_ns)
{
	if (now_ns > cc->now_ns)
		cc->now_ns = now_ns;
	return cc->now_ns;
}

static inline void cc_marked(struct cc *cc, struct rc_window *w, u64 now_ns)
{
	if (!rc_window_is_fixed(w) && cc->ops->marked)
		cc->ops->marked(cc, w, cc_time(cc, now_ns));
}

/* ---- for controllers ---- */

#define CC_OPS(name)		const struct cc_ops cc_##name
#define CC_DECLARE(name)	extern CC_OPS(name)
CC_DECLARE(aimd);
CC_DECLARE(bbr);
CC_DECLARE(dcqcn);
CC_DECLARE(delay);
CC_DECLARE(hybrid);

/* Bytes that take so long, as a rate; not below CC_LEAST_KBPS. ns: more than 0. */
static inline u32 cc_kbps(u64 bytes, u64 ns)
{
	u64 kbps = bytes * 8000000 / ns;

	if (kbps < CC_LEAST_KBPS)
		return CC_LEAST_KBPS;
	return kbps < CC_MOST_KBPS ? (u32)kbps : CC_MOST_KBPS;
}

/*
 * Set the window to pkts_256 / 256 packets. Less than one is one, at such a rate that in a round
 * trip less than one leaves. Returns what was set.
 */
u32 cc_set_window(struct cc *cc, struct rc_window *w, u32 pkts_256);

#ifdef __cplusplus
}
#endif

#endif
