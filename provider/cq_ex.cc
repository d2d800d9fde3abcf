// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Extended polling. From start_poll to end_poll the CQ's lock is held. Fields
 * are read from the CQE in the ring; the next call gives its slot back.
 */
#include "cq_ex.h"

#include <ctime>

#include "cqe.h"

namespace tern {
namespace {

uint64_t clock_ns(clockid_t clock)
{
	timespec now{};

	(void)clock_gettime(clock, &now);
	return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

/* Make the next CQE the current one. 0, ENOENT (empty) or EIO (dead). */
int take_cqe(Cq *cq)
{
	cq->current = cq->ring.peek();
	if (!cq->current)
		return cq->ring.dead() ? EIO : ENOENT;
	cq->vcq.cq_ex.wr_id = cq->current->wr_id;
	cq->vcq.cq_ex.status = static_cast<ibv_wc_status>(cq->current->status);
	return 0;
}

void give_back_cqe(Cq *cq)
{
	if (!cq->current)
		return;
	cq->current = nullptr;
	cq->ring.advance();
	cq->ring.release();
}

/* On an error the poll has not begun and the lock is not held. */
int start_poll(ibv_cq_ex *ibcq, ibv_poll_cq_attr *attr)
{
	Cq *cq = to_cq(ibcq);
	int err;

	if (attr->comp_mask)
		return EINVAL;
	cq->lock.lock();
	err = take_cqe(cq);
	if (err) {
		cq->lock.unlock();
		return err;
	}
	if (cq->needs_offset)
		cq->wallclock_offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC_RAW);
	return 0;
}

int next_poll(ibv_cq_ex *ibcq)
{
	Cq *cq = to_cq(ibcq);

	give_back_cqe(cq);
	return take_cqe(cq);
}

void end_poll(ibv_cq_ex *ibcq)
{
	Cq *cq = to_cq(ibcq);

	give_back_cqe(cq);
	cq->lock.unlock();
}

const tern_cqe &current_cqe(ibv_cq_ex *ibcq)
{
	return *to_cq(ibcq)->current;
}

/* The reader of a field that an application sees as it is in the CQE. */
template <auto Member, typename Value> Value read_field(ibv_cq_ex *ibcq)
{
	return current_cqe(ibcq).*Member;
}

ibv_wc_opcode read_opcode(ibv_cq_ex *ibcq)
{
	return static_cast<ibv_wc_opcode>(current_cqe(ibcq).opcode);
}

/* Or the invalidated key: both share a place in the CQE and in ibv_wc. */
__be32 read_imm_data(ibv_cq_ex *ibcq)
{
	return current_cqe(ibcq).imm;
}

unsigned int read_wc_flags(ibv_cq_ex *ibcq)
{
	return cqe_wc_flags(current_cqe(ibcq));
}

/* Ethernet has no LIDs and no path bits. */
uint32_t read_slid(ibv_cq_ex * /*ibcq*/)
{
	return 0;
}

uint8_t read_sl(ibv_cq_ex *ibcq)
{
	return sl_of_cqe(current_cqe(ibcq));
}

uint8_t read_dlid_path_bits(ibv_cq_ex * /*ibcq*/)
{
	return 0;
}

uint64_t read_completion_ts(ibv_cq_ex *ibcq)
{
	return current_cqe(ibcq).timestamp_ns;
}

uint64_t read_wallclock(ibv_cq_ex *ibcq)
{
	return current_cqe(ibcq).wallclock_ns;
}

/* By an older module, which stamps no wall clock: a change of it meanwhile falsifies this. */
uint64_t read_wallclock_by_offset(ibv_cq_ex *ibcq)
{
	return current_cqe(ibcq).timestamp_ns + to_cq(ibcq)->wallclock_offset_ns;
}

} // namespace

void cq_ex_init(Cq *cq, uint64_t wc_flags)
{
	ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_field<&tern_cqe::vendor_err>;
	ex->read_wc_flags = read_wc_flags;
	ex->read_byte_len = read_field<&tern_cqe::byte_len>;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_field<&tern_cqe::qp_num>;
	ex->read_src_qp = read_field<&tern_cqe::src_qp>;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_dlid_path_bits;
	ex->read_completion_ts = read_completion_ts;
	ex->read_cvlan = read_field<&tern_cqe::vlan_id>;
	if (!(wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK))
		return;
	cq->needs_offset = !to_context(ex->context)->cq_options;
	ex->read_completion_wallclock_ns =
		cq->needs_offset ? read_wallclock_by_offset : read_wallclock;
}

} // namespace tern
