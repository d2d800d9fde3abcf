/* SPDX-License-Identifier: GPL-2.0 */
// One end of an echo: the QP and memory of a connection by rdma_cm.
#ifndef TERN_VM_ECHO_H
#define TERN_VM_ECHO_H

#include <memory>

#include "cm.h"
#include "objects.h"

namespace vt {

constexpr size_t kEchoBytes = 256;

using CqOwner = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;

// A connection's objects, created when the device is known.
class Echo {
public:
	// pd and cq must live longer. Posts one receive.
	Echo(rdma_cm_id *id, ibv_pd *pd, ibv_cq *cq);

	void send();
	char *sent() { return memory_.at(0); }
	char *received() { return memory_.at(kEchoBytes); }
	uint32_t qpn() const { return qp_->qp_num; }

private:
	Arena memory_;
	QpOwner qp_;
};

} // namespace vt

#endif
