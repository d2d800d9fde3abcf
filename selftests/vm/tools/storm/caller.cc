// SPDX-License-Identifier: GPL-2.0
// See caller.h.
#include "caller.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>

#include "pattern.h"

namespace vt {
namespace {

// One of many on a slow machine.
constexpr int kLimitMs = 30000;

} // namespace

void Caller::expect(rdma_cm_event_type type)
{
	pollfd readable = {channel_->fd, POLLIN, 0};
	require(poll(&readable, 1, static_cast<int>(kLimitMs * slow())) == 1, "no event %s",
		rdma_event_str(type));
	rdma_cm_event *event = nullptr;
	require(!rdma_get_cm_event(channel_.get(), &event), "rdma_get_cm_event: %s",
		strerror(errno));
	rdma_cm_event_type got = event->event;
	int status = event->status;
	rdma_ack_cm_event(event);
	require(got == type, "event %s (%d) instead of %s", rdma_event_str(got), status,
		rdma_event_str(type));
}

Caller::Caller(const std::string &host, const std::string &port)
	: channel_(rdma_create_event_channel())
{
	require(channel_ != nullptr, "rdma_create_event_channel: %s", strerror(errno));
	rdma_addrinfo hints = {}, *to = nullptr;
	hints.ai_port_space = RDMA_PS_TCP;
	require(!rdma_getaddrinfo(host.c_str(), port.c_str(), &hints, &to), "rdma_getaddrinfo: %s",
		strerror(errno));
	std::unique_ptr<rdma_addrinfo, CmDestroyer<rdma_freeaddrinfo>> address(to);
	rdma_cm_id *id = nullptr;
	require(!rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id: %s",
		strerror(errno));
	id_.reset(id);
	require(!rdma_resolve_addr(id, nullptr, address->ai_dst_addr, kLimitMs),
		"rdma_resolve_addr: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	require(!rdma_resolve_route(id, kLimitMs), "rdma_resolve_route: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	pd_ = make_pd(id->verbs);
	cq_.reset(ibv_create_cq(id->verbs, 8, nullptr, nullptr, 0));
	require(cq_ != nullptr, "ibv_create_cq: %s", strerror(errno));
	echo_ = std::make_unique<Echo>(id, pd_.get(), cq_.get());
	rdma_conn_param param = {};
	param.responder_resources = param.initiator_depth = 1;
	param.retry_count = param.rnr_retry_count = 7;
	require(!rdma_connect(id, &param), "rdma_connect: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ESTABLISHED);
}

void Caller::wait_message()
{
	double deadline = now_s() + kLimitMs / 1000.0 * slow();
	for (;;) {
		ibv_wc wc;
		int n = ibv_poll_cq(cq_.get(), 1, &wc);
		require(n >= 0, "ibv_poll_cq failed");
		if (!n) {
			require(now_s() < deadline, "no answer");
			// Dozens of pollers on one CPU would leave the others none.
			usleep(500);
			continue;
		}
		require(wc.status == IBV_WC_SUCCESS, "completed with '%s'",
			ibv_wc_status_str(wc.status));
		if (wc.opcode != IBV_WC_RECV)
			continue;
		require(wc.byte_len == kEchoBytes, "an answer of %u bytes", wc.byte_len);
		return;
	}
}

void Caller::echo(uint64_t seed)
{
	pattern_fill(echo_->sent(), kEchoBytes, pattern_key(seed, 1, 0));
	echo_->send();
	wait_message();
	require(!memcmp(echo_->sent(), echo_->received(), kEchoBytes), "the answer is another");
	require(!rdma_disconnect(id_.get()), "rdma_disconnect: %s", strerror(errno));
	expect(RDMA_CM_EVENT_DISCONNECTED);
}

} // namespace vt
