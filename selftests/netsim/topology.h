/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Networks: hosts, switches, and the paths between hosts. A chain of one switch is a star, one of
 * two a dumbbell, one of three a parking lot. Each stays in place while its network exists.
 */
#ifndef TERN_NETSIM_TOPOLOGY_H
#define TERN_NETSIM_TOPOLOGY_H

#include "network.h"

namespace netsim {

/* A host's NIC, its switch's port towards it, and its CPU, if that takes time (pkt_ns). */
struct HostCfg {
	uint32_t at = 0; /* the switch */
	PortCfg nic, down, cpu;
};

/* Hosts and their switches' ports. */
class Hosts {
public:
	explicit Hosts(Network &net) : net_(net) {}

	uint32_t add(const HostCfg &cfg);
	Port *down(uint32_t host) { return host_[host].down; }
	uint32_t at(uint32_t host) const { return host_[host].at; }

	void begin(Path &p, uint32_t from) const { add_hop(p, net_.hosts[from].nic); }
	void end(Path &p, uint32_t to) const;
	static void add_hop(Path &p, Port *port) { p.hop[p.hops++] = port; }

private:
	struct Host {
		Port *down, *cpu;
		uint32_t at;
	};

	Network &net_;
	std::vector<Host> host_;
};

/* Switches in a row. */
class Chain {
public:
	/* trunk: between neighbours, in each direction. */
	Chain(Network &net, uint32_t switches, const PortCfg &trunk);
	Chain(const Chain &) = delete;

	/* From the n-th switch to the next. */
	Port *trunk(uint32_t n) { return right_[n]; }

	Hosts hosts;

private:
	std::vector<Port *> right_, left_;
};

/* Each leaf has a link to each spine. Hosts of different leaves have a path by each spine. */
class LeafSpine {
public:
	LeafSpine(Network &net, uint32_t leaves, uint32_t spines, const PortCfg &link);
	LeafSpine(const LeafSpine &) = delete;

	Hosts hosts;

private:
	std::vector<std::vector<Port *>> up_, down_; /* by leaf and spine */
};

} /* namespace netsim */

#endif
