// SPDX-License-Identifier: GPL-2.0
// See cq.h.
#include "cq.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>

namespace vt {

Cq::Cq(const Device &device, const CqOptions &options)
{
	if (options.events) {
		channel_.reset(ibv_create_comp_channel(device.context()));
		require(channel_ != nullptr, "ibv_create_comp_channel: %m");
	}
	if (!options.extended) {
		cq_ = ibv_create_cq(device.context(), options.entries, nullptr, channel_.get(),
				    options.vector);
		if (!cq_)
			refuse("ibv_create_cq", errno);
		return;
	}
	stamps_ = options.timestamps;
	wallclock_ = options.wallclock;
	ibv_cq_init_attr_ex attr = {};
	attr.cqe = static_cast<uint32_t>(options.entries);
	attr.channel = channel_.get();
	attr.comp_vector = static_cast<uint32_t>(options.vector);
	attr.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
			IBV_WC_EX_WITH_SRC_QP;
	if (stamps_)
		attr.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	if (wallclock_)
		attr.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	if (options.flags) {
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		attr.flags = options.flags;
	}
	ex_ = ibv_create_cq_ex(device.context(), &attr);
	if (!ex_)
		refuse("ibv_create_cq_ex", errno);
	cq_ = ibv_cq_ex_to_cq(ex_);
}

Cq::~Cq()
{
	int error = cq_ ? ibv_destroy_cq(cq_) : 0;
	if (error)
		note_teardown_failure("ibv_destroy_cq", error);
}

Completion Cq::read_extended() const
{
	Completion c = {};
	c.wr_id = ex_->wr_id;
	c.status = ex_->status;
	c.qp_num = ibv_wc_read_qp_num(ex_);
	if (c.status != IBV_WC_SUCCESS)
		return c;
	c.opcode = ibv_wc_read_opcode(ex_);
	c.flags = ibv_wc_read_wc_flags(ex_);
	c.bytes = ibv_wc_read_byte_len(ex_);
	c.src_qp = ibv_wc_read_src_qp(ex_);
	if (c.flags & IBV_WC_WITH_IMM)
		c.imm = ntohl(ibv_wc_read_imm_data(ex_));
	if (c.flags & IBV_WC_WITH_INV)
		c.inv_rkey = ibv_wc_read_invalidated_rkey(ex_);
	if (stamps_)
		c.stamp = ibv_wc_read_completion_ts(ex_);
	if (wallclock_)
		c.wall_ns = ibv_wc_read_completion_wallclock_ns(ex_);
	return c;
}

bool Cq::poll(Completion *completion)
{
	if (ex_) {
		ibv_poll_cq_attr attr = {};
		int error = ibv_start_poll(ex_, &attr);
		if (error == ENOENT)
			return false;
		require(!error, "ibv_start_poll: %s", strerror(error));
		*completion = read_extended();
		ibv_end_poll(ex_);
		return true;
	}
	ibv_wc wc = {};
	int n = ibv_poll_cq(cq_, 1, &wc);
	require(n >= 0, "ibv_poll_cq: %d", n);
	if (!n)
		return false;
	*completion = {};
	completion->wr_id = wc.wr_id;
	completion->status = wc.status;
	completion->qp_num = wc.qp_num;
	if (wc.status != IBV_WC_SUCCESS)
		return true;
	completion->opcode = wc.opcode;
	completion->bytes = wc.byte_len;
	completion->src_qp = wc.src_qp;
	completion->flags = wc.wc_flags;
	if (wc.wc_flags & IBV_WC_WITH_IMM)
		completion->imm = ntohl(wc.imm_data);
	if (wc.wc_flags & IBV_WC_WITH_INV)
		completion->inv_rkey = wc.invalidated_rkey;
	return true;
}

Completion Cq::next(double limit_s)
{
	Completion c;
	double deadline = now_s() + limit_s;
	for (int spins = 0; !poll(&c); spins++) {
		if (spins % 64 == 63 && now_s() > deadline)
			fail("no completion came within %.3g s", limit_s);
		sched_yield();
	}
	return c;
}

Completion Cq::expect(ibv_wc_status status, uint64_t wr_id, double limit_s)
{
	Completion c = next(limit_s);
	require(c.status == status, "wr %llu completed with '%s' instead of '%s'",
		static_cast<unsigned long long>(c.wr_id), ibv_wc_status_str(c.status),
		ibv_wc_status_str(status));
	require(c.wr_id == wr_id, "wr %llu completed where %llu was due",
		static_cast<unsigned long long>(c.wr_id), static_cast<unsigned long long>(wr_id));
	return c;
}

void Cq::expect_none(double for_s)
{
	Completion c;
	double deadline = now_s() + for_s;
	while (now_s() < deadline) {
		if (poll(&c))
			fail("unexpected completion of wr %llu: %s",
			     static_cast<unsigned long long>(c.wr_id), ibv_wc_status_str(c.status));
		sched_yield();
	}
}

void Cq::arm(bool solicited_only)
{
	int error = ibv_req_notify_cq(cq_, solicited_only);
	require(!error, "ibv_req_notify_cq: %s", strerror(error));
}

bool Cq::wait_event(double limit_s)
{
	pollfd p = {channel_->fd, POLLIN, 0};
	if (::poll(&p, 1, static_cast<int>(limit_s * 1000)) <= 0)
		return false;
	ibv_cq *cq = nullptr;
	void *context = nullptr;
	int error = ibv_get_cq_event(channel_.get(), &cq, &context);
	require(!error && cq == cq_, "ibv_get_cq_event: %m");
	ibv_ack_cq_events(cq, 1);
	return true;
}

void require_success(const Completion &c, const char *what)
{
	require(c.status == IBV_WC_SUCCESS, "%s, wr %llu: completed with '%s'", what,
		static_cast<unsigned long long>(c.wr_id), ibv_wc_status_str(c.status));
}

} // namespace vt
