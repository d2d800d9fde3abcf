// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues, basic ones and XRC's. The queue is in queue/rq.c,
 * posting by kernel consumers in post.c, numbers in core/srq.c.
 */
#include <linux/err.h>

#include "core/device.h"
#include "core/quota.h"
#include "core/srq.h"
#include "core/transport.h"
#include "queue/rq.h"
#include "verbs/cq.h"
#include "verbs/mmap.h"
#include "verbs/srq.h"
#include "verbs/udata.h"

static int check_init(const struct tern_limits *lim, const struct ib_srq_init_attr *init, bool user)
{
	/* No kernel consumer uses XRC. */
	if (init->srq_type != IB_SRQT_BASIC &&
	    (init->srq_type != IB_SRQT_XRC || !lim->max_xrcd || !user))
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > lim->max_srq_wr ||
	    init->attr.max_sge > TERN_MAX_SGE)
		return -EINVAL;
	return 0;
}

int tern_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibsrq->device);
	const struct tern_limits *lim = dev->transport->limits;
	struct tern_srq *srq = to_tern_srq(ibsrq);
	struct tern_create_srq_resp resp = {};
	int err;

	err = tern_udata_check(udata, sizeof(resp)) ?: check_init(lim, init, udata);
	if (err)
		return err;

	err = tern_count_in(&dev->num_srq, lim->max_srq);
	if (err)
		return err;
	mutex_init(&srq->modify_lock);
	tern_srq_events_init(srq);
	if (init->srq_type == IB_SRQT_XRC) {
		srq->xrcd = init->ext.xrc.xrcd;
		srq->cq = &to_tern_cq_obj(init->ext.cq)->cq;
	}
	err = tern_srq_reserve_number(dev, srq);
	if (err)
		goto uncount;
	err = tern_rq_init(&srq->rq, init->attr.max_wr, init->attr.max_sge, !!udata);
	if (err)
		goto unnumber;

	if (udata) {
		srq->mmap = tern_mmap_ring(udata, srq->rq.ring, &resp.ring);
		if (IS_ERR(srq->mmap)) {
			err = PTR_ERR(srq->mmap);
			goto uninit;
		}
		resp.srq_num = srq->srqn;
		err = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (err)
			goto unmap;
	}

	/* Only modify_srq arms the limit (IBTA 11.2.3.1). */
	init->attr.max_wr = srq->rq.max_wr;
	init->attr.max_sge = srq->rq.max_sge;
	ibsrq->ext.xrc.srq_num = srq->srqn;
	tern_srq_publish(dev, srq);
	return 0;

unmap:
	rdma_user_mmap_entry_remove(srq->mmap);
uninit:
	tern_rq_uninit(&srq->rq);
unnumber:
	tern_srq_unpublish(dev, srq);
uncount:
	atomic_dec(&dev->num_srq);
	return err;
}

/* As resize_user_cq(): no step that can fail follows the resize. */
static int resize_user_srq(struct tern_srq *srq, u32 max_wr, struct ib_udata *udata)
{
	struct tern_modify_srq_resp resp = {};
	struct rdma_user_mmap_entry *mmap;
	int err;

	mmap = tern_mmap_reserve(udata, max_wr, srq->rq.ring->stride, &resp.ring);
	if (IS_ERR(mmap))
		return PTR_ERR(mmap);
	err = ib_copy_to_udata(udata, &resp, sizeof(resp)) ?: tern_rq_resize(&srq->rq, max_wr);
	if (err) {
		rdma_user_mmap_entry_remove(mmap);
		return err;
	}
	tern_mmap_bind(mmap, srq->rq.ring->area);
	rdma_user_mmap_entry_remove(srq->mmap);
	srq->mmap = mmap;
	return 0;
}

static int modify_locked(struct tern_srq *srq, const struct ib_srq_attr *attr,
			 enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	bool hit = false;
	int err;

	if (mask & IB_SRQ_MAX_WR) {
		if (mask & IB_SRQ_LIMIT && attr->srq_limit > attr->max_wr)
			return -EINVAL;
		err = udata ? resize_user_srq(srq, attr->max_wr, udata) :
			      tern_rq_resize(&srq->rq, attr->max_wr);
		if (err)
			return err;
	}
	if (mask & IB_SRQ_LIMIT) {
		err = tern_rq_set_limit(&srq->rq, attr->srq_limit, &hit);
		if (err)
			return err;
		if (hit)
			tern_srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	}
	return 0;
}

int tern_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibsrq->device);
	struct tern_srq *srq = to_tern_srq(ibsrq);
	int err;

	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	/*
	 * Only a resize is answered. uverbs' write() interface cannot carry an answer to
	 * MODIFY_SRQ, so a provider resizes through the ioctl.
	 */
	err = tern_udata_check(udata, mask & IB_SRQ_MAX_WR ?
					      sizeof(struct tern_modify_srq_resp) : 0);
	if (err)
		return err;
	if (mask & IB_SRQ_MAX_WR &&
	    (!attr->max_wr || attr->max_wr > dev->transport->limits->max_srq_wr))
		return -EINVAL;

	mutex_lock(&srq->modify_lock);
	err = modify_locked(srq, attr, mask, udata);
	mutex_unlock(&srq->modify_lock);
	return err;
}

int tern_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct tern_srq *srq = to_tern_srq(ibsrq);

	attr->max_wr = srq->rq.max_wr;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->rq.limit);
	return 0;
}

/* No QP takes from it any more: ib_core counts its users, except for XRC targets. */
int tern_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibsrq->device);
	struct tern_srq *srq = to_tern_srq(ibsrq);

	tern_srq_unpublish(dev, srq);
	tern_events_stop(&srq->events);
	rdma_user_mmap_entry_remove(srq->mmap);
	tern_rq_uninit(&srq->rq);
	atomic_dec(&dev->num_srq);
	return 0;
}
