// SPDX-License-Identifier: GPL-2.0
/*
 * DCQCN: a rate that falls with CNPs and rises with time and with bytes (Y. Zhu et al., Congestion
 * Control for Large-Scale RDMA Deployments, SIGCOMM 2015, 3.1). The names are the paper's. It is
 * meant for a network that marks, and pauses before it drops; the window is for others.
 *
 * The rate is computed when something is acknowledged, not by timers. A flow begins without a rate.
 * The first CNP finds it at the rate of its last round trip, and a rate that is no limit any more
 * ends.
 */
#include "cc.h"

/* Fast recovery: increases before additive increase begins. */
#define DCQCN_F			5
/* alpha is in parts of this: fine enough for the smallest g, 1/1024. */
#define DCQCN_ONE		(1u << 20)
/*
 * Increases at once: a bound for the time that a call takes after silence. It is 3.5 ms of the
 * published timer, so on longer paths the rate rises slower than published. Not measured.
 */
#define DCQCN_MOST		64

struct dcqcn {
	u64 alpha_from_ns;	/* since when there was no CNP, or alpha fell last */
	u64 rate_from_ns;	/* since when the timer of increases runs */
	u32 target_kbps;	/* R_T */
	u32 alpha;
	u32 delivered_kbps;	/* in the last round trip; 0: not known */
	u32 bytes;		/* acknowledged since the byte counter's last increase */
	u16 by_time;		/* increases by time since the last CNP, */
	u16 by_bytes;		/* and by bytes */
};

static_assert(sizeof(struct dcqcn) <= CC_STATE_WORDS * sizeof(u64));

static struct dcqcn *dcqcn_state(struct cc *cc)
{
	return (struct dcqcn *)cc->state;
}

static void dcqcn_init(struct cc *cc, struct rc_window *w)
{
	dcqcn_state(cc)->alpha = DCQCN_ONE;
}

static u32 g_of(u32 value, const struct cc_params *p)
{
	return value >> READ_ONCE(p->dcqcn_g_shift);
}

/* alpha falls once for each period without a CNP. */
static void let_alpha_fall(struct dcqcn *d, const struct cc_params *p, u64 now_ns)
{
	u32 period = READ_ONCE(p->dcqcn_alpha_ns), i;

	for (i = 0; i < DCQCN_MOST && now_ns - d->alpha_from_ns >= period; i++) {
		d->alpha -= g_of(d->alpha, p);
		d->alpha_from_ns += period;
	}
	if (i == DCQCN_MOST)
		d->alpha_from_ns = now_ns;
}

static u32 sum_kbps(u32 a, u32 b)
{
	return a < CC_MOST_KBPS - b ? a + b : CC_MOST_KBPS;
}

/* One increase, by either of the two counters. */
static void increase_rate(struct cc *cc, struct dcqcn *d)
{
	const struct cc_params *p = cc->params;
	u32 most = d->by_time > d->by_bytes ? d->by_time : d->by_bytes;
	u32 least = d->by_time < d->by_bytes ? d->by_time : d->by_bytes;

	if (least > DCQCN_F)
		d->target_kbps = sum_kbps(d->target_kbps, READ_ONCE(p->dcqcn_hai_kbps));
	else if (most > DCQCN_F)
		d->target_kbps = sum_kbps(d->target_kbps, READ_ONCE(p->dcqcn_ai_kbps));
	cc->kbps = cc->kbps / 2 + d->target_kbps / 2;
}

static void let_rate_rise(struct cc *cc, struct dcqcn *d, const struct cc_round *r)
{
	u32 period = READ_ONCE(cc->params->dcqcn_rate_ns), i;
	u32 bytes = READ_ONCE(cc->params->dcqcn_rate_bytes);

	for (i = 0; i < DCQCN_MOST && r->now_ns - d->rate_from_ns >= period; i++) {
		d->by_time += d->by_time < 0xffff;
		increase_rate(cc, d);
		d->rate_from_ns += period;
	}
	if (i == DCQCN_MOST)
		d->rate_from_ns = r->now_ns;
	d->bytes += r->acked_pkts * cc->pkt_bytes;
	for (; i < DCQCN_MOST && d->bytes >= bytes; i++) {
		d->by_bytes += d->by_bytes < 0xffff;
		increase_rate(cc, d);
		d->bytes -= bytes;
	}
}

static void dcqcn_round(struct cc *cc, struct rc_window *w, const struct cc_round *r)
{
	struct dcqcn *d = dcqcn_state(cc);

	if (r->rtt_ns)
		d->delivered_kbps = cc_kbps((u64)r->rtt_pkts * cc->pkt_bytes, r->rtt_ns);
	if (r->limited)
		rc_window_step(w);
	if (!cc->kbps)
		return;
	let_alpha_fall(d, cc->params, r->now_ns);
	let_rate_rise(cc, d, r);
	if (d->delivered_kbps && cc->kbps / 4 > d->delivered_kbps)
		cc->kbps = 0;
}

static void dcqcn_marked(struct cc *cc, struct rc_window *w, u64 now_ns)
{
	struct dcqcn *d = dcqcn_state(cc);
	u32 cut;

	if (!cc->kbps) {
		if (!d->delivered_kbps)
			return;
		cc->kbps = d->delivered_kbps;
		d->alpha_from_ns = now_ns;
	}
	let_alpha_fall(d, cc->params, now_ns);
	d->target_kbps = cc->kbps;
	cut = (u32)((u64)cc->kbps * d->alpha / DCQCN_ONE / 2);
	cc->kbps = cc->kbps - cut > CC_LEAST_KBPS ? cc->kbps - cut : CC_LEAST_KBPS;
	d->alpha += g_of(DCQCN_ONE - d->alpha, cc->params);
	d->alpha_from_ns = now_ns;
	d->rate_from_ns = now_ns;
	d->bytes = 0;
	d->by_time = 0;
	d->by_bytes = 0;
	if (w->threshold > w->pkts)
		w->threshold = w->pkts;
}

static void dcqcn_lost(struct cc *cc, struct rc_window *w)
{
	rc_window_lost(w);
}

static void dcqcn_restart(struct cc *cc, struct rc_window *w)
{
	rc_window_restart(w);
}

CC_OPS(dcqcn) = {
	.name = "dcqcn",
	.marks = true,
	.init = dcqcn_init,
	.round = dcqcn_round,
	.lost = dcqcn_lost,
	.restart = dcqcn_restart,
	.marked = dcqcn_marked,
};
