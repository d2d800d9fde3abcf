// SPDX-License-Identifier: GPL-2.0
/*
 * ib_drain_qp(), ib_drain_sq() and ib_drain_rq() in each state, with each poll context. ib_core
 * warns of a QP in RESET, which cannot go to ERR; iWARP's can from any state.
 */
#include <linux/err.h>

#include "conform.h"

#define POSTED 6

static bool post_receives(struct conform *c, struct conform_end *end)
{
	u32 i;

	for (i = 0; i < POSTED; i++)
		if (!EXPECT(c, conform_post_recv(end, 64, i), 0))
			return false;
	return true;
}

static void expect_flushed(struct conform *c, struct conform_end *end)
{
	u32 i;

	for (i = 0; i < POSTED; i++) {
		EXPECT(c, completion_done(&end->done[i].completion), true);
		EXPECT(c, end->done[i].wc.status, IB_WC_WR_FLUSH_ERR);
	}
}

static void drain_in(struct conform *c, enum ib_qp_state state)
{
	struct conform_end *end = conform_single(c, IB_QPT_RC, state);

	if (!end || !post_receives(c, end))
		return;
	ib_drain_qp(end->qp);
	expect_flushed(c, end);
	/* Another time there is nothing to wait for. */
	ib_drain_qp(end->qp);
}

static void drain_in_init(struct conform *c)
{
	drain_in(c, IB_QPS_INIT);
}

static void drain_in_rtr(struct conform *c)
{
	drain_in(c, IB_QPS_RTR);
}

static void drain_in_rts(struct conform *c)
{
	drain_in(c, IB_QPS_RTS);
}

static void drain_in_sqd(struct conform *c)
{
	drain_in(c, IB_QPS_SQD);
}

static void drain_in_err(struct conform *c)
{
	drain_in(c, IB_QPS_ERR);
}

/* Not connected, and not INIT either. */
static void drain_unconnected(struct conform *c)
{
	struct ib_cq *cq = conform_cq(c, 64);
	struct ib_qp_init_attr init;
	struct ib_qp *qp;

	if (!cq)
		return;
	conform_qp_init_attr(&init, cq, IB_QPT_RC);
	qp = ib_create_qp(c->pd, &init);
	if (!EXPECT(c, REFUSAL(qp), 0))
		return;
	ib_drain_qp(qp);
	ib_destroy_qp(qp);
}

static void drain_connected(struct conform *c, enum ib_poll_context context)
{
	struct conform_options options = { .poll_ctx = context };
	struct conform_pair *pair = conform_pair(c, &options);
	struct conform_work w;
	u32 i;

	if (!pair || !post_receives(c, &pair->far))
		return;
	for (i = 0; i < POSTED; i++) {
		conform_rdma(&w, &pair->near, IB_WR_RDMA_WRITE, 0, 0, 0);
		w.send.num_sge = 0;
		EXPECT(c, conform_post(&pair->near, &w.send, i), 0);
	}
	ib_drain_sq(pair->near.qp);
	/* All are complete, whatever their status. */
	for (i = 0; i < POSTED; i++)
		EXPECT(c, completion_done(&pair->near.done[i].completion), true);
	ib_drain_rq(pair->far.qp);
	expect_flushed(c, &pair->far);
	ib_drain_qp(pair->near.qp);
	ib_drain_qp(pair->far.qp);
}

static void drain_by_caller(struct conform *c)
{
	drain_connected(c, IB_POLL_DIRECT);
}

static void drain_by_softirq(struct conform *c)
{
	drain_connected(c, IB_POLL_SOFTIRQ);
}

static void drain_by_workqueue(struct conform *c)
{
	drain_connected(c, IB_POLL_WORKQUEUE);
}

static void drain_disconnected(struct conform *c)
{
	struct conform_pair *pair = conform_pair(c, NULL);

	if (!pair || !post_receives(c, &pair->near))
		return;
	EXPECT(c, rdma_disconnect(pair->near.id), 0);
	ib_drain_qp(pair->near.qp);
	expect_flushed(c, &pair->near);
	ib_drain_qp(pair->far.qp);
}

static void drain_with_srq(struct conform *c)
{
	struct conform_options options = { .srq = conform_srq(c, 16, 1) };
	struct conform_pair *pair = options.srq ? conform_pair(c, &options) : NULL;

	if (!pair)
		return;
	ib_drain_qp(pair->far.qp);
	EXPECT(c, conform_has_event(&pair->far, IB_EVENT_QP_LAST_WQE_REACHED), true);
}

const struct conform_case conform_drain_cases[] = {
	{ "in_INIT", drain_in_init, CONFORM_ROCE },
	{ "in_RTR", drain_in_rtr, CONFORM_ROCE },
	{ "in_RTS", drain_in_rts, CONFORM_ROCE },
	{ "in_SQD", drain_in_sqd, CONFORM_ROCE },
	{ "in_ERR", drain_in_err, CONFORM_ROCE },
	{ "unconnected", drain_unconnected, CONFORM_IWARP },
	{ "connected_DIRECT", drain_by_caller },
	{ "connected_SOFTIRQ", drain_by_softirq },
	{ "connected_WORKQUEUE", drain_by_workqueue },
	{ "disconnected", drain_disconnected },
	{ "with_an_srq", drain_with_srq },
	{}
};
