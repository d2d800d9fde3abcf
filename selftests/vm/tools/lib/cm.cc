// SPDX-License-Identifier: GPL-2.0
// See cm.h.
#include "cm.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include "outcome.h"

namespace vt {
namespace {

// rdma_cm chooses a port that is free among its own. With iWARP a TCP socket may have it.
constexpr int kPortsToTry = 10;

CmEvent take(rdma_cm_event *event)
{
	const rdma_conn_param &param = event->param.conn;
	CmEvent taken = {event->event,
			 event->status,
			 event->id,
			 {},
			 {},
			 param.initiator_depth,
			 param.responder_resources};
	if (taken.type == RDMA_CM_EVENT_CONNECT_REQUEST)
		taken.request.reset(taken.id);
	// Its pointers are valid only until the event is acknowledged.
	if (const char *data = static_cast<const char *>(param.private_data))
		taken.data.assign(data, data + param.private_data_len);
	rdma_ack_cm_event(event);
	return taken;
}

void call(rdma_cm_id *id, const CmOffer &offer)
{
	int error = CmChannel::ask(id, offer);
	require(!error, "rdma_connect: %s", strerror(error));
}

struct AddressFree {
	void operator()(rdma_addrinfo *info) const { rdma_freeaddrinfo(info); }
};
using Address = std::unique_ptr<rdma_addrinfo, AddressFree>;

Address find_address(const std::string &host, const std::string &port, bool passive)
{
	rdma_addrinfo hints = {}, *found = nullptr;
	hints.ai_port_space = RDMA_PS_TCP;
	hints.ai_flags = passive ? RAI_PASSIVE : 0;
	require(!rdma_getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints,
				  &found),
		"rdma_getaddrinfo: %m");
	return Address(found);
}

} // namespace

rdma_conn_param CmOffer::param() const
{
	rdma_conn_param param = {};
	param.private_data = data;
	param.private_data_len = bytes;
	param.responder_resources = param.initiator_depth = depth;
	param.retry_count = param.rnr_retry_count = 7;
	param.qp_num = qpn;
	return param;
}

void CmEvent::read(void *to, size_t bytes) const
{
	require(data.size() >= bytes, "%zu bytes of private data, not %zu", data.size(), bytes);
	memcpy(to, data.data(), bytes);
}

CmChannel::CmChannel(double limit_s, uint8_t tos)
	: limit_s_(limit_s * slow()), tos_(tos), channel_(rdma_create_event_channel())
{
	require(channel_ != nullptr, "rdma_create_event_channel: %m");
	fcntl(fd(), F_SETFL, fcntl(fd(), F_GETFL) | O_NONBLOCK);
}

std::optional<CmEvent> CmChannel::next(double limit_s)
{
	double deadline = now_s() + limit_s;
	for (;;) {
		rdma_cm_event *event = nullptr;
		if (!rdma_get_cm_event(channel_.get(), &event))
			return take(event);
		require(errno == EAGAIN, "rdma_get_cm_event: %m");
		double left = deadline - now_s();
		if (left <= 0)
			return {};
		pollfd readable = {fd(), POLLIN, 0};
		poll(&readable, 1, static_cast<int>(left * 1000) + 1);
	}
}

CmEvent CmChannel::expect(rdma_cm_event_type type)
{
	std::optional<CmEvent> event = next(limit_s_);
	require(event.has_value(), "no event %s within %g s", rdma_event_str(type), limit_s_);
	require(event->type == type, "event %s (%d) instead of %s", rdma_event_str(event->type),
		event->status, rdma_event_str(type));
	return std::move(*event);
}

CmId CmChannel::make_id()
{
	rdma_cm_id *id = nullptr;
	require(!rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id: %m");
	CmId owner(id);
	if (tos_)
		require(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos_,
					 sizeof(tos_)),
			"rdma_set_option: %m");
	return owner;
}

CmId CmChannel::listen(sockaddr *at, int backlog)
{
	bool any_port = !reinterpret_cast<sockaddr_in *>(at)->sin_port;
	for (int left = kPortsToTry;; left--) {
		CmId id = make_id();
		require(!rdma_bind_addr(id.get(), at), "rdma_bind_addr: %m");
		if (!rdma_listen(id.get(), backlog))
			return id;
		require(any_port && left && errno == EADDRINUSE, "rdma_listen: %m");
	}
}

CmId CmChannel::listen(const std::string &host, const std::string &port, int backlog)
{
	return listen(find_address(host, port, true)->ai_src_addr, backlog);
}

CmId CmChannel::resolve(sockaddr *to, uint16_t from)
{
	int limit_ms = static_cast<int>(limit_s_ * 1000);
	sockaddr_storage here = {};
	CmId id = make_id();
	here.ss_family = to->sa_family;
	// The port's offset is the same for IPv6.
	reinterpret_cast<sockaddr_in *>(&here)->sin_port = htons(from);
	// ib_core misses a neighbour's answer that comes before ib_core waits for it, and looks
	// again only after this time.
	require(!rdma_resolve_addr(id.get(), from ? reinterpret_cast<sockaddr *>(&here) : nullptr,
				   to, limit_ms / 4),
		"rdma_resolve_addr: %m");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	require(!rdma_resolve_route(id.get(), limit_ms), "rdma_resolve_route: %m");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

CmId CmChannel::resolve(const std::string &host, const std::string &port, uint16_t from)
{
	return resolve(find_address(host, port, false)->ai_dst_addr, from);
}

int CmChannel::ask(rdma_cm_id *id, const CmOffer &offer)
{
	rdma_conn_param param = offer.param();
	return rdma_connect(id, &param) ? errno : 0;
}

CmEvent CmChannel::connect(rdma_cm_id *id, const CmOffer &offer)
{
	call(id, offer);
	return expect(RDMA_CM_EVENT_ESTABLISHED);
}

CmEvent CmChannel::connect_refused(rdma_cm_id *id, const CmOffer &offer)
{
	call(id, offer);
	return expect(RDMA_CM_EVENT_REJECTED);
}

CmEvent CmChannel::accept(rdma_cm_id *id, const CmOffer &offer)
{
	rdma_conn_param param = offer.param();
	require(!rdma_accept(id, &param), "rdma_accept: %m");
	return expect(RDMA_CM_EVENT_ESTABLISHED);
}

void CmChannel::reject(rdma_cm_id *id, const void *why, uint8_t bytes)
{
	require(!rdma_reject(id, why, bytes), "rdma_reject: %m");
}

void CmChannel::disconnect(rdma_cm_id *id)
{
	require(!rdma_disconnect(id), "rdma_disconnect: %m");
}

} // namespace vt
