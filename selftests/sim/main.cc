// SPDX-License-Identifier: GPL-2.0
/*
 * sim: two RC or UC engines talk over a simulated wire. Prints what happened and how fast. After a
 * failure it prints the seed and the last events and exits with 1.
 */
#include <cinttypes>

#include "scenario.h"

namespace {

using sim::Options;

void report(const sim::World &w, const Options &o, double seconds)
{
	uint64_t sent = 0, lost = 0, dup = 0, reordered = 0, corrupted = 0, timeouts = 0, rnr = 0;

	for (auto &e : w.ep) {
		sent += e->wire.sent;
		lost += e->wire.lost;
		dup += e->wire.duplicated;
		reordered += e->wire.reordered;
		corrupted += e->wire.corrupted;
		timeouts += e->req.timeouts;
		rnr += e->req.rnr_naks;
	}
	printf("%s seed %" PRIu64 ": %" PRIu64 " sent, %" PRIu64 " lost, %" PRIu64
	       " duplicated, %" PRIu64 " reordered, %" PRIu64 " corrupted; %" PRIu64
	       " arrived; %" PRIu64 " completions, %" PRIu64 " timeouts, %" PRIu64
	       " RNR NAKs; %.1f ms simulated, %.2f s of CPU, %.2f M packets/s\n",
	       o.scenario.c_str(), o.seed, sent, lost, dup, reordered, corrupted, w.packets,
	       w.completed, timeouts, rnr, (double)w.now_ns / 1e6, seconds,
	       seconds > 0 ? (double)w.packets / seconds / 1e6 : 0);
}

} /* namespace */

int main(int argc, char **argv)
{
	sim::Cli cli("sim");
	sim::World w;
	Options o;

	cli.add("--scenario", "NAME", &o.scenario);
	cli.add("--seed", "N", &o.seed);
	cli.add("--packets", "N", &o.packets);
	cli.add("--pairs", "N", &o.pairs);
	cli.add("--loss", "P", &o.loss);
	cli.add("--dup", "P", &o.dup);
	cli.add("--reorder", "P", &o.reorder);
	cli.add("--corrupt", "P", &o.corrupt);
	cli.add("--stretch", "P", &o.stretch);
	cli.add("--pmtu", "BYTES", &o.pmtu);
	cli.add("--window", "PACKETS", &o.window);

	/* Endpoint numbers are eight bits. */
	bool usable = cli.parse(argc, argv) && o.pairs >= 1 && o.pairs <= 128;
	const sim::Scenario *s = usable ? sim::find_scenario(sim::scenarios, o.scenario) : nullptr;

	if (!s)
		return sim::print_usage(cli, sim::scenarios, argc, argv);
	w.cfg.packets = o.packets;
	return sim::simulate(*s, w, o, cli, report);
}
