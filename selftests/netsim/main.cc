// SPDX-License-Identifier: GPL-2.0
/*
 * netsim: the module's RoCE engines in networks of hosts and switches. Prints a table for each
 * scenario, and how fast it was. After a failure it prints the last events and how to repeat them,
 * and exits with 1.
 */
#include "scenario.h"
#include "sim/cli.h"
#include "sim/simulator.h"

namespace {

using netsim::Options;
using netsim::Report;
using netsim::Scenario;

bool wanted(const Options &o, const Scenario &s)
{
	return o.scenario == "all" || o.scenario == s.name;
}

} /* namespace */

int main(int argc, char **argv)
{
	sim::Cli cli("netsim");
	Options o;

	cli.add("--scenario", "NAME|all", &o.scenario);
	cli.add("--seed", "N", &o.seed);
	cli.add("--control", "NAME", &o.control);
	cli.add("--quick", "0|1", &o.quick);
	cli.add("--out", "FOLDER", &o.out);
	if (!cli.parse(argc, argv) || (!o.control.empty() && !cc_find(o.control.c_str())) ||
	    (o.scenario != "all" && !sim::find_scenario(netsim::scenarios, o.scenario)))
		return sim::print_usage(cli, netsim::scenarios, argc, argv);

	clock_t start = clock();
	Report report(o);
	netsim::Suite suite(report, o, cli);

	for (const Scenario *s = netsim::scenarios; s->name; s++) {
		if (!wanted(o, *s))
			continue;
		report.begin(s->name, s->what);
		try {
			s->run(suite);
		} catch (const sim::Failure &) {
			return 1;
		}
	}

	double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;

	printf("\n%u cases, %.1f M packets, %.1f s of CPU, %.2f M packets/s, %.2f M events/s\n",
	       report.cases(), (double)report.packets() / 1e6, seconds,
	       (double)report.packets() / seconds / 1e6, (double)report.events() / seconds / 1e6);
	return 0;
}
