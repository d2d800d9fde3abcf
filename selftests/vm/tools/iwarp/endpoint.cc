// SPDX-License-Identifier: GPL-2.0
// See endpoint.h.
#include "endpoint.h"

#include <algorithm>
#include <cstring>
#include <sched.h>

#include "outcome.h"

namespace vt {

Endpoint::Endpoint(const EndpointOptions &options) : options_(options)
{
	if (options_.server) {
		listener_ = cm_.listen(options_.host, options_.port, 1);
		CmEvent request = cm_.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
		request.read(request_data_, sizeof(request_data_));
		id_ = std::move(request.request);
	} else {
		id_ = cm_.resolve(options_.host, options_.port);
	}

	cq_.reset(ibv_create_cq(id_->verbs, static_cast<int>(4 * options_.work_requests), nullptr,
				nullptr, 0));
	require(cq_ != nullptr, "ibv_create_cq: %m");
	ibv_qp_init_attr attr = {};
	attr.qp_type = IBV_QPT_RC;
	attr.send_cq = attr.recv_cq = cq_.get();
	attr.cap = {options_.work_requests, 2 * options_.work_requests, 3, 1, 0};
	require(!rdma_create_qp(id_.get(), nullptr, &attr), "rdma_create_qp: %m");
}

Endpoint::~Endpoint()
{
	if (id_ && id_->qp)
		rdma_destroy_qp(id_.get());
}

CmOffer Endpoint::offer(const char *data) const
{
	return {.depth = options_.depth, .data = data, .bytes = kDataBytes};
}

void Endpoint::establish(const void *ours, size_t bytes, void *theirs)
{
	char data[kDataBytes] = {};

	memcpy(data, ours, std::min(bytes, sizeof(data)));
	if (options_.server) {
		cm_.accept(id_.get(), offer(data));
		memcpy(theirs, request_data_, bytes);
	} else {
		cm_.connect(id_.get(), offer(data)).read(theirs, bytes);
	}
}

void Endpoint::refuse()
{
	const char why[kDataBytes] = "no";
	char heard[sizeof(why)] = {};

	if (options_.server) {
		cm_.reject(id_.get(), why, sizeof(why));
		return;
	}
	cm_.connect_refused(id_.get(), offer(why)).read(heard, sizeof(heard));
	require(!strcmp(heard, why), "the reason for the refusal is \"%s\"", heard);
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
	while (!ended_) {
		std::optional<CmEvent> event = cm_.next(0);

		if (!event)
			break;
		ended_ = event->type == RDMA_CM_EVENT_DISCONNECTED;
	}
	return ended_;
}

const char *Endpoint::wait(ibv_wc *wc)
{
	double until = now_s() + 20 * slow();

	while (!poll(wc)) {
		/* What completed before the end is there by then. */
		if (ended())
			return poll(wc) ? nullptr : "the connection ended";
		if (now_s() >= until)
			return "no completion for 20 s";
		sched_yield();
	}
	return nullptr;
}

void Endpoint::wait_ended()
{
	if (!ended_)
		cm_.expect(RDMA_CM_EVENT_DISCONNECTED);
	ended_ = true;
}

} // namespace vt
