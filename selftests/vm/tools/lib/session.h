/* SPDX-License-Identifier: GPL-2.0 */
// main() of the two-process tools: options, the list of cases, each run on both sides
// in lockstep, TAP on the client's stdout.
#ifndef TERN_VM_SESSION_H
#define TERN_VM_SESSION_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "control.h"
#include "device.h"
#include "outcome.h"

namespace vt {

// What a case gets. Both processes run it; `client` says which one this is.
struct Env {
	Device &device;
	Control &control;
	bool client;
	uint64_t seed;
	double limit_s;	    // for one completion
	double seconds;	    // for cases that run for a time
	uint32_t amount;    // for cases that scale: QPs
	std::string netdev; // by which the device was found

	// Both sides skip unless the condition holds on both.
	void both_need(bool here, const char *what);
};

struct Case {
	std::string name;
	std::function<void(Env &)> run;
	bool on_request = false; // only if --match names it exactly, or with --long
};

using Cases = std::vector<Case>;

// Each file of cases has one static Register that adds them.
struct Register {
	explicit Register(void (*add)(Cases &));
};

int session_main(int argc, char **argv);

} // namespace vt

#endif
