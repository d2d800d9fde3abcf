// SPDX-License-Identifier: GPL-2.0
/*
 * UD and GSI WQEs into packets, each on its own, or to a QP of this host (local.c).
 */
#include "core/av.h"
#include "core/fault.h"
#include "core/port.h"
#include "core/stats.h"
#include "core/trace.h"
#include "mem/sgl.h"
#include "proto/opcode.h"
#include "queue/sq.h"
#include "roce/qp/error.h"
#include "roce/qp/local.h"
#include "roce/qp/time.h"
#include "roce/qp/ud_send.h"
#include "roce/wire/build.h"
#include "roce/wire/path.h"
#include "roce/wire/room.h"

#define QKEY_OF_QP	0x80000000u	/* IBTA 10.2.5: the sender's own Q_Key instead */

/* Path and headers of a WQE. False: it cannot be sent (AH gone or of another PD). */
static bool make_datagram(struct roce_qp *qp, const struct tern_send_wqe *wqe,
			  struct roce_path *path, struct pkt *k)
{
	const struct tern_av *av;
	bool ok;

	rcu_read_lock();
	av = xa_load(&qp->base.dev->ahs, wqe->ud.ah);
	ok = av && av->pd == qp->base.pd &&
	     !roce_path_init(qp->base.dev, path, &av->attr, qp->base.qpn,
			     wqe->ud.remote_qpn);
	rcu_read_unlock();
	if (!ok)
		return false;

	*k = (struct pkt){
		.opcode = BTH_UD | (wqe->opcode == TERN_WR_SEND_WITH_IMM ? OP_SEND_ONLY_IMM :
									   OP_SEND_ONLY),
		.solicited = wqe->flags & TERN_SEND_SOLICITED,
		.migrated = true,
		.pkey = PKEY_DEFAULT,
		.dqpn = wqe->ud.remote_qpn & 0xffffff,
		.psn = qp->base.attr.sq_psn & PSN_MASK,
		.qkey = wqe->ud.remote_qkey & QKEY_OF_QP ? qp->base.attr.qkey :
							   wqe->ud.remote_qkey,
		.sqpn = qp->base.qpn,
		.imm = wqe->imm,
		.payload_bytes = tern_wqe_bytes(wqe),
	};
	if (qp->base.type == IB_QPT_GSI)
		k->qkey = (u32)QKEY_GSI;
	return true;
}

static int copy_payload(struct roce_qp *qp, struct tern_send_wqe *wqe, void *dst, u32 n)
{
	if (!n)
		return 0;
	if (wqe->flags & TERN_SEND_INLINE) {
		memcpy(dst, tern_wqe_inline(wqe), n);
		return 0;
	}
	return tern_sges_read(&qp->base.mem, tern_wqe_sge(wqe), wqe->num_sge, 0, dst, n);
}

/* Is it too soon for the QP's rate? If so, the QP is run again when it no longer is. */
static bool is_too_soon(struct roce_qp *qp)
{
	struct pacer *pacer = &qp->ud_pacer;

	if (likely(!pacer->kbps) || pacer_room(pacer, roce_now(qp)))
		return false;
	roce_tx_later(qp, pacer->until_ns - roce_now(qp));
	return true;
}

