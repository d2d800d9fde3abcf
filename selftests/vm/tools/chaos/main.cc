// SPDX-License-Identifier: GPL-2.0
// vchaos: many processes that create, use and destroy every kind of verbs object in
// random order for a time. Some are killed by SIGKILL with objects open. The parent reports
// what the children did; the kernel log and the object counters are judged by the caller.
// Hostile children also write random data into their rings. If they crash, others are started.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "options.h"
#include "player.h"

namespace {

struct Options {
	vt::DeviceChoice device;
	unsigned processes = 20, seconds = 10, kill_percent = 30;
	uint64_t seed = 1;
	bool hostile = false, on_demand = false;
};

// Shared between the children: how often each verb worked and failed.
vt::Score *score;

pid_t launch(const Options &o, uint64_t seed)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	// Else a hundred children would take all CPU time from the parent and from other traffic.
	setpriority(PRIO_PROCESS, 0, 15);
	try {
		vt::Player(o.device, seed, score, o.hostile, o.on_demand).play();
	} catch (const std::exception &why) {
		// The device may be removed while it is in use: that is not an error.
		__atomic_add_fetch(&score->gave_up, 1, __ATOMIC_RELAXED);
		if (!__atomic_fetch_add(&score->said, 1, __ATOMIC_RELAXED))
			printf("# first to give up: %s\n", why.what());
		fflush(stdout);
		_exit(3);
	}
	_exit(0);
}

// How the children ended.
struct Ends {
	unsigned crashed = 0, killed = 0, started = 0;
};

void note_end(Ends *ends, int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		ends->crashed++;
}

// Replace hostile children that have ended.
void replace_ended(const Options &o, std::mt19937_64 *random, std::vector<pid_t> *children,
		   Ends *ends)
{
	for (pid_t &child : *children) {
		int status;
		if (waitpid(child, &status, WNOHANG) != child)
			continue;
		note_end(ends, status);
		child = launch(o, (*random)());
		ends->started++;
	}
}

int play(const Options &o)
{
	std::mt19937_64 random(o.seed);
	double until = vt::now_s() + o.seconds;
	std::vector<pid_t> children, going;
	unsigned acts = 0;
	Ends ends;
	for (; ends.started < o.processes; ends.started++)
		children.push_back(launch(o, random()));
	// The test needs traffic: a slow machine gets more time.
	double latest = until + 60 * vt::slow();
	while (vt::now_s() < until || (score->is_idle() && vt::now_s() < latest)) {
		usleep(20000);
		if (o.hostile)
			replace_ended(o, &random, &children, &ends);
		pid_t &victim = children[random() % children.size()];
		// Now and then kill a child, at any point, and start another; but not before any
		// child has got on, or a slow machine does nothing but start them.
		if (random() % 100 < o.kill_percent && score->acts() != acts) {
			acts = score->acts();
			kill(victim, SIGKILL);
			ends.killed++;
			// It ends after its calls, which may wait a minute for an answer.
			going.push_back(victim);
			victim = launch(o, random());
			ends.started++;
		}
	}
	__atomic_store_n(&score->over, true, __ATOMIC_RELAXED);
	// A hostile child may hang for ever because of its own writes.
	for (pid_t child : children)
		if (o.hostile)
			kill(child, SIGKILL);
	children.insert(children.end(), going.begin(), going.end());
	double limit = vt::now_s() + 90 * vt::slow();
	unsigned stuck = 0;
	for (pid_t child : children) {
		int status = 0;
		while (waitpid(child, &status, WNOHANG) == 0) {
			if (vt::now_s() > limit) {
				kill(child, SIGKILL);
				stuck++;
				limit = vt::now_s() + 5 * vt::slow();
			}
			usleep(5000);
		}
		note_end(&ends, status);
	}
	score->print();
	if (o.hostile)
		printf("# %llu stores into rings\n",
		       static_cast<unsigned long long>(score->stores));
	printf("# %u processes, %u killed, %u gave up, %u crashed, %u stuck; %u QPs connected, "
	       "%u completions\n",
	       ends.started, ends.killed, score->gave_up, ends.crashed, stuck,
	       score->done[vt::kConnect], score->good);
	// A hostile child may fail in any way, except that it must end by SIGKILL.
	if (o.hostile)
		return stuck || score->is_idle() || !score->stores;
	return ends.crashed || stuck || score->is_idle();
}

} // namespace

int main(int argc, char **argv)
{
	Options o;
	if (!vt::parse_options(argc, argv,
			       {{'n', &o.device.netdev},
				{'d', &o.device.device},
				{'P', &o.processes},
				{'S', &o.seconds},
				{'K', &o.kill_percent},
				{'s', &o.seed},
				{'x', &o.hostile},
				{'o', &o.on_demand}})) {
		fprintf(stderr,
			"usage: %s -n NETDEV [-P processes] [-S seconds] [-K percent] [-s seed] "
			"[-x] [-o]\n"
			"-K: the probability, 50 times a second, that a process is killed\n"
			"-x: hostile: processes write random data into their rings\n"
			"-o: also memory on demand that changes\n",
			argv[0]);
		return 2;
	}
	void *shared = mmap(nullptr, sizeof(vt::Score), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !o.processes)
		return 2;
	score = new (shared) vt::Score();
	return play(o);
}
