/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long a consumer that spins on an empty CQ shall pause. Where there is one
 * CPU only, as in small virtual machines, who spins takes it from the kernel's
 * threads that bring the very completions it waits for, and from the host;
 * where there are more, nobody is ever paused.
 *
 * A pause comes only to who really spins: polls in quick succession, for a
 * while, none of which found anything on any CQ of the context. Who does other
 * work between its polls is left alone.
 */
#ifndef TERN_PROVIDER_PATIENCE_H
#define TERN_PROVIDER_PATIENCE_H

#include <cstdint>

namespace tern {

class Patience {
public:
	/* Polls further apart than this have other work between them. */
	static constexpr uint64_t kQuickNs = 4000;
	/* In vain for so long, and so often, before the first pause. */
	static constexpr uint64_t kSpinNs = 200000;
	static constexpr uint32_t kPolls = 32;
	/* Pauses: the first, and the longest. */
	static constexpr uint32_t kFirstNs = 50000;
	static constexpr uint32_t kLongestNs = 250000;

	/*
	 * An empty poll at now_ns (any monotonic clock); found counts what polls
	 * of the whole context have found so far. Returns the pause that is due,
	 * in ns; 0: none.
	 */
	uint32_t empty(uint64_t now_ns, uint32_t found)
	{
		const bool quick = now_ns - last_ns_ <= kQuickNs;
		const bool anew = !last_ns_ || found != found_;

		last_ns_ = now_ns;
		if (anew) {
			found_ = found;
			begin(now_ns);
			pause_ns_ = 0;
			return 0;
		}
		if (quick)
			quick_++;
		else if (++slow_ > kSlowAllowed)
			begin(now_ns);
		if (quick_ < kPolls || (!pause_ns_ && now_ns - since_ns_ < kSpinNs))
			return 0;
		begin(now_ns);
		pause_ns_ = pause_ns_ ? pause_ns_ * 2 : kFirstNs;
		if (pause_ns_ > kLongestNs)
			pause_ns_ = kLongestNs;
		return pause_ns_;
	}

private:
	/* Interrupts come between the polls of who spins, too. */
	static constexpr uint32_t kSlowAllowed = 8;

	void begin(uint64_t now_ns)
	{
		since_ns_ = now_ns;
		quick_ = 0;
		slow_ = 0;
	}

	uint64_t last_ns_ = 0;
	uint64_t since_ns_ = 0;
	uint32_t found_ = 0;
	uint32_t quick_ = 0;
	uint32_t slow_ = 0;
	uint32_t pause_ns_ = 0;
};

} // namespace tern

#endif
