// SPDX-License-Identifier: GPL-2.0
/*
 * Raw dumps: the part of a QP that every transport has. Rings are looked at only while they are
 * sure to be there.
 */
#include "core/dump.h"
#include "core/qp.h"

void tern_qp_dump(const struct tern_qp *qp, struct tern_dump_qp *dump)
{
	dump->qpn = qp->qpn;
	dump->dest_qpn = qp->attr.dest_qp_num;
	dump->type = qp->type;
	dump->state = qp->state;
	dump->flags = qp->user ? TERN_DUMP_QP_USER : 0;
	dump->marks = atomic_read(&qp->marks);
	/* Destroy frees the rings once it has set this. */
	if (qp->dead)
		return;
	if (tern_qp_has_sq(qp))
		dump->sq = (struct tern_dump_queue){
			.wqes = qp->sq.max_wr,
			.prod = READ_ONCE(qp->sq.ring->hdr->prod),
			.taken = qp->sq.head,
			.retired = qp->sq.tail,
		};
	if (tern_qp_has_rq(qp))
		dump->rq = (struct tern_dump_queue){
			.wqes = qp->rq.max_wr,
			.prod = READ_ONCE(qp->rq.ring->hdr->prod),
			.taken = READ_ONCE(qp->rq.head),
			.retired = READ_ONCE(qp->rq.head),
		};
}
