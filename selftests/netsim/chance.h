/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a link or a queue does to packets by chance: loses them (at random, in bursts, or every
 * n-th), marks them by the length of the queue, or lets them overtake others.
 */
#ifndef TERN_NETSIM_CHANCE_H
#define TERN_NETSIM_CHANCE_H

#include "sim/rng.h"

namespace netsim {

struct LossCfg {
	double random = 0; /* each packet for itself */
	/*
	 * Gilbert and Elliott: two states, and in the bad one every packet is lost. A state lasts
	 * for packets, but the bad one not through a pause of the sender. (netem's does: of a
	 * sender that tries one packet after each time-out it loses a whole burst so.)
	 */
	double burst_enter = 0; /* for each packet in the good state */
	double burst_leave = 1; /* for each packet in the bad state: 1 / the mean burst */
	uint64_t burst_idle_ns = 10000000; /* without a packet: the burst is over */
	uint32_t every = 0;		   /* each n-th packet; 0: none */

	/* Loses share of all packets, in bursts of mean packets. */
	static LossCfg bursts(double share, double mean)
	{
		LossCfg c;

		c.burst_leave = 1 / mean;
		c.burst_enter = share / (1 - share) / mean;
		return c;
	}
	static LossCfg randomly(double share)
	{
		LossCfg c;

		c.random = share;
		return c;
	}
};

class Loss {
public:
	explicit Loss(const LossCfg &c)
		: random_(sim::Rng::chance(c.random)), enter_(sim::Rng::chance(c.burst_enter)),
		  leave_(sim::Rng::chance(c.burst_leave)), every_(c.every),
		  idle_ns_(c.burst_idle_ns)
	{}

	/* Is the packet lost that passes now? */
	bool hits(sim::Rng &rng, uint64_t now_ns)
	{
		uint64_t idle_ns = now_ns - last_ns_;

		last_ns_ = now_ns;

		if (every_ && ++passed_ % every_ == 0)
			return true;
		if (random_ && rng.hit(random_))
			return true;
		if (!enter_)
			return false;
		if (idle_ns >= idle_ns_)
			bad_ = false;
		bad_ = bad_ ? !rng.hit(leave_) : rng.hit(enter_);
		return bad_;
	}

private:
	uint32_t random_, enter_, leave_, every_;
	uint64_t idle_ns_, last_ns_ = 0;
	uint32_t passed_ = 0;
	bool bad_ = false;
};

/*
 * Marks by the present length of the queue, as switches do for DCQCN and DCTCP: none up to min, all
 * from max on, in between up to share. min = max: a step. What is not ECN-capable is dropped
 * instead (RFC 3168 section 5).
 */
struct MarkCfg {
	uint32_t min_bytes = 0, max_bytes = 0; /* max 0: no marks */
	double share = 1;
};

/* The probability for a packet that finds so much queued. */
inline double mark_share(const MarkCfg &c, uint32_t queued)
{
	if (!c.max_bytes || queued < c.min_bytes)
		return 0;
	if (queued >= c.max_bytes)
		return 1;
	return c.share * (queued - c.min_bytes) / (c.max_bytes - c.min_bytes);
}

/*
 * As netem: packets are late by extra_ns and up to jitter_ns more, but a share of them is not late
 * and so overtakes the others.
 */
struct ReorderCfg {
	double share = 0;
	uint64_t extra_ns = 0, jitter_ns = 0;
};

} /* namespace netsim */

#endif
