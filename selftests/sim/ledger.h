/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The truth about one direction of a connection: every work request that was
 * posted, what it must do at the responder and what it must bring back. The
 * engines never see it. Also the layout of the memory that the responder
 * exposes to this requester.
 */
#ifndef TERN_SIM_LEDGER_H
#define TERN_SIM_LEDGER_H

#include <vector>

#include "arena.h"
#include "pattern.h"
#include "rng.h"
#include "trace.h"

extern "C" {
#include "rc_req.h"
#include "rc_resp.h"
}

namespace sim {

constexpr uint32_t AREAS = 8;
constexpr uint32_t AREA_BYTES = 64 << 10;
constexpr uint32_t BIG_BYTES = 1 << 20;
constexpr uint32_t STATIC_BYTES = BIG_BYTES; /* never written: READ any part of it */
constexpr uint32_t COUNTERS = 16;	     /* the last one is shared by all connections */
constexpr uint32_t GUARD_BYTES = 64;

constexpr uint32_t STATIC_AT = GUARD_BYTES;
constexpr uint32_t AREAS_AT = STATIC_AT + STATIC_BYTES + GUARD_BYTES;
constexpr uint32_t BIG_AT = AREAS_AT + AREAS * (AREA_BYTES + GUARD_BYTES);
constexpr uint32_t COUNTERS_AT = BIG_AT + BIG_BYTES + GUARD_BYTES;
constexpr uint32_t REMOTE_BYTES = COUNTERS_AT + COUNTERS * 8 + GUARD_BYTES;

constexpr uint32_t BIG_AREA = AREAS; /* index of the one large area */
constexpr uint32_t NO_AREA = ~0u;

/* The one thing that goes wrong on purpose in an error scenario. */
enum Fault {
	FAULT_NONE,
	FAULT_ACCESS,	 /* responder: key or bounds refused */
	FAULT_INVALID,	 /* responder: message longer than the receive WQE */
	FAULT_OP,	 /* responder: local failure */
	FAULT_READ_GONE, /* responder: memory vanishes while the READ is answered */
	FAULT_NO_RECV,	 /* responder: no receive WQE ever again */
	FAULT_GATHER,	 /* requester: source SGEs refused */
	FAULT_SINK,	 /* requester: sink SGEs refused */
	FAULT_LOCAL,	 /* requester: the LOCAL operation fails */
};

struct Work {
	uint64_t number;     /* as posted, from 0 */
	uint64_t net;	     /* among those that reach the network */
	uint64_t rd_before;  /* READs and atomics posted before */
	uint64_t key;	     /* contents: of what is sent, or of what is read */
	uint32_t key_offset; /* READ: where in that string */
	uint64_t orig;	     /* atomics: value before, unless shared */
	struct rc_sqe wr;
	uint32_t area; /* it writes or reads, or NO_AREA */
	uint32_t arena_end;
	uint32_t placed; /* bytes that came back */
	uint64_t result;
	uint8_t pieces;
	uint8_t fault;
	bool shared; /* atomic on the shared counter */
	bool begun, executed, local_run;
	Piece piece[SGE_MAX];
};

inline bool is_atomic(uint8_t op)
{
	return op == RC_OP_CMP_SWAP || op == RC_OP_FETCH_ADD;
}

inline bool is_rd(uint8_t op)
{
	return op == RC_OP_READ || is_atomic(op);
}

class Ledger {
public:
	explicit Ledger(uint32_t entries) : ring_(entries), mask_(entries - 1) {}

	Work &append()
	{
		Work &w = ring_[posted & mask_];

		w = Work{};
		w.number = posted++;
		return w;
	}

	/* Is it posted and not yet completed? */
	bool live(uint64_t number) const { return number < posted && number >= reaped; }

	Work &at(uint64_t number) { return ring_[number & mask_]; }

	uint64_t va_base = 0;
	uint32_t rkey = 0;
	uint64_t static_key = 0;

	bool failed = false; /* the requester gave up: what still arrives is void */
	uint64_t posted = 0;
	uint64_t reaped = 0;
	uint64_t net_posted = 0;
	uint64_t net_executed = 0; /* next to be executed by the responder */
	uint64_t rd_posted = 0;
	uint64_t rd_reaped = 0;
	uint64_t shared_adds = 0;

	/* What the areas and counters hold once everything posted was executed. */
	struct Area {
		uint64_t key = 0;
		uint32_t bytes = 0;
		uint32_t readers = 0; /* READs of it not yet reaped */
	} area[AREAS + 1];
	uint64_t counter[COUNTERS] = {};

	static uint32_t area_at(uint32_t i)
	{
		return i == BIG_AREA ? BIG_AT : AREAS_AT + i * (AREA_BYTES + GUARD_BYTES);
	}
	static uint32_t area_bytes(uint32_t i) { return i == BIG_AREA ? BIG_BYTES : AREA_BYTES; }

private:
	std::vector<Work> ring_;
	uint64_t mask_;
};

} /* namespace sim */

#endif
