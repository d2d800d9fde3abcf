// SPDX-License-Identifier: GPL-2.0
// viwarp: two ends connected by rdma_cm move verified data both ways at once. Then one of
// them ends the connection, orderly or not, and both check that it has ended.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <string>
#include <unistd.h>

#include "endpoint.h"
#include "kinds.h"
#include "options.h"
#include "outcome.h"
#include "stream.h"
#include "traffic.h"

namespace {

enum class End { kDisconnect, kAbort, kDestroy, kKill, kKinds, kReject, kStream };

struct Options {
	vt::EndpointOptions endpoint;
	unsigned rounds = 10;
	uint32_t max_bytes = 1u << 20;
	uint64_t seed = 1;
	bool any_read = false;
	bool lossy = false;
	End end;
	bool server_ends = false;
};

[[noreturn]] void usage()
{
	fputs("usage: viwarp [-n ROUNDS] [-b MAX_BYTES] [-d DEPTH] [-r SEED] [-p PORT] [-S] [-z] "
	      "[-L]\n"
	      "              [-e disconnect|abort|destroy|kill|kinds|reject|stream] "
	      "[-l ADDRESS | HOST]\n"
	      "With HOST it is the client. The server listens at ADDRESS, or at any IPv4 address.\n"
	      "Both need the same -n, -b, -r and -e.\n"
	      "-S  the server ends the connection, otherwise the client. With -e abort, destroy "
	      "or\n"
	      "    kill requests are pending at both ends\n"
	      "-z  also READs of 0 bytes, and of a few bytes on two pages\n"
	      "-L  allow requests that never complete after the connection's end\n"
	      "-e kinds   only one message of every kind, and a Terminate\n"
	      "-e reject  the server only rejects the connection\n"
	      "-e stream  only long messages to the server, many in flight, whose memory is\n"
	      "           overwritten as soon as they have completed; four per round\n",
	      stderr);
	exit(2);
}

End end_of(const std::string &name)
{
	const char *names[] = {"disconnect", "abort",  "destroy", "kill",
			       "kinds",	     "reject", "stream"};

	for (unsigned i = 0; i < std::size(names); i++)
		if (name == names[i])
			return static_cast<End>(i);
	usage();
}

Options parse(int argc, char **argv)
{
	Options options;
	std::string end = "disconnect", host;

	if (!vt::parse_options(argc, argv,
			       {{'n', &options.rounds},
				{'b', &options.max_bytes},
				{'d', &options.endpoint.depth},
				{'r', &options.seed},
				{'p', &options.endpoint.port},
				{'e', &end},
				{'l', &options.endpoint.host},
				{'L', &options.lossy},
				{'S', &options.server_ends},
				{'z', &options.any_read}},
			       &host))
		usage();
	options.end = end_of(end);
	options.endpoint.server = host.empty();
	if (!host.empty())
		options.endpoint.host = host;
	return options;
}

void end(const Options &options, bool client, vt::Endpoint &endpoint, vt::Traffic &traffic)
{
	bool we_end = client != options.server_ends;

	if (options.end != End::kDisconnect)
		traffic.leave_unfinished(we_end);
	if (we_end) {
		switch (options.end) {
		case End::kDisconnect:
			endpoint.disconnect();
			break;
		case End::kAbort:
			endpoint.abort();
			break;
		case End::kDestroy:
			return;
		case End::kKill:
			raise(SIGKILL);
			break;
		default:
			break;
		}
	}
	endpoint.wait_ended();
	traffic.drain(options.lossy);
}

void stream(const Options &options, vt::Endpoint &endpoint)
{
	bool client = !options.endpoint.server;
	uint64_t bytes =
		vt::stream(endpoint, client, {options.rounds, options.max_bytes, options.seed});

	printf("verified: %llu bytes\n", static_cast<unsigned long long>(bytes));
	fflush(stdout);
	if (client)
		endpoint.disconnect();
	endpoint.wait_ended();
}

void run(const Options &options)
{
	bool client = !options.endpoint.server;
	vt::Remotes theirs;
	vt::Endpoint endpoint(options.endpoint);

	if (options.end == End::kReject) {
		endpoint.refuse();
		return;
	}
	if (options.end == End::kKinds) {
		vt::every_kind(endpoint, client);
		return;
	}
	if (options.end == End::kStream) {
		stream(options, endpoint);
		return;
	}
	vt::Traffic traffic(endpoint, client, options.seed, options.max_bytes, options.any_read);

	endpoint.establish(&traffic.ours(), sizeof(theirs), &theirs);
	traffic.begin(theirs);
	for (unsigned i = 0; i < options.rounds; i++)
		traffic.round();
	const vt::Counts &n = traffic.counts();
	printf("verified: %llu sends, %llu writes, %llu reads posted; %llu bytes checked\n",
	       static_cast<unsigned long long>(n.sends), static_cast<unsigned long long>(n.writes),
	       static_cast<unsigned long long>(n.reads), static_cast<unsigned long long>(n.bytes));
	fflush(stdout);
	end(options, client, endpoint, traffic);
}

} // namespace

int main(int argc, char **argv)
{
	Options options = parse(argc, argv);

	/* siw (6.1) has who posts to a connection that has ended killed by it. */
	if (options.lossy)
		signal(SIGPIPE, SIG_IGN);
	try {
		run(options);
	} catch (const std::exception &error) {
		fprintf(stderr, "viwarp: %s\n", error.what());
		return 1;
	}
	if (const char *why = vt::take_teardown_failure()) {
		fprintf(stderr, "viwarp: %s\n", why);
		return 1;
	}
	puts("ended");
	return 0;
}
