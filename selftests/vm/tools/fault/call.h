/* SPDX-License-Identifier: GPL-2.0 */
// A verb, and what it needs before and leaves behind.
#ifndef TERN_VM_FAULT_CALL_H
#define TERN_VM_FAULT_CALL_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device.h"

namespace vt {

// One try. The constructor and the destructor do what is done without faults.
class Try {
public:
	virtual ~Try() = default;
	// The verb: 0 or errno.
	virtual int call() = 0;
	// What must hold after it; throws Failure.
	virtual void judge(int error) { static_cast<void>(error); }
};

struct Call {
	std::string name;
	std::function<std::unique_ptr<Try>()> prepare;
	int other_error = 0; // that a library gives in place of the kernel's
	int stride = 1;	     // of what can fail, each one, or each n-th
};

// Those of libibverbs, of rdma_cm at this address, and of links on this netdev.
std::vector<Call> verbs_calls(const Device &device);
std::vector<Call> cm_calls(const std::string &address);
std::vector<Call> link_calls(const std::string &type, const std::string &netdev);

} // namespace vt

#endif
