// SPDX-License-Identifier: GPL-2.0
/*
 * UD and GSI packets into receive WQEs.
 */
#include "core/fault.h"
#include "core/stats.h"
#include "mem/sgl.h"
#include "proto/opcode.h"
#include "roce/qp/error.h"
#include "roce/qp/packet.h"
#include "roce/qp/receive.h"
#include "roce/qp/drop.h"
#include "roce/qp/ud_recv.h"
#include "tern-abi.h"

/* Header bytes, then payload, into the receive WQE. */
static int place_datagram(struct roce_qp *qp, const struct roce_rx *rx)
{
	struct tern_sgl sgl;
	u8 grh[GRH_BYTES];
	int ret;

	roce_rx_grh(rx, grh);
	tern_sgl_begin(&sgl, &qp->base.mem, qp->base.rwqe.sge, qp->base.rwqe.num_sge,
		       IB_ACCESS_LOCAL_WRITE);
	sgl.until = sizeof(grh) + rx->k.payload_bytes;
	ret = tern_sgl_write(&sgl, 0, grh, sizeof(grh));
	if (!ret && rx->k.payload_bytes)
		ret = roce_rx_to_sgl(rx, 0, &sgl, GRH_BYTES, rx->k.payload_bytes);
	tern_sgl_end(&sgl);
	return ret;
}

void roce_ud_rx(struct roce_qp *qp, const struct roce_rx *rx)
{
	const struct pkt *k = &rx->k;
	struct tern_cqe cqe = {
		.opcode = TERN_WC_RECV,
		.byte_len = k->payload_bytes + GRH_BYTES,
		.src_qp = k->sqpn,
	};
	int ret;

	if (roce_take_recv(qp) != 1) {
		tern_qp_count(&qp->base, TERN_CNT_RX_UD_DROPPED);
		roce_note_drop(qp, k, TERN_DROP_NO_RECV);
		return;
	}
	if (cqe.byte_len > qp->base.rwqe.bytes) {
		/* The WQE says so; a peer cannot end the QP by sending too much. */
		tern_qp_count(&qp->base, TERN_CNT_RX_UD_DROPPED);
		roce_note_drop(qp, k, TERN_DROP_TOO_LONG);
		roce_complete_recv(qp, &cqe, IB_WC_LOC_LEN_ERR, true);
		return;
	}
	ret = place_datagram(qp, rx);
	if (ret) {
		if (roce_rx_is_void(rx))
			return;		/* the WQE stays in hand */
		if (ret == -EAGAIN) {
			/* It stays so too. */
			tern_fault_begin(&qp->base);
			roce_keep_for_pages(qp, rx);
			return;
		}
		roce_complete_recv(qp, &cqe, IB_WC_LOC_PROT_ERR, true);
		roce_qp_fatal(qp, IB_EVENT_QP_FATAL);
		return;
	}
	tern_qp_count(&qp->base, TERN_CNT_RDMA_SENDS);
	roce_rx_fill_cqe(rx, &cqe);
	cqe.wc_flags |= TERN_WC_GRH;
	if (k->op_flags & OPF_IMM) {
		cqe.wc_flags |= TERN_WC_WITH_IMM;
		cqe.imm = k->imm;
	}
	roce_complete_recv(qp, &cqe, IB_WC_SUCCESS, k->solicited);
}
