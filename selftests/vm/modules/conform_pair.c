// SPDX-License-Identifier: GPL-2.0
/* See conform.h: objects of a case, pairs of QPs, and QPs that are their own peer. */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "conform.h"

#define QUEUE_WRS	16

/* ---- plain objects ---- */

static void pd_undo(void *pd)
{
	ib_dealloc_pd(pd);
}

struct ib_pd *conform_pd(struct conform *c, unsigned int flags)
{
	struct ib_pd *pd = ib_alloc_pd(c->dev, flags);

	if (!EXPECT(c, REFUSAL(pd), 0))
		return NULL;
	conform_defer(c, pd_undo, pd);
	return pd;
}

static void cq_undo(void *cq)
{
	ib_free_cq(cq);
}

struct ib_cq *conform_cq(struct conform *c, u32 entries)
{
	struct ib_cq *cq = ib_alloc_cq(c->dev, c, entries, 0, IB_POLL_DIRECT);

	if (!EXPECT(c, REFUSAL(cq), 0))
		return NULL;
	conform_defer(c, cq_undo, cq);
	return cq;
}

static void mr_undo(void *mr)
{
	ib_dereg_mr(mr);
}

struct ib_mr *conform_mr(struct conform *c, struct ib_pd *pd, enum ib_mr_type type, u32 pages)
{
	struct ib_mr *mr = ib_alloc_mr(pd, type, pages);

	if (!EXPECT(c, REFUSAL(mr), 0))
		return NULL;
	conform_defer(c, mr_undo, mr);
	return mr;
}

static void srq_undo(void *srq)
{
	ib_destroy_srq(srq);
}

struct ib_srq *conform_srq(struct conform *c, u32 wrs, u32 sges)
{
	struct ib_srq_init_attr init = { .attr = { .max_wr = wrs, .max_sge = sges } };
	struct ib_srq *srq = ib_create_srq(c->pd, &init);

	if (!EXPECT(c, REFUSAL(srq), 0))
		return NULL;
	conform_defer(c, srq_undo, srq);
	return srq;
}

/* ---- ends ---- */

static void note_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct conform_done *done = container_of(wc->wr_cqe, struct conform_done, cqe);

	done->wc = *wc;
	complete(&done->completion);
}

static void note_event(struct ib_event *event, void *context)
{
	struct conform_end *end = context;

	set_bit(event->event, &end->events);
}

static int end_init(struct conform_end *end, struct conform *c,
		    const struct conform_options *options, struct ib_cq *cq)
{
	const u32 entries = 4 * QUEUE_WRS;
	u32 i;

	end->c = c;
	init_completion(&end->moved);
	for (i = 0; i < CONFORM_SLOTS; i++) {
		end->done[i].cqe.done = note_done;
		init_completion(&end->done[i].completion);
	}
	end->mem = kmalloc(CONFORM_BYTES, GFP_KERNEL);
	if (!end->mem)
		return -ENOMEM;
	get_random_bytes(end->mem, CONFORM_BYTES);
	sg_init_table(end->sg, CONFORM_PAGES);
	for (i = 0; i < CONFORM_PAGES; i++)
		sg_set_buf(&end->sg[i], end->mem + i * PAGE_SIZE, PAGE_SIZE);
	/* For virtual DMA: it only notes addresses, and there is nothing to undo. */
	ib_dma_map_sg(c->dev, end->sg, CONFORM_PAGES, DMA_BIDIRECTIONAL);
	end->dma = ib_dma_map_single(c->dev, end->mem, CONFORM_BYTES, DMA_BIDIRECTIONAL);
	end->borrows_cq = cq;
	if (cq)
		end->cq = cq;
	else if (options->vector < 0)
		end->cq = ib_alloc_cq_any(c->dev, end, entries, options->poll_ctx);
	else
		end->cq = ib_alloc_cq(c->dev, end, entries, options->vector, options->poll_ctx);
	return PTR_ERR_OR_ZERO(end->cq);
}

static void end_uninit(struct conform_end *end)
{
	if (!end->borrows_cq && !IS_ERR_OR_NULL(end->cq))
		ib_free_cq(end->cq);
	kfree(end->mem);
}

void conform_qp_init_attr(struct ib_qp_init_attr *init, struct ib_cq *cq, enum ib_qp_type type)
{
	*init = (struct ib_qp_init_attr){
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = QUEUE_WRS,
			.max_recv_wr = QUEUE_WRS,
			.max_send_sge = 2,
			.max_recv_sge = 2,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = type,
	};
}

bool conform_comes(const atomic_t *count)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(CONFORM_WAIT_MS);

	while (!atomic_read(count) && time_before(jiffies, deadline))
		usleep_range(100, 200);
	return atomic_read(count);
}

bool conform_has_event(const struct conform_end *end, enum ib_event_type event)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(CONFORM_WAIT_MS);

	while (!test_bit(event, &end->events) && time_before(jiffies, deadline))
		usleep_range(100, 200);
	return test_bit(event, &end->events);
}

void conform_to_error(struct conform_end *end)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	EXPECT(end->c, ib_modify_qp(end->qp, &attr, IB_QP_STATE), 0);
}

/* ---- pairs ---- */

static int pair_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct conform_end *end = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		end->id = id;
		fallthrough;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		end->status = 0;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		end->status = event->status < 0 ? event->status : -ECONNREFUSED;
	}
	complete(&end->moved);
	return 0;
}

