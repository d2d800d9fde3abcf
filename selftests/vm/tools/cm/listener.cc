// SPDX-License-Identifier: GPL-2.0
// See listener.h.
#include "listener.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>

namespace vt {

Listener::Listener(const std::string &port, int backlog) : channel_(rdma_create_event_channel())
{
	require(channel_ != nullptr, "rdma_create_event_channel: %s", strerror(errno));
	rdma_cm_id *id = nullptr;
	require(!rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id: %s",
		strerror(errno));
	id_.reset(id);
	sockaddr_in any = {};
	any.sin_family = AF_INET;
	any.sin_port = htons(static_cast<uint16_t>(atoi(port.c_str())));
	require(!rdma_bind_addr(id, reinterpret_cast<sockaddr *>(&any)) &&
			!rdma_listen(id, backlog),
		"listening: %s", strerror(errno));
}

rdma_cm_id *Listener::expect(rdma_cm_event_type type)
{
	rdma_cm_event *event = next_event(channel_.get());
	rdma_cm_event_type got = event->event;
	rdma_cm_id *id = event->id;

	rdma_ack_cm_event(event);
	require(got == type, "event %s instead of %s", rdma_event_str(got), rdma_event_str(type));
	return id;
}

CmId Listener::wait_request()
{
	return CmId(expect(RDMA_CM_EVENT_CONNECT_REQUEST));
}

void Listener::accept(rdma_cm_id *id)
{
	rdma_conn_param param = {};

	param.responder_resources = param.initiator_depth = 1;
	param.rnr_retry_count = 7;
	require(!rdma_accept(id, &param), "rdma_accept: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ESTABLISHED);
}

void Listener::wait_end()
{
	expect(RDMA_CM_EVENT_DISCONNECTED);
}

} // namespace vt
