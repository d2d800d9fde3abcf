// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The user's end of the rings: indices and their wrap, full and empty, publication, flags,
// arming, and removing entries beside a producer.
#include "ring.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace {

using tern::ConsumerRing;
using tern::ProducerRing;
using tern::RingMemory;

constexpr uint32_t kSlots = 4;
constexpr uint32_t kNearWrap = UINT32_MAX - 1;

// Memory of a ring and the kernel's end of it.
class Shared {
public:
	Shared(uint32_t slots, uint32_t stride, uint32_t first)
		: words_((TERN_RING_HDR_BYTES + slots * stride) / sizeof(uint64_t) + 8)
	{
		auto addr = reinterpret_cast<uintptr_t>(words_.data());

		// Aligned by hand. NOLINTNEXTLINE(performance-no-int-to-ptr)
		memory_.hdr = reinterpret_cast<tern_ring_hdr *>((addr + 63) & ~uintptr_t{63});
		memory_.slots = slots;
		memory_.stride = stride;
		memory_.hdr->prod = first;
		memory_.hdr->cons = first;
	}
	const RingMemory &memory() const { return memory_; }
	tern_ring_hdr *hdr() { return memory_.hdr; }

private:
	std::vector<uint64_t> words_;
	RingMemory memory_{};
};

struct Producer : Shared {
	explicit Producer(uint32_t first = 0) : Shared(kSlots, 64, first) { ring.attach(memory()); }
	bool put(uint64_t value)
	{
		auto *slot = static_cast<uint64_t *>(ring.reserve());

		if (!slot)
			return false;
		*slot = value;
		ring.advance();
		return true;
	}
	ProducerRing ring{};
};

struct Consumer : Shared {
	explicit Consumer(uint32_t first = 0, uint32_t slots = kSlots)
		: Shared(slots, TERN_CQE_BYTES, first)
	{
		ring.attach(memory());
	}
	void produce(uint64_t wr_id, uint32_t qp_num = 0)
	{
		auto *cqe = static_cast<tern_cqe *>(memory().slot(hdr()->prod));

		cqe->wr_id = wr_id;
		cqe->qp_num = qp_num;
		tern::store_release(hdr()->prod, hdr()->prod + 1);
	}
	std::vector<uint64_t> drain()
	{
		std::vector<uint64_t> ids;

		while (const tern_cqe *cqe = ring.peek()) {
			ids.push_back(cqe->wr_id);
			ring.advance();
		}
		ring.release();
		return ids;
	}
	uint32_t remove_qp(uint32_t qp_num)
	{
		return ring.remove_if([=](const tern_cqe &cqe) { return cqe.qp_num == qp_num; });
	}
	ConsumerRing<tern_cqe> ring{};
};

using Ids = std::vector<uint64_t>;

TEST(ProviderRing, SlotsLieBehindTheHeaderAndRepeatByMask)
{
	Shared s(kSlots, 128, 0);
	const char *base = reinterpret_cast<const char *>(s.hdr());

	EXPECT_EQ(s.memory().slot(0), base + TERN_RING_HDR_BYTES);
	EXPECT_EQ(s.memory().slot(3), base + TERN_RING_HDR_BYTES + 3 * 128);
	EXPECT_EQ(s.memory().slot(4), s.memory().slot(0));
	EXPECT_EQ(s.memory().slot(UINT32_MAX), s.memory().slot(3));
}

TEST(ProviderRing, ProducerTakesExactlyAsManyAsThereAreSlots)
{
	Producer p;

	for (uint32_t i = 0; i < kSlots; i++)
		EXPECT_TRUE(p.put(i));
	EXPECT_FALSE(p.put(99));
	p.hdr()->cons = 1;
	EXPECT_TRUE(p.put(4));
	EXPECT_FALSE(p.put(99));
}

TEST(ProviderRing, ProducerFillsAcrossTheWrapOfIndices)
{
	Producer p(kNearWrap);

	for (uint32_t i = 0; i < kSlots; i++)
		EXPECT_TRUE(p.put(i));
	EXPECT_FALSE(p.put(99));
	p.ring.publish();
	EXPECT_EQ(p.hdr()->prod, kNearWrap + kSlots);
	p.hdr()->cons = kNearWrap + kSlots;
	for (uint32_t i = 0; i < kSlots; i++)
		EXPECT_TRUE(p.put(i));
	EXPECT_FALSE(p.put(99));
}

