/* SPDX-License-Identifier: GPL-2.0 */
// rdma_cm: addresses, listeners, connections and their events. What does
// not work throws Failure.
#ifndef TERN_VM_CM_H
#define TERN_VM_CM_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rdma/rdma_cma.h>

namespace vt {

template <auto Destroy> struct CmDestroyer {
	template <class T> void operator()(T *object) const { Destroy(object); }
};
using CmId = std::unique_ptr<rdma_cm_id, CmDestroyer<rdma_destroy_id>>;

// An end's parameters when it connects or accepts.
struct CmOffer {
	uint8_t depth = 1;	    // outstanding READs, both ways
	uint32_t qpn = 0;	    // of a QP that rdma_create_qp() did not create
	const void *data = nullptr; // private
	uint8_t bytes = 0;

	rdma_conn_param param() const;
};

// An event that has been fetched and acknowledged.
struct CmEvent {
	rdma_cm_event_type type;
	int status;
	rdma_cm_id *id;
	CmId request; // the new id of a CONNECT_REQUEST
	std::vector<char> data;
	unsigned depth_out, depth_in; // outstanding READs, ours and the peer's

	// The start of the private data.
	void read(void *to, size_t bytes) const;
};

// An event channel, which must outlive its ids.
class CmChannel {
public:
	// The limit of each step; the type of service of all ids.
	explicit CmChannel(double limit_s = 20, uint8_t tos = 0);

	int fd() const { return channel_->fd; }
	CmId make_id();
	// Port 0: any free port.
	CmId listen(sockaddr *at, int backlog);
	// Without host: at any address.
	CmId listen(const std::string &host, const std::string &port, int backlog);
	// Resolves the peer's address and route. from: a local port, or 0.
	CmId resolve(sockaddr *to, uint16_t from = 0);
	CmId resolve(const std::string &host, const std::string &port, uint16_t from = 0);
	// Requests a connection: 0 or errno. The result is an event.
	static int ask(rdma_cm_id *id, const CmOffer &offer);
	// Connects or accepts; returns when the connection is established.
	CmEvent connect(rdma_cm_id *id, const CmOffer &offer);
	CmEvent accept(rdma_cm_id *id, const CmOffer &offer);
	// Waits until the other end rejects; the event has the reason.
	CmEvent connect_refused(rdma_cm_id *id, const CmOffer &offer);
	static void reject(rdma_cm_id *id, const void *why, uint8_t bytes);
	// Starts the orderly end. Both ends get an event.
	static void disconnect(rdma_cm_id *id);

	// The next event, or none after limit_s.
	std::optional<CmEvent> next(double limit_s);
	CmEvent expect(rdma_cm_event_type type);

private:
	double limit_s_;
	uint8_t tos_;
	std::unique_ptr<rdma_event_channel, CmDestroyer<rdma_destroy_event_channel>> channel_;
};

} // namespace vt

#endif
