// SPDX-License-Identifier: GPL-2.0
// See ends.h.
#include "ends.h"

#include <sched.h>

#include "outcome.h"

namespace vt {
namespace {

constexpr double kLimitS = 60;
// Private data of every request.
constexpr char kMine[] = "mine";

} // namespace

Queues::Queues(rdma_cm_id *id, uint32_t depth) : pd_(make_pd(id->verbs))
{
	cq_.reset(ibv_create_cq(id->verbs, static_cast<int>(2 * depth), nullptr, nullptr, 0));
	require(cq_ != nullptr, "ibv_create_cq: %m");
	ibv_qp_init_attr attr = {};
	attr.send_cq = attr.recv_cq = cq_.get();
	attr.cap = {depth, depth, 1, 1, 0};
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	require(!rdma_create_qp(id, pd_.get(), &attr), "rdma_create_qp: %m");
	qp_.reset(id->qp);
}

std::optional<ibv_wc> Queues::next(double limit_s) const
{
	double deadline = now_s() + limit_s * slow();
	ibv_wc wc;

	for (int n; (n = ibv_poll_cq(cq_.get(), 1, &wc)) != 1; sched_yield()) {
		require(n == 0, "ibv_poll_cq failed");
		if (now_s() >= deadline)
			return {};
	}
	return wc;
}

ibv_wc Queues::wait() const
{
	std::optional<ibv_wc> wc = next(kLimitS);

	require(wc.has_value(), "no completion comes");
	return *wc;
}

int Caller::connect(uint32_t qpn, uint8_t depth)
{
	return CmChannel::ask(id(),
			      {.depth = depth, .qpn = qpn, .data = kMine, .bytes = sizeof(kMine)});
}

CmEvent Caller::outcome()
{
	std::optional<CmEvent> event = cm_.next(kLimitS * slow());

	require(event.has_value(), "nothing comes of connecting");
	return std::move(*event);
}

Listener::Listener(const std::string &port, int backlog, uint8_t tos)
	: cm_(kLimitS, tos), id_(cm_.listen("", port, backlog))
{}

CmId Listener::wait_request()
{
	return std::move(cm_.expect(RDMA_CM_EVENT_CONNECT_REQUEST).request);
}

} // namespace vt
