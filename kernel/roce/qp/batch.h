/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connected QP's batch of packets: runs go into it, and it goes to the stack. If the
 * stack refuses it, the engines are put back to where they stood before it. Everything
 * here: run lock held, BHs off.
 */
#ifndef TERN_ROCE_QP_BATCH_H
#define TERN_ROCE_QP_BATCH_H

#include <linux/minmax.h>

#include "proto/run.h"
#include "roce/qp/state.h"
#include "roce/wire/build.h"

struct roce_source;

/*
 * Send what is batched. False: the local stack refused it, so the engines stand where
 * they stood before it, and the timer or the stack's call runs the QP again.
 */
bool roce_batch_send(struct roce_qp *qp);

/* For roce_batch_room(). */
bool roce_batch_make_room(struct roce_qp *qp, const struct run *run);

/* Room for the run's first packet, in the batch or in a new one. False: as roce_batch_send(). */
static inline bool roce_batch_room(struct roce_qp *qp, const struct run *run)
{
	if (likely(!qp->tx.batch.cut_bytes &&
		   roce_tx_list_fits(&qp->tx.batch, min(run->bytes, run->pmtu))))
		return true;
	return roce_batch_make_room(qp, run);
}

/*
 * Put the packets of a run, with their payload from src, into the batch; *sent of them. 0: as
 * many as fit; -EFAULT: src cannot be read; -EAGAIN: no memory, and the timer runs the QP.
 */
int roce_batch_run(struct roce_qp *qp, const struct run *run, const struct roce_source *src,
		   u32 *sent);
/* The same for the ACK that rc_resp_owes_ack_only(). False: as -EAGAIN, and it is still owed. */
bool roce_batch_ack(struct roce_qp *qp);
/* A CNP, if there is room and memory for it now. If not, another mark will ask for one. */
void roce_batch_cnp(struct roce_qp *qp);

#endif
