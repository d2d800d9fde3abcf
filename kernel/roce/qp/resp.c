// SPDX-License-Identifier: GPL-2.0
/*
 * Verdicts of the responder's engine carried out: memory written and read, receives
 * completed. What the engine then owes is sent by carry.c.
 */
#include "core/event.h"
#include "core/fault.h"
#include "core/stats.h"
#include "mem/invalidate.h"
#include "mem/sgl.h"
#include "mem/span.h"
#include "roce/qp/ahead.h"
#include "roce/qp/drop.h"
#include "roce/qp/error.h"
#include "roce/qp/packet.h"
#include "roce/qp/placement.h"
#include "roce/qp/receive.h"
#include "roce/qp/resp.h"
#include "roce/qp/target.h"
#include "roce/qp/time.h"
#include "uncleared.h"
#include "tern-abi.h"
#include "wr/remote.h"

static void count_request(struct roce_qp *qp, const struct pkt *k)
{
	const struct tern_qp *base = &qp->base;

	if (k->op_flags & OPF_READ)
		tern_qp_count(base, TERN_CNT_RDMA_READS);
	else if (k->op_flags & OPF_ATOMIC)
		tern_qp_count(base, TERN_CNT_RDMA_ATOMICS);
	else if (k->op_flags & OPF_FLUSH)
		tern_qp_count(base, TERN_CNT_RDMA_FLUSHES);
	else if (!(k->op_flags & OPF_LAST))
		return;
	else if (k->op_flags & (OPF_WRITE | OPF_ATOMIC_WRITE))
		tern_qp_count(base, TERN_CNT_RDMA_WRITES);
	else
		tern_qp_count(base, TERN_CNT_RDMA_SENDS);
}

static void note_event(struct roce_qp *qp, const struct pkt *k, const struct rc_act *act)
{
	switch ((enum rc_event)act->event) {
	case RC_EV_DUPLICATE:
		tern_qp_count(&qp->base, TERN_CNT_DUP_REQUEST);
		roce_note_drop(qp, k, TERN_DROP_DUPLICATE);
		break;
	case RC_EV_OUT_OF_SEQ:
		tern_qp_count(&qp->base, TERN_CNT_OUT_OF_SEQ);
		if (act->kind != RC_ACT_KEEP)
			roce_note_drop(qp, k, TERN_DROP_OUT_OF_SEQ);
		break;
	case RC_EV_DROPPED:
		roce_note_drop(qp, k, TERN_DROP_UNEXPECTED);
		break;
	case RC_EV_REQ_ERR:
		tern_qp_count(&qp->base, TERN_CNT_RESP_REFUSED);
		break;
	default:
		break;
	}
}

/*
 * The request cannot be carried out. RC: a NAK is due and, except for RNR, the QP
 * ends, in which state the NAK is still sent; UC: the message is forgotten.
 */
static void fail_request(struct roce_qp *qp, const struct pkt *k, enum rc_fail why)
{
	static const enum ib_event_type event[] = {
		[RC_FAIL_INVALID_REQ] = IB_EVENT_QP_REQ_ERR,
		[RC_FAIL_ACCESS] = IB_EVENT_QP_ACCESS_ERR,
		[RC_FAIL_OP] = IB_EVENT_QP_FATAL,
	};

	rc_resp_fail(&qp->resp, k, why);
	if (why == RC_FAIL_RNR)
		return;
	tern_qp_count(&qp->base, TERN_CNT_RESP_REFUSED);
	if (qp->base.type == IB_QPT_UC)
		return;
	roce_qp_fatal(qp, event[why]);
}

/* The receive WQE in hand ends with an error of its own (too short, SGEs refused). */
static void fail_recv(struct roce_qp *qp, const struct pkt *k, enum ib_wc_status status,
		      enum rc_fail why)
{
	struct tern_cqe cqe = { .opcode = TERN_WC_RECV };

	roce_complete_recv(qp, &cqe, status, true);
	fail_request(qp, k, why);
}

/* Does the request wait for pages on demand? Then it comes again. Connected QPs. */
static bool await_pages(struct roce_qp *qp, const struct roce_rx *rx, int err)
{
	if (likely(err != -EAGAIN) || roce_rx_is_void(rx))
		return false;
	tern_fault_begin(&qp->base);
	roce_keep_for_pages(qp, rx);
	return true;
}

