// SPDX-License-Identifier: GPL-2.0
// See server.h.
#include "server.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>

namespace vt {
namespace {

constexpr int kCqEntries = 4096;
volatile sig_atomic_t over;

void end(int)
{
	over = 1;
}

} // namespace

// The QP first: it needs its id to disconnect.
Server::Connection::~Connection()
{
	echo.reset();
}

Server::Server(const std::string &port) : listener_(cm_.listen("", port, 512)) {}

void Server::open_device(ibv_context *context)
{
	pd_ = make_pd(context);
	completions_.reset(ibv_create_comp_channel(context));
	require(completions_ != nullptr, "ibv_create_comp_channel: %m");
	fcntl(completions_->fd, F_SETFL, fcntl(completions_->fd, F_GETFL) | O_NONBLOCK);
	cq_.reset(ibv_create_cq(context, kCqEntries, nullptr, completions_.get(), 0));
	require(cq_ != nullptr, "ibv_create_cq: %m");
	ibv_req_notify_cq(cq_.get(), 0);
}

void Server::accept(CmId request)
{
	rdma_cm_id *id = request.get();
	if (!cq_)
		open_device(id->verbs);
	Connection &c = connections_[id];
	c.id = std::move(request);
	c.echo = std::make_unique<Echo>(id, pd_.get(), cq_.get());
	of_qp_[c.echo->qpn()] = c.echo.get();
	rdma_conn_param param = CmOffer().param();
	// The caller may have given up: that is not an error.
	if (rdma_accept(id, &param)) {
		of_qp_.erase(c.echo->qpn());
		connections_.erase(id);
	}
}

void Server::take_event()
{
	std::optional<CmEvent> event = cm_.next(0);
	if (!event)
		return;
	if (event->request) {
		accept(std::move(event->request));
		return;
	}
	auto found = connections_.find(event->id);
	if (event->type == RDMA_CM_EVENT_ESTABLISHED || found == connections_.end())
		return;
	// DISCONNECTED, or another event that ended it.
	rdma_disconnect(event->id);
	of_qp_.erase(found->second.echo->qpn());
	connections_.erase(found);
}

void Server::take_completions()
{
	ibv_cq *cq;
	void *context;
	if (!ibv_get_cq_event(completions_.get(), &cq, &context))
		ibv_ack_cq_events(cq, 1);
	ibv_req_notify_cq(cq_.get(), 0);
	ibv_wc wc;
	while (ibv_poll_cq(cq_.get(), 1, &wc) > 0) {
		auto found = of_qp_.find(static_cast<uint32_t>(wc.wr_id));
		if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_RECV ||
		    found == of_qp_.end())
			continue;
		memcpy(found->second->sent(), found->second->received(), kEchoBytes);
		found->second->send();
	}
}

void Server::serve()
{
	signal(SIGTERM, end);
	signal(SIGINT, end);
	while (!over) {
		pollfd ready[2] = {{cm_.fd(), POLLIN, 0},
				   {completions_ ? completions_->fd : -1, POLLIN, 0}};
		if (poll(ready, 2, 500) < 0)
			continue;
		if (ready[0].revents)
			take_event();
		if (ready[1].revents)
			take_completions();
	}
}

} // namespace vt
