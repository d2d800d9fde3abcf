/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of a host's QPs may put packets into the NIC's queue, after the module's own (gate.h in
 * kernel/roce/wire/): a bounded number of bytes is there, and those that wait take turns, each with
 * a grant that is worth a large batch.
 */
#ifndef TERN_NETSIM_GATE_H
#define TERN_NETSIM_GATE_H

#include "port.h"

namespace netsim {

constexpr uint32_t GATE_QUEUE_BYTES = 512 << 10; /* ROCE_GATE_QUEUE_BYTES */
constexpr uint32_t GATE_GRANT_BYTES = 128 << 10; /* ROCE_GATE_GRANT_BYTES */

/* What sends payload: a requester, a responder that answers READs, a TCP sender. */
class Source {
public:
	virtual ~Source() = default;

	/* Sends while it may and has sent less than bytes. True: there is more to send now. */
	virtual bool pump(uint32_t bytes) = 0;

private:
	friend class Gate;
	Source *next_ = nullptr;
	bool waits_ = false;
};

class Gate {
public:
	explicit Gate(Port &nic) : nic_(nic) {}

	/* The source has something to send: its turn comes. */
	void ask(Source &s)
	{
		append(s);
		serve();
	}

	/* There may be room. */
	void serve()
	{
		if (serving_)
			return;
		serving_ = true;
		while (first_ && nic_.queued_bytes() < GATE_QUEUE_BYTES) {
			Source &s = *first_;

			first_ = s.next_;
			if (!first_)
				end_ = &first_;
			s.waits_ = false;
			if (s.pump(GATE_GRANT_BYTES))
				append(s);
		}
		serving_ = false;
	}

private:
	void append(Source &s)
	{
		if (s.waits_)
			return;
		s.waits_ = true;
		s.next_ = nullptr;
		*end_ = &s;
		end_ = &s.next_;
	}

	Port &nic_;
	Source *first_ = nullptr, **end_ = &first_;
	bool serving_ = false;
};

} /* namespace netsim */

#endif
