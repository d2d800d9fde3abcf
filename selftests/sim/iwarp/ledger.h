/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What really happens in one direction of a connection: every work request that was posted, what it
 * must do at the peer and what it must bring back, and the deliberate faults. The engines never see
 * it.
 */
#ifndef TERN_SIM_IW_LEDGER_H
#define TERN_SIM_IW_LEDGER_H

#include <vector>

#include "arena.h"
#include "image.h"
#include "trace.h"

extern "C" {
#include "iw_req.h"
#include "iw_resp.h"
#include "mpa.h"
}

namespace sim {

constexpr Layout LAYOUT = {
	.static_bytes = 64 << 10,
	.near_bytes = 0,
	.area_bytes = 32 << 10,
	.big_bytes = 0,
};
constexpr uint32_t LEDGER_ENTRIES = 2048;

/* The peer's keys, as offsets from the one that allows everything. */
enum Key { KEY_ALL, KEY_NO_RIGHTS, KEY_OTHER_PD, KEY_NONE };

/* The one deliberate fault of a connection. */
enum Fault : uint8_t {
	FAULT_NONE,
	/* a work request names what it must not */
	FAULT_KEY,
	FAULT_BOUNDS,
	FAULT_ACCESS,
	FAULT_STREAM,
	FAULT_WRAP, /* atomics: not aligned */
	/* receive queue */
	FAULT_NO_RECV,
	FAULT_TOO_LONG,
	FAULT_INVALIDATE,
	FAULT_RECV_LOCAL,
	/* headers of a request, changed before the CRC is computed */
	FAULT_MSN,
	FAULT_MO,
	FAULT_QN,
	FAULT_VERSION,
	FAULT_RDMAP_VERSION,
	FAULT_OPCODE,
	FAULT_LAST,
	FAULT_SHORT,
	/* likewise, of the answer */
	FAULT_ANSWER_STAG,
	FAULT_ANSWER_TO,
	FAULT_ANSWER_LAST,
	FAULT_ANSWER_MSN,
	FAULT_ANSWER_ID,
	FAULT_CRC,	 /* a bit of the FPDU, behind its length */
	FAULT_READ_GONE, /* memory disappears while the READ is answered */
	/* at the requester itself */
	FAULT_GATHER,
	FAULT_SINK,
	FAULT_LOCAL,
	FAULT_ORD, /* more READs at once than the peer allows */
};

struct Work {
	uint64_t number;     /* as posted, from 0 */
	uint64_t net;	     /* among those that reach the network */
	uint64_t key;	     /* contents: what is sent, or what is read */
	uint32_t key_offset; /* READ: where in that string */
	uint64_t orig;	     /* atomics: value before, unless shared */
	struct wr wr;
	uint32_t area; /* it reads, or NO_AREA */
	uint32_t arena_end;
	uint32_t taken;	  /* bytes that the stream took */
	uint32_t arrived; /* bytes that the peer placed */
	uint32_t came;	  /* bytes that came back */
	uint64_t result;
	uint32_t loan; /* if lent: not reaped before the loan is returned */
	uint8_t pieces;
	uint8_t fault;
	bool lent;
	bool rtr;    /* the first message of a peer-to-peer connection */
	bool shared; /* atomic on the shared counter */
	bool begun, body_taken, body_arrived, injected;
	bool done;     /* the requester may complete it */
	bool executed; /* at the peer */
	bool reaped;
	Piece piece[SGE_MAX];
};

inline bool is_atomic(uint8_t op)
{
	return op == WR_CMP_SWAP || op == WR_FETCH_ADD;
}

inline bool is_rd(uint8_t op)
{
	return op == WR_READ || is_atomic(op);
}

class Ledger : public Image {
public:
	Ledger() : Image(LAYOUT), ring_(LEDGER_ENTRIES) {}

	/*
	 * Is there room for one more? Work requests that arrive are needed after their completion,
	 * too.
	 */
	bool has_room()
	{
		while (settled_ != posted && at(settled_).reaped &&
		       (at(settled_).executed || at(settled_).wr.op == WR_LOCAL))
			settled_++;
		return posted - settled_ < LEDGER_ENTRIES;
	}

	Work &append(const Work &w)
	{
		ring_[posted % LEDGER_ENTRIES] = w;
		return ring_[posted++ % LEDGER_ENTRIES];
	}

	Work &at(uint64_t number) { return ring_[number % LEDGER_ENTRIES]; }

	bool failed = false; /* the requester gave up */
	uint64_t posted = 0, reaped = 0;
	uint64_t net_posted = 0;
	uint64_t net_executed = 0; /* next to be executed by the peer */

private:
	std::vector<Work> ring_;
	uint64_t settled_ = 0;
};

/* The parameters of one end of a connection, and its deliberate faults. */
struct EndCfg {
	struct mpa_offer offer = {};
	bool markers = false;	    /* wants to receive markers */
	uint16_t private_bytes = 0; /* in its start-up frame */
	uint32_t emss = 1460;	    /* TCP's segments, at most */
	uint32_t frames = 1460;	    /* longest FPDUs, if they may exceed a segment */
	uint32_t trim = 0;	    /* ULPDUs are shorter than possible by this */
	uint32_t sq_entries = 64;
	uint32_t index = 0;	    /* first slot, a free-running index */
	uint32_t msn = 1;	    /* first of each queue, and the peer's first */
	double declines = 0.02;	    /* segments that are refused although they would fit */
	double lends = 0.05;	    /* segments whose memory is lent to the stream */
	uint8_t only_op = 0xff;	    /* all work requests are of this kind */
	uint64_t quota = ~0ull;	    /* work requests to post */
	uint8_t fault = FAULT_NONE; /* applies to the first suitable work request ... */
	uint64_t fault_from = 0;    /* ... from this number on */
	uint16_t ord = 0;	    /* FAULT_ORD: instead of the agreed one */
};

/* The code of the Terminate that a fault in a segment of work request w causes. */
int expected_term(const Work &w, uint8_t opcode);

} /* namespace sim */

#endif
