/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a consumer that spins on an empty CQ shall do where there is one CPU only,
 * as in small virtual machines: it takes it from the kernel's threads that bring
 * the very completions it waits for, from the peer, if that is another program of
 * this machine, and from the host. Where there are more CPUs, nobody is ever made
 * to do anything.
 *
 * It takes polls in quick succession, for a while, none of which found anything on
 * any CQ of the context; who does other work between its polls is left alone. First
 * it yields to whoever else wants to run, again and again; that costs a system call,
 * so as long as it turns out that nobody does it tries that later, after a millisecond
 * in the end. Only then it waits in the kernel, for to sleep makes whatever comes next slower.
 * But it does so soon if those it yielded to kept the CPU for long: a completion takes
 * it from them for who sleeps, not for who has yielded. And it does so as soon as it
 * is seen to spin if it has much under way, or receives again and again and sends
 * nothing, as in a bulk transfer, and so does not hang on the next completion.
 *
 * A completion ends the wait; what else the consumer may be looking for between its
 * polls does not, so no wait is longer than half of what it has gone without already,
 * or a quarter of what it lately went without. In a bulk transfer it is longer: there
 * a completion is never far, and each end of a wait in vain costs as much as one. There,
 * too, it is for several at a time of the completions of what is under way, as each end
 * of a wait takes time from the kernel that brings the rest.
 */
#ifndef TERN_PROVIDER_PATIENCE_H
#define TERN_PROVIDER_PATIENCE_H

#include <algorithm>
#include <cstdint>

namespace tern {

/* How many completions are to come of what is under way in a send queue: an estimate. */
class Signals {
public:
	/* Of each WQE that is posted. */
	void posted(bool signaled)
	{
		run_++;
		if (!signaled)
			return;
		apart_ = std::max(run_, apart_ - (apart_ + 3) / 4);
		run_ = 0;
	}

	uint32_t among(uint32_t under_way) const
	{
		return under_way / std::max({apart_, run_, 1u});
	}

private:
	uint32_t run_ = 0;   /* WQEs since the last with a completion */
	uint32_t apart_ = 0; /* these are, at most, of late */
};

class Patience {
public:
	enum class Do { spin_on, yield, wait };
	struct Advice {
		Do what;
		uint64_t wait_ns; /* at most, if to wait */
		uint32_t cqes;	  /* for so many, if so many come */
	};

	/* Polls further apart than this have other work between them. */
	static constexpr uint64_t kQuickNs = 4000;
	/* In vain for so long, and so often, it yields, and whenever that time has doubled; */
	static constexpr uint64_t kYieldNs = 50000;
	static constexpr uint32_t kPolls = 32;
	/* later by half of that for each yield that returned so soon that nobody else ran, up to */
	/* so many; one that did not takes back half of them. */
	static constexpr uint64_t kAloneNs = 20000;
	static constexpr uint32_t kMostAlone = 38;
	/* for so long, it waits; */
	static constexpr uint64_t kSpinNs = 10000000;
	/* for so long already, if it lately took longer than kSpinNs, */
	static constexpr uint64_t kShortSpinNs = 50000;
	/* or if it yielded for so long, time after time: until so many were found then. */
	static constexpr uint64_t kAwayNs = 1000000;
	static constexpr uint32_t kAways = 2;
	static constexpr uint32_t kCrowded = 64;
	/* Bulk: it lately took longer than this, and so many work requests are under way, or it */
	/* only receives: so many polls found something since one was posted. */
	static constexpr uint64_t kBulkGapNs = 200000;
	static constexpr uint32_t kBulk = 4;
	static constexpr uint32_t kOneWay = 32;
	/* Then it waits for one in so many of the completions to come, but for no more than this. */
	static constexpr uint32_t kOneIn = 8;
	static constexpr uint32_t kMostCqes = 16;
	/* So often before each wait that follows. */
	static constexpr uint32_t kPollsAgain = 4;
	/* The shortest wait, and the longest. */
	static constexpr uint64_t kLeastNs = 50000;
	static constexpr uint64_t kMostNs = 4000000;

