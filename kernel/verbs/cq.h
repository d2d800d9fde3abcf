/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues: creation, resize, destruction. */
#ifndef TERN_VERBS_CQ_H
#define TERN_VERBS_CQ_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "queue/cq.h"

struct tern_qp;

struct tern_cq_obj {
	struct tern_cq cq;
	struct mutex resize_lock;
	struct rdma_user_mmap_entry *mmap;	/* user CQs */
};

static inline struct tern_cq_obj *to_tern_cq_obj(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct tern_cq_obj, cq.ibcq);
}

int tern_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct create_cq_ctx *ctx);
int tern_resize_cq(struct ib_cq *ibcq, u32 cqe, struct ib_udata *udata);
int tern_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
/* The QP is in RESET, or gone: drops its old CQEs. The provider cleans user CQs itself. Sleeps. */
void tern_clean_cqs(const struct tern_qp *qp, const struct ib_qp *ibqp);

#endif
