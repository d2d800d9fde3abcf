// SPDX-License-Identifier: GPL-2.0
/*
 * The transitions of a QP's state, and attributes that change while its engines run.
 * verbs/ has checked that the transition is legal and the attributes are within limits.
 */
#include <linux/mm.h>
#include <net/inet_ecn.h>

#include "charged.h"
#include "core/fault.h"
#include "core/qp.h"
#include "queue/rq.h"
#include "queue/sq.h"
#include "roce/qp/ahead.h"
#include "roce/qp/carry.h"
#include "roce/qp/dispatch.h"
#include "roce/qp/error.h"
#include "roce/qp/modify.h"
#include "roce/qp/req.h"
#include "roce/qp/run.h"
#include "roce/qp/time.h"
#include "roce/qp/way.h"
#include "roce/qp/window.h"
#include "roce/wire/net.h"

/*
 * The ACK timer may expire between one and four times its nominal value (IBTA
 * 9.7.6.1.3). A peer that is software too may be off its CPU for a while.
 */
static struct rc_ack_timeout ack_timeout(const struct roce_qp *qp)
{
	u64 nominal_ns = rc_ack_timeout_ns(qp->base.attr.timeout);

	return (struct rc_ack_timeout){
		.first_ns = 4 * nominal_ns,
		.least_ns = nominal_ns,
		.all_ns = roce_peer_timeout_ns(qp),
	};
}

static void enter_reset(struct roce_qp *qp)
{
	struct tern_qp *base = &qp->base;

	roce_backlog_purge(qp);
	qp->req_ready = false;
	qp->resp_ready = false;
	qp->base.have_rwqe = false;
	tern_fault_forget(base);
	roce_way_reset(qp);
	qp->comm_est = false;
	qp->retry_tx_ns = 0;
	qp->tx.refusals = 0;
	roce_tx_try_again(&qp->tx);
	qp->last_wqe_told = false;
	ack_hold_init(&qp->hold);
	qp->recv_called = false;
	if (tern_qp_has_sq(base))
		tern_sq_reset(&base->sq);
	qp->ud_sending = base->sq.head;
	memset(&qp->ud_pacer, 0, sizeof(qp->ud_pacer));
	if (tern_qp_has_rq(base)) {
		tern_rq_reset(&base->rq);
		tern_rq_kick_wanted(&base->rq, false);
	}
	memset(&base->attr, 0, sizeof(base->attr));
}

static u8 resp_access(int qp_access_flags)
{
	u8 access = 0;

	if (qp_access_flags & IB_ACCESS_REMOTE_WRITE)
		access |= RC_ACCESS_WRITE;
	if (qp_access_flags & IB_ACCESS_REMOTE_READ)
		access |= RC_ACCESS_READ;
	if (qp_access_flags & IB_ACCESS_REMOTE_ATOMIC)
		access |= RC_ACCESS_ATOMIC;
	if (qp_access_flags & IB_ACCESS_FLUSH_GLOBAL)
		access |= RC_ACCESS_FLUSH_GLOBAL;
	if (qp_access_flags & IB_ACCESS_FLUSH_PERSISTENT)
		access |= RC_ACCESS_FLUSH_PERSISTENT;
	return access;
}

static void start_responder(struct roce_qp *qp)
{
	const struct ib_qp_attr *attr = &qp->base.attr;
	struct rc_resp_cfg cfg = {
		.service = roce_service(qp),
		.max_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.access = resp_access(attr->qp_access_flags),
		.pkey = PKEY_DEFAULT,
		.dqpn = attr->dest_qp_num,
		.pmtu = ib_mtu_enum_to_int(attr->path_mtu),
		.rq_psn = attr->rq_psn,
		.recv_wait_ns = rc_resp_recv_wait_ns(attr->timeout),
		.ahead_pkts = ROCE_AHEAD_PKTS,
	};

	rc_resp_init(&qp->resp, qp->res, &cfg);
	qp->flushed = 0;
	ack_hold_init(&qp->hold);
	qp->cnp = (struct cnp){};
	qp->cnp_in = (struct cnp){};
	qp->cnp_due = false;
	qp->resp_ready = true;
}

static struct pacer_rate rate_of(const struct roce_qp *qp)
{
	return (struct pacer_rate){
		.kbps = qp->base.attr.rate_limit,
		.burst_bytes = qp->base.burst_bytes,
	};
}

