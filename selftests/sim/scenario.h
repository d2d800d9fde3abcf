/* SPDX-License-Identifier: GPL-2.0 */
/* The named situations that the simulator can put the engines in. */
#ifndef TERN_SIM_SCENARIO_H
#define TERN_SIM_SCENARIO_H

#include <optional>
#include <string>

#include "world.h"

namespace sim {

struct Options {
	std::string scenario = "mixed";
	uint64_t seed = 1;
	uint64_t packets = 100000;
	uint32_t pairs = 4;
	double loss = 0, dup = 0, reorder = 0, corrupt = 0;
	std::optional<uint32_t> pmtu, window;
};

struct Scenario {
	const char *name, *what;
	/* Sets the world up, runs it and checks what is special about it; throws Failure. */
	void (*run)(World &world, const Options &o);
};

/* Ends with a null name. */
extern const Scenario scenarios[];

} /* namespace sim */

#endif
