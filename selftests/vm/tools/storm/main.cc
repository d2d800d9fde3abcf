// SPDX-License-Identifier: GPL-2.0
// vstorm: many processes, each of which connects by rdma_cm, has a message echoed and
// verified, disconnects, and begins again, for a time. The server handles all of them in one
// process. Prints how many connections there were, and what failed.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "caller.h"
#include "options.h"
#include "outcome.h"
#include "server.h"

namespace {

struct Options {
	std::string host;
	std::string port = "7480";
	unsigned processes = 32, seconds = 60;
};

// Shared between the children.
struct Score {
	std::atomic<unsigned> done, failed;
	char first[256];
};

[[noreturn]] void usage()
{
	fputs("usage: vstorm [-p PORT] [-P PROCESSES] [-S SECONDS] [HOST]\n"
	      "Without HOST it is the server, until SIGTERM.\n",
	      stderr);
	exit(2);
}

Options parse(int argc, char **argv)
{
	Options o;
	if (!vt::parse_options(argc, argv, {{'p', &o.port}, {'P', &o.processes}, {'S', &o.seconds}},
			       &o.host) ||
	    !o.processes || !o.seconds)
		usage();
	return o;
}

void call_again_and_again(const Options &o, unsigned number, double until, Score *score)
{
	for (unsigned i = 0; vt::now_s() < until; i++) {
		try {
			vt::Caller(o.host, o.port).echo(number << 20 | i);
			score->done++;
		} catch (const std::exception &why) {
			if (!score->failed++)
				snprintf(score->first, sizeof(score->first),
					 "process %u, call %u: %s", number, i, why.what());
		}
	}
}

int storm(const Options &o)
{
	void *shared = mmap(nullptr, sizeof(Score), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	Score *score = new (shared) Score();
	double began = vt::now_s(), until = began + o.seconds;
	std::vector<pid_t> children;
	for (unsigned i = 0; i < o.processes; i++) {
		pid_t pid = fork();
		if (!pid) {
			call_again_and_again(o, i, until, score);
			_exit(0);
		}
		children.push_back(pid);
	}
	unsigned crashed = 0;
	for (pid_t child : children) {
		int status = 0;
		waitpid(child, &status, 0);
		crashed += !WIFEXITED(status) || WEXITSTATUS(status);
	}
	printf("%u connections, %u failed, %u crashed, %.1f a second\n", score->done.load(),
	       score->failed.load(), crashed, score->done / (vt::now_s() - began));
	if (score->failed)
		printf("the first that failed: %s\n", score->first);
	return score->failed || crashed || !score->done;
}

} // namespace

int main(int argc, char **argv)
{
	Options o = parse(argc, argv);
	try {
		if (!o.host.empty())
			return storm(o);
		vt::Server(o.port).serve();
		return 0;
	} catch (const std::exception &why) {
		printf("%s\n", why.what());
		return 1;
	}
}
