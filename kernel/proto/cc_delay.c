// SPDX-License-Identifier: GPL-2.0
/*
 * A law of delay, after Swift (G. Kumar et al., Swift: Delay is Simple and Effective for
 * Congestion Control in the Datacenter, SIGCOMM 2020, 3): a round trip below the target adds a
 * packet, one above takes a part of the window, in proportion to the excess. A small window has a
 * longer target, so that flows of a crowd converge and do not all leave at once.
 *
 * The target is the shortest round trip and a share for the queue. Beside flows that fill the queue
 * nothing is left for this one.
 */
#include "cc.h"

/*
 * The queue's share of the target: 50 us or a quarter of the shortest round trip, the longer one.
 * These and the spread have the order of size of Swift's. Not measured.
 */
#define DELAY_QUEUE_NS		50000
#define DELAY_QUEUE_PART	4
/* The target of one packet is longer by the spread, that of n by its part of root(n); the limit. */
#define DELAY_SPREAD_NS		150000
#define DELAY_MOST_SPREAD_NS	600000
/* beta: of the excess, what is taken; and of the window at most (the paper's 0.8 and 0.5). */
#define DELAY_BETA		4
#define DELAY_BETA_OF		5
/* A window below a packet grows by this part of itself, for each packet. */
#define DELAY_STEP		4

struct delay {
	u32 pkts_256;		/* the window in 1/256 packets; 0: still in slow start */
	u64 rtt_ns;		/* newest */
};

static_assert(sizeof(struct delay) <= CC_STATE_WORDS * sizeof(u64));

static struct delay *delay_state(struct cc *cc)
{
	return (struct delay *)cc->state;
}

static u32 delay_window(const struct rc_window *w, const struct delay *d)
{
	return w->pkts < w->threshold || !d->pkts_256 ? w->pkts * 256 : d->pkts_256;
}

static u32 square_root(u32 n)
{
	u32 r = 0, bit;

	for (bit = 1u << 15; bit; bit >>= 1)
		if ((u64)(r | bit) * (r | bit) <= n)
			r |= bit;
	return r;
}

static u64 target_ns(const struct cc *cc, u32 pkts_256)
{
	u64 queue = cc->base_ns / DELAY_QUEUE_PART;
	u64 spread = 16ull * DELAY_SPREAD_NS / (square_root(pkts_256) + 1);

	if (queue < DELAY_QUEUE_NS)
		queue = DELAY_QUEUE_NS;
	return cc->base_ns + queue +
	       (spread < DELAY_MOST_SPREAD_NS ? spread : DELAY_MOST_SPREAD_NS);
}

static void cut_to(struct cc *cc, struct rc_window *w, u32 pkts_256)
{
	struct delay *d = delay_state(cc);

	d->pkts_256 = cc_set_window(cc, w, pkts_256);
	w->threshold = w->pkts;
}

/* Once a round. */
static void follow_delay(struct cc *cc, struct rc_window *w, u32 pkts_256, u64 target)
{
	struct delay *d = delay_state(cc);
	u64 cut = pkts_256 * (d->rtt_ns - target) / d->rtt_ns * DELAY_BETA / DELAY_BETA_OF;

	cut_to(cc, w, pkts_256 - (u32)(cut < pkts_256 / 2 ? cut : pkts_256 / 2));
}

static void delay_round(struct cc *cc, struct rc_window *w, const struct cc_round *r)
{
	struct delay *d = delay_state(cc);
	u32 pkts = delay_window(w, d);
	u64 target = target_ns(cc, pkts);

	if (!r->rtt_ns)
		return;
	d->rtt_ns = r->rtt_ns;
	if (d->rtt_ns > target)
		follow_delay(cc, w, pkts, target);
	else if (r->limited && w->pkts >= w->threshold)
		d->pkts_256 = cc_set_window(cc, w, pkts >= 256 ? pkts + 256 :
								 pkts + pkts / DELAY_STEP + 1);
}

/* Without a queue a loss is none of a queue that is full. */
static void delay_lost(struct cc *cc, struct rc_window *w)
{
	u32 pkts = delay_window(w, delay_state(cc));

	if (cc->smooth_ns > target_ns(cc, pkts))
		cut_to(cc, w, pkts / 2);
}

static void delay_restart(struct cc *cc, struct rc_window *w)
{
	u32 pkts = delay_window(w, delay_state(cc));

	cut_to(cc, w, pkts < 256 ? pkts / 2 : 256);
}

CC_OPS(delay) = {
	.name = "delay",
	.round = delay_round,
	.lost = delay_lost,
	.restart = delay_restart,
};