static int end_wait(struct conform_end *end)
{
	if (!wait_for_completion_timeout(&end->moved, msecs_to_jiffies(CONFORM_WAIT_MS)))
		return -ETIMEDOUT;
	return end->status;
}

static int end_create_qp(struct conform_end *end, struct ib_srq *srq)
{
	struct ib_qp_init_attr init;
	int err;

	conform_qp_init_attr(&init, end->cq, IB_QPT_RC);
	init.event_handler = note_event;
	init.qp_context = end;
	init.srq = srq;
	err = rdma_create_qp(end->id, end->c->pd, &init);
	end->qp = end->id->qp;
	end->cap = init.cap;
	return err;
}

static int pair_listen(struct conform_pair *pair)
{
	struct sockaddr *address = (struct sockaddr *)&pair->far.c->address;
	struct rdma_cm_id *id = rdma_create_id(&init_net, pair_event, &pair->far, RDMA_PS_TCP,
					       IB_QPT_RC);

	if (IS_ERR(id))
		return PTR_ERR(id);
	pair->listener = id;
	return rdma_bind_addr(id, address) ?: rdma_listen(id, 1);
}

/* In a handler one would hold its lock. */
static int end_accept(struct conform_end *end, struct rdma_conn_param *param)
{
	int err;

	rdma_lock_handler(end->id);
	err = rdma_accept(end->id, param);
	rdma_unlock_handler(end->id);
	return err;
}

static int pair_connect(struct conform_pair *pair, const struct conform_options *options)
{
	struct rdma_conn_param param = {
		.responder_resources = 16,
		.initiator_depth = 16,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct conform_end *near = &pair->near, *far = &pair->far;
	struct sockaddr_storage *to;
	struct rdma_cm_id *id;

	id = rdma_create_id(&init_net, pair_event, near, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	near->id = id;
	/* The listener's address has its port. */
	to = &pair->listener->route.addr.src_addr;
	return rdma_resolve_addr(id, NULL, (struct sockaddr *)to, CONFORM_WAIT_MS) ?:
	       end_wait(near) ?: rdma_resolve_route(id, CONFORM_WAIT_MS) ?: end_wait(near) ?:
	       (id->device != near->c->dev ? -ENODEV : 0) ?:
	       end_create_qp(near, NULL) ?: rdma_connect(id, &param) ?: end_wait(far) ?:
	       end_create_qp(far, options->srq) ?: end_accept(far, &param) ?:
	       end_wait(near) ?: end_wait(far);
}

static void end_disconnect(struct conform_end *end)
{
	if (!end->id)
		return;
	if (end->qp) {
		rdma_disconnect(end->id);
		rdma_destroy_qp(end->id);
	}
	rdma_destroy_id(end->id);
}

static void pair_undo(void *object)
{
	struct conform_pair *pair = object;

	end_disconnect(&pair->near);
	end_disconnect(&pair->far);
	if (pair->listener)
		rdma_destroy_id(pair->listener);
	end_uninit(&pair->near);
	end_uninit(&pair->far);
	kfree(pair);
}

struct conform_pair *conform_pair(struct conform *c, const struct conform_options *options)
{
	static const struct conform_options usual = { .poll_ctx = IB_POLL_DIRECT };
	struct conform_pair *pair = kzalloc(sizeof(*pair), GFP_KERNEL);
	int err;

	if (!EXPECT(c, !pair, 0))
		return NULL;
	options = options ?: &usual;
	conform_defer(c, pair_undo, pair);
	err = end_init(&pair->near, c, options, options->near_cq) ?:
	      end_init(&pair->far, c, options, NULL) ?: pair_listen(pair) ?:
	      pair_connect(pair, options);
	return EXPECT(c, err, 0) ? pair : NULL;
}

/* ---- single QPs ---- */

static int single_to(struct conform_end *end, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int err = 0;

	if (state != IB_QPS_RESET)
		err = consumer_to_init(end->qp);
	if (!err && (state == IB_QPS_RTR || state == IB_QPS_RTS || state == IB_QPS_SQD))
		err = consumer_to_rtr(end->qp, end->c->gid, end->qp, end->c->gid, IB_MTU_1024);
	if (!err && (state == IB_QPS_RTS || state == IB_QPS_SQD))
		err = consumer_to_rts(end->qp, 14);
	if (!err && (state == IB_QPS_SQD || state == IB_QPS_ERR))
		err = ib_modify_qp(end->qp, &attr, IB_QP_STATE);
	return err;
}

static void single_undo(void *object)
{
	struct conform_end *end = object;

	if (!IS_ERR_OR_NULL(end->qp))
		ib_destroy_qp(end->qp);
	end_uninit(end);
	kfree(end);
}

struct conform_end *conform_single(struct conform *c, enum ib_qp_type type,
				   enum ib_qp_state state)
{
	static const struct conform_options usual = { .poll_ctx = IB_POLL_DIRECT };
	struct conform_end *end = kzalloc(sizeof(*end), GFP_KERNEL);
	struct ib_qp_init_attr init;

	if (!EXPECT(c, !end, 0))
		return NULL;
	conform_defer(c, single_undo, end);
	if (!EXPECT(c, end_init(end, c, &usual, NULL), 0))
		return NULL;
	conform_qp_init_attr(&init, end->cq, type);
	init.event_handler = note_event;
	init.qp_context = end;
	end->qp = ib_create_qp(c->pd, &init);
	if (!EXPECT(c, REFUSAL(end->qp), 0))
		return NULL;
	end->cap = init.cap;
	return EXPECT(c, single_to(end, state), 0) ? end : NULL;
}
