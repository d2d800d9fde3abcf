// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues of kernel consumers: limits, posting, the limit event, resize. */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/string.h>

#include "conform.h"

static void expect_srq(struct conform *c, enum ib_srq_type type, u32 wrs, u32 sges, int error)
{
	struct ib_srq_init_attr init = {
		.srq_type = type,
		.attr = { .max_wr = wrs, .max_sge = sges },
	};
	struct ib_srq *srq;

	if (ib_srq_has_cq(type)) {
		init.ext.cq = conform_cq(c, 16);
		if (!init.ext.cq)
			return;
		init.ext.tag_matching.max_num_tags = 1;
	}
	srq = ib_create_srq(c->pd, &init);
	EXPECT(c, REFUSAL(srq), error);
	if (!IS_ERR(srq))
		ib_destroy_srq(srq);
}

static void create_limit(struct conform *c)
{
	expect_srq(c, IB_SRQT_BASIC, c->dev->attrs.max_srq_wr, c->dev->attrs.max_srq_sge, 0);
}

static void create_wr_beyond(struct conform *c)
{
	expect_srq(c, IB_SRQT_BASIC, c->dev->attrs.max_srq_wr + 1, 1, -EINVAL);
}

static void create_sge_beyond(struct conform *c)
{
	expect_srq(c, IB_SRQT_BASIC, 16, c->dev->attrs.max_srq_sge + 1, -EINVAL);
}

static void create_empty(struct conform *c)
{
	expect_srq(c, IB_SRQT_BASIC, 0, 1, -EINVAL);
}

static void create_tags(struct conform *c)
{
	expect_srq(c, IB_SRQT_TM, 16, 1, -EOPNOTSUPP);
}

/* ---- posting ---- */

static int post_to(struct ib_srq *srq, struct conform_end *end, u32 slot)
{
	return conform_post_recv_to(srq, end, CONFORM_BYTES, slot);
}

static struct conform_pair *pair_with(struct conform *c, struct ib_srq *srq)
{
	struct conform_options options = { .srq = srq };

	return srq ? conform_pair(c, &options) : NULL;
}

static void send_to(struct conform *c, struct conform_pair *pair, u32 slot)
{
	struct conform_work w;

	conform_work(&w, &pair->near, IB_WR_SEND, 64);
	EXPECT(c, conform_do(&pair->near, &w.send), 0);
	EXPECT(c, conform_wait(&pair->far, slot), 0);
	EXPECT(c, memcmp(pair->near.mem, pair->far.mem, 64), 0);
}

static void use_srq(struct conform *c)
{
	struct ib_srq *srq = conform_srq(c, 16, 1);
	struct conform_pair *pair = pair_with(c, srq);

	if (!pair)
		return;
	EXPECT(c, post_to(srq, &pair->far, 1), 0);
	EXPECT(c, post_to(srq, &pair->far, 2), 0);
	send_to(c, pair, 1);
	send_to(c, pair, 2);
}

static void recv_at_qp(struct conform *c)
{
	struct conform_pair *pair = pair_with(c, conform_srq(c, 16, 1));

	if (pair)
		EXPECT(c, conform_post_recv(&pair->far, 64, 1), -EINVAL);
}

static void post_full(struct conform *c)
{
	struct ib_srq *srq = conform_srq(c, 16, 1);
	struct ib_recv_wr wr = {};
	struct ib_srq_attr attr;
	u32 i;

	if (!srq || !EXPECT(c, ib_query_srq(srq, &attr), 0))
		return;
	EXPECT(c, attr.max_wr >= 16 && attr.max_sge >= 1, true);
	for (i = 0; i < attr.max_wr; i++)
		EXPECT(c, ib_post_srq_recv(srq, &wr, NULL), 0);
	EXPECT(c, ib_post_srq_recv(srq, &wr, NULL), -ENOMEM);
}

static void post_sges(struct conform *c)
{
	struct ib_srq *srq = conform_srq(c, 16, 1);
	const struct ib_recv_wr *bad = NULL;
	struct ib_recv_wr good = {}, wr = {};
	struct ib_srq_attr attr;

	if (!srq || !EXPECT(c, ib_query_srq(srq, &attr), 0))
		return;
	good.next = &wr;
	wr.num_sge = attr.max_sge + 1;
	EXPECT(c, ib_post_srq_recv(srq, &good, &bad), -EINVAL);
	EXPECT(c, bad == &wr, true);
	wr.num_sge = -1;
	EXPECT(c, ib_post_srq_recv(srq, &wr, &bad), -EINVAL);
}

/* ---- modification ---- */

static int modify(struct ib_srq *srq, u32 max_wr, u32 limit, enum ib_srq_attr_mask mask)
{
	struct ib_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };

	return ib_modify_srq(srq, &attr, mask);
}

