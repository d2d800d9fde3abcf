/* SPDX-License-Identifier: GPL-2.0 */
/* The named scenarios of the iWARP simulator. */
#ifndef TERN_SIM_IW_SCENARIO_H
#define TERN_SIM_IW_SCENARIO_H

#include <optional>
#include <string>

#include "simulator.h"
#include "world.h"

namespace sim {

struct Options {
	std::string scenario = "mixed";
	uint64_t seed = 1;
	uint64_t segments = 100000;
	uint32_t pairs = 4;
	std::optional<uint32_t> emss, room, cut, crc;
	std::optional<uint32_t>
		markers; /* 1: in the initiator's direction, 2: the other, 3: both */
};

using Scenario = ScenarioOf<World, Options>;

/* Ends with a null name. */
extern const Scenario scenarios[];

} /* namespace sim */

#endif
