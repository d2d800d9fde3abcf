// SPDX-License-Identifier: GPL-2.0
/*
 * sim: the RC and UC engines against each other over a simulated wire.
 * Prints what happened and how fast; on a failure, the seed and the last
 * events, and exits with 1.
 */
#include <cinttypes>
#include <cstring>
#include <ctime>

#include "cli.h"
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

int simulate(const sim::Scenario &s, const Options &o, const sim::Cli &cli)
{
	sim::WorldCfg cfg;
	sim::World w(cfg);
	clock_t start = clock();

	w.cfg.seed = o.seed;
	w.cfg.packets = o.packets;
	try {
		s.run(w, o);
	} catch (const sim::Failure &f) {
		cli.print_failure(f, w.trace, w.now_ns);
		return 1;
	}
	report(w, o, (double)(clock() - start) / CLOCKS_PER_SEC);
	return 0;
}

} /* namespace */

int main(int argc, char **argv)
{
	sim::Cli cli("sim");
	Options o;

	cli.add("--scenario", "NAME", &o.scenario);
	cli.add("--seed", "N", &o.seed);
	cli.add("--packets", "N", &o.packets);
	cli.add("--pairs", "N", &o.pairs);
	cli.add("--loss", "P", &o.loss);
	cli.add("--dup", "P", &o.dup);
	cli.add("--reorder", "P", &o.reorder);
	cli.add("--corrupt", "P", &o.corrupt);
	cli.add("--pmtu", "BYTES", &o.pmtu);
	cli.add("--window", "PACKETS", &o.window);
	/* Endpoint numbers are eight bits. */
	if (cli.parse(argc, argv) && o.pairs >= 1 && o.pairs <= 128)
		for (const sim::Scenario *s = sim::scenarios; s->name; s++)
			if (o.scenario == s->name)
				return simulate(*s, o, cli);

	bool help = argc == 2 && !strcmp(argv[1], "--help");
	FILE *f = help ? stdout : stderr;

	cli.usage(f);
	for (const sim::Scenario *s = sim::scenarios; s->name; s++)
		fprintf(f, "  %-16s %s\n", s->name, s->what);
	return help ? 0 : 2;
}