static void resize_with_posted(struct conform *c)
{
	struct ib_srq *srq = conform_srq(c, 16, 1);
	struct conform_pair *pair = pair_with(c, srq);
	struct ib_srq_attr attr;

	if (!pair)
		return;
	EXPECT(c, post_to(srq, &pair->far, 1), 0);
	EXPECT(c, post_to(srq, &pair->far, 2), 0);
	EXPECT(c, modify(srq, 1000, 0, IB_SRQ_MAX_WR), 0);
	EXPECT(c, ib_query_srq(srq, &attr), 0);
	EXPECT(c, attr.max_wr >= 1000, true);
	send_to(c, pair, 1);
	send_to(c, pair, 2);
}

static void resize_refused(struct conform *c)
{
	struct ib_srq *srq = conform_srq(c, 64, 1);
	struct ib_recv_wr wr = {};
	u32 i;

	if (!srq)
		return;
	for (i = 0; i < 40; i++)
		EXPECT(c, ib_post_srq_recv(srq, &wr, NULL), 0);
	EXPECT(c, modify(srq, 8, 0, IB_SRQ_MAX_WR), -EINVAL);
	EXPECT(c, modify(srq, 0, 0, IB_SRQ_MAX_WR), -EINVAL);
	EXPECT(c, modify(srq, c->dev->attrs.max_srq_wr + 1, 0, IB_SRQ_MAX_WR), -EINVAL);
	EXPECT(c, modify(srq, 0, 0, 1 << 5), -EINVAL);
}

static void limit_beyond(struct conform *c)
{
	struct ib_srq *srq = conform_srq(c, 16, 1);
	struct ib_srq_attr attr;

	if (!srq || !EXPECT(c, ib_query_srq(srq, &attr), 0))
		return;
	EXPECT(c, modify(srq, 0, attr.max_wr + 1, IB_SRQ_LIMIT), -EINVAL);
}

/* Of the case that runs: its SRQ is destroyed after the case has returned. */
static atomic_t limits_reached;

static void count_event(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		atomic_inc(&limits_reached);
}

static void srq_undo(void *srq)
{
	ib_destroy_srq(srq);
}

static void limit_event(struct conform *c)
{
	struct ib_srq_init_attr init = {
		.event_handler = count_event,
		.attr = { .max_wr = 16, .max_sge = 1 },
	};
	struct ib_srq *srq = ib_create_srq(c->pd, &init);
	struct conform_pair *pair;
	struct ib_srq_attr attr;

	if (!EXPECT(c, REFUSAL(srq), 0))
		return;
	conform_defer(c, srq_undo, srq);
	atomic_set(&limits_reached, 0);
	pair = pair_with(c, srq);
	if (!pair)
		return;
	EXPECT(c, post_to(srq, &pair->far, 1), 0);
	EXPECT(c, post_to(srq, &pair->far, 2), 0);
	EXPECT(c, modify(srq, 0, 2, IB_SRQ_LIMIT), 0);
	EXPECT(c, atomic_read(&limits_reached), 0);
	send_to(c, pair, 1);
	EXPECT(c, conform_comes(&limits_reached), true);
	send_to(c, pair, 2);
	EXPECT(c, atomic_read(&limits_reached), 1);
	EXPECT(c, ib_query_srq(srq, &attr), 0);
	EXPECT(c, attr.srq_limit, 0);
}

/* A QP that ends flushes none of its receives: they are for others. */
static void last_wqe(struct conform *c)
{
	struct ib_srq *srq = conform_srq(c, 16, 1);
	struct conform_pair *pair = pair_with(c, srq);

	if (!pair)
		return;
	EXPECT(c, post_to(srq, &pair->far, 1), 0);
	conform_to_error(&pair->far);
	EXPECT(c, conform_has_event(&pair->far, IB_EVENT_QP_LAST_WQE_REACHED), true);
	EXPECT(c, completion_done(&pair->far.done[1].completion), false);
}

const struct conform_case conform_srq_cases[] = {
	{ "of_the_limits", create_limit },
	{ "of_one_request_more_than_the_limit_is_refused", create_wr_beyond },
	{ "of_one_SGE_more_than_the_limit_is_refused", create_sge_beyond },
	{ "of_no_request_is_refused", create_empty },
	{ "of_tags_is_refused", create_tags },
	{ "is_used", use_srq },
	{ "qp_with_one_takes_no_receive_of_its_own", recv_at_qp },
	{ "post_to_a_full_one_is_ENOMEM", post_full },
	{ "post_of_too_many_SGEs_is_refused", post_sges },
	{ "resize_keeps_what_is_posted", resize_with_posted },
	{ "resize_out_of_range_is_refused", resize_refused },
	{ "limit_beyond_its_length_is_refused", limit_beyond },
	{ "limit_event_comes_once", limit_event },
	{ "stays_when_a_qp_ends", last_wqe },
	{}
};
