/* SPDX-License-Identifier: GPL-2.0 */
/* The named scenarios of the simulator. */
#ifndef TERN_SIM_SCENARIO_H
#define TERN_SIM_SCENARIO_H

#include <optional>
#include <string>

#include "simulator.h"
#include "world.h"

namespace sim {

struct Options {
	std::string scenario = "mixed";
	uint64_t seed = 1;
	uint64_t packets = 100000;
	uint32_t pairs = 4;
	double loss = 0, dup = 0, reorder = 0, corrupt = 0;
	double stretch = 0;
	std::optional<uint32_t> pmtu, window;
};

using Scenario = ScenarioOf<World, Options>;

/* Ends with a null name. */
extern const Scenario scenarios[];

} /* namespace sim */

#endif
