// SPDX-License-Identifier: GPL-2.0
// See endpoint.h.
#include "endpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>

#include "outcome.h"

namespace vt {
namespace {

struct AddressFree {
	void operator()(rdma_addrinfo *info) const { rdma_freeaddrinfo(info); }
};

std::unique_ptr<rdma_addrinfo, AddressFree> find_address(const EndpointOptions &options)
{
	rdma_addrinfo hints = {}, *found = nullptr;

	hints.ai_port_space = RDMA_PS_TCP;
	hints.ai_flags = options.server ? RAI_PASSIVE : 0;
	require(!rdma_getaddrinfo(options.host.empty() ? nullptr : options.host.c_str(),
				  options.port.c_str(), &hints, &found),
		"rdma_getaddrinfo: %s", strerror(errno));
	return std::unique_ptr<rdma_addrinfo, AddressFree>(found);
}

} // namespace

Endpoint::Endpoint(const EndpointOptions &options)
	: options_(options), channel_(rdma_create_event_channel())
{
	require(channel_ != nullptr, "rdma_create_event_channel: %s", strerror(errno));
	if (options_.server)
		listen();
	else
		resolve();

	cq_.reset(ibv_create_cq(id_->verbs, static_cast<int>(4 * options_.work_requests), nullptr,
				nullptr, 0));
	require(cq_ != nullptr, "ibv_create_cq: %s", strerror(errno));
	ibv_qp_init_attr attr = {};
	attr.qp_type = IBV_QPT_RC;
	attr.send_cq = attr.recv_cq = cq_.get();
	attr.cap = {options_.work_requests, 2 * options_.work_requests, 3, 1, 0};
	require(!rdma_create_qp(id_.get(), nullptr, &attr), "rdma_create_qp: %s", strerror(errno));
}

Endpoint::~Endpoint()
{
	if (id_ && id_->qp)
		rdma_destroy_qp(id_.get());
}

rdma_cm_event *Endpoint::next_event(double limit_s)
{
	pollfd fd = {channel_->fd, POLLIN, 0};
	rdma_cm_event *event = nullptr;

	if (::poll(&fd, 1, static_cast<int>(limit_s * slow() * 1000)) <= 0)
		return nullptr;
	require(!rdma_get_cm_event(channel_.get(), &event), "rdma_get_cm_event: %s",
		strerror(errno));
	return event;
}

void Endpoint::expect(rdma_cm_event_type type, void *private_data, size_t bytes)
{
	rdma_cm_event *event = next_event(options_.limit_s);

	require(event != nullptr, "no %s within %g s", rdma_event_str(type), options_.limit_s);
	rdma_cm_event_type got = event->event;
	int status = event->status;
	const rdma_conn_param &param = event->param.conn;

	if (got == RDMA_CM_EVENT_CONNECT_REQUEST)
		id_.reset(event->id);
	if (got == type && private_data) {
		require(param.private_data_len >= bytes, "%u bytes of private data, not %zu",
			param.private_data_len, bytes);
		memcpy(private_data, param.private_data, bytes);
	}
	rdma_ack_cm_event(event);
	require(got == type, "%s (%d) instead of %s", rdma_event_str(got), status,
		rdma_event_str(type));
}

void Endpoint::listen()
{
	auto address = find_address(options_);
	rdma_cm_id *id = nullptr;

	require(!rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id: %s",
		strerror(errno));
	listener_.reset(id);
	require(!rdma_bind_addr(id, address->ai_src_addr) && !rdma_listen(id, 1), "listening: %s",
		strerror(errno));
	expect(RDMA_CM_EVENT_CONNECT_REQUEST, request_data_, sizeof(request_data_));
}

void Endpoint::resolve()
{
	auto address = find_address(options_);
	int limit_ms = static_cast<int>(options_.limit_s * 1000);
	rdma_cm_id *id = nullptr;

	require(!rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id: %s",
		strerror(errno));
	id_.reset(id);
	require(!rdma_resolve_addr(id, nullptr, address->ai_dst_addr, limit_ms),
		"rdma_resolve_addr: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	require(!rdma_resolve_route(id, limit_ms), "rdma_resolve_route: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

rdma_conn_param Endpoint::param(const char *data) const
{
	rdma_conn_param param = {};

	param.private_data = data;
	param.private_data_len = kDataBytes;
	param.responder_resources = param.initiator_depth = options_.depth;
	param.retry_count = param.rnr_retry_count = 7;
	return param;
}

void Endpoint::connect(const char *data)
{
	rdma_conn_param with = param(data);

	require(!rdma_connect(id_.get(), &with), "rdma_connect: %s", strerror(errno));
}

void Endpoint::establish(const void *ours, size_t bytes, void *theirs)
{
	char data[kDataBytes] = {};

	memcpy(data, ours, std::min(bytes, sizeof(data)));
	if (options_.server) {
		rdma_conn_param with = param(data);

		require(!rdma_accept(id_.get(), &with), "rdma_accept: %s", strerror(errno));
		expect(RDMA_CM_EVENT_ESTABLISHED);
		memcpy(theirs, request_data_, bytes);
	} else {
		connect(data);
		expect(RDMA_CM_EVENT_ESTABLISHED, theirs, bytes);
	}
}

void Endpoint::refuse()
{
	const char why[kDataBytes] = "no";
	char heard[sizeof(why)] = {};

	if (options_.server) {
		require(!rdma_reject(id_.get(), why, sizeof(why)), "rdma_reject: %s",
			strerror(errno));
		return;
	}
	connect(why);
	expect(RDMA_CM_EVENT_REJECTED, heard, sizeof(heard));
	require(!strcmp(heard, why), "the reason for the refusal is \"%s\"", heard);
}

void Endpoint::disconnect()
{
	require(!rdma_disconnect(id_.get()), "rdma_disconnect: %s", strerror(errno));
}

void Endpoint::abort()
{
	ibv_qp_attr attr = {};

	attr.qp_state = IBV_QPS_ERR;
	int error = ibv_modify_qp(id_->qp, &attr, IBV_QP_STATE);
	require(!error, "ibv_modify_qp to ERR: %s", strerror(error));
}

bool Endpoint::ended()
{
	rdma_cm_event *event;

	while (!ended_ && (event = next_event(0))) {
		ended_ = event->event == RDMA_CM_EVENT_DISCONNECTED;
		rdma_ack_cm_event(event);
	}
	return ended_;
}

void Endpoint::wait_ended()
{
	if (!ended_)
		expect(RDMA_CM_EVENT_DISCONNECTED);
	ended_ = true;
}

} // namespace vt
