// SPDX-License-Identifier: GPL-2.0
/* Kernel CQs: each poll context with each vector, limits, notification, resize, overrun. */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>

#include "conform.h"

/* ---- poll contexts ---- */

static void use_pair(struct conform *c, const struct conform_options *options)
{
	struct conform_pair *pair = conform_pair(c, options);
	struct conform_work w;
	u32 i;

	for (i = 0; pair && i < 3; i++) {
		EXPECT(c, conform_post_recv(&pair->far, 64, 1), 0);
		conform_work(&w, &pair->near, IB_WR_SEND, 64);
		EXPECT(c, conform_do(&pair->near, &w.send), 0);
		EXPECT(c, conform_wait(&pair->far, 1), 0);
	}
}

static void use_context(struct conform *c, enum ib_poll_context context)
{
	struct conform_options options = { .poll_ctx = context };

	for (; options.vector < (int)c->dev->num_comp_vectors && options.vector < 4;
	     options.vector++)
		use_pair(c, &options);
}

static void use_any(struct conform *c, enum ib_poll_context context)
{
	struct conform_options options = { .poll_ctx = context, .vector = -1 };

	use_pair(c, &options);
}

static void use_direct(struct conform *c)
{
	use_context(c, IB_POLL_DIRECT);
}

static void use_softirq(struct conform *c)
{
	use_context(c, IB_POLL_SOFTIRQ);
}

static void use_workqueue(struct conform *c)
{
	use_context(c, IB_POLL_WORKQUEUE);
}

static void use_unbound(struct conform *c)
{
	use_context(c, IB_POLL_UNBOUND_WORKQUEUE);
}

static void any_direct(struct conform *c)
{
	use_any(c, IB_POLL_DIRECT);
}

static void any_softirq(struct conform *c)
{
	use_any(c, IB_POLL_SOFTIRQ);
}

static void any_workqueue(struct conform *c)
{
	use_any(c, IB_POLL_WORKQUEUE);
}

static void any_unbound(struct conform *c)
{
	use_any(c, IB_POLL_UNBOUND_WORKQUEUE);
}

static void use_pool(struct conform *c)
{
	static const enum ib_poll_context contexts[] = {
		IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE, IB_POLL_UNBOUND_WORKQUEUE,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		struct ib_cq *cq = ib_cq_pool_get(c->dev, 64, 0, contexts[i]);

		if (!EXPECT(c, REFUSAL(cq), 0))
			continue;
		EXPECT(c, cq->cqe >= 64, true);
		ib_cq_pool_put(cq, 64);
	}
}

static void alloc_every_vector(struct conform *c)
{
	u32 i;

	for (i = 0; i < c->dev->num_comp_vectors; i++) {
		struct ib_cq *cq = ib_alloc_cq(c->dev, NULL, 16, i, IB_POLL_WORKQUEUE);

		if (EXPECT(c, REFUSAL(cq), 0))
			ib_free_cq(cq);
	}
}

/* ---- limits: of no entry ib_core warns ---- */

static void expect_cq(struct conform *c, const struct ib_cq_init_attr *attr, int error)
{
	struct ib_cq *cq = ib_create_cq(c->dev, NULL, NULL, NULL, attr);

	EXPECT(c, REFUSAL(cq), error);
	if (!IS_ERR(cq))
		ib_destroy_cq(cq);
}

static void cq_limit(struct conform *c)
{
	expect_cq(c, &(struct ib_cq_init_attr){ .cqe = c->dev->attrs.max_cqe }, 0);
}

static void cq_beyond(struct conform *c)
{
	expect_cq(c, &(struct ib_cq_init_attr){ .cqe = c->dev->attrs.max_cqe + 1 }, -EINVAL);
}

static void cq_vector(struct conform *c)
{
	expect_cq(c, &(struct ib_cq_init_attr){ .cqe = 1,
						.comp_vector = c->dev->num_comp_vectors },
		  -EINVAL);
}

static void cq_flags(struct conform *c)
{
	expect_cq(c, &(struct ib_cq_init_attr){ .cqe = 1, .flags = 1u << 31 }, -EOPNOTSUPP);
}

static void cq_ignore_overrun(struct conform *c)
{
	expect_cq(c, &(struct ib_cq_init_attr){ .cqe = 1,
						.flags = IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN },
		  -EOPNOTSUPP);
}

/* ---- notification ---- */

/* Of the CQ of the case that runs: it is destroyed after the case has returned. */
static struct {
	atomic_t calls, overruns;
} noted;