/* Payload of a SEND packet. False: the request failed, or comes again. */
static bool place_recv(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	struct tern_sgl sgl;
	int ret;

	if ((u64)act->offset + act->bytes > qp->base.rwqe.bytes) {
		fail_recv(qp, &rx->k, IB_WC_LOC_LEN_ERR, RC_FAIL_INVALID_REQ);
		return false;
	}
	if (!act->bytes)
		return true;
	tern_sgl_begin(&sgl, &qp->base.mem, qp->base.rwqe.sge, qp->base.rwqe.num_sge,
		       IB_ACCESS_LOCAL_WRITE);
	/* How much comes is not known: in absent memory room is made for as much as has come. */
	sgl.until = (u64)act->offset + act->bytes + (act->end ? 0 : act->offset);
	ret = roce_rx_to_sgl(rx, 0, &sgl, act->offset, act->bytes);
	tern_sgl_end(&sgl);
	if (ret && !await_pages(qp, rx, ret) && !roce_rx_is_void(rx))
		fail_recv(qp, &rx->k, IB_WC_LOC_PROT_ERR, RC_FAIL_OP);
	return !ret;
}

/* Payload of a WRITE packet, which answers for all that is left of the message (IBTA 9.7.4.1.6). */
static bool place_write(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	u64 va = act->va + act->offset;
	u32 length = act->length - act->offset;
	const void *payload = roce_rx_flat(rx, act->bytes);
	struct tern_span span;
	int ret;

	if (!length)
		return true;
	if (likely(payload)) {
		ret = tern_span_write_once(&qp->base.mem, act->rkey, va, length,
					   IB_ACCESS_REMOTE_WRITE, 0, payload, act->bytes);
	} else {
		ret = tern_span_get(&qp->base.mem, act->rkey, va, length, IB_ACCESS_REMOTE_WRITE,
				    &span);
		if (!ret) {
			ret = tern_span_present(&qp->base.mem, &span, 0, act->bytes,
						length - act->bytes, IB_ACCESS_REMOTE_WRITE);
			if (!ret)
				ret = roce_rx_to_span(rx, 0, &span, 0, act->bytes);
			tern_span_put(&span);
		}
	}
	if (ret && !await_pages(qp, rx, ret) && !roce_rx_is_void(rx))
		fail_request(qp, &rx->k, RC_FAIL_ACCESS);
	return !ret;
}

static void complete_recv(struct roce_qp *qp, const struct pkt *k, const struct rc_act *act)
{
	struct tern_cqe cqe = {
		.opcode = act->kind == RC_ACT_WRITE ? TERN_WC_RECV_RDMA_WITH_IMM : TERN_WC_RECV,
		.byte_len = act->length,
		.src_qp = qp->base.attr.dest_qp_num,
	};

	if (k->op_flags & OPF_IMM) {
		cqe.wc_flags |= TERN_WC_WITH_IMM;
		cqe.imm = k->imm;
	} else if (k->op_flags & OPF_IETH) {
		cqe.wc_flags |= TERN_WC_WITH_INV;
		cqe.inv_key = k->inv_rkey;
	}
	roce_complete_recv(qp, &cqe, IB_WC_SUCCESS, k->solicited);
}

/* ---- requests ---- */

static void carry_out_place(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	const struct pkt *k = &rx->k;

	if (act->take_recv) {
		int ret = roce_take_recv_or_wait(qp, rx);

		if (ret == -EAGAIN)
			return;
		if (ret <= 0) {
			fail_request(qp, k, ret == 0 ? RC_FAIL_RNR : RC_FAIL_OP);
			return;
		}
	}
	if (act->kind == RC_ACT_RECV ? !place_recv(qp, rx, act) : !place_write(qp, rx, act))
		return;
	if ((k->op_flags & OPF_IETH) && tern_mem_invalidate(&qp->base.mem, k->inv_rkey, true)) {
		/* IBTA 9.4.1.1.3: a key that must not be invalidated is an access error */
		fail_recv(qp, k, IB_WC_LOC_PROT_ERR, RC_FAIL_ACCESS);
		return;
	}
	count_request(qp, k);
	rc_resp_commit(&qp->resp, k, act, 0);
	if (k->ack_req && roce_is_reliable(qp) && !roce_rx_is_local(rx) &&
	    ack_hold_watches(&qp->hold))
		ack_hold_message(&qp->hold, roce_now(qp));
	if (act->complete_recv)
		complete_recv(qp, k, act);
}

