// SPDX-License-Identifier: GPL-2.0
// See session.h.
#include "session.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fnmatch.h>

#include "options.h"

namespace vt {
namespace {

struct Options {
	std::string host; // empty: we are the server
	uint16_t port = 18600;
	DeviceChoice device;
	// What the client decides for both ends.
	struct Shared {
		uint64_t seed = 1;
		double limit_s = 20, seconds = 10;
		uint32_t amount = 100;
		int family = 4, roce = 2;
		uint32_t cases = 0;
	} shared;
	std::vector<std::string> match, exclude;
	bool long_too = false, list = false;
};

Cases &registry()
{
	static Cases cases;
	return cases;
}

bool selected(const Options &options, const Case &c)
{
	for (const std::string &pattern : options.exclude)
		if (!fnmatch(pattern.c_str(), c.name.c_str(), FNM_PATHNAME))
			return false;
	for (const std::string &pattern : options.match) {
		if (c.on_request && !options.long_too && pattern != c.name)
			continue;
		if (!fnmatch(pattern.c_str(), c.name.c_str(), FNM_PATHNAME))
			return true;
	}
	return options.match.empty() && (!c.on_request || options.long_too);
}

Outcome run_here(const Options &options, const Case &c, Control &control, bool client)
{
	Outcome outcome;
	try {
		Device device(options.device);
		Env env{device,
			control,
			client,
			options.shared.seed,
			options.shared.limit_s,
			options.shared.seconds,
			options.shared.amount,
			options.device.netdev};
		c.run(env);
	} catch (const Skip &why) {
		outcome = {Verdict::kSkip, why.what()};
	} catch (const Failure &why) {
		outcome = {Verdict::kFail, why.what()};
	}
	const char *teardown = take_teardown_failure();
	if (teardown && outcome.verdict == Verdict::kPass)
		outcome = {Verdict::kFail, teardown};
	return outcome;
}

// A case's result at both ends.
bool has_failed(const Outcome &here, const Outcome &there)
{
	return here.verdict == Verdict::kFail || there.verdict == Verdict::kFail;
}

struct Tally {
	unsigned passed = 0, failed = 0, skipped = 0;
};

void report(unsigned number, const Case &c, const Outcome &here, const Outcome &there,
	    double seconds, Tally *tally)
{
	bool skipped = here.verdict == Verdict::kSkip || there.verdict == Verdict::kSkip;
	if (has_failed(here, there)) {
		tally->failed++;
		printf("not ok %u %s # %.2f s\n", number, c.name.c_str(), seconds);
		if (here.verdict == Verdict::kFail)
			printf("# client: %s\n", here.why.c_str());
		if (there.verdict == Verdict::kFail)
			printf("# server: %s\n", there.why.c_str());
	} else if (skipped) {
		tally->skipped++;
		const Outcome &who = here.verdict == Verdict::kSkip ? here : there;
		printf("ok %u %s # SKIP %s%s\n", number, c.name.c_str(),
		       &who == &there ? "server: " : "", who.why.c_str());
	} else {
		tally->passed++;
		printf("ok %u %s # %.2f s\n", number, c.name.c_str(), seconds);
	}
	fflush(stdout);
}

int run_client(Options &options)
{
	std::vector<size_t> chosen;
	for (size_t i = 0; i < registry().size(); i++)
		if (selected(options, registry()[i]))
			chosen.push_back(i);
	if (chosen.empty()) {
		fprintf(stderr, "no case matches\n");
		return 2;
	}
	Control control = Control::connect_to(options.host, options.port, 20 * slow());
	options.shared.cases = static_cast<uint32_t>(chosen.size());
	control.begin_case(0);
	control.exchange(options.shared);
	control.set_limit(10 + 4 * options.shared.limit_s);
	printf("TAP version 13\n1..%zu\n", chosen.size());
	Tally tally;
	unsigned number = 0;
	for (size_t i : chosen) {
		const Case &c = registry()[i];
		control.begin_case(0);
		if (control.exchange_text(c.name) != c.name) {
			fprintf(stderr, "the server is another program or version\n");
			return 2;
		}
		control.begin_case(++number);
		double began = now_s();
		Outcome here = run_here(options, c, control, true);
		Outcome there = control.end_case(here);
		report(number, c, here, there, now_s() - began, &tally);
		control.begin_case(0);
	}
	printf("# %u passed, %u failed, %u skipped\n", tally.passed, tally.failed, tally.skipped);
	return tally.failed ? 1 : 0;
}

int run_server(Options &options)
{
	Control control = Control::accept_one(options.port, 60 * slow());
	control.begin_case(0);
	options.shared = control.exchange(options.shared);
	options.device.family = options.shared.family;
	options.device.roce = options.shared.roce;
	control.set_limit(10 + 4 * options.shared.limit_s);
	bool failed = false;
	for (uint32_t number = 1; number <= options.shared.cases; number++) {
		control.begin_case(0);
		// The name comes first. The reply is the same name if we know the case.
		std::string name = control.receive_text();
		const Case *found = nullptr;
		for (const Case &c : registry())
			if (c.name == name)
				found = &c;
		control.send_text(found ? name : "?");
		if (!found)
			return 2;
		control.begin_case(number);
		Outcome here = run_here(options, *found, control, false);
		Outcome there = control.end_case(here);
		failed |= has_failed(here, there);
		if (here.verdict == Verdict::kFail)
			printf("# %s: %s\n", name.c_str(), here.why.c_str());
		fflush(stdout);
	}
	return failed ? 1 : 0;
}

const char kUsage[] =
	"usage: %s [options] [HOST]     without HOST it serves one client\n"
	"  -n NETDEV   use the RDMA device of this netdev      -d NAME  or of this name\n"
	"  -g INDEX    use this GID                            -p PORT  of the control connection\n"
	"  -l          list the cases                          -t S     limit for one completion\n"
	"client only:\n"
	"  -m GLOB     run only these cases (repeatable)       -x GLOB  leave these out\n"
	"  -f 4|6      IP family                               -r 1|2   RoCE version, by GID type\n"
	"  -S S        seconds of timed cases                  -N N     amount of scaling cases\n"
	"  -s SEED     of payloads and choices                 -L       also the long cases\n";

bool parse(int argc, char **argv, Options *o)
{
	bool ok = parse_options(argc, argv,
				{{'n', &o->device.netdev},
				 {'d', &o->device.device},
				 {'g', &o->device.gid_index},
				 {'p', &o->port},
				 {'l', &o->list},
				 {'t', &o->shared.limit_s},
				 {'m', &o->match},
				 {'x', &o->exclude},
				 {'f', &o->shared.family},
				 {'r', &o->shared.roce},
				 {'s', &o->shared.seed},
				 {'S', &o->shared.seconds},
				 {'N', &o->shared.amount},
				 {'L', &o->long_too}},
				&o->host);
	if (!ok)
		fprintf(stderr, kUsage, argv[0]);
	o->device.family = o->shared.family;
	o->device.roce = o->shared.roce;
	o->shared.limit_s *= slow();
	return ok;
}

} // namespace

Register::Register(void (*add)(Cases &))
{
	add(registry());
}

void Env::both_need(bool here, const char *what)
{
	bool there = control.exchange(uint32_t{here});
	if (!here || !there)
		skip("%s: not on the %s side", what, here == client ? "server" : "client");
}

int session_main(int argc, char **argv)
{
	Options options;
	if (!parse(argc, argv, &options))
		return 2;
	if (options.list) {
		for (const Case &c : registry())
			printf("%s%s\n", c.name.c_str(), c.on_request ? " (long)" : "");
		return 0;
	}
	try {
		return options.host.empty() ? run_server(options) : run_client(options);
	} catch (const std::exception &lost) {
		printf("Bail out! %s\n", lost.what());
		return 2;
	}
}

} // namespace vt
