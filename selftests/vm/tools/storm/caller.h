/* SPDX-License-Identifier: GPL-2.0 */
// The client of one connection.
#ifndef TERN_VM_CALLER_H
#define TERN_VM_CALLER_H

#include <string>

#include "echo.h"

namespace vt {

class Caller {
public:
	// Connects. This and the next step throw Failure.
	Caller(const std::string &host, const std::string &port);
	// Sends a message there and back, compares every byte, and ends the connection.
	void echo(uint64_t seed);

private:
	void wait_message();

	CmChannel cm_;
	CmId id_;
	Pd pd_;
	CqOwner cq_;
	std::unique_ptr<Echo> echo_;
};

} // namespace vt

#endif
