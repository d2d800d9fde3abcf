// SPDX-License-Identifier: GPL-2.0
// See link.h.
#include "link.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "placement.h"

namespace vt {

static uint64_t send_operations(ibv_qp_type type, const Device &device)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND;
	if (!device.is_iwarp())
		ops |= IBV_QP_EX_WITH_SEND_WITH_IMM;
	if (type != IBV_QPT_UD)
		ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		ops |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	if ((type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND) &&
	    device.can(IBV_DEVICE_MEM_WINDOW_TYPE_2B))
		ops |= IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |
		       IBV_QP_EX_WITH_SEND_WITH_INV;
	return ops;
}

static uint32_t random_psn(const LinkOptions &options)
{
	return options.psn ? *options.psn : std::random_device()() & 0xffffff;
}

// Reliable, with requests to send; with requests to answer.
static bool sends_requests(ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

static bool answers_requests(ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
}

Link::Link(const Device &device, QpOwner qp, const LinkOptions &options)
	: device_(device), pd_(nullptr), options_(options), psn_(random_psn(options)),
	  qp_(std::move(qp))
{}

Link::Link(const Device &device, ibv_pd *pd, ibv_cq *send_cq, ibv_cq *recv_cq,
	   const LinkOptions &options)
	: device_(device), pd_(pd), options_(options), psn_(random_psn(options))
{
	ibv_qp_init_attr_ex attr = {};
	attr.send_cq = send_cq;
	attr.recv_cq = recv_cq;
	attr.srq = options.srq;
	// A UD receive needs room for the GRH too.
	uint32_t recv_sges = std::min(options.sges + (options.type == IBV_QPT_UD),
				      static_cast<uint32_t>(device.attr().max_sge));
	attr.cap = {options.send_wr, options.srq ? 0 : options.recv_wr, options.sges, recv_sges,
		    options.inline_bytes};
	attr.qp_type = options.type;
	attr.sq_sig_all = options.all_signalled;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = pd;
	if (options.type == IBV_QPT_XRC_RECV) {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = options.xrcd;
	}
	if (options.create_flags) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		attr.create_flags = options.create_flags;
	}
	if (options.modern) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = send_operations(options.type, device);
		if (options.placement)
			attr.send_ops_flags |= placement_ops(device);
	}
	qp_.reset(ibv_create_qp_ex(device.context(), &attr));
	if (!qp_)
		refuse("ibv_create_qp_ex", errno);
	if (options.type == IBV_QPT_XRC_RECV)
		return;
	require(attr.cap.max_send_wr >= options.send_wr && attr.cap.max_send_sge >= options.sges,
		"create_qp gave less than asked");
	inline_bytes_ = attr.cap.max_inline_data;
	require(inline_bytes_ >= options.inline_bytes, "create_qp: %u inline bytes, asked for %u",
		inline_bytes_, options.inline_bytes);
	if (options.modern)
		ex_ = ibv_qp_to_qp_ex(qp_.get());
}

uint32_t Link::mtu() const
{
	uint32_t ours = options_.mtu ? *options_.mtu : device_.port().active_mtu;
	return mtu_bytes(static_cast<ibv_mtu>(peer_.mtu ? std::min(ours, peer_.mtu) : ours));
}

QpAddress Link::address() const
{
	uint32_t mtu = options_.mtu ? *options_.mtu : device_.port().active_mtu;
	return {qp_->qp_num, psn_, mtu, options_.qkey, device_.gid()};
}

ibv_ah_attr Link::way_to(const QpAddress &peer) const
{
	ibv_ah_attr way = {};
	way.is_global = 1;
	way.port_num = 1;
	way.grh.dgid = peer.gid;
	way.grh.sgid_index = static_cast<uint8_t>(device_.gid_index());
	way.grh.hop_limit = 64;
	return way;
}

void Link::to_init()
{
	ibv_qp_attr attr = {};
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	// iWARP has no P_Keys, but accepts an index.
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (options_.type == IBV_QPT_UD) {
		attr.qkey = options_.qkey;
		mask |= IBV_QP_QKEY;
	} else {
		attr.qp_access_flags = static_cast<unsigned>(options_.access);
		mask |= IBV_QP_ACCESS_FLAGS;
	}
	int error = modify(&attr, mask);
	require(!error, "to INIT: %s", strerror(error));
}

