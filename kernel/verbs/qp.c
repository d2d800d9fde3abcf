// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: creation, query, destruction. qp_modify.c has the state
 * transitions, post.c the posting, core/qp.c numbers and references. The
 * transport decides what a QP does.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>

#include "core/qp.h"
#include "core/srq.h"
#include "core/transport.h"
#include "mem/window.h"
#include "queue/rq.h"
#include "queue/sq.h"
#include "verbs/cq.h"
#include "verbs/mmap.h"
#include "verbs/qp.h"
#include "verbs/ucontext.h"
#include "verbs/udata.h"

/* ---- create ---- */

static bool cq_ok(struct ib_cq *cq, bool user)
{
	return cq && to_tern_cq_obj(cq)->cq.user == user;
}

/* Of a queue that the QP does not have, it does not matter what is asked for. */
static int check_queues(const struct tern_dev *dev, const struct ib_qp_init_attr *init, bool user)
{
	const struct tern_limits *lim = dev->transport->limits;
	const struct ib_qp_cap *cap = &init->cap;

	if (init->qp_type == IB_QPT_XRC_TGT)
		return init->srq ? -EINVAL : 0;
	if (cap->max_send_wr > lim->max_qp_wr || cap->max_send_sge > TERN_MAX_SGE ||
	    cap->max_inline_data > TERN_MAX_INLINE || !cq_ok(init->send_cq, user))
		return -EINVAL;
	if (init->qp_type == IB_QPT_XRC_INI)
		return init->srq ? -EINVAL : 0;
	if (!init->srq &&
	    (cap->max_recv_wr > lim->max_qp_wr || cap->max_recv_sge > TERN_MAX_SGE))
		return -EINVAL;
	if (init->srq && (init->srq->srq_type != IB_SRQT_BASIC ||
			  to_tern_srq(init->srq)->rq.user != user))
		return -EINVAL;
	return cq_ok(init->recv_cq, user) ? 0 : -EINVAL;
}

static int check_init(struct tern_dev *dev, const struct ib_qp_init_attr *init, bool user)
{
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_XRC_TGT:
		break;
	case IB_QPT_XRC_INI:
		/* No kernel consumer uses XRC. */
		if (!user)
			return -EOPNOTSUPP;
		break;
	case IB_QPT_GSI:
		if (user || init->port_num != 1)
			return -EINVAL;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags & ~IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK)
		return -EOPNOTSUPP;
	if (init->rwq_ind_tbl)
		return -EOPNOTSUPP;
	if ((init->qp_type == IB_QPT_XRC_TGT) != !!init->xrcd)
		return -EINVAL;
	return check_queues(dev, init, user) ?: dev->transport->qp_check(dev, init);
}

/* ib_core counts only those that a QP of this type has. */
static void set_cqs(struct tern_qp *qp, const struct ib_qp_init_attr *init)
{
	if (qp->type == IB_QPT_XRC_TGT)
		return;
	qp->scq = &to_tern_cq_obj(init->send_cq)->cq;
	if (qp->type != IB_QPT_XRC_INI)
		qp->rcq = &to_tern_cq_obj(init->recv_cq)->cq;
}

static struct tern_qp *create_base(struct tern_dev *dev, struct ib_qp *ibqp,
				   const struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct tern_qp *qp = tern_qp_alloc(dev);

	if (IS_ERR(qp))
		return qp;
	qp->ibqp = ibqp;
	qp->type = init->qp_type;
	/* A target is ib_core's own, without udata, but serves programs. */
	qp->user = udata || init->qp_type == IB_QPT_XRC_TGT;
	qp->sq_sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->skips_own_mcast = init->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	qp->pd = ibqp->pd;
	qp->xrcd = init->xrcd;
	set_cqs(qp, init);
	qp->srq = init->srq ? to_tern_srq(init->srq) : NULL;
	if (udata)
		qp->doorbell = rdma_udata_to_drv_context(udata, struct tern_ucontext,
							 ibuc)->doorbell;
	return qp;
}

static int queues_init(struct tern_qp *qp, const struct ib_qp_cap *cap)
{
	int err;

	if (qp->type == IB_QPT_XRC_TGT)
		return 0;
	err = tern_sq_init(&qp->sq, cap->max_send_wr, cap->max_send_sge, cap->max_inline_data,
			   qp->user);
	if (err || qp->srq || qp->type == IB_QPT_XRC_INI)
		return err;
	err = tern_rq_init(&qp->rq, cap->max_recv_wr, cap->max_recv_sge, qp->user);
	if (err)
		tern_sq_uninit(&qp->sq);
	return err;
}

static void queues_uninit(struct tern_qp *qp)
{
	if (tern_qp_has_rq(qp))
		tern_rq_uninit(&qp->rq);
	if (tern_qp_has_sq(qp))
		tern_sq_uninit(&qp->sq);
}