	/*
	 * An empty poll at now_ns (any monotonic clock); found counts what polls
	 * of the whole context have found so far, found_at_post had when something was
	 * sent last, under_way what the send queue had to do then, and to_come how many
	 * completions that has.
	 */
	Advice empty(uint64_t now_ns, uint32_t found, uint32_t found_at_post, uint32_t under_way,
		     uint32_t to_come)
	{
		const uint64_t before_ns = last_ns_;

		last_ns_ = now_ns;
		if (!before_ns || found != found_) {
			/* Without a wait it is known when the last poll in vain was. */
			note_gap((waited_ ? now_ns : before_ns) - since_ns_);
			crowded_ -= crowded_ != 0;
			found_ = found;
			since_ns_ = now_ns;
			waited_ = false;
			begin(now_ns);
			return {Do::spin_on, 0, 1};
		}
		if (now_ns - before_ns <= kQuickNs)
			quick_++;
		else if (++slow_ > kSlowAllowed + quick_ / kQuickPerSlow)
			begin(now_ns);

		const bool deep = under_way >= kBulk || found - found_at_post >= kOneWay;

		return advise(now_ns, deep && gap_ns_ > kBulkGapNs, to_come);
	}

	/* It has yielded for so long. Once may be the host's doing. */
	void yielded(uint64_t ns)
	{
		alone_ = ns > kAloneNs ? alone_ / 2 : std::min(alone_ + 1, kMostAlone);
		aways_ = ns > kAwayNs ? aways_ + 1 : 0;
		if (aways_ >= kAways)
			crowded_ = kCrowded;
	}

private:
	/* Interrupts come between the polls of who spins, too: some, and one in so many. */
	static constexpr uint32_t kSlowAllowed = 8;
	static constexpr uint32_t kQuickPerSlow = 32;

	/* Completions may come in bursts, so one short gap says little. */
	void note_gap(uint64_t ns) { gap_ns_ = gap_ns_ ? (gap_ns_ + ns) / 2 : ns; }

	uint64_t spin_ns() const { return crowded_ || gap_ns_ > kSpinNs ? kShortSpinNs : kSpinNs; }

	uint64_t wait_ns(uint64_t now_ns) const
	{
		return std::clamp(std::max((now_ns - since_ns_) / 2, gap_ns_ / 4), kLeastNs,
				  kMostNs);
	}

	Advice advise(uint64_t now_ns, bool bulk, uint32_t to_come)
	{
		if (quick_ < (waited_ ? kPollsAgain : kPolls))
			return {Do::spin_on, 0, 1};
		if (!waited_ && !bulk && now_ns - spin_since_ns_ < spin_ns()) {
			if (now_ns - spin_since_ns_ < yield_ns_)
				return {Do::spin_on, 0, 1};
			yield_ns_ = 2 * (now_ns - spin_since_ns_);
			return {Do::yield, 0, 1};
		}
		begin(now_ns);
		waited_ = true;
		if (!bulk)
			return {Do::wait, wait_ns(now_ns), 1};
		return {Do::wait, kMostNs, std::clamp(to_come / kOneIn, 1u, kMostCqes)};
	}

	void begin(uint64_t now_ns)
	{
		spin_since_ns_ = now_ns;
		yield_ns_ = kYieldNs + alone_ * (kYieldNs / 2);
		quick_ = 0;
		slow_ = 0;
	}

	uint64_t last_ns_ = 0;
	uint64_t since_ns_ = 0; /* first empty poll after something was found */
	uint64_t gap_ns_ = 0;	/* how long it went without: the mean, of late */
	uint64_t spin_since_ns_ = 0;
	uint64_t yield_ns_ = 0; /* into the spin, it yields */
	uint32_t found_ = 0;
	uint32_t quick_ = 0;
	uint32_t slow_ = 0;
	uint32_t crowded_ = 0; /* found so often, the CPU is no longer taken for crowded */
	uint32_t aways_ = 0;   /* yields for long in a row */
	uint32_t alone_ = 0;   /* yields that returned at once, less those that did not */
	bool waited_ = false;
};

} // namespace tern

#endif