void Link::to_rtr(const QpAddress &peer)
{
	peer_ = peer;
	ibv_qp_attr attr = {};
	attr.qp_state = IBV_QPS_RTR;
	int mask = IBV_QP_STATE;
	if (options_.type == IBV_QPT_UD) {
		ibv_ah_attr way = way_to(peer);
		ah_.reset(ibv_create_ah(pd_, &way));
		require(ah_ != nullptr, "ibv_create_ah: %m");
	} else {
		attr.path_mtu = static_cast<ibv_mtu>(std::min(address().mtu, peer.mtu));
		attr.dest_qp_num = peer.qpn;
		attr.rq_psn = peer.psn;
		attr.ah_attr = way_to(peer);
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (answers_requests(options_.type)) {
		attr.max_dest_rd_atomic = options_.rd_atomic;
		attr.min_rnr_timer = options_.min_rnr_timer;
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	int error = modify(&attr, mask);
	require(!error, "to RTR: %s", strerror(error));
}

void Link::to_rts()
{
	ibv_qp_attr attr = {};
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = psn_;
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	attr.timeout = options_.timeout;
	if (sends_requests(options_.type)) {
		attr.retry_cnt = options_.retries;
		attr.rnr_retry = options_.rnr_retries;
		attr.max_rd_atomic = options_.rd_atomic;
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	} else if (options_.type == IBV_QPT_XRC_RECV) {
		mask |= IBV_QP_TIMEOUT;
	}
	int error = modify(&attr, mask);
	require(!error, "to RTS: %s", strerror(error));
}

// Between the addresses of the control connection, and with the same caller.
void Link::connect_by_cm(Control &control)
{
	CmChannel &cm = cm_.emplace();
	CmOffer offer = {.depth = options_.rd_atomic, .qpn = qp_->qp_num};
	if (control.is_caller()) {
		Control::Address there = control.peer();
		there.set_port(control.exchange(__be16{0}));
		cm_id_ = cm.resolve(there.get());
		cm.connect(cm_id_.get(), offer);
		return;
	}
	Control::Address here = control.local();
	here.set_port(0);
	CmId listener = cm.listen(here.get(), 4);
	control.exchange(rdma_get_src_port(listener.get()));
	cm_id_ = std::move(cm.expect(RDMA_CM_EVENT_CONNECT_REQUEST).request);
	cm.accept(cm_id_.get(), offer);
}

void Link::to_peer(const QpAddress &peer, Control &control)
{
	if (device_.is_iwarp()) {
		peer_ = peer;
		connect_by_cm(control);
		return;
	}
	to_rtr(peer);
	to_rts();
}

void Link::connect_all(const std::vector<Link *> &links, Control &control)
{
	std::vector<QpAddress> mine;
	for (Link *link : links) {
		link->to_init();
		mine.push_back(link->address());
	}
	std::vector<char> bytes =
		control.exchange_bytes(mine.data(), mine.size() * sizeof(QpAddress));
	require(bytes.size() == mine.size() * sizeof(QpAddress),
		"the peer has another number of QPs");
	std::vector<QpAddress> theirs(mine.size());
	memcpy(theirs.data(), bytes.data(), bytes.size());
	for (size_t i = 0; i < links.size(); i++)
		links[i]->to_peer(theirs[i], control);
	// RTS here needs the peer in RTR at least.
	control.sync();
}

int Link::to_state(ibv_qp_state state)
{
	ibv_qp_attr attr = {};
	attr.qp_state = state;
	return modify(&attr, IBV_QP_STATE);
}

void Link::move_to(ibv_qp_state state)
{
	int error = to_state(state);
	require(!error, "to QP state %d: %s", state, strerror(error));
}

ibv_qp_state Link::state() const
{
	ibv_qp_attr attr = {};
	ibv_qp_init_attr init = {};
	int error = ibv_query_qp(qp_.get(), &attr, IBV_QP_STATE, &init);
	require(!error, "ibv_query_qp: %s", strerror(error));
	return attr.qp_state;
}

void Link::destroy()
{
	qp_.reset();
	ex_ = nullptr;
	ah_.reset();
}

} // namespace vt
