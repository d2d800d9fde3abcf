/* SPDX-License-Identifier: GPL-2.0 */
// rdma_cm's dialogue: addresses, listeners, connections, and the events between. What does
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

// What an end says of itself when it connects or accepts.
struct CmOffer {
	uint8_t depth = 1;	    // READs under way, both ways
	uint32_t qpn = 0;	    // of a QP that was not made by rdma_create_qp
	const void *data = nullptr; // private
	uint8_t bytes = 0;

	rdma_conn_param param() const;
};

// Taken, and acknowledged.
struct CmEvent {
	rdma_cm_event_type type;
	int status;
	rdma_cm_id *id;
	CmId request; // the same, of a CONNECT_REQUEST: it is new
	std::vector<char> data;
	unsigned depth_out, depth_in; // READs under way, ours and the peer's

	// What the private data begin with.
	void read(void *to, size_t bytes) const;
};

// An event channel. It outlives its ids.
class CmChannel {
public:
	// Each step may take so long.
	explicit CmChannel(double limit_s = 20);

	int fd() const { return channel_->fd; }
	CmId make_id();
	// Port 0: any that is free.
	CmId listen(sockaddr *at, int backlog);
	// With no host: at any address.
	CmId listen(const std::string &host, const std::string &port, int backlog);
	// To the peer's address and route. from: a local port, or 0.
	CmId resolve(sockaddr *to, uint16_t from = 0);
	CmId resolve(const std::string &host, const std::string &port, uint16_t from = 0);
	// Asks for a connection: 0, or errno. What comes of it is an event.
	static int ask(rdma_cm_id *id, const CmOffer &offer);
	// Connects or accepts, until the connection stands.
	CmEvent connect(rdma_cm_id *id, const CmOffer &offer);
	CmEvent accept(rdma_cm_id *id, const CmOffer &offer);
	// The other end refuses; the event says why.
	CmEvent connect_refused(rdma_cm_id *id, const CmOffer &offer);
	static void reject(rdma_cm_id *id, const void *why, uint8_t bytes);
	// Asks for the orderly end, which both ends are told of.
	static void disconnect(rdma_cm_id *id);

	// The next event, if one comes by then.
	std::optional<CmEvent> next(double limit_s);
	CmEvent expect(rdma_cm_event_type type);

private:
	double limit_s_;
	std::unique_ptr<rdma_event_channel, CmDestroyer<rdma_destroy_event_channel>> channel_;
};

} // namespace vt

#endif