static void start_requester(struct roce_qp *qp)
{
	const struct ib_qp_attr *attr = &qp->base.attr;
	const struct roce_dev *rd = to_roce_dev(qp->base.dev);
	struct rc_req_cfg cfg = {
		.service = roce_service(qp),
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.max_rd_atomic = attr->max_rd_atomic,
		.pkey = PKEY_DEFAULT,
		.dqpn = attr->dest_qp_num,
		.pmtu = ib_mtu_enum_to_int(attr->path_mtu),
		.sq_psn = attr->sq_psn,
		.window = ROCE_WINDOW_PKTS,
		.max_window = roce_window_max(ib_mtu_enum_to_int(attr->path_mtu), false),
		.ack_timeout = ack_timeout(qp),
		.cc = READ_ONCE(rd->cc),
		.cc_params = &rd->cc_params,
		.rate = rate_of(qp),
		.clock_ns = TICK_NSEC,
		.ahead_pkts = ROCE_AHEAD_PKTS,
	};

	/* Between RESET and here nothing was taken: engine and queue count alike. */
	rc_req_init(&qp->req, qp->sqe, qp->base.sq.ring->nslots, qp->base.sq.head, &cfg);
	qp->local.req = false;
	qp->window_cut = false;
	qp->req_ready = true;
}

/* For the READs and atomics of the peer. NULL: no memory. */
static struct rc_res *alloc_res(u8 max_dest_rd_atomic)
{
	return tern_table_alloc(max_t(u32, max_dest_rd_atomic, 1), sizeof(struct rc_res));
}

static void set_rate(struct roce_qp *qp)
{
	struct pacer_rate rate = rate_of(qp);

	if (roce_is_connected(qp))
		rc_req_set_rate(&qp->req, &rate);
	else
		pacer_init(&qp->ud_pacer, &rate, ib_mtu_enum_to_int(IB_MTU_4096));
}

/* Attributes that may change while the engines run; max_dest_rd_atomic has changed already. */
static void update_running(struct roce_qp *qp, int mask)
{
	const struct ib_qp_attr *attr = &qp->base.attr;

	if (qp->resp_ready) {
		if (mask & IB_QP_ACCESS_FLAGS)
			rc_resp_set_access(&qp->resp, resp_access(attr->qp_access_flags));
		if (mask & IB_QP_MIN_RNR_TIMER)
			rc_resp_set_min_rnr_timer(&qp->resp, attr->min_rnr_timer);
		if (mask & IB_QP_TIMEOUT)
			rc_resp_set_recv_wait(&qp->resp, rc_resp_recv_wait_ns(attr->timeout));
	}
	if (qp->req_ready) {
		if (mask & IB_QP_TIMEOUT) {
			struct rc_ack_timeout timeout = ack_timeout(qp);

			rc_req_set_ack_timeout(&qp->req, ktime_get_ns(), &timeout);
		}
		if (mask & (IB_QP_RETRY_CNT | IB_QP_RNR_RETRY))
			rc_req_set_retries(&qp->req, attr->retry_cnt, attr->rnr_retry);
		if (mask & IB_QP_MAX_QP_RD_ATOMIC)
			rc_req_set_max_rd_atomic(&qp->req, attr->max_rd_atomic);
	}
	if (mask & IB_QP_RATE_LIMIT)
		set_rate(qp);
}

/* The state changes now; run_lock held, attributes taken. */
static void enter_state(struct roce_qp *qp, enum ib_qp_state cur, enum ib_qp_state next)
{
	struct tern_qp *base = &qp->base;

	switch (next) {
	case IB_QPS_RTR:
		if (roce_is_connected(qp) && cur == IB_QPS_INIT)
			start_responder(qp);
		break;
	case IB_QPS_RTS:
		if (roce_has_requester(qp) && cur == IB_QPS_SQE)
			base->attr.sq_psn = rc_req_psn(&qp->req);	/* goes on counting */
		if (roce_has_requester(qp) && (cur == IB_QPS_RTR || cur == IB_QPS_SQE))
			start_requester(qp);
		if (!roce_is_connected(qp) && cur == IB_QPS_SQE)
			qp->ud_sending = base->sq.head;
		if (roce_has_requester(qp) && cur == IB_QPS_SQD)
			rc_req_drain(&qp->req, false);
		base->attr.sq_draining = 0;
		break;
	case IB_QPS_SQD:
		if (cur == IB_QPS_RTS) {
			if (roce_has_requester(qp))
				rc_req_drain(&qp->req, true);
			base->attr.sq_draining = 1;
		}
		break;
	default:
		break;
	}
	tern_qp_set_state(base, next);
}