static void count_call(struct ib_cq *cq, void *context)
{
	atomic_inc(&noted.calls);
}

static void count_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_CQ_ERR)
		atomic_inc(&noted.overruns);
}

static void cq_undo(void *cq)
{
	ib_destroy_cq(cq);
}

/* A pair whose near end has a CQ with handlers. */
static struct conform_pair *watched_pair(struct conform *c, u32 entries)
{
	struct ib_cq_init_attr attr = { .cqe = entries };
	struct conform_options options = { .poll_ctx = IB_POLL_DIRECT };

	atomic_set(&noted.calls, 0);
	atomic_set(&noted.overruns, 0);
	options.near_cq = ib_create_cq(c->dev, count_call, count_event, NULL, &attr);
	if (!EXPECT(c, REFUSAL(options.near_cq), 0))
		return NULL;
	conform_defer(c, cq_undo, options.near_cq);
	return conform_pair(c, &options);
}

/* A WRITE of nothing. */
static int post_write(struct conform_end *end)
{
	struct conform_work w;

	conform_rdma(&w, end, IB_WR_RDMA_WRITE, 0, 0, 0);
	w.send.num_sge = 0;
	return conform_post(end, &w.send, 0);
}

static void notify_next(struct conform *c)
{
	struct conform_pair *pair = watched_pair(c, 64);

	if (!pair)
		return;
	EXPECT(c, ib_req_notify_cq(pair->near.cq, IB_CQ_NEXT_COMP), 0);
	EXPECT(c, post_write(&pair->near), 0);
	EXPECT(c, conform_comes(&noted.calls), true);
	EXPECT(c, conform_wait(&pair->near, 0), 0);
	/* Once only. */
	EXPECT(c, post_write(&pair->near), 0);
	EXPECT(c, conform_wait(&pair->near, 0), 0);
	EXPECT(c, atomic_read(&noted.calls), 1);
}

static void notify_solicited(struct conform *c)
{
	struct conform_pair *pair = watched_pair(c, 64);
	struct conform_work w;

	if (!pair)
		return;
	EXPECT(c, ib_req_notify_cq(pair->near.cq, IB_CQ_SOLICITED), 0);
	EXPECT(c, post_write(&pair->near), 0);
	EXPECT(c, conform_wait(&pair->near, 0), 0);
	EXPECT(c, atomic_read(&noted.calls), 0);
	EXPECT(c, conform_post_recv(&pair->near, 64, 1), 0);
	conform_work(&w, &pair->far, IB_WR_SEND, 64);
	w.send.send_flags |= IB_SEND_SOLICITED;
	EXPECT(c, conform_do(&pair->far, &w.send), 0);
	EXPECT(c, conform_comes(&noted.calls), true);
	EXPECT(c, conform_wait(&pair->near, 1), 0);
}

