// SPDX-License-Identifier: GPL-2.0
/*
 * The QP base: memory and references, numbers, attributes, and the end of all
 * of a device's QPs. verbs/ makes and destroys QPs with it. The transport
 * decides what a QP does.
 */
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "charged.h"
#include "core/fault.h"
#include "core/port.h"
#include "core/qp.h"
#include "core/quota.h"
#include "core/trace.h"
#include "core/transport.h"
#include "core/wq.h"

#define QPN_GSI		1
#define QPN_FIRST	2
#define QPN_LAST	0xfffffe	/* 0xffffff addresses multicast */

/* ---- memory and references ---- */

void tern_qp_free(struct tern_qp *qp)
{
	atomic_t *num_qp = &qp->dev->num_qp;

	kfree(qp);
	/* The device may end with this (see tern_device_destroy()). Do not touch it afterwards. */
	if (atomic_dec_and_test(num_qp))
		wake_up_var(num_qp);
}

static void end_qp(struct work_struct *work)
{
	struct tern_qp *qp = container_of(to_rcu_work(work), struct tern_qp, end);

	qp->dev->transport->qp_release(qp);
	tern_qp_free(qp);
}

struct tern_qp *tern_qp_alloc(struct tern_dev *dev)
{
	struct tern_qp *qp;
	int err = tern_count_in(&dev->num_qp, dev->transport->limits->max_qp);

	if (err)
		return ERR_PTR(err);
	qp = kzalloc(dev->transport->qp_bytes, TERN_GFP_CHARGED);
	if (!qp) {
		atomic_dec(&dev->num_qp);
		return ERR_PTR(-ENOMEM);
	}

	refcount_set(&qp->ref, 1);
	INIT_RCU_WORK(&qp->end, end_qp);
	qp->dev = dev;
	qp->stats = dev->stats;
	spin_lock_init(&qp->run_lock);
	qp->state = IB_QPS_RESET;
	qp->attr.qp_state = IB_QPS_RESET;
	qp->attr.port_num = 1;
	tern_qp_events_init(qp);
	tern_fault_init(qp);
	return qp;
}

void tern_qp_put(struct tern_qp *qp)
{
	if (refcount_dec_and_test(&qp->ref))
		queue_rcu_work(tern_wq, &qp->end);
}

struct tern_qp *tern_qp_hold(struct ib_qp *ibqp)
{
	struct tern_qp *qp;

	rcu_read_lock();
	qp = READ_ONCE(to_tern_ibqp(ibqp)->qp);
	if (qp && !refcount_inc_not_zero(&qp->ref))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

/* ---- numbers: cyclic, so that a number rests long before it is used again ---- */

int tern_qp_reserve_number(struct tern_qp *qp)
{
	struct tern_dev *dev = qp->dev;
	int err;

	if (qp->type == IB_QPT_GSI) {
		qp->qpn = QPN_GSI;
		return xa_insert(&dev->qps, QPN_GSI, NULL, GFP_KERNEL);
	}
	err = xa_alloc_cyclic(&dev->qps, &qp->qpn, NULL, XA_LIMIT(QPN_FIRST, QPN_LAST),
			      &dev->next_qpn, TERN_GFP_CHARGED);
	return err < 0 ? err : 0;
}

void tern_qp_release_number(struct tern_qp *qp)
{
	xa_erase(&qp->dev->qps, qp->qpn);
}

static struct tern_qp __rcu **newest_of(struct tern_qp *qp)
{
	return &qp->dev->newest_qp[qp->qpn % ARRAY_SIZE(qp->dev->newest_qp)];
}

/* The slot is reserved, so storing allocates nothing and cannot fail. */
void tern_qp_publish(struct tern_qp *qp)
{
	xa_store(&qp->dev->qps, qp->qpn, qp, GFP_KERNEL);
	rcu_assign_pointer(*newest_of(qp), qp);
}

void tern_qp_unpublish(struct tern_qp *qp)
{
	tern_qp_release_number(qp);
	cmpxchg(newest_of(qp), RCU_INITIALIZER(qp), NULL);
}

/* ---- state and attributes ---- */

void tern_qp_set_state(struct tern_qp *qp, enum ib_qp_state state)
{
	if (qp->state != state)
		trace_tern_qp_state(qp, state);
	WRITE_ONCE(qp->state, state);
	qp->attr.qp_state = state;
}

void tern_qp_set_attr(struct tern_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct ib_qp_attr *to = &qp->attr;

#define SET(bit, field)				\
	do {					\
		if (mask & (bit))		\
			to->field = attr->field; \
	} while (0)
	SET(IB_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	SET(IB_QP_ACCESS_FLAGS, qp_access_flags);
	SET(IB_QP_PKEY_INDEX, pkey_index);
	SET(IB_QP_PORT, port_num);
	SET(IB_QP_QKEY, qkey);
	SET(IB_QP_AV, ah_attr);
	SET(IB_QP_TIMEOUT, timeout);
	SET(IB_QP_RETRY_CNT, retry_cnt);
	SET(IB_QP_RNR_RETRY, rnr_retry);
	SET(IB_QP_RQ_PSN, rq_psn);
	SET(IB_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	SET(IB_QP_MIN_RNR_TIMER, min_rnr_timer);
	SET(IB_QP_SQ_PSN, sq_psn);
	SET(IB_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	SET(IB_QP_PATH_MIG_STATE, path_mig_state);
	SET(IB_QP_DEST_QPN, dest_qp_num);
	SET(IB_QP_RATE_LIMIT, rate_limit);
#undef SET
	if (mask & IB_QP_RATE_LIMIT)
		qp->burst_bytes = qp->new_burst_bytes;
	/*
	 * The caller may not know the device: rdma_cm gives the peer's MTU. The lesser one is
	 * taken.
	 */
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = min(attr->path_mtu, tern_transport_mtu(qp->dev));
}

/* ---- the device begins and ends, or moves to another namespace ---- */

void tern_qps_begin(struct tern_dev *dev)
{
	WRITE_ONCE(dev->ending, false);
}

void tern_qps_end(struct tern_dev *dev)
{
	struct tern_qp *qp;
	unsigned long qpn;

	WRITE_ONCE(dev->ending, true);
	rcu_read_lock();
	xa_for_each(&dev->qps, qpn, qp) {
		if (!qp->user || !refcount_inc_not_zero(&qp->ref))
			continue;
		rcu_read_unlock();
		/* Refused if the QP is being destroyed, which serves as well. */
		dev->transport->qp_modify(qp, NULL, 0, READ_ONCE(qp->state), IB_QPS_ERR);
		tern_qp_put(qp);
		rcu_read_lock();
	}
	rcu_read_unlock();
}
