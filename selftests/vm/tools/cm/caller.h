/* SPDX-License-Identifier: GPL-2.0 */
// The active end of a connection by rdma_cm, taken step by step: what may go wrong is the test.
#ifndef TERN_VM_CALLER_H
#define TERN_VM_CALLER_H

#include <memory>
#include <string>

#include <rdma/rdma_cma.h>

#include "objects.h"

namespace vt {

template <auto Destroy> struct CmDestroyer {
	template <class T> void operator()(T *object) const { Destroy(object); }
};
using CmChannel = std::unique_ptr<rdma_event_channel, CmDestroyer<rdma_destroy_event_channel>>;
using CmId = std::unique_ptr<rdma_cm_id, CmDestroyer<rdma_destroy_id>>;
using CqOwner = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;

// Its next event, or a Failure after a while; ours to acknowledge.
rdma_cm_event *next_event(rdma_event_channel *channel);

// A CQ and a QP with room for so many work requests either way; the QP is the id's.
class Queues {
public:
	Queues(rdma_cm_id *id, uint32_t depth);

	ibv_pd *pd() const { return pd_.get(); }
	ibv_qp *qp() const { return qp_.get(); }
	ibv_cq *cq() const { return cq_.get(); }
	// The next completion.
	ibv_wc wait() const;

private:
	Pd pd_;
	CqOwner cq_;
	QpOwner qp_;
};

class Caller {
public:
	// Until the route is known. from: a local port, or 0.
	Caller(const std::string &host, const std::string &port, uint16_t from = 0);

	rdma_cm_id *id() const { return id_.get(); }
	void make_queues(uint32_t depth) { queues_ = std::make_unique<Queues>(id(), depth); }
	const Queues &queues() const { return *queues_; }
	// 0 or errno. qpn: of a QP that is not ours to make.
	int connect(uint32_t qpn = 0);
	// The next event's type, and its status.
	rdma_cm_event_type outcome(int *status);

private:
	void expect(rdma_cm_event_type type);

	CmChannel channel_;
	CmId id_;
	std::unique_ptr<Queues> queues_;
};

} // namespace vt

#endif
