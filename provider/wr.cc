// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The ibv_wr_* interface builds work requests in their slots, from wr_start to
 * wr_complete, under the SQ's lock. wr_complete returns the first error; then it
 * publishes nothing of the batch.
 */
#include "wr.h"

#include "abi/library.h"
#include "qp_attr.h"

namespace tern {
namespace {

void set_error(Qp *qp, int err)
{
	if (!qp->wr_err)
		qp->wr_err = err;
	qp->wr_wqe = nullptr;
}

/* End the request being built: check what its last setter leaves to check. */
void seal_wqe(Qp *qp)
{
	tern_send_wqe *wqe = qp->wr_wqe;

	if (!wqe)
		return;
	if (qp->wr_needs_addr)
		return set_error(qp, EINVAL);
	if (kSendRules[wqe->opcode].body == SendBody::kAtomic && wqe_check_atomic(wqe))
		return set_error(qp, EINVAL);
	qp->sq.advance();
	qp->wr_wqe = nullptr;
}

/* Begin a request; NULL after an error of this batch. */
tern_send_wqe *begin_wqe(ibv_qp_ex *ibqp, uint32_t opcode)
{
	Qp *qp = to_qp(ibqp);
	tern_send_wqe *wqe;
	int err;

	seal_wqe(qp);
	if (qp->wr_err)
		return nullptr;
	wqe = static_cast<tern_send_wqe *>(qp->sq.reserve());
	if (!wqe) {
		set_error(qp, ENOMEM);
		return nullptr;
	}
	/* The setter of the data decides whether it is inline. */
	err = wqe_begin(wqe, qp->limits, ibqp->wr_id, opcode,
			ibqp->wr_flags & ~static_cast<uint32_t>(IBV_SEND_INLINE));
	if (err) {
		set_error(qp, err);
		return nullptr;
	}
	qp->wr_wqe = wqe;
	qp->wr_needs_addr =
		qp->limits.qp_type == IBV_QPT_UD || send_needs_srqn(opcode, qp->limits.qp_type);
	return wqe;
}

void begin_rdma(ibv_qp_ex *ibqp, ibv_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr,
		__be32 imm)
{
	tern_send_wqe *wqe = begin_wqe(ibqp, opcode);

	if (!wqe)
		return;
	wqe->imm = imm;
	wqe->rdma.remote_addr = remote_addr;
	wqe->rdma.rkey = rkey;
}

void begin_atomic(ibv_qp_ex *ibqp, ibv_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr,
		  uint64_t compare_add, uint64_t swap)
{
	tern_send_wqe *wqe = begin_wqe(ibqp, opcode);

	if (!wqe)
		return;
	wqe->atomic.remote_addr = remote_addr;
	wqe->atomic.compare_add = compare_add;
	wqe->atomic.swap = swap;
	wqe->atomic.rkey = rkey;
}

void wr_rdma_write(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(qp, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

void wr_rdma_write_imm(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	begin_rdma(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm);
}

void wr_rdma_read(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(qp, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

void wr_atomic_cmp_swp(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
		       uint64_t swap)
{
	begin_atomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

void wr_atomic_fetch_add(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	begin_atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

/* libibverbs asks for no setter after it. */
void wr_atomic_write(ibv_qp_ex *ibqp, uint32_t rkey, uint64_t remote_addr, const void *value)
{
	tern_send_wqe *wqe = begin_wqe(ibqp, TERN_WR_ATOMIC_WRITE);
	Qp *qp = to_qp(ibqp);

	if (!wqe)
		return;
	wqe->rdma.remote_addr = remote_addr;
	wqe->rdma.rkey = rkey;
	if (wqe_set_value(wqe, qp->limits, value))
		set_error(qp, EINVAL);
}

void wr_flush(ibv_qp_ex *ibqp, uint32_t rkey, uint64_t remote_addr, size_t bytes, uint8_t placement,
	      uint8_t selectivity)
{
	tern_send_wqe *wqe = begin_wqe(ibqp, TERN_WR_FLUSH);

	if (wqe && wqe_set_flush(wqe, rkey, remote_addr, bytes, placement, selectivity))
		set_error(to_qp(ibqp), EINVAL);
}

void wr_send(ibv_qp_ex *qp)
{
	(void)begin_wqe(qp, IBV_WR_SEND);
}

void wr_send_imm(ibv_qp_ex *qp, __be32 imm)
{
	tern_send_wqe *wqe = begin_wqe(qp, IBV_WR_SEND_WITH_IMM);

	if (wqe)
		wqe->imm = imm;
}

void wr_send_inv(ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
	tern_send_wqe *wqe = begin_wqe(qp, IBV_WR_SEND_WITH_INV);

	if (wqe)
		wqe->inv_key = invalidate_rkey;
}

void wr_local_inv(ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
	tern_send_wqe *wqe = begin_wqe(qp, IBV_WR_LOCAL_INV);

	if (wqe)
		wqe->inv_key = invalidate_rkey;
}

void wr_bind_mw(ibv_qp_ex *ibqp, ibv_mw *mw, uint32_t rkey, const ibv_mw_bind_info *info)
{
	tern_send_wqe *wqe = begin_wqe(ibqp, IBV_WR_BIND_MW);
	int err;

	if (!wqe)
		return;
	err = mw && mw->type == IBV_MW_TYPE_2 ? wqe_set_bind(wqe, mw, rkey, *info) : EINVAL;
	if (err)
		set_error(to_qp(ibqp), err);
}

void wr_set_ud_addr(ibv_qp_ex *ibqp, ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
	Qp *qp = to_qp(ibqp);

	if (!qp->wr_wqe)
		return;
	if (wqe_set_ud(qp->wr_wqe, ah, remote_qpn, remote_qkey))
		return set_error(qp, EINVAL);
	qp->wr_needs_addr = false;
}

void wr_set_xrc_srqn(ibv_qp_ex *ibqp, uint32_t remote_srqn)
{
	Qp *qp = to_qp(ibqp);

	if (!qp->wr_wqe)
		return;
	if (wqe_set_srqn(qp->wr_wqe, remote_srqn))
		return set_error(qp, EINVAL);
	qp->wr_needs_addr = false;
}

void wr_set_sge_list(ibv_qp_ex *ibqp, size_t num_sge, const ibv_sge *sges)
{
	Qp *qp = to_qp(ibqp);
	tern_send_wqe *wqe = qp->wr_wqe;

	if (!wqe)
		return;
	if (kSendRules[wqe->opcode].body == SendBody::kNone || wqe->flags & TERN_SEND_INLINE ||
	    wqe_set_sges(wqe, qp->limits, sges, num_sge))
		set_error(qp, EINVAL);
}

void wr_set_sge(ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const ibv_sge sge = {addr, length, lkey};

	wr_set_sge_list(qp, 1, &sge);
}

void wr_set_inline_data_list(ibv_qp_ex *ibqp, size_t num_buf, const ibv_data_buf *bufs)
{
	Qp *qp = to_qp(ibqp);
	tern_send_wqe *wqe = qp->wr_wqe;

	if (!wqe)
		return;
	if (kSendRules[wqe->opcode].body != SendBody::kData || wqe->num_sge ||
	    wqe->flags & TERN_SEND_INLINE)
		return set_error(qp, EINVAL);
	wqe->flags |= TERN_SEND_INLINE;
	for (size_t i = 0; i < num_buf; i++)
		if (wqe_add_inline(wqe, qp->limits, bufs[i].addr, bufs[i].length))
			return set_error(qp, EINVAL);
}

void wr_set_inline_data(ibv_qp_ex *qp, void *addr, size_t length)
{
	const ibv_data_buf buf = {addr, length};

	wr_set_inline_data_list(qp, 1, &buf);
}

void wr_start(ibv_qp_ex *ibqp)
{
	Qp *qp = to_qp(ibqp);
	int err = send_state_error(qp);

	qp->sq_lock.lock();
	qp->wr_err = err;
	qp->wr_wqe = nullptr;
	qp->wr_mark = qp->sq.mark();
}

int wr_complete(ibv_qp_ex *ibqp)
{
	Qp *qp = to_qp(ibqp);
	bool announce = false;
	int err;

	seal_wqe(qp);
	err = qp->wr_err;
	if (err)
		qp->sq.rewind(qp->wr_mark);
	else if (qp->sq.mark() != qp->wr_mark)
		announce = sq_needs_doorbell(qp->sq.publish());
	qp->sq_lock.unlock();
	return announce ? qp->doorbell.ring() : err;
}

void wr_abort(ibv_qp_ex *ibqp)
{
	Qp *qp = to_qp(ibqp);

	qp->sq.rewind(qp->wr_mark);
	qp->wr_wqe = nullptr;
	qp->sq_lock.unlock();
}

} // namespace

void wr_init(Qp *qp, uint64_t ops)
{
	ibv_qp_ex *ex = &qp->vqp.qp_ex;

	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = wr_send_imm;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = wr_rdma_read;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	if (ops & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = wr_local_inv;
	if (ops & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = wr_bind_mw;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = wr_send_inv;
	if (ops & abi::kWithAtomicWrite)
		abi::set_wr_op(&qp->vqp, abi::kWrAtomicWriteAt, wr_atomic_write);
	if (ops & abi::kWithFlush)
		abi::set_wr_op(&qp->vqp, abi::kWrFlushAt, wr_flush);
	if (qp->limits.qp_type == IBV_QPT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	if (qp->limits.qp_type == IBV_QPT_XRC_SEND)
		ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	abi::set_qp_ex(&qp->vqp);
}

} // namespace tern
