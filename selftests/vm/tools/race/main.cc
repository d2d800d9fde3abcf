// SPDX-License-Identifier: GPL-2.0
// vrace: pairs of QPs in one process send to each other as fast as they can, from a
// thread each, while other threads move them to ERR and RESET, destroy them and take
// their regions away. Nothing may hang, and afterwards everything must work.
#include <cstdio>
#include <thread>
#include <unistd.h>
#include <vector>

#include "end.h"
#include "options.h"

namespace {

struct Options {
	vt::DeviceChoice device;
	unsigned seconds = 5, pairs = 3, calm = 0;
	uint64_t seed = 1;
};

struct Pair {
	std::unique_ptr<vt::End> a, b; // no b: a is connected to itself
	vt::End &other() { return b ? *b : *a; }
};

std::atomic<bool> over{false};
std::atomic<int> stuck{0};

void traffic(vt::End *end)
{
	while (!over) {
		end->turn();
		// RC gives up after two seconds here; UC never waits.
		if (end->is_stuck(10 * vt::slow())) {
			stuck++;
			return;
		}
	}
}

void wrecker(std::vector<Pair> *pairs, uint64_t seed, unsigned calm)
{
	std::mt19937_64 random(seed);

	while (!over) {
		Pair &p = (*pairs)[random() % pairs->size()];

		if (!calm) {
			(random() % 2 ? *p.a : p.other()).wreck(random() % 4);
			usleep(random() % 3000);
			vt::End::connect(*p.a, p.other());
		}
		usleep(random() % 20000);
	}
}

int run(const Options &o)
{
	vt::Device device(o.device);
	vt::Pd pd = vt::make_pd(device.context());
	std::vector<Pair> pairs(o.pairs);
	std::vector<std::thread> threads;
	uint64_t good = 0, bad = 0;
	int broken = 0, why = 0;

	for (unsigned i = 0; i < o.pairs; i++) {
		ibv_qp_type type = i % 3 == 2 ? IBV_QPT_UC : IBV_QPT_RC;
		pairs[i].a = std::make_unique<vt::End>(device, pd.get(), type, o.seed + 2 * i);
		if (i % 4 != 1)
			pairs[i].b = std::make_unique<vt::End>(device, pd.get(), type,
							       o.seed + 2 * i + 1);
		vt::End::connect(*pairs[i].a, pairs[i].other());
	}
	for (Pair &p : pairs) {
		threads.emplace_back(traffic, p.a.get());
		if (p.b)
			threads.emplace_back(traffic, p.b.get());
	}
	threads.emplace_back(wrecker, &pairs, o.seed, o.calm);
	double end = vt::now_s() + o.seconds;
	while (vt::now_s() < end && !stuck)
		usleep(50000);
	over = true;
	for (std::thread &t : threads)
		t.join();
	// Alternately: one may wait for another's receives.
	int busy = 1;
	for (end = vt::now_s() + 10 * vt::slow(); busy && vt::now_s() < end;) {
		busy = 0;
		for (Pair &p : pairs) {
			busy += !p.a->is_idle();
			busy += p.b && !p.b->is_idle();
		}
	}
	stuck += busy;
	for (Pair &p : pairs) {
		vt::End::connect(*p.a, p.other());
		broken += !p.a->verify(p.other(), 5 * vt::slow());
		if (p.b)
			broken += !p.b->verify(*p.a, 5 * vt::slow());
		good += p.a->good + (p.b ? p.b->good.load() : 0);
		bad += p.a->bad + (p.b ? p.b->bad.load() : 0);
		why = p.other().why ? p.other().why.load() : p.a->why ? p.a->why.load() : why;
	}
	printf("# %lu completions, %lu of them errors (one: %s); %d stuck, %d broken afterwards\n",
	       good + bad, bad, ibv_wc_status_str(static_cast<ibv_wc_status>(why)), stuck.load(),
	       broken);
	return stuck || broken || !good || (o.calm && bad);
}

} // namespace

int main(int argc, char **argv)
{
	Options o;

	if (!vt::parse_options(argc, argv,
			       {{'n', &o.device.netdev},
				{'d', &o.device.device},
				{'P', &o.pairs},
				{'S', &o.seconds},
				{'c', &o.calm},
				{'s', &o.seed}}) ||
	    !o.pairs) {
		fprintf(stderr,
			"usage: %s -n NETDEV [-P pairs] [-S seconds] [-s seed] [-c 1]\n"
			"-c 1: nothing is destroyed, so nothing may fail\n",
			argv[0]);
		return 2;
	}
	try {
		return run(o);
	} catch (const std::exception &why) {
		printf("# %s\n", why.what());
		return 1;
	}
}