static void get_cap(const struct tern_qp *qp, struct ib_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.max_wr;
	cap->max_send_sge = qp->sq.max_sge;
	cap->max_inline_data = qp->sq.max_inline;
	cap->max_recv_wr = qp->rq.max_wr;
	cap->max_recv_sge = qp->rq.max_sge;
}

static void unmap_queues(struct tern_ibqp *iq)
{
	rdma_user_mmap_entry_remove(iq->rq_mmap);
	rdma_user_mmap_entry_remove(iq->sq_mmap);
	iq->rq_mmap = NULL;
	iq->sq_mmap = NULL;
}

static int answer_create(struct tern_ibqp *iq, struct ib_udata *udata)
{
	struct tern_create_qp_resp resp = {};
	struct rdma_user_mmap_entry *mmap;
	struct tern_qp *qp = iq->qp;
	int err;

	mmap = tern_mmap_ring(udata, qp->sq.ring, &resp.sq);
	if (IS_ERR(mmap))
		return PTR_ERR(mmap);
	iq->sq_mmap = mmap;
	if (tern_qp_has_rq(qp)) {
		mmap = tern_mmap_ring(udata, qp->rq.ring, &resp.rq);
		if (IS_ERR(mmap)) {
			err = PTR_ERR(mmap);
			goto unmap;
		}
		iq->rq_mmap = mmap;
	}
	resp.max_inline = qp->sq.max_inline;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		goto unmap;
	return 0;

unmap:
	unmap_queues(iq);
	return err;
}

int tern_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibqp->device);
	struct tern_ibqp *iq = to_tern_ibqp(ibqp);
	struct tern_qp *qp;
	int err;

	err = tern_udata_check(udata, sizeof(struct tern_create_qp_resp)) ?:
	      check_init(dev, init, !!udata);
	if (err)
		return err;

	qp = create_base(dev, ibqp, init, udata);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	mutex_init(&iq->modify_lock);
	iq->create_flags = init->create_flags;
	iq->qp = qp;

	err = queues_init(qp, &init->cap);
	if (err)
		goto free;
	err = tern_qp_reserve_number(qp);
	if (err)
		goto uninit;
	tern_mem_ctx_init(&qp->mem, &dev->keys, qp->pd, qp->qpn, &qp->fault);
	err = dev->transport->qp_create(qp, init);
	if (err)
		goto unreserve;
	if (udata) {
		err = answer_create(iq, udata);
		if (err)
			goto undo;
	}

	get_cap(qp, &init->cap);
	ibqp->qp_num = qp->qpn;
	/* From here on packets find it. */
	tern_qp_publish(qp);
	return 0;

undo:
	dev->transport->qp_quiesce(qp);
	tern_events_stop(&qp->events);
	tern_qp_release_number(qp);
	queues_uninit(qp);
	tern_qp_put(qp);
	return err;

unreserve:
	tern_qp_release_number(qp);
uninit:
	queues_uninit(qp);
free:
	tern_qp_free(qp);
	return err;
}

/* ---- query ---- */

/*
 * A QP's number and PSNs are enough to forge packets to it. A QP's owner asks for particular
 * attributes; `rdma resource` shows all QPs to everybody, and asks for none in particular. It shows
 * keys only to holders of this capability, so PSNs need it too. (Initial PSNs are no safer to show
 * than current ones: the counters, which all may read, give the difference.)
 */
static bool may_see_psns(int mask)
{
	return mask || ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN);
}

int tern_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct tern_qp *qp = tern_qp_hold(ibqp);

	if (!qp)
		return -EAGAIN;		/* a dump goes on with the next */
	qp->dev->transport->qp_query(qp, attr, mask);
	if (!may_see_psns(mask)) {
		attr->sq_psn = 0;
		attr->rq_psn = 0;
	}
	attr->cur_qp_state = attr->qp_state;
	attr->port_num = 1;
	attr->ah_attr.grh.sgid_attr = NULL;	/* no reference is handed out */
	get_cap(qp, &attr->cap);

	*init = (struct ib_qp_init_attr){
		.event_handler = ibqp->event_handler,
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = attr->cap,
		.sq_sig_type = qp->sq_sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = ibqp->qp_type,
		.create_flags = to_tern_ibqp(ibqp)->create_flags,
		.port_num = 1,
	};
	tern_qp_put(qp);
	return 0;
}

/* ---- destroy ---- */

int tern_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct tern_ibqp *iq = to_tern_ibqp(ibqp);
	struct tern_qp *qp = iq->qp;
	struct tern_dev *dev = qp->dev;

	tern_qp_unpublish(qp);
	dev->transport->qp_quiesce(qp);
	tern_events_stop(&qp->events);
	tern_mem_unbind_qp(&qp->mem);
	unmap_queues(iq);
	tern_clean_cqs(qp, ibqp);
	queues_uninit(qp);
	WRITE_ONCE(iq->qp, NULL);
	tern_qp_put(qp);
	return 0;
}
