/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared receive queues: verbs/srq.c makes them, QPs take receive WQEs from them. An XRC target has
 * no SRQ. Each request names one, by number, and the target borrows it for that request, with its
 * CQ and PD.
 */
#ifndef TERN_CORE_SRQ_H
#define TERN_CORE_SRQ_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "core/event.h"
#include "queue/rq.h"

struct tern_cq;
struct tern_dev;
struct tern_srq_handle;

struct tern_srq {
	struct ib_srq ibsrq;
	struct tern_rq rq;
	u32 srqn;
	struct tern_events events;
	/* XRC, else NULL */
	const struct ib_xrcd *xrcd;
	struct tern_cq *cq;
	struct tern_srq_handle *handle;
	/* verbs/ only */
	struct mutex modify_lock;
	struct rdma_user_mmap_entry *mmap;
};

static inline struct tern_srq *to_tern_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct tern_srq, ibsrq);
}

/*
 * Gives an SRQ its number; xrcd and cq are set. Nobody finds it before publish. Both sleep. 0 or an
 * error.
 */
int tern_srq_reserve_number(struct tern_dev *dev, struct tern_srq *srq);
void tern_srq_publish(struct tern_dev *dev, struct tern_srq *srq);
/* Published or not: gives the number back, and waits until no target has the SRQ. Sleeps. */
void tern_srq_unpublish(struct tern_dev *dev, struct tern_srq *srq);

/*
 * The XRC SRQ with this number, if it is of this XRC domain; else NULL. It, its CQ and its PD stay
 * until it is given back, within the same section with BHs off.
 */
struct tern_srq *tern_srq_borrow(struct tern_dev *dev, u32 srqn, const struct ib_xrcd *xrcd);
void tern_srq_give_back(struct tern_srq *srq);

#endif
