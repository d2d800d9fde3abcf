/* SPDX-License-Identifier: GPL-2.0 */
// A verb, its preparation, and the check of its result.
#ifndef TERN_VM_FAULT_CALL_H
#define TERN_VM_FAULT_CALL_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device.h"

namespace vt {

// One attempt. The constructor and the destructor run without faults.
class Try {
public:
	virtual ~Try() = default;
	// The verb: 0 or errno.
	virtual int call() = 0;
	// Checks what must hold afterwards; throws Failure.
	virtual void judge(int error) { static_cast<void>(error); }
};

struct Call {
	std::string name;
	std::function<std::unique_ptr<Try>()> prepare;
	int other_error = 0; // that a library returns instead of the kernel's
	int stride = 1;	     // each point, or each n-th
};

// The verbs of libibverbs, of rdma_cm at this address, and of links on this netdev.
std::vector<Call> verbs_calls(const Device &device);
std::vector<Call> cm_calls(const std::string &address);
std::vector<Call> link_calls(const std::string &type, const std::string &netdev);

} // namespace vt

#endif
