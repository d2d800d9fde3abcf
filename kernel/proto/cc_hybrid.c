// SPDX-License-Identifier: GPL-2.0
/*
 * Losses and marks, each where it tells something.
 *
 * A loss counts if there is a queue that may be full, which the round trip shows, or if more than
 * one in HYBRID_LOSSES is lost. Else the path is one that loses packets however few there are, and
 * less of them would not help. So a path that loses 1 % is used as if it did not, and beside TCP
 * the window is as small as TCP's.
 *
 * Marks count as in DCTCP (RFC 8257 3.3): the window falls by half of the share of rounds in which
 * there was one.
 *
 * Each packet that comes through adds the same part of a packet, also below one, and each cut takes
 * the same part of the window. So in a crowd those that have more lose more. Without a mark on the
 * path to slow it down a window of one packet is still too much for a crowd of a thousand: there the
 * pacer makes it less than one.
 */
#include "cc.h"

/* Each packet that comes through adds 1/32 of a packet. */
#define HYBRID_STEP		32
#define HYBRID_ADD		2
/* Parts of a window that are left by a loss: 7/10, as CUBIC (RFC 9438 4.6). */
#define HYBRID_LEFT		7
#define HYBRID_LEFT_OF		10
/* A queue that makes the round trip longer by a quarter may be full. */
#define HYBRID_QUEUE		4
#define HYBRID_QUEUE_NS		100000
/* More losses than one in 16 count always. */
#define HYBRID_LOSSES		16
/* Packets over which losses are counted. */
#define HYBRID_COUNTED		1024
/* Of marks: the share is in 1/1024, and a new round counts for 1/16 of it. */
#define HYBRID_ALL		1024
#define HYBRID_NEW		16

struct hybrid {
	u32 pkts_256;		/* the window in 1/256 packets */
	u32 acked, lost;	/* packets, of late */
	u32 marks;		/* share of rounds with a mark */
	bool marked;		/* in this round */
	bool cut;		/* likewise */
};

static_assert(sizeof(struct hybrid) <= CC_STATE_WORDS * sizeof(u64));

static struct hybrid *state(struct cc *cc)
{
	return (struct hybrid *)cc->state;
}

static void hybrid_init(struct cc *cc, struct rc_window *w)
{
	state(cc)->marks = HYBRID_ALL;
}

/* It may have grown without us. */
static u32 window(const struct cc *cc, const struct rc_window *w, const struct hybrid *h)
{
	return w->pkts == h->pkts_256 / 256 || (!(h->pkts_256 / 256) && cc->kbps) ? h->pkts_256 :
										   w->pkts * 256;
}

static void cut_to(struct cc *cc, struct rc_window *w, u64 pkts_256)
{
	struct hybrid *h = state(cc);

	h->cut = true;
	h->pkts_256 = cc_set_window(cc, w, (u32)pkts_256);
	w->threshold = w->pkts;
}

static bool loss_counts(const struct cc *cc, const struct hybrid *h)
{
	u64 queue = cc->base_ns / HYBRID_QUEUE;

	if (queue < HYBRID_QUEUE_NS)
		queue = HYBRID_QUEUE_NS;
	return cc->smooth_ns > cc->base_ns + queue ||
	       (u64)h->lost * HYBRID_LOSSES > h->acked;
}

static void hybrid_lost(struct cc *cc, struct rc_window *w)
{
	struct hybrid *h = state(cc);

	if (w->threshold > w->max || loss_counts(cc, h))
		cut_to(cc, w, (u64)window(cc, w, h) * HYBRID_LEFT / HYBRID_LEFT_OF);
}

static void hybrid_marked(struct cc *cc, struct rc_window *w, u64 now_ns)
{
	struct hybrid *h = state(cc);
	u64 pkts = window(cc, w, h);

	if (!h->marked)
		cut_to(cc, w, pkts - pkts * h->marks / HYBRID_ALL / 2);
	h->marked = true;
}

static void hybrid_restart(struct cc *cc, struct rc_window *w)
{
	struct hybrid *h = state(cc);
	u32 pkts = window(cc, w, h);

	cut_to(cc, w, pkts < 256 ? pkts / 2 : 256);
	w->threshold = pkts / 512 ? pkts / 512 : 1;
}

static void count(struct hybrid *h, const struct cc_round *r)
{
	h->acked += r->acked_pkts;
	h->lost += r->lost_pkts;
	while (h->acked > HYBRID_COUNTED) {
		h->acked /= 2;
		h->lost /= 2;
	}
	h->marks -= h->marks / HYBRID_NEW;
	if (h->marked)
		h->marks += HYBRID_ALL / HYBRID_NEW;
}

static void hybrid_round(struct cc *cc, struct rc_window *w, const struct cc_round *r)
{
	struct hybrid *h = state(cc);
	u32 pkts = window(cc, w, h);

	count(h, r);
	if (r->limited && !h->cut && w->pkts >= w->threshold)
		pkts += r->acked_pkts * ((pkts < 256 ? pkts : 256) / HYBRID_STEP + HYBRID_ADD);
	h->pkts_256 = w->pkts < w->threshold ? pkts : cc_set_window(cc, w, pkts);
	h->marked = false;
	h->cut = false;
}

const struct cc_ops cc_hybrid = {
	.name = "hybrid",
	.marks = true,
	.init = hybrid_init,
	.round = hybrid_round,
	.lost = hybrid_lost,
	.restart = hybrid_restart,
	.marked = hybrid_marked,
};
