// SPDX-License-Identifier: GPL-2.0
/*
 * Additive increase, multiplicative decrease by losses alone, after RFC 5681: each loss halves the
 * window. What it is told of delays and marks makes no difference.
 */
#include "cc.h"

static void aimd_round(struct cc *cc, struct rc_window *w, const struct cc_round *r)
{
	if (r->limited)
		rc_window_step(w);
}

static void aimd_lost(struct cc *cc, struct rc_window *w)
{
	rc_window_lost(w);
}

static void aimd_restart(struct cc *cc, struct rc_window *w)
{
	rc_window_restart(w);
}

CC_OPS(aimd) = {
	.name = "aimd",
	.round = aimd_round,
	.lost = aimd_lost,
	.restart = aimd_restart,
};
