/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * When a consumer that spins on an empty CQ shall wait in the kernel instead,
 * and how long at most. Where there is one CPU only, as in small virtual
 * machines, who spins takes it from the kernel's threads that bring the very
 * completions it waits for, and from the host; where there are more, nobody is
 * ever made to wait.
 *
 * It takes polls in quick succession, for a while, none of which found anything
 * on any CQ of the context. Who does other work between its polls is left
 * alone. A completion ends the wait; what else the consumer may be looking for
 * between its polls does not, so no wait is longer than half of what it has
 * gone without already, or a quarter of what it went without the last time.
 */
#ifndef TERN_PROVIDER_PATIENCE_H
#define TERN_PROVIDER_PATIENCE_H

#include <algorithm>
#include <cstdint>

namespace tern {

class Patience {
public:
	/* Polls further apart than this have other work between them. */
	static constexpr uint64_t kQuickNs = 4000;
	/* In vain for so long, and so often, before the first wait; */
	static constexpr uint64_t kSpinNs = 200000;
	static constexpr uint32_t kPolls = 32;
	/* for so long only, if spinning would not have been enough the last time; */
	static constexpr uint64_t kShortSpinNs = 50000;
	/* and so often before each that follows. */
	static constexpr uint32_t kPollsAgain = 4;
	/* The shortest wait, and the longest. */
	static constexpr uint64_t kLeastNs = 50000;
	static constexpr uint64_t kMostNs = 4000000;

	/*
	 * An empty poll at now_ns (any monotonic clock); found counts what polls
	 * of the whole context have found so far. Returns the longest time, in ns,
	 * that the consumer may be made to wait now; 0: not at all.
	 */
	uint64_t empty(uint64_t now_ns, uint32_t found)
	{
		const bool quick = now_ns - last_ns_ <= kQuickNs;
		const bool anew = !last_ns_ || found != found_;

		last_ns_ = now_ns;
		if (anew) {
			last_gap_ns_ = since_ns_ ? now_ns - since_ns_ : 0;
			spin_ns_ = last_gap_ns_ > kSpinNs ? kShortSpinNs : kSpinNs;
			found_ = found;
			since_ns_ = now_ns;
			waited_ = false;
			begin(now_ns);
			return 0;
		}
		if (quick)
			quick_++;
		else if (++slow_ > kSlowAllowed)
			begin(now_ns);
		if (waited_ ? quick_ < kPollsAgain :
			      quick_ < kPolls || now_ns - spin_since_ns_ < spin_ns_)
			return 0;
		begin(now_ns);
		waited_ = true;
		return std::clamp(std::max((now_ns - since_ns_) / 2, last_gap_ns_ / 4), kLeastNs,
				  kMostNs);
	}

private:
	/* Interrupts come between the polls of who spins, too. */
	static constexpr uint32_t kSlowAllowed = 8;

	void begin(uint64_t now_ns)
	{
		spin_since_ns_ = now_ns;
		quick_ = 0;
		slow_ = 0;
	}

	uint64_t last_ns_ = 0;
	uint64_t since_ns_ = 0;	   /* first empty poll after something was found */
	uint64_t last_gap_ns_ = 0; /* from one such to the next, before that */
	uint64_t spin_since_ns_ = 0;
	uint64_t spin_ns_ = 0;
	uint32_t found_ = 0;
	uint32_t quick_ = 0;
	uint32_t slow_ = 0;
	bool waited_ = false;
};

} // namespace tern

#endif
