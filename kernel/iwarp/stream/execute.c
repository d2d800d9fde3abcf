// SPDX-License-Identifier: GPL-2.0
/*
 * What the peer's segments ask for is done here, as proto/iw_resp.c decides: receive WQEs taken,
 * keys checked, bytes placed, receives completed.
 */
#include <linux/jiffies.h>

#include "core/complete.h"
#include "core/stats.h"
#include "iwarp/stream/defer.h"
#include "iwarp/stream/error.h"
#include "iwarp/stream/execute.h"
#include "iwarp/stream/fpdu.h"
#include "iwarp/stream/place.h"
#include "iwarp/stream/trace.h"
#include "mem/invalidate.h"
#include "queue/rq.h"
#include "wr/remote.h"

/*
 * A Send that finds no receive WQE waits for one this long, in the socket, before it ends the
 * stream: verbs programs know RNR, and post late.
 */
#define NO_RECV_WAIT		(5 * HZ)

static void refuse_fpdu(struct iw_qp *qp, const struct iw_fpdu *f, enum iw_fail fail)
{
	iw_qp_refused(qp, iw_resp_fail(&qp->resp, &f->seg, f->head, f->have, fail));
}

static void fail_recv(struct iw_qp *qp, const struct iw_fpdu *f, enum ib_wc_status status,
		      enum iw_fail fail)
{
	struct tern_cqe cqe = { .opcode = TERN_WC_RECV };

	iw_complete_recv(qp, &cqe, status, true);
	refuse_fpdu(qp, f, fail);
}

/*
 * A receive WQE in hand: as tern_qp_take_recv(), but -EAGAIN: there is none, and the FPDU stays
 * where it is for a while.
 */
static int take_recv(struct iw_qp *qp)
{
	struct tern_qp *base = &qp->base;
	int ret = tern_qp_take_recv(base);

	if (!ret && !qp->rx_waits) {
		qp->rx_waits = true;
		qp->rx_wait_until = jiffies + NO_RECV_WAIT;
		tern_qp_count(base, TERN_CNT_RNR_NAK_TX);
		if (!base->srq) {
			tern_rq_kick_wanted(&base->rq, true);
			ret = tern_qp_take_recv(base);
		}
	}
	if (!ret && time_before(jiffies, qp->rx_wait_until)) {
		/* A post to a shared queue rings for no QP. */
		queue_delayed_work(iw_wq, &qp->retry,
				   base->srq ? 1 : qp->rx_wait_until - jiffies);
		return -EAGAIN;
	}
	if (qp->rx_waits && !base->srq)
		tern_rq_kick_wanted(&base->rq, false);
	qp->rx_waits = false;
	return ret;
}

static enum iw_step execute_recv(struct iw_qp *qp, struct sock *sk, struct iw_fpdu *f,
				 const struct iw_act *act)
{
	struct tern_cqe cqe = { .opcode = TERN_WC_RECV, .byte_len = act->length };
	struct tern_rwqe *rwqe = &qp->base.rwqe;

	if (act->begin) {
		int ret = take_recv(qp);

		if (ret == -EAGAIN)
			return IW_BLOCKED;
		if (ret == -EINVAL) {
			fail_recv(qp, f, IB_WC_LOC_QP_OP_ERR, IW_FAIL_LOCAL);
			return IW_DONE;
		}
		if (ret <= 0) {
			refuse_fpdu(qp, f, ret ? IW_FAIL_LOCAL : IW_FAIL_NO_RECV);
			return IW_DONE;
		}
	}
	if ((u64)act->offset + act->bytes > rwqe->bytes) {
		fail_recv(qp, f, IB_WC_LOC_LEN_ERR, IW_FAIL_TOO_LONG);
		return IW_DONE;
	}
	if (iw_place_sges(qp, sk, &f->payload, rwqe->sge, rwqe->num_sge, act->offset, act->bytes)) {
		fail_recv(qp, f, IB_WC_LOC_PROT_ERR, IW_FAIL_LOCAL);
		return IW_DONE;
	}
	if (act->end && act->invalidate &&
	    tern_mem_invalidate(&qp->base.mem, act->inv_stag, true)) {
		fail_recv(qp, f, IB_WC_LOC_PROT_ERR, IW_FAIL_INVALIDATE);
		return IW_DONE;
	}
	iw_resp_commit(&qp->resp, &f->seg, act, f->head, 0);
	if (!act->end)
		return IW_DONE;
	tern_qp_count(&qp->base, TERN_CNT_RDMA_SENDS);
	if (act->invalidate) {
		cqe.wc_flags |= TERN_WC_WITH_INV;
		cqe.inv_key = act->inv_stag;
	} else if (act->kind == IW_ACT_IMM) {
		cqe.opcode = TERN_WC_RECV_RDMA_WITH_IMM;
		cqe.wc_flags |= TERN_WC_WITH_IMM;
		cqe.imm = act->imm;
	}
	iw_complete_recv(qp, &cqe, IB_WC_SUCCESS, act->solicited);
	return IW_DONE;
}

