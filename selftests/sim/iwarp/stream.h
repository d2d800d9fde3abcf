/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One direction of a connection, as TCP provides it: a limited send buffer, bytes that arrive late
 * but in order, cut anywhere, down to one at a time. Beside the bytes, what each FPDU really is,
 * for the oracles alone.
 */
#ifndef TERN_SIM_IW_STREAM_H
#define TERN_SIM_IW_STREAM_H

#include <deque>
#include <vector>

#include "rng.h"

namespace sim {

class World;

struct StreamCfg {
	uint32_t room = 65536; /* send buffer, bytes */
	uint32_t delay_ns = 2000;
	uint32_t jitter_ns = 400;
	uint32_t stall_ns = 40000; /* of some deliveries, at most */
	uint32_t cut = 0;	   /* most bytes in a delivery; 0: any number */
};

enum TagKind : uint8_t {
	TAG_REQUEST, /* of the sender's work request number */
	TAG_ANSWER,  /* to the receiver's work request */
	TAG_TERMINATE,
};

struct Tag {
	uint64_t number = 0;
	uint32_t offset = 0, bytes = 0; /* of the payload in its message */
	TagKind kind = TAG_REQUEST;
	uint8_t fault = 0;
	int expect = -1; /* the code it must be terminated with, or TERM_NONE */
};

class Stream {
public:
	Stream(World &world, uint32_t to_endpoint, const StreamCfg &cfg, uint64_t seed);

	/* Bytes that it accepts now. */
	uint32_t room() const { return cfg_.room - (uint32_t)(written - delivered); }
	/* Where to put n bytes, at most room(); commit() sends them. */
	uint8_t *reserve(uint32_t n);
	void commit(uint32_t n);
	/* Nothing follows what was written; the end is delivered, too. */
	void close();
	/* Nothing more is delivered. */
	void abort() { aborted_ = true; }
	/* EV_DELIVER */
	void deliver();

	bool is_open() const { return !closed_ && !aborted_; }

	std::deque<Tag> tags;
	uint64_t written = 0, delivered = 0, deliveries = 0;

private:
	struct Mark {
		uint64_t end, at_ns; /* bytes up to end arrive then */
	};

	void schedule(uint64_t at_ns);
	uint32_t cut(uint32_t ready);

	World &world_;
	Rng rng_;
	StreamCfg cfg_;
	uint32_t to_;
	std::vector<uint8_t> buf_;
	uint32_t head_ = 0, tail_ = 0;
	std::deque<Mark> marks_;
	uint64_t last_ns_ = 0;
	bool scheduled_ = false, closed_ = false, ended_ = false, aborted_ = false;
};

} /* namespace sim */

#endif
