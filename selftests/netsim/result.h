/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a simulation gave, in tables for people and in files for programs: one row a case, one a
 * flow, and time series of the few cases that ask for them.
 */
#ifndef TERN_NETSIM_RESULT_H
#define TERN_NETSIM_RESULT_H

#include <cstdio>
#include <string>

#include "network.h"

namespace netsim {

struct Options {
	std::string scenario = "all";
	std::string out; /* a folder for the files; none: no files */
	uint64_t seed = 1;
	std::string control; /* of all QPs; none: the default */
	uint32_t quick = 0;  /* 1: a tenth of the time, and fewer hosts */
};

/*
 * A case: a network with its flows, run and reported. Shares are of the bottleneck: 1 is its rate,
 * full of packets of full size of which none was sent twice.
 */
struct Case {
	Case(const char *scenario_name, std::string case_name, uint64_t seed)
		: scenario(scenario_name), name(std::move(case_name)), net(seed)
	{}

	const char *scenario;
	std::string name;
	Network net;
	double bottleneck_gbps = 0;
	Port *bottleneck = nullptr; /* whose queue is reported */
	bool may_give_up = false;   /* so much is lost that retries may not be enough */
};

class Report {
public:
	explicit Report(const Options &o);
	~Report();

	/* The heading of a scenario's table. */
	void begin(const char *scenario, const char *why);
	/* A case that has run. */
	void add(const Case &c);
	/* Of all cases: packets at flows' ends. */
	uint64_t packets() const { return packets_; }
	uint64_t events() const { return events_; }
	uint32_t cases() const { return cases_; }

private:
	FILE *open(const std::string &folder, const char *name);
	void add_flows(const Case &c, const std::vector<double> &shares);
	void add_series(const Case &c);

	FILE *results_ = nullptr, *flows_ = nullptr, *series_ = nullptr, *tables_ = nullptr;
	uint64_t packets_ = 0, events_ = 0;
	uint32_t cases_ = 0;
};

} /* namespace netsim */

#endif
