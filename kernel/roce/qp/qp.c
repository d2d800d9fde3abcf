// SPDX-License-Identifier: GPL-2.0
/*
 * Create, quiesce, release and query. run.c runs the QP in between.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "charged.h"
#include "core/dump.h"
#include "core/qp.h"
#include "core/trace.h"
#include "mem/page.h"
#include "roce/qp/carry.h"
#include "roce/qp/dispatch.h"
#include "roce/qp/lock.h"
#include "roce/qp/qp.h"
#include "roce/qp/run.h"
#include "roce/qp/state.h"
#include "roce/wire/mcast.h"
#include "roce/wire/room.h"

/*
 * A driver frees sent skbs inside its transmit function, that is with the queue
 * locked that the next packet needs: only note it here. The QP goes on where it
 * ran last: if it did so here, then sooner or later all QPs would be run by the
 * CPU that frees the packets of one of them, and all others stand idle.
 */
static void note_space(void *arg)
{
	struct roce_qp *qp = arg;

	trace_tern_gate_go(&qp->base);
	roce_hand_off_back(qp);
}

int roce_qp_create(struct tern_qp *base, const struct ib_qp_init_attr *init)
{
	struct roce_qp *qp = to_roce_qp(base);
	int ret;

	roce_run_init(qp);
	INIT_LIST_HEAD(&qp->memberships);
	if (roce_has_requester(qp)) {
		qp->sqe = tern_table_alloc(base->sq.ring->nslots, sizeof(*qp->sqe));
		if (!qp->sqe)
			return -ENOMEM;
	}
	ret = roce_tx_init(&qp->tx, base, note_space, qp);
	if (ret) {
		kvfree(qp->sqe);
		qp->sqe = NULL;
		return ret;
	}
	tern_pages_use();
	return 0;
}

void roce_qp_quiesce(struct tern_qp *base)
{
	struct roce_qp *qp = to_roce_qp(base);

	roce_mcast_detach_all(base, &qp->memberships);
	spin_lock_bh(&base->run_lock);
	roce_carry_held_ack(qp);
	base->dead = true;
	/* Datagrams that wait, and packets ahead of their turn, are charged to the socket. */
	roce_backlog_purge(qp);
	roce_qp_unlock(qp);
	roce_tx_uninit(&qp->tx);
	roce_run_stop(qp);
}

void roce_qp_release(struct tern_qp *base)
{
	struct roce_qp *qp = to_roce_qp(base);

	tern_pages_unuse();
	kvfree(qp->sqe);
	kvfree(qp->res);
}

int roce_qp_attach(struct tern_qp *base, const union ib_gid *mgid)
{
	return roce_mcast_attach(base, &to_roce_qp(base)->memberships, mgid);
}

void roce_qp_query(struct tern_qp *base, struct ib_qp_attr *attr, int mask)
{
	struct roce_qp *qp = to_roce_qp(base);

	spin_lock_bh(&base->run_lock);
	*attr = base->attr;
	attr->qp_state = base->state;
	attr->cur_qp_state = base->state;
	/* Query shows where the sequence stands now (IBTA 11.2.5.3). */
	if (qp->req_ready)
		attr->sq_psn = rc_req_psn(&qp->req);
	if (qp->resp_ready)
		attr->rq_psn = rc_resp_psn(&qp->resp);
	roce_qp_unlock(qp);
}

static void dump_requester(const struct roce_qp *qp, struct tern_dump_qp *dump)
{
	dump->flags |= TERN_DUMP_QP_REQUESTER;
	if (qp->local.req)
		dump->flags |= TERN_DUMP_QP_LOCAL;
	dump->unsent = rc_req_num_unsent(&qp->req);
	dump->next_psn = rc_req_psn(&qp->req);
	dump->oldest_psn = rc_req_oldest_psn(&qp->req);
	dump->window_packets = rc_req_window_pkts(&qp->req);
	dump->retries_left = rc_req_retries_left(&qp->req);
	dump->rnr_retries_left = rc_req_rnr_retries_left(&qp->req);
	dump->path_mtu = rc_req_pmtu(&qp->req);
}

static void dump_responder(const struct roce_qp *qp, struct tern_dump_qp *dump)
{
	dump->flags |= TERN_DUMP_QP_RESPONDER;
	if (rc_resp_in_message(&qp->resp))
		dump->flags |= TERN_DUMP_QP_IN_MESSAGE;
	if (rc_resp_recv_look_ns(&qp->resp))
		dump->flags |= TERN_DUMP_QP_RECV_WAITS;
	dump->path_mtu = rc_resp_pmtu(&qp->resp);
	dump->expected_psn = rc_resp_psn(&qp->resp);
}

void roce_qp_dump(struct tern_qp *base, struct tern_dump_qp *dump)
{
	struct roce_qp *qp = to_roce_qp(base);

	spin_lock_bh(&base->run_lock);
	tern_qp_dump(base, dump);
	dump->backlog_packets = skb_queue_len_lockless(&qp->backlog);
	dump->kept_packets = skb_queue_len(&qp->kept);
	dump->ahead_packets = qp->ahead_requests.n + qp->ahead_answers.n;
	if (dump->kept_packets || qp->pages_until_ns)
		dump->flags |= TERN_DUMP_QP_RECV_WAITS;
	if (qp->req_ready)
		dump_requester(qp, dump);
	if (qp->resp_ready)
		dump_responder(qp, dump);
	roce_qp_unlock(qp);
}
