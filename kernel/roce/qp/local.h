/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Delivery to a QP of this host: the same engines, without packets. A run goes to the
 * peer's engine as one stretch, whose payload is copied from memory to memory. proto/
 * decides, as for packets, and such a QP behaves as it would over `lo`. Everything here: run
 * lock held, BHs off; of connected QPs also that of local.to (peer.h).
 */
#ifndef TERN_ROCE_QP_LOCAL_H
#define TERN_ROCE_QP_LOCAL_H

#include <linux/bitops.h>
#include <linux/minmax.h>

#include "proto/run.h"
#include "queue/wqe.h"
#include "roce/qp/state.h"
#include "roce/wire/skb.h"
#include "roce/wire/source.h"

/* A packet's worth of a budget: so a process copies 256 KiB in a go. */
#define ROCE_LOCAL_PKT_BYTES	256u
/* A short message. Its holder of the run lock is waited for, and its acknowledge may wait. */
#define ROCE_LOCAL_SHORT_BYTES	4096u

static inline u32 roce_local_cost(u32 bytes)
{
	return 1 + bytes / ROCE_LOCAL_PKT_BYTES;
}

/* pmtu: a power of two */
static inline u32 roce_local_pkts(u32 budget, u32 pmtu)
{
	return max(budget * ROCE_LOCAL_PKT_BYTES >> __ffs(pmtu), 1u);
}

/* All of a stretch from src but its headers (k) and the device. */
static inline void roce_local_rx_begin(struct roce_rx *rx, struct roce_source *src)
{
	rx->dev = NULL;
	rx->skb = NULL;
	rx->src = src;
	rx->mcast = false;
}

/* src, zeroed, becomes the payload of a WQE, which has some. */
static inline void roce_local_source(struct roce_source *src, struct roce_qp *qp,
				     struct tern_send_wqe *wqe)
{
	if (wqe->flags & TERN_SEND_INLINE) {
		src->flat = tern_wqe_inline(wqe);
		return;
	}
	src->mem = &qp->base.mem;
	src->sge = tern_wqe_sge(wqe);
	src->num_sge = wqe->num_sge;
}

/*
 * All of a run to the peer. 0: it is sent, and its answers are still to be fetched; or the peer
 * has done a part of it, and it is sent again for the next. -EFAULT: the WQE's memory refuses.
 * -EAGAIN: the peer has no receive WQE, and qp is run when it may have one.
 */
int roce_local_request(struct roce_qp *qp, const struct run *run, struct roce_source *src);
/* All of a run of answers to the peer. */
void roce_local_answer(struct roce_qp *qp, const struct run *run, struct roce_source *src);
/* UD. 0: sent; -EAGAIN: it goes by the stack; -EFAULT: the WQE's memory refuses. */
int roce_local_datagram(struct roce_qp *qp, const struct roce_path *path, struct pkt *k,
			struct tern_send_wqe *wqe);

#endif