/* A change, and what it takes that is made before the run lock is. */
struct change {
	const struct ib_qp_attr *attr;
	int mask;
	enum ib_qp_state cur, next;
	struct roce_path path;		/* if it has_path() */
	struct rc_res *res;		/* what is not used; or NULL */
};

static bool has_path(const struct roce_qp *qp, const struct change *change)
{
	return (change->mask & IB_QP_AV) && roce_is_connected(qp);
}

/*
 * Queues on the way may mark instead of dropping, if the controller knows what to do then, and the
 * program has set no ECN bits itself. UC has no controller, a GRH no such bits.
 */
static void allow_marks(const struct roce_qp *qp, struct roce_path *path)
{
	if (roce_service(qp) != BTH_UC && READ_ONCE(to_roce_dev(qp->base.dev)->cc)->marks &&
	    path->network != RDMA_NETWORK_ROCE_V1 && !(path->tclass & INET_ECN_MASK))
		path->tclass |= INET_ECN_ECT_0;
}

static int prepare_change(struct roce_qp *qp, struct change *change)
{
	const struct tern_qp *base = &qp->base;
	const struct ib_qp_attr *attr = change->attr;
	int ret;

	if (has_path(qp, change)) {
		u32 dqpn = change->mask & IB_QP_DEST_QPN ? attr->dest_qp_num :
							   base->attr.dest_qp_num;

		ret = roce_path_init(base->dev, &change->path, &attr->ah_attr, base->qpn, dqpn);
		if (ret)
			return ret;
		allow_marks(qp, &change->path);
	}
	if (change->mask & IB_QP_MAX_DEST_RD_ATOMIC) {
		change->res = alloc_res(attr->max_dest_rd_atomic);
		if (!change->res)
			return -ENOMEM;
	}
	return 0;
}

/*
 * SQE is left with nothing of what came before in the engine, which begins anew. run_lock held,
 * with breaks.
 */
static void reap_before_sqe_ends(struct roce_qp *qp)
{
	struct tern_qp *base = &qp->base;

	while (!base->dead && base->state == IB_QPS_SQE && roce_req_reap(qp) == ROCE_MORE) {
		roce_qp_unlock(qp);
		cond_resched();
		spin_lock_bh(&base->run_lock);
	}
}

/* All but a change to RESET or ERR. run_lock held, as below. */
static int take_attrs(struct roce_qp *qp, struct change *change)
{
	const struct ib_qp_attr *attr = change->attr;

	if (change->res) {
		/* The peer was told a larger number, and has as many under way. */
		if (qp->resp_ready &&
		    !rc_resp_resize(&qp->resp, change->res, attr->max_dest_rd_atomic))
			return -EBUSY;
		swap(qp->res, change->res);
	}
	tern_qp_set_attr(&qp->base, attr, change->mask);
	if (has_path(qp, change)) {
		qp->path = change->path;
		roce_tx_new_path(&qp->tx, &qp->path);
	}
	enter_state(qp, change->cur, change->next);
	update_running(qp, change->mask);
	return 0;
}

static int make_change(struct roce_qp *qp, struct change *change)
{
	const struct tern_qp *base = &qp->base;

	if (base->dead)
		return -EINVAL;
	switch (change->next) {
	case IB_QPS_RESET:
		roce_carry_held_ack(qp);
		enter_reset(qp);
		enter_state(qp, change->cur, change->next);
		return 0;
	case IB_QPS_ERR:
		roce_qp_error(qp);
		return 0;
	default:
		/* Else it went to ERR or SQE by itself since verbs/ looked. */
		return base->state == change->cur ? take_attrs(qp, change) : -EINVAL;
	}
}

int roce_qp_modify(struct tern_qp *base, const struct ib_qp_attr *attr, int mask,
		   enum ib_qp_state cur, enum ib_qp_state next)
{
	struct roce_qp *qp = to_roce_qp(base);
	struct change change = { .attr = attr, .mask = mask, .cur = cur, .next = next };
	int ret = prepare_change(qp, &change);

	if (ret)
		return ret;
	spin_lock_bh(&base->run_lock);
	reap_before_sqe_ends(qp);
	ret = make_change(qp, &change);
	roce_qp_unlock(qp);
	kvfree(change.res);
	/* What was posted, or came in, while the lock was ours or the state was another. */
	roce_kick(qp, TERN_QP_MARK_SEND);
	return ret;
}
