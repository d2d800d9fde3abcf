// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel consumers' side of a completion queue: poll, arm, and drop the
 * CQEs of a QP that goes away. User space polls and arms by its mapping.
 */
#include <linux/errno.h>
#include <linux/etherdevice.h>
#include <linux/string.h>

#include "queue/cq.h"
#include "queue/cq_kernel.h"

static_assert(TERN_NETWORK_ROCE_V1 == (int)RDMA_NETWORK_ROCE_V1);
static_assert(TERN_NETWORK_IPV4 == (int)RDMA_NETWORK_IPV4);
static_assert(TERN_NETWORK_IPV6 == (int)RDMA_NETWORK_IPV6);

static enum ib_wc_opcode cq_wc_opcode(u8 opcode)
{
	switch ((enum tern_wc_opcode)opcode) {
	case TERN_WC_SEND:
		return IB_WC_SEND;
	case TERN_WC_RDMA_WRITE:
		return IB_WC_RDMA_WRITE;
	case TERN_WC_RDMA_READ:
		return IB_WC_RDMA_READ;
	case TERN_WC_COMP_SWAP:
		return IB_WC_COMP_SWAP;
	case TERN_WC_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	case TERN_WC_BIND_MW:
		/* Kernel consumers have no windows; there is no such ib_wc_opcode. */
		break;
	case TERN_WC_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case TERN_WC_FLUSH:
		/* Their work requests cannot name the memory to flush. */
		break;
	case TERN_WC_ATOMIC_WRITE:
		return IB_WC_ATOMIC_WRITE;
	case TERN_WC_REG_MR:
		return IB_WC_REG_MR;
	case TERN_WC_RECV:
		return IB_WC_RECV;
	case TERN_WC_RECV_RDMA_WITH_IMM:
		return IB_WC_RECV_RDMA_WITH_IMM;
	}
	return IB_WC_SEND;
}

static int cq_wc_flags(u16 flags)
{
	int wc_flags = 0;

	if (flags & TERN_WC_GRH)
		wc_flags |= IB_WC_GRH;
	if (flags & TERN_WC_WITH_IMM)
		wc_flags |= IB_WC_WITH_IMM;
	if (flags & TERN_WC_WITH_INV)
		wc_flags |= IB_WC_WITH_INVALIDATE;
	if (flags & TERN_WC_WITH_SMAC)
		wc_flags |= IB_WC_WITH_SMAC;
	if (flags & TERN_WC_WITH_VLAN)
		wc_flags |= IB_WC_WITH_VLAN;
	if (flags & TERN_WC_WITH_NETWORK_HDR)
		wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
	return wc_flags;
}

static void cq_fill_wc(struct ib_wc *wc, const struct tern_cqe *cqe)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = (enum ib_wc_status)cqe->status;
	wc->opcode = cq_wc_opcode(cqe->opcode);
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = (struct ib_qp *)(uintptr_t)cqe->qp_context;
	if (cqe->wc_flags & TERN_WC_WITH_INV)
		wc->ex.invalidate_rkey = cqe->inv_key;
	else
		wc->ex.imm_data = cqe->imm;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cq_wc_flags(cqe->wc_flags);
	wc->pkey_index = cqe->pkey_index;
	wc->sl = cqe->sl;
	wc->port_num = 1;
	ether_addr_copy(wc->smac, cqe->smac);
	wc->vlan_id = cqe->vlan_id;
	wc->network_hdr_type = cqe->network_hdr_type;
}

int tern_cq_poll(struct ib_cq *ibcq, int num_entries, struct ib_wc *wc)
{
	struct tern_cq *cq = container_of(ibcq, struct tern_cq, ibcq);
	unsigned long irq;
	int n;

	spin_lock_irqsave(&cq->lock, irq);
	for (n = 0; n < num_entries && cq->cons != cq->prod; n++)
		cq_fill_wc(&wc[n], tern_ring_slot(cq->ring, cq->cons++));
	cq->ring->hdr->cons = cq->cons;
	spin_unlock_irqrestore(&cq->lock, irq);
	return n;
}

int tern_cq_req_notify(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct tern_cq *cq = container_of(ibcq, struct tern_cq, ibcq);
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	unsigned long irq;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irq);
	/* A pending request for any completion is not weakened (IBTA 11.4.2.2). */
	if (!solicited)
		xchg(&cq->ring->hdr->arm, TERN_CQ_ARM_ANY);
	else
		cmpxchg(&cq->ring->hdr->arm, TERN_CQ_ARM_NONE, TERN_CQ_ARM_SOLICITED);

	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		missed = cq->prod != (cq->user ? READ_ONCE(cq->ring->hdr->cons) : cq->cons);
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

void tern_cq_clean(struct tern_cq *cq, const struct ib_qp *ibqp)
{
	unsigned long irq;
	u32 from, to;

	if (cq->user)
		return;

	/* The consumer is not told of a CQE that is gone: it may free the CQ next. */
	hrtimer_cancel(&cq->mod_timer);
	spin_lock_irqsave(&cq->lock, irq);
	for (from = to = cq->cons; from != cq->prod; from++) {
		const struct tern_cqe *cqe = tern_ring_slot(cq->ring, from);

		if (cqe->qp_context == (uintptr_t)ibqp)
			continue;
		if (to != from)
			memcpy(tern_ring_slot(cq->ring, to), cqe, sizeof(*cqe));
		to++;
	}
	cq->prod = to;
	cq->ring->hdr->prod = to;
	if (to == cq->cons)
		cq->mod_pending = 0;
	else if (cq->mod_pending)
		hrtimer_start(&cq->mod_timer, 0, HRTIMER_MODE_REL_SOFT);
	spin_unlock_irqrestore(&cq->lock, irq);
}
