// SPDX-License-Identifier: GPL-2.0
/*
 * sim: the RC and UC engines against each other over a simulated wire.
 * Prints what happened and how fast; on a failure, the seed and the last
 * events, and exits with 1.
 */
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "scenario.h"

namespace {

using sim::Options;

void usage(FILE *f)
{
	fprintf(f, "usage: sim [--scenario NAME] [--seed N] [--packets N] [--pairs N]\n"
		   "           [--loss P] [--dup P] [--reorder P] [--corrupt P]\n"
		   "           [--pmtu BYTES] [--window PACKETS]\nscenarios:\n");
	for (const sim::Scenario *s = sim::scenarios; s->name; s++)
		fprintf(f, "  %-16s %s\n", s->name, s->what);
}

bool parse(int argc, char **argv, Options *o)
{
	for (int i = 1; i < argc; i += 2) {
		std::string name = argv[i];
		const char *value = i + 1 < argc ? argv[i + 1] : nullptr;

		if (!value)
			return false;
		if (name == "--scenario")
			o->scenario = value;
		else if (name == "--seed")
			o->seed = strtoull(value, nullptr, 0);
		else if (name == "--packets")
			o->packets = strtoull(value, nullptr, 0);
		else if (name == "--pairs")
			o->pairs = (uint32_t)strtoul(value, nullptr, 0);
		else if (name == "--loss")
			o->loss = strtod(value, nullptr);
		else if (name == "--dup")
			o->dup = strtod(value, nullptr);
		else if (name == "--reorder")
			o->reorder = strtod(value, nullptr);
		else if (name == "--corrupt")
			o->corrupt = strtod(value, nullptr);
		else if (name == "--pmtu")
			o->pmtu = (uint32_t)strtoul(value, nullptr, 0);
		else if (name == "--window")
			o->window = (uint32_t)strtoul(value, nullptr, 0);
		else
			return false;
	}
	/* Endpoint numbers are eight bits. */
	return o->pairs >= 1 && o->pairs <= 128;
}

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

int simulate(const sim::Scenario &s, const Options &o)
{
	sim::WorldCfg cfg;
	sim::World w(cfg);
	clock_t start = clock();

	w.cfg.seed = o.seed;
	w.cfg.packets = o.packets;
	try {
		s.run(w, o);
	} catch (const sim::Failure &f) {
		printf("last events:\n");
		w.trace.print(stdout, 60);
		printf("FAILED at %" PRIu64 " ns: %s\n", w.now_ns, f.what());
		printf("replay: sim --scenario %s --seed %" PRIu64 " --packets %" PRIu64
		       " --pairs %u --loss %g --dup %g --reorder %g --corrupt %g",
		       o.scenario.c_str(), o.seed, o.packets, o.pairs, o.loss, o.dup, o.reorder,
		       o.corrupt);
		if (o.pmtu)
			printf(" --pmtu %u", *o.pmtu);
		if (o.window)
			printf(" --window %u", *o.window);
		printf("\n");
		return 1;
	}
	report(w, o, (double)(clock() - start) / CLOCKS_PER_SEC);
	return 0;
}

} /* namespace */

int main(int argc, char **argv)
{
	Options o;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (parse(argc, argv, &o))
		for (const sim::Scenario *s = sim::scenarios; s->name; s++)
			if (o.scenario == s->name)
				return simulate(*s, o);
	usage(stderr);
	return 2;
}
