// SPDX-License-Identifier: GPL-2.0
/*
 * What is simulated. Each function builds the networks of one scenario; the table at the end has
 * them all. To add one: a function, and a row.
 */
#include "scenario.h"

#include <cstdarg>

#include "topology.h"

namespace netsim {
namespace {

constexpr uint64_t US = 1000, MS = 1000000, S = 1000000000;
constexpr uint32_t SWITCH_BYTES = 1
				  << 20; /* that a switch's port queues, if nothing else is said */
constexpr uint64_t ACCESS_NS = 500;	 /* a link to a host */
constexpr uint32_t SMALL_PMTU = 1024;	 /* of an Ethernet with an MTU of 1500 bytes */
constexpr uint32_t TCP_PAYLOAD = 1448;	 /* of the same */

/* What a switch does when its queue grows. */
enum class Queue { TAIL, ECN, STEP, PAUSE };

const char *name_of(Queue q)
{
	static const char *const names[] = {"tail", "ecn", "step", "pause"};

	return names[(size_t)q];
}

PortCfg link(double gbps, uint64_t delay_ns)
{
	PortCfg c;

	c.gbps = gbps;
	c.delay_ns = delay_ns;
	return c;
}

/*
 * A switch's port. Marks begin at 50 KiB, are on a tenth at 200 KiB, and on all from there on; the
 * step is about where DCTCP has it at 10 Gb/s. Pauses begin at 64 KiB of one neighbour, and nothing
 * is dropped.
 */
PortCfg switch_port(double gbps, uint64_t delay_ns, Queue q = Queue::TAIL)
{
	PortCfg c = link(gbps, delay_ns);

	c.limit_bytes = SWITCH_BYTES;
	if (q == Queue::ECN)
		c.mark = {50 << 10, 200 << 10, 0.1};
	if (q == Queue::STEP)
		c.mark = {100 << 10, 100 << 10, 1};
	if (q == Queue::PAUSE) {
		c.limit_bytes = 0;
		c.pause = {64 << 10, 48 << 10};
	}
	return c;
}

/*
 * A NIC's packets are late by up to the time that a large one takes. Without that, hosts of one
 * rate keep in step for ever: the one that has filled a queue finds each place that becomes free in
 * it, and others none (Floyd and Jacobson, On traffic phase effects, 1992).
 */
HostCfg host(double gbps, uint32_t at = 0, Queue q = Queue::TAIL)
{
	HostCfg h;

	h.at = at;
	h.nic = link(gbps, ACCESS_NS);
	h.nic.jitter_ns = (uint32_t)(4096 * 8 / gbps);
	h.nic.pause = switch_port(gbps, 0, q).pause;
	h.down = switch_port(gbps, ACCESS_NS, q);
	return h;
}

void watch(Case &c, Port *p)
{
	p->watched = true;
	c.bottleneck = p;
	c.bottleneck_gbps = p->cfg.gbps;
}

FlowCfg flow(Kind kind, uint32_t from, uint32_t to, Queue q = Queue::TAIL)
{
	FlowCfg f;

	f.kind = kind;
	f.from = from;
	f.to = to;
	f.ect = q == Queue::ECN || q == Queue::STEP;
	return f;
}

/* In packets that fit an ordinary Ethernet. */
FlowCfg small_flow(Kind kind, uint32_t from, uint32_t to)
{
	FlowCfg f = flow(kind, from, to);

	f.pmtu = kind == Kind::TCP ? TCP_PAYLOAD : SMALL_PMTU;
	return f;
}

std::string words(const char *format, ...) __attribute__((format(printf, 1, 2)));

std::string words(const char *format, ...)
{
	char text[128];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return text;
}

/* ---- one flow on a link that is not perfect ---- */

/* Between two hosts, trunk in both directions. The access links are as fast, so nothing queues. */
void one_flow(Suite &s, Case &c, Kind kind, const PortCfg &trunk, double seconds)
{
	Chain net(c.net, 2, trunk);

	net.hosts.add(host(trunk.gbps, 0));
	net.hosts.add(host(trunk.gbps, 1));
	watch(c, net.trunk(0));
	c.net.add_flow(small_flow(kind, 0, 1));
	s.run(c, seconds, seconds / 10);
}

PortCfg trunk_of(double gbps, uint64_t rtt_ns)
{
	PortCfg c = switch_port(gbps, rtt_ns / 2 - 2 * ACCESS_NS);

	c.limit_bytes = 0;
	return c;
}

void loss(Suite &s)
{
	static const struct {
		const char *name;
		uint64_t rtt_ns;
		double gbps, seconds;
	} paths[] = {
		{"20us", 20 * US, 10, 5},
		{"1ms", MS, 10, 5},
		{"10ms", 10 * MS, 1, 20},
		{"100ms", 100 * MS, 1, 60},
	};
	static const struct {
		const char *name;
		LossCfg cfg;
	} losses[] = {
		{"0", {}},
		{"0.1%", LossCfg::randomly(0.001)},
		{"1%", LossCfg::randomly(0.01)},
		{"5%", LossCfg::randomly(0.05)},
		{"1%-burst", LossCfg::bursts(0.01, 8)},
	};

	for (auto &path : paths) {
		for (auto &loss : losses) {
			for (Kind kind : {Kind::WRITE, Kind::READ, Kind::SEND, Kind::TCP}) {
				/* SENDs go as WRITEs do: one path shows it. */
				if (kind == Kind::SEND && path.rtt_ns != MS)
					continue;
				Case c("loss",
				       words("%s %s %s", path.name, loss.name, kind_name(kind)),
				       s.seed());
				PortCfg trunk = trunk_of(path.gbps, path.rtt_ns);

				trunk.loss = loss.cfg;
				one_flow(s, c, kind, trunk, path.seconds);
			}
		}
	}
}

void reorder(Suite &s)
{
	static const struct {
		const char *name;
		ReorderCfg cfg;
	} orders[] = {
		{"in order", {}},
		{"25% are 1ms early", {0.25, MS, 0}},
		{"jitter 1ms", {0, 0, MS}},
	};

	for (auto &order : orders) {
		for (Kind kind : {Kind::WRITE, Kind::READ, Kind::TCP}) {
			Case c("reorder", words("%s, %s", order.name, kind_name(kind)), s.seed());
			/* The same delay for most packets of each. */
			PortCfg trunk = trunk_of(10, order.cfg.extra_ns ? 100 * US : 2100 * US);

			trunk.reorder = order.cfg;
			one_flow(s, c, kind, trunk, 2);
		}
	}
}

void long_pipe(Suite &s)
{
	for (double share : {0.0, 0.001}) {
		for (Kind kind : {Kind::WRITE, Kind::READ, Kind::TCP}) {
			Case c("long-pipe", words("%.1f%% %s", share * 100, kind_name(kind)),
			       s.seed() + 1);
			PortCfg trunk = trunk_of(1, 100 * MS);

			trunk.loss = LossCfg::randomly(share);
			one_flow(s, c, kind, trunk, 60);
		}
	}
}

/* ---- several flows into one port ---- */

/* n hosts of 10 Gb/s send to one, which has port_gbps. */
void many_to_one(Suite &s, const char *scenario, uint32_t n, Queue q, Kind kind, double seconds,
		 double port_gbps = 10)
{
	Case c(scenario,
	       port_gbps < 10 ?
		       words("%u:1 %s %s, %.1f Gb/s", n, name_of(q), kind_name(kind), port_gbps) :
		       words("%u:1 %s %s", n, name_of(q), kind_name(kind)),
	       s.seed());
	Chain net(c.net, 1, {});

	/* A fifth of all packets is lost then, and each of eight attempts may be. */
	c.may_give_up = n >= 1000;
	net.hosts.add(host(port_gbps, 0, q));
	watch(c, net.hosts.down(0));
	for (uint32_t i = 1; i <= n; i++) {
		FlowCfg f = flow(kind, net.hosts.add(host(10, 0, q)), 0, q);

		f.start_ns = c.net.rng.below(100 * US);
		c.net.add_flow(f);
	}
	s.run(c, seconds, seconds / 10);
}

void incast(Suite &s)
{
	for (uint32_t n : {3u, 8u, 64u, 1000u})
		for (Queue q : {Queue::TAIL, Queue::ECN, Queue::STEP})
			if (n <= 64 || !s.quick)
				many_to_one(s, "incast", n, q, Kind::WRITE, 5);
	for (uint32_t n : {8u, 64u})
		many_to_one(s, "incast", n, Queue::TAIL, Kind::READ, 5);
	/* As in a laboratory of virtual machines. */
	for (uint32_t n : {3u, 8u})
		many_to_one(s, "incast", n, Queue::TAIL, Kind::WRITE, 20, 0.3);
}

/*
 * With pauses. The last case has a victim: host 1 sends to host 0 as many do, and to host 2, to
 * which the way is free; its NIC is paused for both.
 */
void pause(Suite &s)
{
	for (uint32_t n : {3u, 8u, 64u})
		many_to_one(s, "pause", n, Queue::PAUSE, Kind::WRITE, 1);
	for (Queue q : {Queue::TAIL, Queue::PAUSE}) {
		Case c("pause", words("8:1 %s, victim last", name_of(q)), s.seed());
		Chain net(c.net, 1, {});

		for (uint32_t i = 0; i < 10; i++)
			net.hosts.add(host(10, 0, q));
		watch(c, net.hosts.down(0));
		for (uint32_t i = 1; i < 10; i++)
			if (i != 2)
				c.net.add_flow(flow(Kind::WRITE, i, 0, q));
		c.net.add_flow(flow(Kind::WRITE, 1, 2, q));
		s.run(c, 1, 0.1);
	}
}

/* The receiver's CPU takes 4 us for a packet, and up to 2 us more; 1,000 packets may wait. */
void slow_receiver(Suite &s)
{
	for (uint32_t n : {1u, 4u}) {
		for (Queue q : {Queue::TAIL, Queue::PAUSE}) {
			Case c("slow-receiver", words("%u:1 %s", n, name_of(q)), s.seed());
			Chain net(c.net, 1, {});
			HostCfg slow = host(10, 0, q);

			slow.cpu.pkt_ns = 4000;
			slow.cpu.pkt_jitter_ns = 2000;
			slow.cpu.limit_bytes = q == Queue::TAIL ? 1000 * 1106 : 0;
			net.hosts.add(slow);
			watch(c, c.net.ports.back().get());
			c.bottleneck_gbps = 1106 * 8 / 5000.0;
			for (uint32_t i = 1; i <= n; i++)
				c.net.add_flow(
					small_flow(Kind::WRITE, net.hosts.add(host(10, 0, q)), 0));
			s.run(c, 3, 0.3);
		}
	}
}

/* ---- several bottlenecks ---- */

/* Two bottlenecks in a row. The first flow passes both, each of the others one. */
void parking_lot(Suite &s)
{
	static const uint32_t at[] = {0, 2, 0, 1, 1, 2};

	for (Queue q : {Queue::TAIL, Queue::ECN, Queue::STEP}) {
		Case c("parking-lot", name_of(q), s.seed());
		Chain net(c.net, 3, switch_port(10, 5 * US, q));

		for (uint32_t where : at)
			net.hosts.add(host(10, where, q));
		watch(c, net.trunk(0));
		net.trunk(1)->watched = true;
		c.bottleneck_gbps = 20;
		for (uint32_t i = 0; i < 6; i += 2)
			c.net.add_flow(flow(Kind::WRITE, i, i + 1, q));
		s.run(c, 5, 0.5);
	}
}

/* Each host to one other, and each from one other. (S. Sattolo's shuffle leaves none in place.) */
std::vector<uint32_t> permuted(sim::Rng &rng, uint32_t n)
{
	std::vector<uint32_t> to(n);

	for (uint32_t i = 0; i < n; i++)
		to[i] = i;
	for (uint32_t i = n - 1; i > 0; i--)
		std::swap(to[i], to[rng.below(i)]);
	return to;
}

void permutation(Suite &s)
{
	constexpr uint32_t LEAVES = 8, SPINES = 4, PER_LEAF = 8;

	for (Queue q : {Queue::TAIL, Queue::ECN, Queue::PAUSE}) {
		for (bool spray : {false, true}) {
			Case c("permutation", words("%s %s", spray ? "spray" : "hash", name_of(q)),
			       s.seed());
			LeafSpine net(c.net, LEAVES, SPINES, switch_port(20, US, q));

			for (uint32_t i = 0; i < LEAVES * PER_LEAF; i++)
				net.hosts.add(host(10, i / PER_LEAF, q));
			c.bottleneck_gbps = 10.0 * LEAVES * PER_LEAF;
			for (uint32_t i = 0; uint32_t to : permuted(c.net.rng, LEAVES * PER_LEAF)) {
				FlowCfg f = flow(Kind::WRITE, i++, to, q);

				f.spray = spray;
				c.net.add_flow(f);
			}
			s.run(c, 0.1, 0.02);
		}
	}
}

/* 1 MiB from each host to each other. */
void all_to_all(Suite &s)
{
	for (Queue q : {Queue::TAIL, Queue::ECN, Queue::PAUSE}) {
		Case c("all-to-all", name_of(q), s.seed());
		const uint32_t n = s.quick ? 8 : 32;
		Chain net(c.net, 1, {});

		for (uint32_t i = 0; i < n; i++)
			net.hosts.add(host(10, 0, q));
		c.bottleneck_gbps = 10.0 * n;
		for (uint32_t from = 0; from < n; from++) {
			for (uint32_t to = 0; to < n; to++) {
				FlowCfg f = flow(Kind::WRITE, from, to, q);

				f.messages = 16;
				if (from != to)
					c.net.add_flow(f);
			}
		}
		s.run(c, 200);
	}
}

/* How fast the simulator is when it is large. */
void scale(Suite &s)
{
	constexpr uint32_t HOSTS = 100, PER_HOST = 100;
	Case c("scale", words("%u flows", HOSTS * PER_HOST), s.seed());
	Chain net(c.net, 1, {});

	for (uint32_t i = 0; i < HOSTS; i++)
		net.hosts.add(host(10, 0));
	c.bottleneck_gbps = 10.0 * HOSTS;
	for (uint32_t k = 1; k <= PER_HOST; k++)
		for (uint32_t i = 0; i < HOSTS; i++)
			c.net.add_flow(flow(Kind::WRITE, i, (i + 1 + k % (HOSTS - 1)) % HOSTS));
	s.run(c, 0.2, 0.02);
}

/* ---- beside TCP ---- */

/* Two flows by one link of 1 Gb/s with a queue of one bandwidth-delay product. */
void beside(Suite &s, const char *name, uint64_t rtt_ns, Kind first, Kind second)
{
	Case c("beside-cubic", name, s.seed());
	PortCfg trunk = trunk_of(1, rtt_ns);

	trunk.limit_bytes = (uint32_t)(rtt_ns / 8);
	Chain net(c.net, 2, trunk);

	for (uint32_t at : {0u, 0u, 1u, 1u})
		net.hosts.add(host(10, at));
	watch(c, net.trunk(0));
	c.net.add_flow(small_flow(first, 0, 2));

	FlowCfg later = small_flow(second, 1, 3);

	later.start_ns = s.quick ? S / 5 : 2 * S;
	c.net.add_flow(later);
	c.net.sample_ns = 100 * MS;
	s.run(c, 30, 10);
}

void beside_cubic(Suite &s)
{
	static const struct {
		const char *name;
		Kind first, second;
	} pairs[] = {
		{"WRITE, then TCP", Kind::WRITE, Kind::TCP},
		{"TCP, then WRITE", Kind::TCP, Kind::WRITE},
		{"TCP, then READ", Kind::TCP, Kind::READ},
		{"WRITE, then WRITE", Kind::WRITE, Kind::WRITE},
		{"TCP, then TCP", Kind::TCP, Kind::TCP},
	};

	for (uint64_t rtt_ms : {1, 10})
		for (auto &p : pairs)
			beside(s, words("%ums %s", (unsigned)rtt_ms, p.name).c_str(), rtt_ms * MS,
			       p.first, p.second);
}

} /* namespace */

void Suite::run(Case &c, double seconds, double warm_seconds)
{
	double ns = quick ? 1e8 : 1e9;

	c.net.warm_ns = (uint64_t)(warm_seconds * ns);
	c.net.end_ns = (uint64_t)(seconds * ns);
	c.net.control = control_;
	try {
		c.net.run();
		for (auto &f : c.net.flows)
			if (f->stats.failed && !c.may_give_up)
				sim::fail(-1, "flow %u gave up", f->id);
	} catch (const sim::Failure &f) {
		printf("%s\n", c.name.c_str());
		cli_.print_failure(f, c.net.trace, c.net.now_ns);
		throw;
	}
	report_.add(c);
}

const Scenario scenarios[] = {
	{"loss", "one flow, packets lost at random and in bursts: what a loss costs, by round trip",
	 loss},
	{"reorder", "one flow, packets overtake each other: reordering is no loss", reorder},
	{"long-pipe", "100 ms at 1 Gb/s: is the window large enough, and does it recover",
	 long_pipe},
	{"incast", "n hosts write to one: is its port busy, is it fair, how long is the queue",
	 incast},
	{"pause", "the same with PFC: nothing is lost, but who is stopped", pause},
	{"slow-receiver", "the receiver's CPU is the bottleneck: its backlog is a queue as well",
	 slow_receiver},
	{"parking-lot", "a flow that passes two bottlenecks: does it starve", parking_lot},
	{"permutation", "leaf and spine, each host to another: collisions of ECMP, and spraying",
	 permutation},
	{"all-to-all", "1 MiB from each host to each other: when is the last one done", all_to_all},
	{"scale", "10,000 flows: how fast is the simulator", scale},
	{"beside-cubic", "with a TCP flow at one bottleneck: who takes what, by order of start",
	 beside_cubic},
	{nullptr, nullptr, nullptr},
};

} /* namespace netsim */
