/* SPDX-License-Identifier: GPL-2.0 */
// A QP connected by rdma_cm, with its CQ, and the events of its connection.
#ifndef TERN_VM_ENDPOINT_H
#define TERN_VM_ENDPOINT_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cm.h"
#include "objects.h"

namespace vt {

struct EndpointOptions {
	bool server = true;
	std::string host; // the server's: to connect to, or listen at (empty: any)
	std::string port = "7471";
	uint8_t depth = 16; // outstanding READs, both ways
	uint32_t work_requests = 64;
};

class Endpoint {
public:
	// The server waits for its client here. The device is that of the connection.
	explicit Endpoint(const EndpointOptions &options);
	~Endpoint();
	Endpoint(const Endpoint &) = delete;
	Endpoint &operator=(const Endpoint &) = delete;

	ibv_pd *pd() const { return id_->pd; }
	ibv_qp *qp() const { return id_->qp; }

	// Connects or accepts. `ours` is sent as private data; returns the peer's.
	void establish(const void *ours, size_t bytes, void *theirs);
	// Instead: the server rejects, and the client gets that event.
	void refuse();

	// One completion, if there is one.
	bool poll(ibv_wc *wc) { return ibv_poll_cq(cq_.get(), 1, wc) > 0; }

	// The next one, or why there is none: the connection has ended, or 20 s have passed.
	const char *wait(ibv_wc *wc);

	// Starts the orderly end.
	void disconnect() { cm_.disconnect(id_.get()); }
	// Ends the connection by an abort.
	void abort();
	// Has the connection ended? Consumes the event, if there is one.
	bool ended();
	void wait_ended();

private:
	static constexpr size_t kDataBytes = 64;

	CmOffer offer(const char *data) const;

	EndpointOptions options_;
	CmChannel cm_;
	CmId listener_;
	CmId id_;
	std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>> cq_;
	bool ended_ = false;
	// The client's private data, which came with its request.
	char request_data_[kDataBytes] = {};
};

} // namespace vt

#endif
