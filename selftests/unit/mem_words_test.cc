// SPDX-License-Identifier: GPL-2.0
// Copying by words: every short length at every alignment, and nothing beside it; the store that
// ends a copy; which destinations are close to their source.
#include "mem/words.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace {

constexpr size_t kMost = 200;
constexpr size_t kAlign = 8;
constexpr u8 kUntouched = 0xee;

TEST(MemWords, CopiesAllOfItAndNothingElse)
{
	std::array<u8, kMost + kAlign> from;

	for (size_t i = 0; i < from.size(); i++)
		from[i] = static_cast<u8>(i + 1);
	for (size_t n = 0; n <= kMost; n++) {
		for (size_t src = 0; src < kAlign; src++) {
			for (size_t dst = 0; dst < kAlign; dst++) {
				/* As long as it is: the sanitizer sees a byte too many. */
				std::vector<u8> source(from.begin() + src, from.begin() + src + n);
				std::array<u8, kMost + 2 * kAlign> to, want;

				to.fill(kUntouched);
				want.fill(kUntouched);
				std::memcpy(want.data() + dst, from.data() + src, n);
				mem_copy_words(to.data() + dst, source.data(), n);
				ASSERT_EQ(to, want) << n << " bytes to " << dst;
				to.fill(kUntouched);
				mem_copy_in_order(to.data() + dst, source.data(), n);
				ASSERT_EQ(to, want) << n << " bytes in order to " << dst;
				to.fill(kUntouched);
				mem_copy_words(to.data() + dst, from.data() + src, n);
				ASSERT_EQ(to, want) << n << " bytes from " << src << " to " << dst;
			}
		}
	}
}

TEST(MemWords, LastStoreIsTheLongestAlignedOne)
{
	alignas(16) static const std::array<u8, 64> place{};

	for (size_t at = 0; at < 16; at++) {
		for (size_t n = 1; n <= 24; n++) {
			const size_t end = at + n;
			size_t want = 1;

			for (size_t bytes : {2, 4, 8})
				if (bytes <= n && end % bytes == 0)
					want = bytes;
			EXPECT_EQ(mem_last_store(place.data() + at, n), want) << n << " at " << at;
		}
	}
}

TEST(MemWords, LastStoreEndsACopy)
{
	for (size_t src = 0; src < kAlign; src++) {
		for (size_t bytes : {1, 2, 4, 8}) {
			alignas(8) std::array<u8, 24> to, want, from;

			for (size_t i = 0; i < from.size(); i++)
				from[i] = static_cast<u8>(i + 1);
			to.fill(kUntouched);
			want.fill(kUntouched);
			std::memcpy(want.data() + 8, from.data() + src, bytes);
			mem_store_last(to.data() + 8, from.data() + src, bytes);
			EXPECT_EQ(to, want) << bytes << " bytes from " << src;
		}
	}
}

TEST(MemWords, CloseIsALittleFurtherIntoAPage)
{
	static const std::array<u8, 3 * MEM_COPY_PAGE> pages{};
	const u8 *src = pages.data() + MEM_COPY_PAGE + 7;

	for (size_t pageful : {0, MEM_COPY_PAGE}) {
		for (size_t ahead = 0; ahead < 64; ahead++)
			EXPECT_EQ(mem_copy_is_close(src + pageful + ahead, src),
				  ahead >= 1 && ahead <= 31)
				<< ahead;
		for (size_t behind = 1; behind < 64; behind++)
			EXPECT_FALSE(mem_copy_is_close(src + pageful - behind, src)) << behind;
	}
}

} // namespace
