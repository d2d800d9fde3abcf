// SPDX-License-Identifier: GPL-2.0
/*
 * Losses and marks, each where it tells something.
 *
 * A loss counts if the round trip shows a queue that may be full. Else the path may be one that
 * loses packets however few there are, and fewer would not help: so a path that loses 1 % is used
 * as if it did not. If more than one in HYBRID_LOSSES is lost, it counts down to the least window,
 * and if more than one in HYBRID_CROWD, further: a queue that was full from the beginning does not
 * show. Beside TCP the window is about as small as TCP's.
 *
 * Marks count as in DCTCP (RFC 8257 3.3): the window falls by half of the share of rounds in which
 * there was one.
 *
 * A window of one packet is too much for a crowd of a thousand. Below it there is a rate instead,
 * which rises and falls likewise. It does not depend on the round trip of the moment: the emptier
 * the queue, the faster all would be.
 */
#include "cc.h"

/* Each packet that comes through adds 1/32 of a packet, or of the rate. */
#define HYBRID_STEP		32
/* And this to a rate: the lower one grows faster, so a crowd converges. */
#define HYBRID_ADD_KBPS		2000
/* Of 1024 parts a loss leaves seven tenths, as CUBIC (RFC 9438 4.6). */
#define HYBRID_ALL		1024
#define HYBRID_LEFT		717
/* A queue may be full that makes the round trip longer by a quarter, and by this. */
#define HYBRID_QUEUE		4
#define HYBRID_QUEUE_NS		100000
/* More losses than one in 16 count always; packets over which they are counted. */
#define HYBRID_LOSSES		16
#define HYBRID_COUNTED		1024
/* Below w->min they count if they are more than one in 12. */
#define HYBRID_CROWD		12
/* Of rounds with marks: a new one counts for 1/16. */
#define HYBRID_NEW		16

struct hybrid {
	u32 pkts_256;		/* the window in 1/256 packets, one packet at least */
	u32 acked, lost;	/* packets, of late */
	u32 marks;		/* share of rounds with a mark, of HYBRID_ALL */
	bool marked;		/* in this round */
	bool cut;		/* likewise */
};

static_assert(sizeof(struct hybrid) <= CC_STATE_WORDS * sizeof(u64));

static struct hybrid *hybrid_state(struct cc *cc)
{
	return (struct hybrid *)cc->state;
}

static void hybrid_init(struct cc *cc, struct rc_window *w)
{
	hybrid_state(cc)->marks = HYBRID_ALL;
}

/* It may have grown, or been limited, without us. */
static u32 hybrid_window(const struct rc_window *w, const struct hybrid *h)
{
	return w->pkts == h->pkts_256 / 256 ? h->pkts_256 : w->pkts * 256;
}

static void set_window(struct cc *cc, struct rc_window *w, u64 pkts_256)
{
	struct hybrid *h = hybrid_state(cc);

	cc->kbps = 0;
	if (pkts_256 < 256) {
		/* Without a round trip there is no rate. */
		if (cc->smooth_ns)
			cc->kbps = cc_kbps(pkts_256 * cc->pkt_bytes / 256, cc->smooth_ns);
		pkts_256 = 256;
	}
	h->pkts_256 = pkts_256 < w->max * 256ull ? (u32)pkts_256 : w->max * 256;
	w->pkts = h->pkts_256 / 256;
}

/* left: of HYBRID_ALL parts. */
static void cut_to(struct cc *cc, struct rc_window *w, u32 left)
{
	struct hybrid *h = hybrid_state(cc);
	u64 kbps = (u64)cc->kbps * left / HYBRID_ALL;

	if (cc->kbps)
		cc->kbps = kbps > CC_LEAST_KBPS ? (u32)kbps : CC_LEAST_KBPS;
	else
		set_window(cc, w, (u64)hybrid_window(w, h) * left / HYBRID_ALL);
	w->threshold = w->pkts;
	h->cut = true;
}

static bool has_queue(const struct cc *cc)
{
	u64 queue = cc->base_ns / HYBRID_QUEUE;

	if (queue < HYBRID_QUEUE_NS)
		queue = HYBRID_QUEUE_NS;
	return cc->smooth_ns > cc->base_ns + queue;
}

static bool loses_one_in(const struct hybrid *h, u32 pkts)
{
	return (u64)h->lost * pkts > h->acked;
}

static void hybrid_lost(struct cc *cc, struct rc_window *w)
{
	const struct hybrid *h = hybrid_state(cc);
	/* What begins may have been too fast for any path. */
	bool counts = w->threshold > w->max || loses_one_in(h, HYBRID_LOSSES) || has_queue(cc);
	/* Late packets make a round trip longer as a queue does. */
	bool crowd = loses_one_in(h, HYBRID_CROWD) || (has_queue(cc) && !cc->reorders);

	if (crowd || (counts && w->pkts > w->min))
		cut_to(cc, w, HYBRID_LEFT);
}

static void hybrid_marked(struct cc *cc, struct rc_window *w, u64 now_ns)
{
	struct hybrid *h = hybrid_state(cc);

	if (!h->marked)
		cut_to(cc, w, HYBRID_ALL - h->marks / 2);
	h->marked = true;
}

static void hybrid_restart(struct cc *cc, struct rc_window *w)
{
	u32 pkts = w->pkts;

	if (pkts > 1) {
		set_window(cc, w, 256);
		w->threshold = pkts / 2;
	} else if (w->threshold <= 1) {
		cut_to(cc, w, HYBRID_LEFT);
	}
}

static void count_losses(struct hybrid *h, const struct cc_round *r)
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

static void let_grow(struct cc *cc, struct rc_window *w, u32 acked_pkts)
{
	u64 kbps = cc->kbps + (u64)acked_pkts * (cc->kbps / HYBRID_STEP + HYBRID_ADD_KBPS);
	u32 pkts_256 = hybrid_window(w, hybrid_state(cc));

	if (!cc->kbps)
		set_window(cc, w, pkts_256 + acked_pkts * (256 / HYBRID_STEP));
	else if (kbps * cc->smooth_ns >= (u64)cc->pkt_bytes * 8000000)
		set_window(cc, w, 256);
	else
		cc->kbps = (u32)kbps;
}

static void hybrid_round(struct cc *cc, struct rc_window *w, const struct cc_round *r)
{
	struct hybrid *h = hybrid_state(cc);

	count_losses(h, r);
	if (r->limited && !h->cut && w->pkts >= w->threshold)
		let_grow(cc, w, r->acked_pkts);
	h->marked = false;
	h->cut = false;
}

CC_OPS(hybrid) = {
	.name = "hybrid",
	.marks = true,
	.init = hybrid_init,
	.round = hybrid_round,
	.lost = hybrid_lost,
	.restart = hybrid_restart,
	.marked = hybrid_marked,
};
