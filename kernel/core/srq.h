/* SPDX-License-Identifier: GPL-2.0 */
/* Shared receive queues: verbs/srq.c makes them, QPs take receive WQEs from them. */
#ifndef TERN_CORE_SRQ_H
#define TERN_CORE_SRQ_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "core/event.h"
#include "queue/rq.h"

struct tern_srq {
	struct ib_srq ibsrq;
	struct tern_rq rq;
	u32 srqn;
	struct tern_events events;
	/* verbs/ only */
	struct mutex modify_lock;
	struct rdma_user_mmap_entry *mmap;
};

static inline struct tern_srq *to_tern_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct tern_srq, ibsrq);
}

#endif
