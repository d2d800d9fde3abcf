// SPDX-License-Identifier: GPL-2.0
// Moving a ring's entries to another: all of them, each at its index, while both ends go
// on; in rounds that are short whatever the indices are.
#include "proto/deps.h"
extern "C" {
#include "queue/move.h"
}

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr u32 kStride = 64;
constexpr u32 kRound = TERN_MOVE_ROUND_BYTES / kStride;
// Indices that are about to wrap, and some others.
constexpr u32 kStarts[] = {0, 1, 12345, 0x7fffff00, 0xffffff00};

// A ring whose entries say which they are; the sanitizer sees who leaves it.
struct Ring {
	explicit Ring(u32 slots, u32 stride_bytes = kStride)
		: nslots(slots), stride(stride_bytes), bytes(size_t{slots} * stride_bytes, 0xee)
	{}
	tern_slots slots() { return {bytes.data(), nslots}; }
	u8 *at(u32 index) { return bytes.data() + size_t{index % nslots} * stride; }
	void write(u32 index)
	{
		memset(at(index), static_cast<int>(index), stride);
		memcpy(at(index), &index, sizeof(index));
		memcpy(at(index) + stride - sizeof(index), &index, sizeof(index));
	}
	bool has(u32 index)
	{
		Ring other(1, stride);

		other.write(index);
		return !memcmp(at(index), other.bytes.data(), stride);
	}
	u32 written() const
	{
		u32 n = 0;

		for (u32 i = 0; i < nslots; i++)
			n += bytes[size_t{i} * stride] != 0xee ||
			     bytes[size_t{i} * stride + 1] != 0xee;
		return n;
	}

	u32 nslots, stride;
	std::vector<u8> bytes;
};

struct Queue {
	Queue(u32 from_slots, u32 to_slots, u32 start, u32 fill)
		: from(from_slots), to(to_slots), cons(start), prod(start)
	{
		produce(fill);
		tern_move_begin(&move, to.slots(), from.slots(), kStride, cons);
	}
	void produce(u32 n)
	{
		while (n--)
			from.write(prod++);
	}
	int round() { return tern_move_round(&move, cons, prod); }
	// How many rounds it takes if nothing happens between.
	int finish()
	{
		int ret, n = 0;

		do {
			ret = round();
			n++;
		} while (!ret);
		return ret < 0 ? ret : n;
	}
	void expect_all()
	{
		for (u32 i = cons; i != prod; i++)
			ASSERT_TRUE(to.has(i)) << "index " << i - cons << " of " << prod - cons;
	}

	Ring from, to;
	u32 cons, prod;
	tern_move move;
};

TEST(QueueMove, EachEntryKeepsItsIndex)
{
	for (u32 start : kStarts) {
		for (u32 from : {1u, 2u, 64u, 4096u}) {
			for (u32 to : {1u, 2u, 64u, 4096u}) {
				for (u32 fill : {0u, 1u, from / 2, from - 1, from}) {
					Queue q(from, to, start, fill);

					if (fill > to) {
						EXPECT_EQ(q.finish(), -EINVAL);
						EXPECT_EQ(q.to.written(), 0u);
						continue;
					}
					u32 rounds = fill ? (fill + kRound - 1) / kRound : 1;
					EXPECT_EQ(q.finish(), static_cast<int>(rounds));
					EXPECT_EQ(q.to.written(), fill);
					q.expect_all();
				}
			}
		}
	}
}

TEST(QueueMove, ARoundIsAtLeastOneOfTheLongestEntriesAndNoMoreThanItsBytes)
{
	// The longest slots that there are: a send WQE with TERN_MAX_SGE SGEs.
	for (u32 stride : {8u, 64u, 576u, 640u}) {
		Ring from(8192, stride), to(8192, stride);
		tern_move move;

		for (u32 i = 0; i < 8192; i++)
			from.write(i);
		tern_move_begin(&move, to.slots(), from.slots(), stride, 0);
		ASSERT_EQ(tern_move_round(&move, 0, 8192), 0);
		EXPECT_GT(move.next, 0u);
		EXPECT_LE(move.next * stride, u32{TERN_MOVE_ROUND_BYTES});
		EXPECT_EQ(to.written(), move.next);
	}
}

TEST(QueueMove, GoesOnWhileBothEndsDo)
{
	for (u32 seed = 0; seed < 200; seed++) {
		std::mt19937 random(seed);
		auto below = [&](u32 n) { return static_cast<u32>(random() % n); };
		u32 from = 1u << below(13), to = 1u << below(13);
		Queue q(from, to, kStarts[seed % 5], below(std::min(from, to) + 1));
		u32 most = std::min(from, to);
		int ret;

		while (!(ret = q.round())) {
			// A consumer may well be quicker than the move, a producer is not for long.
			q.cons += below(2) ? below(q.prod - q.cons + 1) : 0;
			q.produce(below(std::min(kRound, most - (q.prod - q.cons) + 1)));
		}
		ASSERT_EQ(ret, 1) << "seed " << seed;
		q.expect_all();
	}
}

TEST(QueueMove, OvertakenByTheConsumerItGoesOnWhereThatIs)
{
	for (u32 start : kStarts) {
		Queue q(4096, 4096, start, 4096);

		ASSERT_EQ(q.round(), 0);
		q.cons += 3000;
		ASSERT_EQ(q.round(), 0);
		EXPECT_EQ(q.move.next, start + 3000 + kRound);
		// And by laps.
		q.cons = q.prod += 100000;
		q.produce(10);
		EXPECT_EQ(q.round(), 1);
		q.expect_all();
	}
}

TEST(QueueMove, WhatHasNoRoomIsRefusedWhenItComes)
{
	Queue q(4096, 1024, 7, 1000);

	ASSERT_EQ(q.round(), 0);
	q.produce(24);
	EXPECT_EQ(q.round(), 0);
	q.produce(1);
	EXPECT_EQ(q.round(), -EINVAL);
}

// prod as who has the ring mapped may write it, between any two rounds.
TEST(QueueMove, NoIndexMakesARoundLong)
{
	for (u32 start : kStarts) {
		for (u32 back : {1u, 10u, kRound, kRound + 1, 4096u, 1u << 31, ~0u - 4096u}) {
			Queue q(4096, 4096, start, 4096);

			ASSERT_EQ(q.round(), 0);
			q.prod -= back;
			u32 fill = q.prod - q.cons;
			EXPECT_EQ(q.round(), fill > 4096 ? -EINVAL : fill <= kRound) << back;
			EXPECT_LE(q.to.written(), 2 * kRound);
		}
	}
}

TEST(QueueMove, AnyIndicesAreSafe)
{
	std::mt19937 random(1);

	Queue q(64, 256, 0, 64);
	for (int i = 0; i < 100000; i++) {
		u32 cons = random() % 4 ? random() % 300 : static_cast<u32>(random());
		u32 prod = random() % 4 ? cons + random() % 70 : static_cast<u32>(random());
		int ret = tern_move_round(&q.move, cons, prod);

		ASSERT_EQ(ret<0, prod - cons> 64);
		if (ret == 1) {
			ASSERT_EQ(q.move.next, prod);
		}
	}
}

} // namespace
