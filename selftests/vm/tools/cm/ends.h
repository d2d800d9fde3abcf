/* SPDX-License-Identifier: GPL-2.0 */
// The two ends of an rdma_cm connection, step by step, for tests that let a step fail.
#ifndef TERN_VM_ENDS_H
#define TERN_VM_ENDS_H

#include <memory>
#include <optional>
#include <string>

#include "cm.h"
#include "objects.h"

namespace vt {

// A CQ, and the id's QP with room for `depth` sends and receives.
class Queues {
public:
	Queues(rdma_cm_id *id, uint32_t depth);

	ibv_pd *pd() const { return pd_.get(); }
	ibv_qp *qp() const { return qp_.get(); }
	// The next completion; next() returns none after limit_s.
	ibv_wc wait() const;
	std::optional<ibv_wc> next(double limit_s) const;

private:
	Pd pd_;
	std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>> cq_;
	QpOwner qp_;
};

class Caller {
public:
	// Resolves the address and the route. from: a local port, or 0.
	Caller(const std::string &host, const std::string &port, uint16_t from = 0)
		: id_(cm_.resolve(host, port, from))
	{}

	rdma_cm_id *id() const { return id_.get(); }
	void make_queues(uint32_t depth) { queues_ = std::make_unique<Queues>(id(), depth); }
	const Queues &queues() const { return *queues_; }
	// 0 or errno. qpn: the number of a QP that another process has, or 0.
	int connect(uint32_t qpn = 0, uint8_t depth = 1);
	// The event that answers connect().
	CmEvent outcome();
	// The next event, or none after limit_s.
	std::optional<CmEvent> next(double limit_s) { return cm_.next(limit_s); }

private:
	CmChannel cm_;
	CmId id_;
	std::unique_ptr<Queues> queues_;
};

class Listener {
public:
	// Listens at any address. tos: the type of service of what it accepts.
	Listener(const std::string &port, int backlog, uint8_t tos = 0);

	// The id of the next request. The caller owns it.
	CmId wait_request();
	// Stops listening. Requests that were fetched remain.
	void stop() { id_.reset(); }
	CmEvent accept(rdma_cm_id *id, uint8_t depth = 1)
	{
		return cm_.accept(id, {.depth = depth});
	}
	// Waits for the connection's end.
	void wait_end() { cm_.expect(RDMA_CM_EVENT_DISCONNECTED); }

private:
	CmChannel cm_;
	CmId id_;
};

} // namespace vt

#endif
