// SPDX-License-Identifier: GPL-2.0
/*
 * A model of the path, after BBR (N. Cardwell et al., BBR: Congestion-Based Congestion Control,
 * ACM Queue 14, 2016): the most that is delivered in a round trip is its rate, the shortest round
 * trip its length. Packets leave at that rate, in some rounds a little faster to see whether there
 * is more, and twice as many are under way as the path holds. A loss means nothing.
 */
#include "cc.h"

/* The numbers are the paper's, none was measured here. */
#define BBR_PHASES		8	/* rounds of a cycle: faster, slower, the others as it is */
#define BBR_FILTER_ROUNDS	10	/* over which the highest rate counts */
#define BBR_FLAT_ROUNDS		3	/* without a quarter more: the path is full */
#define BBR_LEAST_PKTS		4
#define BBR_TIMES		2	/* that the path holds: under way */
#define BBR_LENGTH_NS		10000000000ull	/* then it is measured with an empty queue */

struct bbr {
	u64 length_ns;		/* the shortest round trip; 0: not known */
	u64 length_from_ns;	/* when it was found */
	u32 kbps;		/* the highest rate of this filter, */
	u32 old_kbps;		/* and of the one before */
	u32 full_kbps;		/* in slow start: the rate, when it last grew by a quarter */
	u8  flat;		/* rounds since */
	u8  filter;		/* rounds of this filter */
	u8  phase;
	bool full;		/* slow start is over */
	bool measures;		/* this round has an empty queue */
};

static_assert(sizeof(struct bbr) <= CC_STATE_WORDS * sizeof(u64));

static struct bbr *bbr_state(struct cc *cc)
{
	return (struct bbr *)cc->state;
}

static u32 rate_of(const struct bbr *b)
{
	return b->kbps > b->old_kbps ? b->kbps : b->old_kbps;
}

static void note_rate(struct bbr *b, u32 kbps, bool limited)
{
	/* A requester that had nothing to send shows no limit of the path. */
	if (limited && ++b->filter >= BBR_FILTER_ROUNDS / 2) {
		b->filter = 0;
		b->old_kbps = b->kbps;
		b->kbps = 0;
	}
	if ((limited || kbps > rate_of(b)) && kbps > b->kbps)
		b->kbps = kbps;
}

static void note_length(struct bbr *b, const struct cc_round *r)
{
	if (b->measures) {
		b->measures = false;
		b->length_ns = r->rtt_ns;
		b->length_from_ns = r->now_ns;
	} else if (!b->length_ns || r->rtt_ns <= b->length_ns) {
		b->length_ns = r->rtt_ns;
		b->length_from_ns = r->now_ns;
	}
}

static void look_for_end(struct bbr *b, struct rc_window *w)
{
	u32 kbps = rate_of(b);

	if (kbps >= b->full_kbps + b->full_kbps / 4) {
		b->full_kbps = kbps;
		b->flat = 0;
	} else if (++b->flat >= BBR_FLAT_ROUNDS) {
		b->full = true;
		b->phase = 1;
		w->threshold = w->pkts;
	}
}

/* Packets of full size in a multiple of what the path holds. */
static u32 held_pkts(const struct cc *cc, const struct bbr *b, u32 times)
{
	u64 bytes = b->length_ns / 1000 * rate_of(b) / 8000;
	u64 pkts = bytes * times / cc->pkt_bytes + 1;

	return pkts < (1u << 22) ? (u32)pkts : 1u << 22;
}

static void steer_path(struct cc *cc, struct rc_window *w, struct bbr *b)
{
	u32 pkts = b->measures ? BBR_LEAST_PKTS : held_pkts(cc, b, BBR_TIMES);
	u32 kbps = rate_of(b);

	if (pkts < BBR_LEAST_PKTS)
		pkts = BBR_LEAST_PKTS;
	w->pkts = pkts < w->max ? pkts : w->max;
	w->threshold = w->pkts;
	if (b->phase == 0)
		kbps += kbps / 4;
	else if (b->phase == 1)
		kbps -= kbps / 4;
	kbps = kbps > CC_LEAST_KBPS ? kbps : CC_LEAST_KBPS;
	cc->kbps = kbps < CC_MOST_KBPS ? kbps : CC_MOST_KBPS;
	b->phase = (u8)((b->phase + 1) % BBR_PHASES);
}

static void bbr_round(struct cc *cc, struct rc_window *w, const struct cc_round *r)
{
	struct bbr *b = bbr_state(cc);

	if (!r->rtt_ns)
		return;
	note_length(b, r);
	note_rate(b, cc_kbps((u64)r->rtt_pkts * cc->pkt_bytes, r->rtt_ns), r->limited);
	if (!b->full && r->limited)
		look_for_end(b, w);
	if (!b->full)
		return;
	b->measures = r->now_ns - b->length_from_ns > BBR_LENGTH_NS;
	steer_path(cc, w, b);
}

static void bbr_lost(struct cc *cc, struct rc_window *w)
{
}

static void bbr_restart(struct cc *cc, struct rc_window *w)
{
	w->pkts = 1;
}

CC_OPS(bbr) = {
	.name = "bbr",
	.round = bbr_round,
	.lost = bbr_lost,
	.restart = bbr_restart,
};