TEST(ProviderRing, NothingIsVisibleBeforePublish)
{
	Producer p;

	p.put(1);
	p.put(2);
	EXPECT_EQ(p.hdr()->prod, 0u);
	p.ring.publish();
	EXPECT_EQ(p.hdr()->prod, 2u);
}

TEST(ProviderRing, RewoundSlotsAreUsedAgain)
{
	Producer p;

	p.put(1);
	p.ring.publish();
	uint32_t mark = p.ring.mark();
	p.put(2);
	p.put(3);
	p.ring.rewind(mark);
	EXPECT_TRUE(p.put(4));
	p.ring.publish();
	EXPECT_EQ(p.hdr()->prod, 2u);
	EXPECT_EQ(*static_cast<uint64_t *>(p.memory().slot(1)), 4u);
}

TEST(ProviderRing, ReserveGivesTheSameSlotUntilAdvance)
{
	Producer p;

	EXPECT_EQ(p.ring.reserve(), p.ring.reserve());
}

TEST(ProviderRing, ProducerGoesOnWhereAResizedRingStands)
{
	Producer p(77);

	p.hdr()->cons = 75;
	p.ring.attach(p.memory());
	EXPECT_TRUE(p.put(1));
	EXPECT_TRUE(p.put(2));
	EXPECT_FALSE(p.put(3));
	p.ring.publish();
	EXPECT_EQ(p.hdr()->prod, 79u);
}

TEST(ProviderRing, ProducerWithoutARingIsFull)
{
	ProducerRing none{};
	Producer p;

	EXPECT_EQ(none.reserve(), nullptr);
	p.put(1);
	p.ring.detach();
	EXPECT_EQ(p.ring.reserve(), nullptr);
}

TEST(ProviderRing, SendDoorbellIsLeftOutWhileTheKernelDrains)
{
	Producer p;

	p.put(1);
	EXPECT_TRUE(tern::sq_needs_doorbell(p.ring.publish()));
	p.hdr()->flags = TERN_RING_F_DRAINING;
	p.put(2);
	EXPECT_FALSE(tern::sq_needs_doorbell(p.ring.publish()));
	EXPECT_TRUE(tern::sq_needs_doorbell(TERN_RING_F_DEAD | TERN_RING_F_KICK));
}

TEST(ProviderRing, ReceiveDoorbellIsRungOnlyWhenAskedFor)
{
	EXPECT_FALSE(tern::rq_needs_doorbell(0));
	EXPECT_FALSE(tern::rq_needs_doorbell(TERN_RING_F_DRAINING));
	EXPECT_TRUE(tern::rq_needs_doorbell(TERN_RING_F_KICK));
}

TEST(ProviderRing, ConsumerReadsInOrderAndThenNothing)
{
	Consumer c;

	EXPECT_EQ(c.ring.peek(), nullptr);
	c.produce(1);
	c.produce(2);
	EXPECT_EQ(c.drain(), (Ids{1, 2}));
	EXPECT_EQ(c.ring.peek(), nullptr);
	EXPECT_EQ(c.hdr()->cons, 2u);
}

TEST(ProviderRing, ConsumerReadsAcrossTheWrapOfIndices)
{
	Consumer c(kNearWrap);

	for (uint64_t i = 0; i < kSlots; i++)
		c.produce(i);
	EXPECT_EQ(c.drain(), (Ids{0, 1, 2, 3}));
	EXPECT_EQ(c.hdr()->cons, kNearWrap + kSlots);
}

TEST(ProviderRing, AnEntryIsGivenBackByReleaseOnly)
{
	Consumer c;

	c.produce(1);
	ASSERT_NE(c.ring.peek(), nullptr);
	c.ring.advance();
	EXPECT_EQ(c.hdr()->cons, 0u);
	c.ring.release();
	EXPECT_EQ(c.hdr()->cons, 1u);
}

