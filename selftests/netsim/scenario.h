/* SPDX-License-Identifier: GPL-2.0 */
/* The named scenarios of the network simulator. */
#ifndef TERN_NETSIM_SCENARIO_H
#define TERN_NETSIM_SCENARIO_H

#include "result.h"
#include "sim/cli.h"

namespace netsim {

/* What the cases of a scenario are run with. */
class Suite {
public:
	Suite(Report &report, const Options &o, const sim::Cli &cli)
		: quick(o.quick != 0), report_(report), cli_(cli), seed_(o.seed),
		  control_(o.control.empty() ? nullptr : cc_find(o.control.c_str()))
	{}

	/*
	 * Runs the case for so long, of which the first part is not measured, and reports it. A
	 * Failure is printed, and thrown on.
	 */
	void run(Case &c, double seconds, double warm_seconds = 0);

	uint64_t seed() const { return seed_; }

	const bool quick;

private:
	Report &report_;
	const sim::Cli &cli_;
	uint64_t seed_;
	const struct cc_ops *control_;
};

struct Scenario {
	const char *name;
	const char *what; /* why it is there */
	void (*run)(Suite &s);
};

/* Ends with a null name. */
extern const Scenario scenarios[];

} /* namespace netsim */

#endif
