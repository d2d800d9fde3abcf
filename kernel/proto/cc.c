// SPDX-License-Identifier: GPL-2.0
/*
 * Which congestion controllers there are, and what they all need: rounds, the shortest round trip,
 * and windows of less than a packet. The contract is in cc.h.
 */
#include "cc.h"

const struct cc_ops *const cc_all[] = {
	&cc_aimd,
	&cc_hybrid,
	&cc_dcqcn,
	&cc_delay,
	&cc_bbr,
	NULL,
};

const struct cc_params cc_default_params = {
	.dcqcn_alpha_ns = 55000,
	.dcqcn_rate_ns = 55000,
	.dcqcn_rate_bytes = 10u << 20,
	.dcqcn_ai_kbps = 40000,
	.dcqcn_hai_kbps = 200000,
	.dcqcn_g_shift = 8,
};

const struct cc_ops *cc_find(const char *name)
{
	u32 i;

	for (i = 0; cc_all[i]; i++)
		if (!strcmp(cc_all[i]->name, name))
			return cc_all[i];
	return NULL;
}

void cc_init(struct cc *cc, struct rc_window *w, const struct cc_ops *ops,
	     const struct cc_params *params, u32 psn, u32 pmtu)
{
	*cc = (struct cc){
		.ops = ops ? ops : cc_all[0],
		.params = params ? params : &cc_default_params,
		.pkt_bytes = pmtu + PACER_PKT_BYTES,
		.round_psn = psn,
	};
	if (!rc_window_is_fixed(w) && cc->ops->init)
		cc->ops->init(cc, w);
}

/*
 * The shortest of this period and of the one before. If the path becomes longer, that is taken for
 * a queue until then, and the window is too small. A queue that is never empty in two of them is
 * taken for the path.
 */
static void note_base(struct cc *cc, u64 now_ns, u64 rtt_ns)
{
	if (now_ns - cc->base_from_ns > CC_BASE_NS) {
		cc->base_ns = cc->next_base_ns;
		cc->next_base_ns = 0;
		cc->base_from_ns = now_ns;
	}
	if (!cc->next_base_ns || rtt_ns < cc->next_base_ns)
		cc->next_base_ns = rtt_ns;
	if (!cc->base_ns || cc->next_base_ns < cc->base_ns)
		cc->base_ns = cc->next_base_ns;
}

void cc_measured(struct cc *cc, u64 now_ns, u64 rtt_ns)
{
	note_base(cc, now_ns, rtt_ns);
	cc->smooth_ns = cc->smooth_ns ? cc->smooth_ns - cc->smooth_ns / 8 + rtt_ns / 8 : rtt_ns;
	cc->rtt_ns = rtt_ns;
	cc->rtt_pkts = cc->acked_pkts - cc->timed_from;
}

void cc_end_round(struct cc *cc, struct rc_window *w, u64 now_ns, u32 psn_max)
{
	struct cc_round r = {
		.now_ns = cc_time(cc, now_ns),
		.rtt_ns = cc->rtt_ns,
		.rtt_pkts = cc->rtt_pkts,
		.acked_pkts = cc->acked_pkts - cc->round_from,
		.lost_pkts = cc->lost_pkts,
		.limited = cc->limited,
	};

	cc->round_psn = psn_max;
	cc->round_from = cc->acked_pkts;
	cc->rtt_ns = 0;
	cc->lost_pkts = 0;
	cc->limited = false;
	cc->ops->round(cc, w, &r);
}

u32 cc_set_window(struct cc *cc, struct rc_window *w, u32 pkts_256)
{
	u64 least = CC_LEAST_KBPS * cc->smooth_ns / 8000000 * 256 / cc->pkt_bytes;

	/* Without a round trip there is no rate. */
	if (least > 256 || !cc->smooth_ns)
		least = 256;
	if (!least)
		least = 1;
	if (pkts_256 < least)
		pkts_256 = (u32)least;
	if (pkts_256 > w->max * 256)
		pkts_256 = w->max * 256;
	cc->kbps = 0;
	w->pkts = pkts_256 / 256;
	if (!w->pkts) {
		w->pkts = 1;
		cc->kbps = cc_kbps((u64)pkts_256 * cc->pkt_bytes / 256, cc->smooth_ns);
	}
	return pkts_256;
}
