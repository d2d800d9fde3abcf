// SPDX-License-Identifier: GPL-2.0
#include "result.h"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>

namespace netsim {

namespace {

const Histogram NO_DELAYS;

/* A case in figures. */
struct Totals {
	PortStats ports;
	FlowStats flows;
	Histogram times; /* of flows of fixed volume */
	uint64_t unfinished = 0, failed = 0;
	double seconds = 0, goodput_mbps = 0, share = 0;
	std::vector<double> shares; /* of each flow */
};

double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

double us(double ns)
{
	return ns / 1e3;
}

void add_port(Totals &t, const PortStats &s)
{
	t.ports.tail_drops += s.tail_drops;
	t.ports.mark_drops += s.mark_drops;
	t.ports.marks += s.marks;
	t.ports.lost += s.lost;
	t.ports.pauses += s.pauses;
}

void add_flow(Totals &t, const Case &c, const Flow &f)
{
	bool fixed = f.cfg.messages != 0, done = f.stats.done_ns && !f.stats.failed;
	uint64_t from = std::max(f.cfg.start_ns, c.net.warm_ns);
	uint64_t to = fixed && f.stats.done_ns ? f.stats.done_ns : c.net.now_ns;
	double bits = 8.0 * (double)(f.stats.delivered - f.stats.warm_delivered);
	double used = bits * f.full_bytes() / f.full_payload() / 1e9 / c.bottleneck_gbps;

	t.flows.sent += f.stats.sent;
	t.flows.resent += f.stats.resent;
	t.flows.timeouts += f.stats.timeouts;
	t.flows.gaps += f.stats.gaps;
	t.failed += f.stats.failed;
	t.unfinished += fixed && !done;
	if (fixed && done)
		t.times.add(f.stats.done_ns - f.cfg.start_ns);
	t.goodput_mbps += bits / t.seconds / 1e6;
	t.share += used / t.seconds;
	t.shares.push_back(to > from ? used / ((double)(to - from) / 1e9) : 0);
}

Totals totals(const Case &c)
{
	Totals t;

	t.seconds = (double)(c.net.now_ns - c.net.warm_ns) / 1e9;
	for (auto &p : c.net.ports)
		add_port(t, p->stats);
	for (auto &f : c.net.flows)
		add_flow(t, c, *f);
	return t;
}

/* For people. */
void print_case(FILE *f, const Case &c, const Totals &t)
{
	const Histogram &q = c.bottleneck ? c.bottleneck->delay : NO_DELAYS;
	const uint64_t all = c.net.pool.taken();

	fprintf(f,
		"%-28s %6zu %6.3f %5.3f %9.1f %9.1f %9.1f %7.3f %7.2f %7.2f %6" PRIu64 " %5" PRIu64
		" %8.2f %8.2f\n",
		c.name.c_str(), t.shares.size(), t.share, jain(t.shares), us(q.mean()),
		us((double)q.quantile(0.99)), us((double)q.max()), percent(t.ports.dropped(), all),
		percent(t.ports.marks, all), percent(t.flows.resent, t.flows.sent),
		t.flows.timeouts, t.failed, t.times.mean() / 1e6,
		(double)t.times.quantile(0.99) / 1e6);
}

/* For programs. */
void write_case(FILE *f, const Case &c, const Totals &t)
{
	const Histogram &q = c.bottleneck ? c.bottleneck->delay : NO_DELAYS;

	fprintf(f, "%s\t%s\t%zu\t%.6f\t%.3f\t%.5f\t%.5f", c.scenario, c.name.c_str(),
		t.shares.size(), t.seconds, t.goodput_mbps, t.share, jain(t.shares));
	fprintf(f, "\t%.3f\t%.3f\t%.3f\t%.3f", us(q.mean()), us((double)q.quantile(0.5)),
		us((double)q.quantile(0.99)), us((double)q.max()));
	for (uint64_t n : {c.net.arrived, t.ports.tail_drops, t.ports.mark_drops, t.ports.marks,
			   t.ports.lost, t.ports.pauses, t.flows.sent, t.flows.resent, t.flows.gaps,
			   t.flows.timeouts, t.failed, t.unfinished})
		fprintf(f, "\t%" PRIu64, n);
	fprintf(f, "\t%.4f\t%.4f\n", t.times.mean() / 1e6, (double)t.times.quantile(0.99) / 1e6);
}

} /* namespace */

Report::Report(const Options &o)
{
	if (o.out.empty())
		return;
	results_ = open(o.out, "results.tsv");
	flows_ = open(o.out, "flows.tsv");
	series_ = open(o.out, "series.tsv");
	tables_ = open(o.out, "tables.txt");
	fprintf(results_, "scenario\tcase\tflows\tseconds\tgoodput_mbps\tshare\tjain\t"
			  "queue_mean_us\tqueue_p50_us\tqueue_p99_us\tqueue_max_us\tpackets\t"
			  "tail_drops\tmark_drops\tmarks\tlost\tpauses\tsent\tresent\tgaps\t"
			  "timeouts\tfailed\tunfinished\tfct_mean_ms\tfct_p99_ms\n");
	fprintf(flows_, "scenario\tcase\tflow\tkind\tstart_ms\tshare\tgoodput_mbps\tsent\tresent\t"
			"timeouts\tmarked\tfailed\tfct_ms\n");
	fprintf(series_, "scenario\tcase\tms\tof\tvalue\n");
}

Report::~Report()
{
	for (FILE *f : {results_, flows_, series_, tables_})
		if (f)
			fclose(f);
}

FILE *Report::open(const std::string &folder, const char *name)
{
	FILE *f = fopen((folder + "/" + name).c_str(), "w");

	if (!f) {
		perror((folder + "/" + name).c_str());
		exit(2);
	}
	return f;
}

void Report::begin(const char *scenario, const char *why)
{
	for (FILE *f : {stdout, tables_})
		if (f)
			fprintf(f,
				"\n%s: %s\n\n%-28s %6s %6s %5s %9s %9s %9s %7s %7s %7s %6s %5s "
				"%8s %8s\n",
				scenario, why, "case", "flows", "share", "Jain", "q mean us",
				"q p99 us", "q max us", "lost %", "marks %", "again %", "timeo.",
				"fail", "FCT ms", "FCT p99");
}

void Report::add(const Case &c)
{
	const Totals t = totals(c);

	print_case(stdout, c, t);
	fflush(stdout);
	cases_++;
	packets_ += c.net.arrived;
	events_ += c.net.events;
	if (!results_)
		return;
	print_case(tables_, c, t);
	write_case(results_, c, t);
	add_flows(c, t.shares);
	add_series(c);
}

void Report::add_flows(const Case &c, const std::vector<double> &shares)
{
	for (size_t i = 0; i < shares.size(); i++) {
		const Flow &f = *c.net.flows[i];
		double fct = f.cfg.messages && f.stats.done_ns ?
				     (double)(f.stats.done_ns - f.cfg.start_ns) / 1e6 :
				     0;

		fprintf(flows_,
			"%s\t%s\t%zu\t%s\t%.3f\t%.5f\t%.3f\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			"\t%" PRIu64 "\t%d\t%.4f\n",
			c.scenario, c.name.c_str(), i, kind_name(f.cfg.kind),
			(double)f.cfg.start_ns / 1e6, shares[i],
			shares[i] * c.bottleneck_gbps * 1e3 * f.full_payload() / f.full_bytes(),
			f.stats.sent, f.stats.resent, f.stats.timeouts, f.stats.marked,
			f.stats.failed, fct);
	}
}

/* Each flow's share since the sample before, and each watched queue's bytes. */
void Report::add_series(const Case &c)
{
	for (size_t i = 1; i < c.net.samples.size(); i++) {
		const Sample &was = c.net.samples[i - 1], &is = c.net.samples[i];
		double ns = (double)(is.at_ns - was.at_ns), ms = (double)is.at_ns / 1e6;

		for (size_t f = 0; f < is.delivered.size(); f++) {
			const Flow &flow = *c.net.flows[f];
			double bits = 8.0 * (double)(is.delivered[f] - was.delivered[f]) *
				      flow.full_bytes() / flow.full_payload();

			fprintf(series_, "%s\t%s\t%.3f\tflow%zu-%s\t%.5f\n", c.scenario,
				c.name.c_str(), ms, f, kind_name(flow.cfg.kind),
				bits / ns / c.bottleneck_gbps);
		}
		for (size_t q = 0; q < is.queued.size(); q++)
			fprintf(series_, "%s\t%s\t%.3f\tqueue%zu\t%u\n", c.scenario, c.name.c_str(),
				ms, q, is.queued[q]);
	}
}

} /* namespace netsim */