TEST(ProviderRing, ConsumerWithoutARingIsEmptyAndArmingItHarmless)
{
	ConsumerRing<tern_cqe> none{};

	EXPECT_EQ(none.peek(), nullptr);
	EXPECT_FALSE(none.dead());
	none.arm(false);
	EXPECT_EQ(none.remove_if([](const tern_cqe &) { return true; }), 0u);
}

TEST(ProviderRing, ArmStoresWhatWasAskedFor)
{
	Consumer c;

	c.ring.arm(true);
	EXPECT_EQ(c.hdr()->arm, uint32_t{TERN_CQ_ARM_SOLICITED});
	c.ring.arm(false);
	EXPECT_EQ(c.hdr()->arm, uint32_t{TERN_CQ_ARM_ANY});
}

TEST(ProviderRing, ArmingForSolicitedDoesNotWeakenAny)
{
	Consumer c;

	c.ring.arm(false);
	c.ring.arm(true);
	EXPECT_EQ(c.hdr()->arm, uint32_t{TERN_CQ_ARM_ANY});
}

TEST(ProviderRing, DeadFlagIsSeen)
{
	Consumer c;

	EXPECT_FALSE(c.ring.dead());
	c.hdr()->flags = TERN_RING_F_DEAD;
	EXPECT_TRUE(c.ring.dead());
}

TEST(ProviderRing, RemoveKeepsTheOthersInOrder)
{
	Consumer c(0, 8);

	c.produce(1, 7);
	c.produce(2, 5);
	c.produce(3, 7);
	c.produce(4, 7);
	c.produce(5, 6);
	EXPECT_EQ(c.remove_qp(7), 3u);
	EXPECT_EQ(c.hdr()->cons, 3u);
	EXPECT_EQ(c.hdr()->prod, 5u);
	EXPECT_EQ(c.drain(), (Ids{2, 5}));
}

TEST(ProviderRing, RemoveOfAllOfNoneAndOfNothing)
{
	Consumer c;

	EXPECT_EQ(c.remove_qp(7), 0u);
	c.produce(1, 7);
	c.produce(2, 7);
	EXPECT_EQ(c.remove_qp(8), 0u);
	EXPECT_EQ(c.hdr()->cons, 0u);
	EXPECT_EQ(c.remove_qp(7), 2u);
	EXPECT_EQ(c.hdr()->cons, 2u);
	EXPECT_EQ(c.drain(), Ids{});
}

TEST(ProviderRing, RemoveWorksOnAFullRingAcrossTheWrap)
{
	Consumer c(kNearWrap);

	c.produce(1, 5);
	c.produce(2, 7);
	c.produce(3, 6);
	c.produce(4, 7);
	EXPECT_EQ(c.remove_qp(7), 2u);
	c.produce(5, 5);
	c.produce(6, 5);
	EXPECT_EQ(c.drain(), (Ids{1, 3, 5, 6}));
}

TEST(ProviderRing, RemoveLeavesWhatWasAlreadyRead)
{
	Consumer c;

	c.produce(1, 7);
	c.produce(2, 5);
	c.produce(3, 7);
	ASSERT_NE(c.ring.peek(), nullptr);
	c.ring.advance();
	EXPECT_EQ(c.remove_qp(7), 1u);
	EXPECT_EQ(c.drain(), Ids{2});
}

TEST(ProviderRing, RemoveBesideAProducerLosesNothing)
{
	constexpr uint64_t kTotal = 20000;
	Consumer c(0, 64);
	uint64_t last = 0;

	// Every third entry may be removed, no other.
	std::thread kernel([&] {
		for (uint64_t id = 1; id <= kTotal; id++) {
			while (c.hdr()->prod - tern::load_acquire(c.hdr()->cons) == 64)
				std::this_thread::yield();
			c.produce(id, id % 3);
		}
	});
	while (last < kTotal) {
		c.remove_qp(0);
		for (int i = 0; i < 7; i++) {
			const tern_cqe *cqe = c.ring.peek();

			if (!cqe)
				break;
			if (cqe->wr_id != last + 1 && (last + 1) % 3 == 0)
				last++;
			ASSERT_EQ(cqe->wr_id, ++last);
			c.ring.advance();
		}
		c.ring.release();
		std::this_thread::yield();
	}
	kernel.join();
	EXPECT_EQ(c.drain(), Ids{});
}

} // namespace
