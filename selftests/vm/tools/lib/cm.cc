// SPDX-License-Identifier: GPL-2.0
// See cm.h.
#include "cm.h"

#include <cerrno>
#include <cstring>
#include <poll.h>

#include "outcome.h"

namespace vt {
namespace {

constexpr int kLimitMs = 20000;

int limit_ms()
{
	return static_cast<int>(kLimitMs * slow());
}

} // namespace

rdma_cm_id *Cm::expect(rdma_cm_event_type type)
{
	pollfd readable = {channel_->fd, POLLIN, 0};
	require(poll(&readable, 1, limit_ms()) == 1, "no event %s", rdma_event_str(type));
	rdma_cm_event *event = nullptr;
	require(!rdma_get_cm_event(channel_.get(), &event), "rdma_get_cm_event: %s",
		strerror(errno));
	rdma_cm_event_type got = event->event;
	int status = event->status;
	rdma_cm_id *id = event->id;
	rdma_ack_cm_event(event);
	require(got == type, "event %s (%d) instead of %s", rdma_event_str(got), status,
		rdma_event_str(type));
	return id;
}

Cm::Id Cm::make_id()
{
	rdma_cm_id *id = nullptr;
	require(!rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id: %s",
		strerror(errno));
	return Id(id);
}

void Cm::accept(Control &control, const rdma_conn_param &param)
{
	Id listener = make_id();
	Control::Address here = control.local();
	here.set_port(0);
	require(!rdma_bind_addr(listener.get(), here.get()) && !rdma_listen(listener.get(), 4),
		"listening: %s", strerror(errno));
	control.exchange(rdma_get_src_port(listener.get()));
	id_.reset(expect(RDMA_CM_EVENT_CONNECT_REQUEST));
	rdma_conn_param with = param;
	require(!rdma_accept(id_.get(), &with), "rdma_accept: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ESTABLISHED);
}

void Cm::call(Control &control, const rdma_conn_param &param)
{
	id_ = make_id();
	Control::Address there = control.peer();
	there.set_port(control.exchange(__be16{0}));
	require(!rdma_resolve_addr(id_.get(), nullptr, there.get(), limit_ms()),
		"rdma_resolve_addr: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	require(!rdma_resolve_route(id_.get(), limit_ms()), "rdma_resolve_route: %s",
		strerror(errno));
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	rdma_conn_param with = param;
	require(!rdma_connect(id_.get(), &with), "rdma_connect: %s", strerror(errno));
	expect(RDMA_CM_EVENT_ESTABLISHED);
}

void Cm::connect(Control &control, ibv_qp *qp, uint8_t rd_atomic)
{
	channel_.reset(rdma_create_event_channel());
	require(channel_ != nullptr, "rdma_create_event_channel: %s", strerror(errno));
	rdma_conn_param param = {};
	param.qp_num = qp->qp_num;
	param.responder_resources = param.initiator_depth = rd_atomic;
	if (control.is_caller())
		call(control, param);
	else
		accept(control, param);
}

} // namespace vt
