/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What really happens in one direction of a connection: every work request that was posted, what it
 * must do at the responder and what it must bring back. The engines never see it.
 */
#ifndef TERN_SIM_LEDGER_H
#define TERN_SIM_LEDGER_H

#include <vector>

#include "arena.h"
#include "image.h"
#include "trace.h"

extern "C" {
#include "rc_req.h"
#include "rc_resp.h"
}

namespace sim {

constexpr uint32_t BIG_BYTES = 1 << 20;
constexpr Layout LAYOUT = {
	.static_bytes = BIG_BYTES,
	.near_bytes = 32 << 10,
	.area_bytes = 64 << 10,
	.big_bytes = BIG_BYTES,
};

/* The one deliberate fault of an error scenario. */
enum Fault {
	FAULT_NONE,
	FAULT_ACCESS,	 /* responder: key or bounds refused */
	FAULT_INVALID,	 /* responder: message longer than the receive WQE */
	FAULT_OP,	 /* responder: local failure */
	FAULT_READ_GONE, /* responder: memory disappears while the READ is answered */
	FAULT_NO_RECV,	 /* responder: no receive WQE ever again */
	FAULT_GATHER,	 /* requester: source SGEs refused */
	FAULT_SINK,	 /* requester: sink SGEs refused */
	FAULT_LOCAL,	 /* requester: the LOCAL operation fails */
};

struct Work {
	uint64_t number;     /* as posted, from 0 */
	uint64_t net;	     /* among those that reach the network */
	uint64_t rd_before;  /* requests with a response posted before */
	uint64_t key;	     /* contents: what is sent, or what is read */
	uint32_t key_offset; /* READ: where in that string */
	uint64_t orig;	     /* atomics: value before, unless shared */
	struct wr wr;
	uint32_t area; /* it reads, or NO_AREA */
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
	return op == WR_CMP_SWAP || op == WR_FETCH_ADD;
}

inline bool is_placement(uint8_t op)
{
	return op == WR_FLUSH || op == WR_ATOMIC_WRITE;
}

/* Does the answer bring something? */
inline bool has_sink(uint8_t op)
{
	return op == WR_READ || is_atomic(op);
}

inline bool is_rd(uint8_t op)
{
	return has_sink(op) || is_placement(op);
}

class Ledger : public Image {
public:
	explicit Ledger(uint32_t entries) : Image(LAYOUT), ring_(entries), mask_(entries - 1) {}

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

	bool failed = false; /* the requester gave up: ignore what still arrives */
	uint64_t posted = 0;
	uint64_t reaped = 0;
	uint64_t net_posted = 0;
	uint64_t net_executed = 0; /* next to be executed by the responder */
	uint64_t rd_posted = 0;
	uint64_t rd_reaped = 0;

private:
	std::vector<Work> ring_;
	uint64_t mask_;
};

} /* namespace sim */

#endif
