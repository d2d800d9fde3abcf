/* SPDX-License-Identifier: GPL-2.0 */
/* What the simulators' main() share: finding a scenario, timing its run, listing what there is. */
#ifndef TERN_SIM_SIMULATOR_H
#define TERN_SIM_SIMULATOR_H

#include <cstring>
#include <ctime>
#include <string>

#include "cli.h"

namespace sim {

/* A named scenario. */
template <class World, class Options> struct ScenarioOf {
	const char *name, *what;
	/* Sets the world up, runs it and checks what is special about it; throws Failure. */
	void (*run)(World &world, const Options &o);
};

/* In a table that ends with a null name; nullptr: not found. */
template <class Scenario>
const Scenario *find_scenario(const Scenario *table, const std::string &name)
{
	for (const Scenario *s = table; s->name; s++)
		if (name == s->name)
			return s;
	return nullptr;
}

/* The exit status; report gets the CPU seconds of a successful run. */
template <class World, class Options>
int simulate(const ScenarioOf<World, Options> &s, World &w, const Options &o, const Cli &cli,
	     void (*report)(const World &w, const Options &o, double seconds))
{
	clock_t start = clock();

	try {
		s.run(w, o);
	} catch (const Failure &f) {
		cli.print_failure(f, w.trace, w.now_ns);
		return 1;
	}
	report(w, o, (double)(clock() - start) / CLOCKS_PER_SEC);
	return 0;
}

/* The exit status of --help, or of an unknown scenario. */
template <class Scenario>
int print_usage(const Cli &cli, const Scenario *table, int argc, char **argv)
{
	bool help = argc == 2 && !strcmp(argv[1], "--help");
	FILE *f = help ? stdout : stderr;

	cli.usage(f);
	for (const Scenario *s = table; s->name; s++)
		fprintf(f, "  %-16s %s\n", s->name, s->what);
	return help ? 0 : 2;
}

} /* namespace sim */

#endif
