// SPDX-License-Identifier: GPL-2.0
/*
 * iwsim: two iWARP engines talk over simulated byte streams. Prints what happened and how fast.
 * After a failure it prints the seed and the last events and exits with 1.
 */
#include <cinttypes>

#include "scenario.h"

namespace {

using sim::Options;

void report(const sim::World &w, const Options &o, double seconds)
{
	uint64_t bytes = 0, deliveries = 0, answers = 0, dead = 0;

	for (auto &e : w.ep) {
		bytes += e->out.delivered;
		deliveries += e->out.deliveries;
		answers += e->req.responses;
		dead += e->dead;
	}
	printf("%s seed %" PRIu64 ": %" PRIu64 " segments, %.1f MB in %" PRIu64 " pieces; %" PRIu64
	       " completions, %" PRIu64 " responses, %" PRIu64
	       " of %zu ends died; %.1f ms simulated, %.2f s of CPU, %.2f M segments/s\n",
	       o.scenario.c_str(), o.seed, w.segments, (double)bytes / 1e6, deliveries, w.completed,
	       answers, dead, w.ep.size(), (double)w.now_ns / 1e6, seconds,
	       seconds > 0 ? (double)w.segments / seconds / 1e6 : 0);
}

} /* namespace */

int main(int argc, char **argv)
{
	sim::Cli cli("iwsim");
	sim::World w;
	Options o;

	cli.add("--scenario", "NAME", &o.scenario);
	cli.add("--seed", "N", &o.seed);
	cli.add("--segments", "N", &o.segments);
	cli.add("--pairs", "N", &o.pairs);
	cli.add("--emss", "BYTES", &o.emss);
	cli.add("--room", "BYTES", &o.room);
	cli.add("--cut", "BYTES", &o.cut);
	cli.add("--crc", "0|1", &o.crc);
	cli.add("--markers", "0..3", &o.markers);

	/* Endpoint numbers are eight bits; an FPDU holds an Atomic Request at least. */
	bool usable = cli.parse(argc, argv) && o.pairs >= 1 && o.pairs <= 128 &&
		      (!o.emss || (*o.emss >= 96 && *o.emss <= 65535));
	const sim::Scenario *s = usable ? sim::find_scenario(sim::scenarios, o.scenario) : nullptr;

	if (!s)
		return sim::print_usage(cli, sim::scenarios, argc, argv);
	w.cfg.segments = o.segments;
	return sim::simulate(*s, w, o, cli, report);
}