/* -EAGAIN: not now. Else the WQE is done, with *status. */
static int send_one(struct roce_qp *qp, struct tern_send_wqe *wqe, enum ib_wc_status *status)
{
	u32 bytes = tern_wqe_bytes(wqe);
	struct roce_path path;
	struct pkt k;
	void *dst;
	int err;

	if (is_too_soon(qp))
		return -EAGAIN;
	if (roce_tx_full(&qp->tx, bytes)) {
		trace_tern_gate_wait(&qp->base, bytes);
		return -EAGAIN;
	}
	*status = IB_WC_SUCCESS;
	if (bytes > ib_mtu_enum_to_int(tern_transport_mtu(qp->base.dev))) {
		*status = IB_WC_LOC_LEN_ERR;
		return 0;
	}
	if (!make_datagram(qp, wqe, &path, &k)) {
		*status = IB_WC_LOC_QP_OP_ERR;
		return 0;
	}
	switch (roce_local_datagram(qp, &path, &k, wqe)) {
	case 0:
		goto sent;
	case -EBUSY:
		tern_fault_begin(&qp->base);
		return -EAGAIN;
	case -EFAULT:
		*status = IB_WC_LOC_PROT_ERR;
		return 0;
	}
	dst = roce_tx_begin(&qp->tx, &path, &k);
	if (!dst) {
		roce_tx_later(qp, NSEC_PER_MSEC);
		return -EAGAIN;
	}
	err = copy_payload(qp, wqe, dst, bytes);
	if (err) {
		roce_tx_cancel(&qp->tx);
		tern_fault_begin(&qp->base);
		*status = IB_WC_LOC_PROT_ERR;
		return err == -EAGAIN ? err : 0;
	}
	roce_tx_end(&qp->tx, &path, &k);
	if (roce_tx_flush(&qp->tx, &path) == -EAGAIN) {
		roce_tx_after_refusal(qp);
		return -EAGAIN;
	}
sent:
	tern_qp_count_request(&qp->base, wqe->opcode);
	pacer_sent(&qp->ud_pacer, 1, bytes);
	qp->base.attr.sq_psn = psn_add(qp->base.attr.sq_psn, 1);
	return 0;
}

/* ud_sending is over, with status. ROCE_NEXT: the queue goes on. */
static enum roce_step complete_one(struct roce_qp *qp, enum ib_wc_status status, u32 *budget)
{
	--*budget;
	tern_qp_count(&qp->base, TERN_CNT_REQ_SENT);
	roce_complete_send(qp, qp->ud_sending, status);
	qp->ud_sending++;
	tern_sq_retire(&qp->base.sq, qp->ud_sending);
	if (status == IB_WC_SUCCESS)
		return ROCE_NEXT;
	roce_sq_error(qp);
	return ROCE_DONE;
}

/* The WQE at ud_sending, which may have been taken before and could not be sent. */
static enum roce_step send_next(struct roce_qp *qp, u32 *budget)
{
	enum ib_wc_status status = IB_WC_LOC_QP_OP_ERR;
	struct tern_sq *sq = &qp->base.sq;
	struct tern_send_wqe *wqe = NULL;
	int ret = 1;

	if (!*budget)
		return ROCE_MORE;
	if (qp->ud_sending == sq->head)
		ret = tern_sq_take(sq, qp->base.type, &wqe);
	if (ret == 0) {
		tern_sq_draining(sq, false);
		if (!tern_sq_pending(sq))
			return ROCE_DONE;
		tern_sq_draining(sq, true);
		return ROCE_NEXT;
	}
	if (ret == -EOVERFLOW) {
		roce_qp_fatal(qp, IB_EVENT_QP_FATAL);
		return ROCE_DONE;
	}
	wqe = tern_sq_wqe(sq, qp->ud_sending);
	if (ret < 0)
		wqe->opcode = TERN_WR_OPCODES;
	else if (send_one(qp, wqe, &status) == -EAGAIN)
		return ROCE_BLOCKED;	/* draining stays on: room or a timer brings us back */
	return complete_one(qp, status, budget);
}

enum roce_step roce_ud_send(struct roce_qp *qp, u32 *budget)
{
	enum roce_step step = ROCE_NEXT;
	struct tern_sq *sq = &qp->base.sq;

	if (qp->base.state != IB_QPS_RTS || (qp->ud_sending == sq->head && tern_sq_is_idle(sq)))
		return ROCE_DONE;
	tern_sq_draining(sq, true);
	qp->local.ud_wire = false;
	/* A completion without room ends the QP. */
	while (step == ROCE_NEXT && qp->base.state == IB_QPS_RTS)
		step = send_next(qp, budget);
	return step == ROCE_NEXT ? ROCE_DONE : step;
}
