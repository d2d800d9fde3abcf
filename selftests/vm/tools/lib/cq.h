/* SPDX-License-Identifier: GPL-2.0 */
// A completion queue: classic or extended, polled or by events.
#ifndef TERN_VM_CQ_H
#define TERN_VM_CQ_H

#include <cstdint>

#include "device.h"
#include "objects.h"
#include "outcome.h"

namespace vt {

struct Completion {
	uint64_t wr_id;
	ibv_wc_status status;
	ibv_wc_opcode opcode; // only if status is success
	uint32_t bytes;
	uint32_t qp_num, src_qp;
	unsigned flags;
	uint32_t imm;	   // host order, if IBV_WC_WITH_IMM
	uint32_t inv_rkey; // if IBV_WC_WITH_INV
	uint64_t stamp;	   // extended CQ with timestamps
	uint64_t wall_ns;  // extended CQ with wallclock
};

struct CqOptions {
	int entries = 512;
	bool extended = false;
	bool timestamps = false;
	bool wallclock = false;
	bool events = false;
	int vector = 0;
	uint32_t flags = 0; // extended: IBV_CREATE_CQ_ATTR_*
};

class Cq {
public:
	Cq(const Device &device, const CqOptions &options);
	~Cq();
	Cq(const Cq &) = delete;
	Cq &operator=(const Cq &) = delete;

	ibv_cq *get() const { return cq_; }

	// One completion, or none.
	bool poll(Completion *completion);
	// Waits for one; Failure after limit_s.
	Completion next(double limit_s = 20 * slow());
	// Waits for one and requires its status.
	Completion expect(ibv_wc_status status, uint64_t wr_id, double limit_s = 20 * slow());
	// Requires that no completion comes for a while.
	void expect_none(double for_s);

	void arm(bool solicited_only);
	// True if a completion event comes within limit_s, which it acknowledges.
	bool wait_event(double limit_s);

private:
	Completion read_extended() const;

	Channel channel_;
	ibv_cq *cq_ = nullptr;
	ibv_cq_ex *ex_ = nullptr;
	bool stamps_ = false, wallclock_ = false;
};

// Requires success; names the WR in the failure.
void require_success(const Completion &completion, const char *what);

} // namespace vt

#endif