/* An entry that is there already is reported, instead of a call that may never come. */
static void notify_missed(struct conform *c)
{
	struct conform_pair *pair = watched_pair(c, 64);

	if (!pair)
		return;
	EXPECT(c, ib_req_notify_cq(pair->near.cq, IB_CQ_NEXT_COMP), 0);
	EXPECT(c, post_write(&pair->near), 0);
	EXPECT(c, conform_comes(&noted.calls), true);
	EXPECT(c, ib_req_notify_cq(pair->near.cq,
				   IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0, true);
	EXPECT(c, conform_wait(&pair->near, 0), 0);
	EXPECT(c, ib_req_notify_cq(pair->near.cq,
				   IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS), 0);
}

static void notify_moderated(struct conform *c)
{
	struct conform_pair *pair = watched_pair(c, 64);

	if (!pair)
		return;
	/* After two entries, or 65 ms after the first. */
	EXPECT(c, rdma_set_cq_moderation(pair->near.cq, 2, U16_MAX), 0);
	EXPECT(c, ib_req_notify_cq(pair->near.cq, IB_CQ_NEXT_COMP), 0);
	EXPECT(c, post_write(&pair->near), 0);
	EXPECT(c, conform_comes(&noted.calls), true);
	EXPECT(c, conform_wait(&pair->near, 0), 0);
	EXPECT(c, rdma_set_cq_moderation(pair->near.cq, 0, 0), 0);
}

static void poll_nothing(struct conform *c)
{
	struct ib_cq *cq = conform_cq(c, 16);
	struct ib_wc wc;

	if (!cq)
		return;
	EXPECT(c, ib_poll_cq(cq, 1, &wc), 0);
	EXPECT(c, ib_poll_cq(cq, 0, &wc), 0);
}

/* The QP of a CQ that is full ends. */
static void cq_overrun(struct conform *c)
{
	struct conform_pair *pair = watched_pair(c, 1);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr = {};
	unsigned long deadline = jiffies + msecs_to_jiffies(CONFORM_WAIT_MS);
	u32 posted = 0;

	if (!pair)
		return;
	/* The send queue may be shorter. */
	while (posted <= pair->near.cq->cqe && time_before(jiffies, deadline)) {
		if (post_write(&pair->near))
			usleep_range(100, 200);
		else
			posted++;
	}
	EXPECT(c, conform_comes(&noted.overruns), true);
	do {
		usleep_range(100, 200);
		EXPECT(c, ib_query_qp(pair->near.qp, &attr, IB_QP_STATE, &init), 0);
	} while (attr.qp_state != IB_QPS_ERR && time_before(jiffies, deadline));
	EXPECT(c, attr.qp_state, IB_QPS_ERR);
}

/* ---- resize ---- */

#ifdef TERN_HAS_resize_user_cq
static int resize(struct conform *c, struct ib_cq *cq, u32 entries)
{
	c->skip = "this kernel resizes no kernel CQs";
	return 0;
}
#else
static int resize(struct conform *c, struct ib_cq *cq, u32 entries)
{
	return ib_resize_cq(cq, entries);
}
#endif

static void resize_with_entries(struct conform *c)
{
	struct conform_pair *pair = watched_pair(c, 64);
	u32 i;

	if (!pair)
		return;
	EXPECT(c, ib_req_notify_cq(pair->near.cq, IB_CQ_NEXT_COMP), 0);
	EXPECT(c, post_write(&pair->near), 0);
	EXPECT(c, conform_comes(&noted.calls), true);
	EXPECT(c, resize(c, pair->near.cq, 1000), 0);
	EXPECT(c, conform_wait(&pair->near, 0), 0);
	for (i = 0; i < 3; i++) {
		EXPECT(c, post_write(&pair->near), 0);
		EXPECT(c, conform_wait(&pair->near, 0), 0);
	}
}

static void expect_resize(struct conform *c, u32 entries, int error)
{
	struct ib_cq *cq = conform_cq(c, 16);
	int err = cq ? resize(c, cq, entries) : 0;

	if (!c->skip)
		EXPECT(c, err, error);
}

static void resize_limit(struct conform *c)
{
	expect_resize(c, c->dev->attrs.max_cqe, 0);
}

static void resize_beyond(struct conform *c)
{
	expect_resize(c, c->dev->attrs.max_cqe + 1, -EINVAL);
}

static void resize_empty(struct conform *c)
{
	expect_resize(c, 0, -EINVAL);
}

const struct conform_case conform_cq_cases[] = {
	{ "DIRECT_with_each_vector", use_direct },
	{ "SOFTIRQ_with_each_vector", use_softirq },
	{ "WORKQUEUE_with_each_vector", use_workqueue },
	{ "UNBOUND_WORKQUEUE_with_each_vector", use_unbound },
	{ "DIRECT_with_any_vector", any_direct },
	{ "SOFTIRQ_with_any_vector", any_softirq },
	{ "WORKQUEUE_with_any_vector", any_workqueue },
	{ "UNBOUND_WORKQUEUE_with_any_vector", any_unbound },
	{ "of_the_pool", use_pool },
	{ "of_every_vector", alloc_every_vector },
	{ "of_the_limit", cq_limit },
	{ "of_one_entry_more_than_the_limit_is_refused", cq_beyond },
	{ "vector_beyond_the_last_is_refused", cq_vector },
	{ "unknown_flag_is_refused", cq_flags },
	{ "IGNORE_OVERRUN_is_refused", cq_ignore_overrun },
	{ "notification_comes_once", notify_next },
	{ "notification_of_solicited_ones", notify_solicited },
	{ "notification_reports_what_is_there", notify_missed },
	{ "notification_with_moderation", notify_moderated },
	{ "poll_of_an_empty_one", poll_nothing },
	{ "overrun_is_CQ_ERR", cq_overrun },
	{ "resize_keeps_entries", resize_with_entries },
	{ "resize_to_the_limit", resize_limit },
	{ "resize_to_one_entry_more_than_the_limit_is_refused", resize_beyond },
	{ "resize_to_nothing_is_refused", resize_empty },
	{}
};
