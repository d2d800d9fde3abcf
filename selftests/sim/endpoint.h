/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One QP of a connection: an inbox, a requester for its own work and a responder for the peer's.
 * Works in batches, as a driver does: packets gather in the inbox and are handled together, and
 * then both halves send within a budget.
 */
#ifndef TERN_SIM_ENDPOINT_H
#define TERN_SIM_ENDPOINT_H

#include <memory>

#include "event.h"
#include "requester.h"
#include "responder.h"
#include "wire.h"

namespace sim {

class Endpoint {
public:
	Endpoint(World &world, int index, const QpCfg &cfg, const WireCfg &wire, uint64_t seed);
	/* The responder needs the peer's ledger, so connect when both endpoints exist. */
	void connect(Endpoint &peer);

	/* A packet came in order; out of order. */
	void notice();
	void arrive(Packet *p);
	void service();
	void timer(uint64_t at_ns);
	void wake(uint64_t at_ns);

	Requester req;
	std::unique_ptr<Responder> resp;
	Wire wire; /* towards the peer */

private:
	void pull();
	void append(Packet *p);
	void dispatch(const struct pkt &k, Packet *p);
	void drain_inbox();
	void arm();

	World &world_;
	Wire *from_peer_ = nullptr;
	int index_;
	Rng rng_;
	Packet *inbox_ = nullptr, **inbox_end_ = &inbox_;
	uint64_t wake_ns_ = 0;	/* next EV_SERVICE; 0: none */
	uint64_t timer_ns_ = 0; /* next EV_TIMER */
};

} /* namespace sim */

#endif
