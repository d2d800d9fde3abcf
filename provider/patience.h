/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * When a consumer that spins on an empty CQ shall wait in the kernel instead,
 * and how long at most. Where there is one CPU only, as in small virtual
 * machines, who spins takes it from the kernel's threads that bring the very
 * completions it waits for, and from the host; where there are more, nobody is
 * ever made to wait.
 *
 * It takes polls in quick succession, for a while, none of which found anything
 * on any CQ of the context; a short while for who has much under way, as in a
 * bulk transfer, and so does not hang on the next completion. Who does other work
 * between its polls is left alone. A completion ends the wait; what else the
 * consumer may be looking for between its polls does not, so no wait is longer
 * than half of what it has gone without already, or a quarter of what it lately
 * went without.
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
	static constexpr uint64_t kSpinNs = 2000000;
	static constexpr uint32_t kPolls = 32;
	/* for so long only, if spinning was not enough lately, */
	static constexpr uint64_t kShortSpinNs = 50000;
	/* or was it, but it took longer than this, and so many work requests are under way; */
	static constexpr uint64_t kBulkGapNs = 200000;
	static constexpr uint32_t kBulk = 4;
	/* and so often before each that follows. */
	static constexpr uint32_t kPollsAgain = 4;
	/* The shortest wait, and the longest. */
	static constexpr uint64_t kLeastNs = 50000;
	static constexpr uint64_t kMostNs = 4000000;

	/*
	 * An empty poll at now_ns (any monotonic clock); found counts what polls
	 * of the whole context have found so far, and under_way what the send queue
	 * had to do that was posted to last. Returns the longest time, in ns, that
	 * the consumer may be made to wait now; 0: not at all.
	 */
	uint64_t empty(uint64_t now_ns, uint32_t found, uint32_t under_way)
	{
		const uint64_t before_ns = last_ns_;

		last_ns_ = now_ns;
		if (!before_ns || found != found_) {
			/* Without a wait it is known when the last poll in vain was. */
			note_gap((waited_ ? now_ns : before_ns) - since_ns_);
			found_ = found;
			since_ns_ = now_ns;
			waited_ = false;
			begin(now_ns);
			return 0;
		}
		if (now_ns - before_ns <= kQuickNs)
			quick_++;
		else if (++slow_ > kSlowAllowed + quick_ / kQuickPerSlow)
			begin(now_ns);
		if (waited_ ? quick_ < kPollsAgain :
			      quick_ < kPolls || now_ns - spin_since_ns_ < spin_ns(under_way))
			return 0;
		begin(now_ns);
		waited_ = true;
		return std::clamp(std::max((now_ns - since_ns_) / 2, gap_ns_ / 4), kLeastNs,
				  kMostNs);
	}

private:
	/* Interrupts come between the polls of who spins, too: some, and one in so many. */
	static constexpr uint32_t kSlowAllowed = 8;
	static constexpr uint32_t kQuickPerSlow = 32;

	/* Completions may come in bursts, so one short gap says little. */
	void note_gap(uint64_t ns) { gap_ns_ = gap_ns_ ? (gap_ns_ + ns) / 2 : ns; }

	uint64_t spin_ns(uint32_t under_way) const
	{
		return gap_ns_ > (under_way >= kBulk ? kBulkGapNs : kSpinNs) ? kShortSpinNs :
									       kSpinNs;
	}

	void begin(uint64_t now_ns)
	{
		spin_since_ns_ = now_ns;
		quick_ = 0;
		slow_ = 0;
	}

	uint64_t last_ns_ = 0;
	uint64_t since_ns_ = 0; /* first empty poll after something was found */
	uint64_t gap_ns_ = 0;	/* how long it went without: the mean, of late */
	uint64_t spin_since_ns_ = 0;
	uint32_t found_ = 0;
	uint32_t quick_ = 0;
	uint32_t slow_ = 0;
	bool waited_ = false;
};

} // namespace tern

#endif
