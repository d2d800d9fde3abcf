/* SPDX-License-Identifier: GPL-2.0 */
// The passive end: requests, one after the other.
#ifndef TERN_VM_LISTENER_H
#define TERN_VM_LISTENER_H

#include "caller.h"

namespace vt {

class Listener {
public:
	Listener(const std::string &port, int backlog);

	// The next request's id, ours from now on.
	CmId wait_request();
	void accept(rdma_cm_id *id);
	// The connection is over.
	void wait_end();

private:
	rdma_cm_id *expect(rdma_cm_event_type type);

	CmChannel channel_;
	CmId id_;
};

} // namespace vt

#endif
