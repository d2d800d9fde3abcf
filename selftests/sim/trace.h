/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The last events: a ring of small records, printed only when an oracle fails; and the failure
 * itself.
 */
#ifndef TERN_SIM_TRACE_H
#define TERN_SIM_TRACE_H

#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace sim {

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* Throws Failure; endpoint < 0: no particular one. */
[[noreturn]] void fail(int endpoint, const char *format, ...) __attribute__((format(printf, 2, 3)));

class Trace {
public:
	/* sequence: the protocol's name for its sequence numbers. */
	explicit Trace(const char *sequence) : sequence_(sequence) {}

	/* what: a literal; a, b: as the event needs (work number, sequence number, count). */
	void add(uint64_t now_ns, int endpoint, const char *what, uint8_t opcode, uint32_t seq,
		 uint64_t a = 0, uint64_t b = 0)
	{
		ring_[n_++ % ring_.size()] = {now_ns, what, a, b, seq, (uint8_t)endpoint, opcode};
	}

	void print(FILE *f, size_t last) const;

private:
	struct Entry {
		uint64_t now_ns;
		const char *what;
		uint64_t a, b;
		uint32_t seq;
		uint8_t endpoint, opcode;
	};

	std::array<Entry, 256> ring_ = {};
	const char *sequence_;
	uint64_t n_ = 0;
};

} /* namespace sim */

#endif
