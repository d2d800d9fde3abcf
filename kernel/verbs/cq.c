// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: creation, resize, destruction. Rings, CQEs, polling and
 * arming are in queue/cq*.c.
 */
#include <linux/err.h>

#include "core/qp.h"
#include "core/quota.h"
#include "core/transport.h"
#include "queue/cq_kernel.h"
#include "verbs/cq.h"
#include "verbs/mmap.h"
#include "verbs/udata.h"

/* Every CQE is stamped anyway. */
#define CREATE_FLAGS \
	(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)

int tern_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct create_cq_ctx *ctx)
{
	struct ib_udata *udata = create_cq_udata(ctx);
	struct tern_dev *dev = to_tern_dev(ibcq->device);
	struct tern_cq_obj *obj = to_tern_cq_obj(ibcq);
	struct tern_create_cq_resp resp = {};
	struct tern_create_cq_req req;
	int err;

	err = tern_udata_read(udata, &req, sizeof(req), sizeof(resp));
	if (err)
		return err;
	if (req.reserved)
		return -EINVAL;
	if (req.flags & ~TERN_CQ_WALLCLOCK || attr->flags & ~CREATE_FLAGS)
		return -EOPNOTSUPP;
	/* Only a program is trusted to see to it that nothing is lost. */
	if (attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN && !udata)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > dev->transport->limits->max_cqe ||
	    attr->comp_vector >= ibcq->device->num_comp_vectors)
		return -EINVAL;

	err = tern_count_in(&dev->num_cq, dev->transport->limits->max_cq);
	if (err)
		return err;
	mutex_init(&obj->resize_lock);
	err = tern_cq_init(&obj->cq, attr->cqe, udata);
	if (err)
		goto uncount;
	obj->cq.wallclock = req.flags & TERN_CQ_WALLCLOCK;
	obj->cq.ignore_overrun = attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	if (!udata)
		return 0;

	obj->mmap = tern_mmap_ring(udata, obj->cq.ring, &resp.ring);
	if (IS_ERR(obj->mmap)) {
		err = PTR_ERR(obj->mmap);
		goto uninit;
	}
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		goto unmap;
	return 0;

unmap:
	rdma_user_mmap_entry_remove(obj->mmap);
uninit:
	tern_cq_uninit(&obj->cq);
uncount:
	atomic_dec(&dev->num_cq);
	return err;
}

/*
 * User CQs. Every step that can fail on the way to user space comes first, so a CQ is either as
 * before or as announced.
 */
static int resize_user_cq(struct tern_cq_obj *obj, u32 cqe, struct ib_udata *udata)
{
	struct tern_resize_cq_resp resp = {};
	struct rdma_user_mmap_entry *mmap;
	int err;

	mmap = tern_mmap_reserve(udata, cqe, TERN_CQE_BYTES, &resp.ring);
	if (IS_ERR(mmap))
		return PTR_ERR(mmap);
	err = ib_copy_to_udata(udata, &resp, sizeof(resp)) ?: tern_cq_resize(&obj->cq, cqe);
	if (err) {
		rdma_user_mmap_entry_remove(mmap);
		return err;
	}
	tern_mmap_bind(mmap, obj->cq.ring->area);
	rdma_user_mmap_entry_remove(obj->mmap);
	obj->mmap = mmap;
	return 0;
}

int tern_resize_cq(struct ib_cq *ibcq, u32 cqe, struct ib_udata *udata)
{
	struct tern_dev *dev = to_tern_dev(ibcq->device);
	struct tern_cq_obj *obj = to_tern_cq_obj(ibcq);
	int err;

	err = tern_udata_check(udata, sizeof(struct tern_resize_cq_resp));
	if (err)
		return err;
	if (!cqe || cqe > dev->transport->limits->max_cqe)
		return -EINVAL;

	mutex_lock(&obj->resize_lock);
	if (udata)
		err = resize_user_cq(obj, cqe, udata);
	else
		err = tern_cq_resize(&obj->cq, cqe);
	mutex_unlock(&obj->resize_lock);
	return err;
}

static void clean_cq(struct tern_cq *cq, const struct ib_qp *ibqp)
{
	struct tern_cq_obj *obj = container_of(cq, struct tern_cq_obj, cq);

	mutex_lock(&obj->resize_lock);
	tern_cq_clean(cq, ibqp);
	mutex_unlock(&obj->resize_lock);
}

void tern_clean_cqs(const struct tern_qp *qp, const struct ib_qp *ibqp)
{
	if (qp->user)
		return;
	clean_cq(qp->scq, ibqp);
	if (qp->rcq != qp->scq)
		clean_cq(qp->rcq, ibqp);
}

/* No QP posts to it any more: ib_core counts its users. */
int tern_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct tern_cq_obj *obj = to_tern_cq_obj(ibcq);

	rdma_user_mmap_entry_remove(obj->mmap);
	tern_cq_uninit(&obj->cq);
	atomic_dec(&to_tern_dev(ibcq->device)->num_cq);
	return 0;
}