static void execute_write(struct iw_qp *qp, struct sock *sk, struct iw_fpdu *f,
			  const struct iw_act *act)
{
	int err = iw_place_tagged(qp, sk, &f->payload, act->stag, act->va, act->bytes);

	if (err) {
		refuse_fpdu(qp, f, iw_fail_of(err));
		return;
	}
	if (f->seg.last)
		tern_qp_count(&qp->base, TERN_CNT_RDMA_WRITES);
}

static void execute_read(struct iw_qp *qp, const struct iw_fpdu *f, const struct iw_act *act)
{
	int err = tern_wr_check_read(&qp->base.mem, act->stag, act->va, act->length);

	if (err) {
		refuse_fpdu(qp, f, iw_fail_of(err));
		return;
	}
	tern_qp_count(&qp->base, TERN_CNT_RDMA_READS);
	iw_resp_commit(&qp->resp, &f->seg, act, f->head, 0);
}

static void execute_atomic(struct iw_qp *qp, const struct iw_fpdu *f, const struct iw_act *act)
{
	u64 orig;
	int err = tern_wr_atomic(&qp->base.mem, act->stag, act->va, &act->atomic, &orig);

	if (err) {
		refuse_fpdu(qp, f, err == -EDOM ? IW_FAIL_ALIGN : iw_fail_of(err));
		return;
	}
	tern_qp_count(&qp->base, TERN_CNT_RDMA_ATOMICS);
	iw_resp_commit(&qp->resp, &f->seg, act, f->head, orig);
}

enum iw_step iw_execute(struct iw_qp *qp, struct sock *sk, struct iw_fpdu *f)
{
	struct iw_act act;

	iw_resp_rx(&qp->resp, &f->seg, f->head, f->have, &act);
	switch (act.kind) {
	case IW_ACT_RECV:
	case IW_ACT_IMM:
		return execute_recv(qp, sk, f, &act);
	case IW_ACT_WRITE:
		execute_write(qp, sk, f, &act);
		break;
	case IW_ACT_READ:
		execute_read(qp, f, &act);
		break;
	case IW_ACT_ATOMIC:
		execute_atomic(qp, f, &act);
		break;
	case IW_ACT_TERMINATED:
		tern_qp_count(&qp->base, TERN_CNT_REQ_REMOTE_ERR);
		trace_tern_terminate_rcvd(&qp->base, act.term);
		iw_req_terminated(&qp->req, act.term, f->head + f->seg.hdr_bytes,
				  f->have - f->seg.hdr_bytes);
		iw_qp_fatal(qp, IB_EVENT_QP_FATAL);
		break;
	case IW_ACT_FATAL:
		iw_qp_refused(qp, act.term);
		break;
	default:
		break;
	}
	return IW_DONE;
}
