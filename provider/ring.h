/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The user's end of the rings of tern-abi.h: index arithmetic, publication and
 * barriers. A ring object is a view of memory that mapping.h maps. It takes no
 * lock: callers serialise all calls but those marked otherwise. It makes no
 * system call, so unit tests use it as it is.
 */
#ifndef TERN_PROVIDER_RING_H
#define TERN_PROVIDER_RING_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tern-abi.h"

namespace tern {

static_assert(sizeof(tern_ring_hdr) == TERN_RING_HDR_BYTES);
static_assert(offsetof(tern_ring_hdr, cons) == 64);
static_assert(offsetof(tern_ring_hdr, flags) == 128);
static_assert(offsetof(tern_ring_hdr, arm) == 192);

inline uint32_t load_acquire(uint32_t &word)
{
	return std::atomic_ref<uint32_t>(word).load(std::memory_order_acquire);
}

inline uint32_t load_relaxed(uint32_t &word)
{
	return std::atomic_ref<uint32_t>(word).load(std::memory_order_relaxed);
}

inline void store_release(uint32_t &word, uint32_t value)
{
	std::atomic_ref<uint32_t>(word).store(value, std::memory_order_release);
}

/* Orders a store before a load. Pairs with the kernel's smp_mb(). */
inline void full_barrier()
{
	std::atomic_thread_fence(std::memory_order_seq_cst);
}

/* Must a poster that saw these flags after its full barrier ring the doorbell? */
constexpr bool sq_needs_doorbell(uint32_t flags)
{
	return !(flags & TERN_RING_F_DRAINING);
}

constexpr bool rq_needs_doorbell(uint32_t flags)
{
	return flags & TERN_RING_F_KICK;
}

/* Where a ring is. slots is a power of two; 0: there is no ring. */
struct RingMemory {
	tern_ring_hdr *hdr;
	uint32_t slots;
	uint32_t stride; /* bytes */

	void *slot(uint32_t index) const
	{
		char *first = reinterpret_cast<char *>(hdr) + TERN_RING_HDR_BYTES;

		return first + static_cast<size_t>(index & (slots - 1)) * stride;
	}
};

/*
 * SQ, RQ, SRQ: WQEs are built in reserved slots. publish() hands all of them to the
 * kernel at once. Zeroed memory is a ring without slots: always full.
 */
class ProducerRing {
public:
	/* Starts at the header's indices: 0, except in a ring that the kernel resized. */
	void attach(const RingMemory &memory)
	{
		mem_ = memory;
		next_ = load_relaxed(mem_.hdr->prod);
		cons_ = load_acquire(mem_.hdr->cons);
	}

	void detach()
	{
		mem_ = RingMemory{};
		cons_ = next_;
	}

	bool exists() const { return mem_.slots != 0; }

	/* Slot for the next WQE, or NULL if full. The same one until advance(). */
	void *reserve()
	{
		if (next_ - cons_ >= mem_.slots) {
			if (!mem_.slots)
				return nullptr;
			cons_ = load_acquire(mem_.hdr->cons);
			if (next_ - cons_ >= mem_.slots)
				return nullptr;
		}
		return mem_.slot(next_);
	}

	/* The WQE in the reserved slot is complete. The kernel does not see it yet. */
	void advance() { next_++; }

	/* Index of the next WQE, for rewind(). */
	uint32_t mark() const { return next_; }

	/* Drop the WQEs since mark(). None of them may be published. */
	void rewind(uint32_t mark) { next_ = mark; }

	/*
	 * Hand all complete WQEs to the kernel. Returns the ring's flags, read after
	 * the full barrier, for *_needs_doorbell().
	 */
	uint32_t publish()
	{
		store_release(mem_.hdr->prod, next_);
		full_barrier();
		return load_relaxed(mem_.hdr->flags);
	}

	/* The same for a queue that never needs a doorbell. */
	void publish_silently() { store_release(mem_.hdr->prod, next_); }

private:
	RingMemory mem_;
	uint32_t next_; /* index of the next WQE to fill */
	uint32_t cons_; /* the kernel's index, as last seen */
};

/*
 * CQ. An entry that peek() returned stays readable until release() publishes an
 * index beyond it. Zeroed memory is a ring without slots: always empty.
 */
template <typename Entry> class ConsumerRing {
public:
	void attach(const RingMemory &memory)
	{
		mem_ = memory;
		next_ = load_relaxed(mem_.hdr->cons);
		prod_ = load_acquire(mem_.hdr->prod);
	}

	void detach()
	{
		mem_ = RingMemory{};
		prod_ = next_;
	}

	/*
	 * The oldest entry before advance(), or NULL if empty. In a ring that ignores overruns,
	 * those that were overwritten are passed by.
	 */
	const Entry *peek()
	{
		if (next_ == prod_) {
			if (!mem_.hdr)
				return nullptr;
			prod_ = load_acquire(mem_.hdr->prod);
			if (next_ == prod_)
				return nullptr;
			next_ = oldest(prod_);
		}
		return entry(next_);
	}

	void advance() { next_++; }

	/* Give the entries before the next one back to the kernel. */
	void release() { store_release(mem_.hdr->cons, next_); }

	/*
	 * Drop the unread entries for which drop(entry) is true and keep the others
	 * in order. Touches only entries up to the present prod and moves them towards
	 * it, so the kernel may go on producing. Returns how many were dropped.
	 * Not to be called between start and end of a poll.
	 */
	template <typename Drop> uint32_t remove_if(Drop drop)
	{
		if (!mem_.hdr)
			return 0;

		const uint32_t end = load_acquire(mem_.hdr->prod);
		const uint32_t begin = oldest(end);
		uint32_t to = end;

		for (uint32_t from = end; from != begin;) {
			const Entry *e = entry(--from);

			if (drop(*e))
				continue;
			if (--to != from)
				*entry(to) = *e;
		}
		prod_ = end;
		next_ = to;
		if (to != begin)
			release();
		return to - begin;
	}

	/* Did the CQ overrun? Then no entry will be added. */
	bool dead() const { return mem_.hdr && load_relaxed(mem_.hdr->flags) & TERN_RING_F_DEAD; }

	/*
	 * Ask for an event at the next completion (solicited: the next solicited or
	 * failed one). Does not weaken an armed ANY. The application polls once more
	 * afterwards. Needs no poll lock: serialise it with attach() and detach() only.
	 */
	void arm(bool solicited)
	{
		if (!mem_.hdr)
			return;

		std::atomic_ref<uint32_t> word(mem_.hdr->arm);
		uint32_t none = TERN_CQ_ARM_NONE;

		if (solicited)
			word.compare_exchange_strong(none, TERN_CQ_ARM_SOLICITED);
		else
			word.exchange(TERN_CQ_ARM_ANY);
		full_barrier();
	}

private:
	Entry *entry(uint32_t index) const { return static_cast<Entry *>(mem_.slot(index)); }

	/* Index of the oldest unread entry that is there, by the kernel's index. */
	uint32_t oldest(uint32_t prod) const
	{
		return prod - next_ > mem_.slots ? prod - mem_.slots : next_;
	}

	RingMemory mem_;
	uint32_t next_; /* index of the next entry to read */
	uint32_t prod_; /* the kernel's index, as last seen */
};

} // namespace tern

#endif
