// SPDX-License-Identifier: GPL-2.0
// See caller.h.
#include "caller.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>

namespace vt {
namespace {

constexpr int kLimitMs = 30000;

using Address = std::unique_ptr<rdma_addrinfo, CmDestroyer<rdma_freeaddrinfo>>;

Address find(const std::string &host, const std::string &port)
{
	rdma_addrinfo hints = {}, *found = nullptr;

	hints.ai_port_space = RDMA_PS_TCP;
	require(!rdma_getaddrinfo(host.c_str(), port.c_str(), &hints, &found),
		"rdma_getaddrinfo: %s", strerror(errno));
	return Address(found);
}

} // namespace

rdma_cm_event *next_event(rdma_event_channel *channel)
{
	pollfd readable = {channel->fd, POLLIN, 0};
	rdma_cm_event *event = nullptr;

	require(poll(&readable, 1, static_cast<int>(kLimitMs * slow())) == 1, "no event comes");
	require(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event: %s", strerror(errno));
	return event;
}

Queues::Queues(rdma_cm_id *id, uint32_t depth) : pd_(make_pd(id->verbs))
{
	cq_.reset(ibv_create_cq(id->verbs, static_cast<int>(2 * depth), nullptr, nullptr, 0));
	require(cq_ != nullptr, "ibv_create_cq: %s", strerror(errno));
	ibv_qp_init_attr attr = {};
	attr.send_cq = attr.recv_cq = cq_.get();
	attr.cap = {depth, depth, 1, 1, 0};
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	require(!rdma_create_qp(id, pd_.get(), &attr), "rdma_create_qp: %s", strerror(errno));
	qp_.reset(id->qp);
}

ibv_wc Queues::wait() const
{
	double deadline = now_s() + kLimitMs / 1000.0 * slow();
	ibv_wc wc;

	for (int n; (n = ibv_poll_cq(cq_.get(), 1, &wc)) != 1; sched_yield()) {
		require(n == 0, "ibv_poll_cq failed");
		require(now_s() < deadline, "no completion comes");
	}
	return wc;
}

Caller::Caller(const std::string &host, const std::string &port, uint16_t from)
	: channel_(rdma_create_event_channel())
{
	require(channel_ != nullptr, "rdma_create_event_channel: %s", strerror(errno));
	Address to = find(host, port);
	rdma_cm_id *id = nullptr;
	require(!rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id: %s",
		strerror(errno));
	id_.reset(id);
	sockaddr_in any = {};
	any.sin_family = AF_INET;
	any.sin_port = htons(from);
	require(!rdma_resolve_addr(id, from ? reinterpret_cast<sockaddr *>(&any) : nullptr,
				   to->ai_dst_addr, kLimitMs),
		"rdma_resolve_addr: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	require(!rdma_resolve_route(id, kLimitMs), "rdma_resolve_route: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

int Caller::connect(uint32_t qpn)
{
	rdma_conn_param param = {};

	param.responder_resources = param.initiator_depth = 1;
	param.retry_count = param.rnr_retry_count = 7;
	param.qp_num = qpn;
	return rdma_connect(id(), &param) ? errno : 0;
}

rdma_cm_event_type Caller::outcome(int *status)
{
	rdma_cm_event *event = next_event(channel_.get());
	rdma_cm_event_type type = event->event;

	*status = event->status;
	rdma_ack_cm_event(event);
	return type;
}

void Caller::expect(rdma_cm_event_type type)
{
	int status;
	rdma_cm_event_type got = outcome(&status);

	require(got == type, "event %s (%d) instead of %s", rdma_event_str(got), status,
		rdma_event_str(type));
}

} // namespace vt
