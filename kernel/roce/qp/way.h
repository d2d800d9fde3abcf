/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which way a QP's runs go: by the wire, as packets, or to a QP of this host without any.
 */
#ifndef TERN_ROCE_QP_WAY_H
#define TERN_ROCE_QP_WAY_H

#include "core/qp.h"
#include "roce/qp/state.h"

struct run;

enum roce_way {
	ROCE_WAY_WIRE,
	ROCE_WAY_LOCAL,		/* local.to is locked until roce_peer_close() */
	ROCE_WAY_WAIT,		/* not now; qp is run when it can go on */
	ROCE_WAY_CHANGED,	/* ask the engine again: the window is another */
};

/* Which way does the requester's next run go? Run lock held, BHs off; so for the next two. */
enum roce_way roce_way_of_request(struct roce_qp *qp, const struct run *run);
/* And what the responder owes, if qp->local.resp? */
enum roce_way roce_way_of_answers(struct roce_qp *qp);
/* RESET: as if nothing had gone either way. */
void roce_way_reset(struct roce_qp *qp);
/* For people: how a connected QP's packets go. NULL: it is not connected. Any context. */
const char *roce_way_name(const struct tern_qp *base);

#endif
