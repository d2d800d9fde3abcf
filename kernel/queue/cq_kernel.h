/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel consumers' side of a completion queue. */
#ifndef TERN_QUEUE_CQ_KERNEL_H
#define TERN_QUEUE_CQ_KERNEL_H

#include <rdma/ib_verbs.h>

struct tern_cq;

/* ib_device_ops.poll_cq, of kernel CQs, and req_notify_cq. Any context. */
int tern_cq_poll(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc);
int tern_cq_req_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

/*
 * A kernel QP is going away and nothing is posted for it any more: drops its unpolled CQEs. Not
 * during a resize.
 */
void tern_cq_clean(struct tern_cq *cq, const struct ib_qp *ibqp);

#endif
