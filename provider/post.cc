// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting lists of work requests. On an error the requests before it are
 * published and announced as usual. *bad_wr is the request that was refused.
 */
#include "objects.h"
#include "qp_attr.h"
#include "verbs.h"

namespace tern {
namespace {

int queue_send(Qp *qp, const ibv_send_wr &wr)
{
	auto *wqe = static_cast<tern_send_wqe *>(qp->sq.reserve());
	int err;

	if (!wqe)
		return ENOMEM;
	err = wqe_encode_send(wqe, qp->limits, wr);
	if (!err)
		qp->sq.advance();
	return err;
}

/* Queue up to the first error. *wr is left at the request that failed, or NULL. */
int queue_recvs(ProducerRing *ring, uint32_t max_sge, ibv_recv_wr **wr)
{
	for (; *wr; *wr = (*wr)->next) {
		void *slot = ring->reserve();
		int err;

		if (!slot)
			return ENOMEM;
		err = wqe_encode_recv(slot, max_sge, **wr);
		if (err)
			return err;
		ring->advance();
	}
	return 0;
}

} // namespace

/*
 * If the doorbell fails, the device or access to it is gone: the error is
 * reported for the whole list, although the requests are in the ring.
 */
int post_send(ibv_qp *ibqp, ibv_send_wr *wr, ibv_send_wr **bad_wr)
{
	Qp *qp = to_qp(ibqp);
	ibv_send_wr *first = wr;
	bool announce = false;
	int err = send_state_error(qp);

	if (err) {
		*bad_wr = wr;
		return err;
	}

	{
		Guard guard(qp->sq_lock);
		const uint32_t mark = qp->sq.mark();

		for (; wr; wr = wr->next) {
			err = queue_send(qp, *wr);
			if (err) {
				*bad_wr = wr;
				break;
			}
		}
		if (qp->sq.mark() != mark)
			announce = sq_needs_doorbell(qp->sq.publish());
	}

	if (announce) {
		int bell_err = qp->doorbell.ring();

		if (bell_err && !err) {
			err = bell_err;
			*bad_wr = first;
		}
	}
	return err;
}

int post_recv(ibv_qp *ibqp, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	Qp *qp = to_qp(ibqp);
	bool announce = false;
	int err = recv_state_error(qp);

	if (err) {
		*bad_wr = wr;
		return err;
	}

	{
		Guard guard(qp->rq_lock);
		const uint32_t mark = qp->rq.mark();

		err = queue_recvs(&qp->rq, qp->recv_max_sge, &wr);
		if (err)
			*bad_wr = wr;
		if (qp->rq.mark() != mark)
			announce = rq_needs_doorbell(qp->rq.publish());
	}

	/* Only a QP in the error state asks for it. If it fails, there is nothing to flush for. */
	if (announce)
		(void)qp->doorbell.ring();
	return err;
}

int post_srq_recv(ibv_srq *ibsrq, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	Srq *srq = to_srq(ibsrq);
	int err;

	Guard guard(srq->lock);
	const uint32_t mark = srq->ring.mark();

	err = queue_recvs(&srq->ring, srq->max_sge, &wr);
	if (err)
		*bad_wr = wr;
	if (srq->ring.mark() != mark)
		srq->ring.publish_silently();
	return err;
}

/* Type 1 windows: the provider chooses the new key, which the window has once posted. */
int bind_mw(ibv_qp *ibqp, ibv_mw *mw, ibv_mw_bind *bind)
{
	Qp *qp = to_qp(ibqp);
	const uint32_t new_rkey = ibv_inc_rkey(mw->rkey);
	const uint32_t flags = bind->send_flags & ~static_cast<uint32_t>(IBV_SEND_INLINE);
	bool announce;
	int err;

	if (mw->type != IBV_MW_TYPE_1 ||
	    !send_rule(IBV_WR_BIND_MW, qp->limits.qp_type, qp->limits.iwarp))
		return EINVAL;
	err = send_state_error(qp);
	if (err)
		return err;

	{
		Guard guard(qp->sq_lock);
		auto *wqe = static_cast<tern_send_wqe *>(qp->sq.reserve());

		if (!wqe)
			return ENOMEM;
		err = wqe_begin(wqe, qp->limits, bind->wr_id, IBV_WR_BIND_MW, flags);
		if (!err)
			err = wqe_set_bind(wqe, mw, new_rkey, bind->bind_info);
		if (err)
			return err;
		qp->sq.advance();
		announce = sq_needs_doorbell(qp->sq.publish());
		mw->rkey = new_rkey;
	}
	return announce ? qp->doorbell.ring() : 0;
}

} // namespace tern