static void carry_out_read(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	int err = tern_wr_check_read(&qp->base.mem, act->rkey, act->va, act->length);
	const struct pkt *k = &rx->k;

	if (err) {
		if (!await_pages(qp, rx, err))
			fail_request(qp, k, RC_FAIL_ACCESS);
		return;
	}
	count_request(qp, k);
	rc_resp_commit(&qp->resp, k, act, 0);
}

static void carry_out_atomic(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	const struct atomic_op op = atomic_op_plain(act->cmp_swap, act->compare, act->swap_add);
	const struct pkt *k = &rx->k;
	u64 orig;
	int err;

	err = tern_wr_atomic(&qp->base.mem, act->rkey, act->va, &op, &orig);
	if (err) {
		if (!await_pages(qp, rx, err))
			fail_request(qp, k, RC_FAIL_ACCESS);
		return;
	}
	count_request(qp, k);
	rc_resp_commit(&qp->resp, k, act, orig);
}

static void carry_out_flush(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	int ret = roce_place_flush(qp, act);

	if (ret < 0) {
		if (!await_pages(qp, rx, ret))
			fail_request(qp, &rx->k, RC_FAIL_ACCESS);
		return;
	}
	if (!ret) {
		roce_keep_unfinished(qp, rx);
		return;
	}
	count_request(qp, &rx->k);
	rc_resp_commit(&qp->resp, &rx->k, act, 0);
}

static void carry_out_atomic_write(struct roce_qp *qp, const struct roce_rx *rx,
				   const struct rc_act *act)
{
	int err = roce_place_value(qp, rx, act);

	if (err) {
		if (!await_pages(qp, rx, err))
			fail_request(qp, &rx->k, RC_FAIL_ACCESS);
		return;
	}
	count_request(qp, &rx->k);
	rc_resp_commit(&qp->resp, &rx->k, act, 0);
}

static void carry_out(struct roce_qp *qp, const struct roce_rx *rx, const struct rc_act *act)
{
	switch (act->kind) {
	case RC_ACT_RECV:
	case RC_ACT_WRITE:
		carry_out_place(qp, rx, act);
		break;
	case RC_ACT_READ:
		carry_out_read(qp, rx, act);
		break;
	case RC_ACT_ATOMIC:
		carry_out_atomic(qp, rx, act);
		break;
	case RC_ACT_FLUSH:
		carry_out_flush(qp, rx, act);
		break;
	default:
		carry_out_atomic_write(qp, rx, act);
		break;
	}
}

void roce_resp_rx(struct roce_qp *qp, const struct roce_rx *rx)
{
	const struct pkt *k = &rx->k;
	struct rc_act act TERN_UNCLEARED;

	if (!qp->comm_est && qp->base.state == IB_QPS_RTR) {
		qp->comm_est = true;
		tern_qp_event(&qp->base, IB_EVENT_COMM_EST);
	}
	if (qp->base.type == IB_QPT_UC)
		uc_resp_rx(&qp->resp, k, &act);
	else
		rc_resp_rx(&qp->resp, k, &act);
	note_event(qp, k, &act);

	if (act.kind == RC_ACT_FATAL)
		roce_qp_fatal(qp, IB_EVENT_QP_REQ_ERR);
	if (act.kind == RC_ACT_FATAL || act.kind == RC_ACT_NONE)
		return;
	if (unlikely(act.kind == RC_ACT_KEEP)) {
		roce_ahead_add(qp, &qp->ahead_requests, rx);
		return;
	}
	if (act.take_recv)
		roce_target_begin(qp, k->srqn);
	if (!roce_borrow(qp, k->srqn)) {
		/*
		 * As adapters have it: an invalid XRCETH, or an SRQ out of the domain, is refused
		 * access.
		 */
		fail_request(qp, k, RC_FAIL_ACCESS);
		return;
	}
	carry_out(qp, rx, &act);
	roce_give_back(qp);
}
