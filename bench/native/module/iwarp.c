// SPDX-License-Identifier: GPL-2.0
/*
 * iWARP QPs, connected by rdma_cm, and a stream of WRITEs or READs over each,
 * posted one by one in turn. A WRITE completes when TCP has it, so an empty SEND
 * follows: the sample ends with the peer's completion of that.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>

#include "bench.h"

#define RESOLVE_MS	2000
#define READS		16	/* in flight */

struct conn {
	struct bench_subject *s;
	struct rdma_cm_id *a;
	struct rdma_cm_id *b;
	struct completion a_said;	/* the event that a waits for came, or err is set */
	struct completion b_said;
	int err;
};

struct conns {
	struct rdma_cm_id *listener;
	u32 depth;		/* of send queues */
	u32 num;
	struct conn conn[];
};

static int create_qp(struct rdma_cm_id *id, const struct bench_end *e, u32 depth)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = depth,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	return rdma_create_qp(id, e->pd, &init);
}

static const struct rdma_conn_param terms = {
	.responder_resources = READS,
	.initiator_depth = READS,
};

/* ---- connecting ---- */

static int requester_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct conn *conn = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		conn->err = event->status < 0 ? event->status : -ECONNREFUSED;
	}
	complete(&conn->a_said);
	return 0;
}

static int responder_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct conn *conn = id->context;

	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		complete(&conn->b_said);
	return 0;
}

/* There is one request at a time. If this fails, the requester gets an event. */
static int listener_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct bench_subject *s = id->context;
	struct conns *conns = s->streams;
	struct conn *conn = &conns->conn[conns->num];
	struct rdma_conn_param param = terms;
	int err;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	err = create_qp(id, &s->b, 1);
	if (err)
		return err;
	id->context = conn;
	id->event_handler = responder_event;
	err = rdma_accept(id, &param);
	if (err) {
		rdma_destroy_qp(id);
		return err;
	}
	conn->b = id;
	return 0;
}

static int heard(struct conn *conn, struct completion *said)
{
	if (!wait_for_completion_timeout(said, BENCH_LIMIT_S * HZ))
		return -ETIMEDOUT;
	reinit_completion(said);
	return conn->err;
}

static int connect_one(struct bench_subject *s, struct conns *conns)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = s->a.ip };
	struct sockaddr_in to = *(struct sockaddr_in *)&conns->listener->route.addr.src_addr;
	struct conn *conn = &conns->conn[conns->num];
	struct rdma_conn_param param = terms;
	struct rdma_cm_id *id;
	int err;

	conn->s = s;
	init_completion(&conn->a_said);
	init_completion(&conn->b_said);
	id = rdma_create_id(dev_net(s->a.ndev), requester_event, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	conn->a = id;
	err = rdma_resolve_addr(id, (struct sockaddr *)&from, (struct sockaddr *)&to, RESOLVE_MS);
	err = err ?: heard(conn, &conn->a_said);
	err = err ?: rdma_resolve_route(id, RESOLVE_MS) ?: heard(conn, &conn->a_said);
	err = err ?: create_qp(id, &s->a, conns->depth);
	err = err ?: rdma_connect(id, &param) ?: heard(conn, &conn->a_said);
	return err ?: heard(conn, &conn->b_said);
}

static int listen(struct bench_subject *s, struct conns *conns)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = s->b.ip };
	struct rdma_cm_id *id = rdma_create_id(dev_net(s->b.ndev), listener_event, s, RDMA_PS_TCP,
					       IB_QPT_RC);

	if (IS_ERR(id))
		return PTR_ERR(id);
	conns->listener = id;
	return rdma_bind_addr(id, (struct sockaddr *)&at) ?: rdma_listen(id, 1);
}

static void id_destroy(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp) {
		rdma_disconnect(id);
		rdma_destroy_qp(id);
	}
	rdma_destroy_id(id);
}

void bench_iwarp_end(struct bench_subject *s)
{
	struct conns *conns = s->streams;
	u32 i;

	if (!conns)
		return;
	if (conns->listener)
		rdma_destroy_id(conns->listener);
	/* The last one may be incomplete. */
	for (i = 0; i <= conns->num; i++) {
		id_destroy(conns->conn[i].a);
		id_destroy(conns->conn[i].b);
	}
	bench_queues_destroy(&s->a);
	bench_queues_destroy(&s->b);
	kvfree(conns);
	s->streams = NULL;
}

/* ---- operations ---- */

static int post_recv(struct rdma_cm_id *id)
{
	struct ib_recv_wr wr = {};

	return ib_post_recv(id->qp, &wr, NULL);
}

static int post_send(struct rdma_cm_id *id, const struct ib_send_wr *wr)
{
	int err;

	local_bh_disable();
	err = ib_post_send(id->qp, wr, NULL);
	local_bh_enable();
	return err;
}

static int post_operation(struct conns *conns, const struct bench_case *c, u32 q, u32 i)
{
	struct conn *conn = &conns->conn[q];
	struct bench_subject *s = conn->s;
	u32 place = bench_stream_place(c, q, i);
	bool read = c->opcode == IB_WR_RDMA_READ;
	struct ib_sge sge = {
		.addr = s->a.addr + place,
		.length = c->bytes,
		.lkey = s->a.pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = c->opcode,
			.send_flags = read && i == c->list - 1 ? IB_SEND_SIGNALED : 0,
		},
		.remote_addr = s->b.addr + place,
		.rkey = s->b.pd->unsafe_global_rkey,
	};
	struct ib_send_wr last = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED };
	int err = post_send(conn->a, &wr.wr);

	if (err || read || i < c->list - 1)
		return err;
	return post_send(conn->a, &last);
}

int bench_iwarp_sample(struct bench_subject *s, const struct bench_case *c, u64 *cycles)
{
	bool read = c->opcode == IB_WR_RDMA_READ;
	struct conns *conns = s->streams;
	u64 began = bench_clock();
	int err = 0;
	u32 q, i;

	for (q = 0; q < c->qps && !read && !err; q++)
		err = post_recv(conns->conn[q].b);
	for (i = 0; i < c->list && !err; i++)
		for (q = 0; q < c->qps && !err; q++)
			err = post_operation(conns, c, q, i);
	for (q = 0; q < c->qps && !err; q++)
		err = bench_poll_one(s->a.scq);
	for (q = 0; q < c->qps && !read && !err; q++)
		err = bench_poll_one(s->b.rcq);
	*cycles = bench_clock() - began;
	return err;
}

int bench_iwarp_begin(struct bench_subject *s, const struct bench_case *c)
{
	/* bench_iwarp_end() looks at one more. */
	struct conns *conns = kvzalloc(struct_size(conns, conn, c->qps + 1), GFP_KERNEL);
	int err;

	if (!conns)
		return -ENOMEM;
	s->streams = conns;
	conns->depth = c->list + 1;
	err = bench_queues_create(&s->a, c->qps + 1) ?: bench_queues_create(&s->b, c->qps + 1) ?:
	      listen(s, conns);
	while (!err && conns->num < c->qps) {
		err = connect_one(s, conns);
		if (!err)
			conns->num++;
	}
	return err ?: bench_verify(s, c, c->opcode == IB_WR_RDMA_READ);
}
