// SPDX-License-Identifier: GPL-2.0
// The folded CRC-32C against a bit-by-bit one: all lengths about where folding
// begins, any place, any register.
#include "proto/crc32c.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

/* How much was not folded. */
size_t looked_up;

u32 bitwise(u32 crc, const u8 *p, size_t n)
{
	looked_up += n;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
	}
	return crc;
}

class Crc32c : public ::testing::Test {
protected:
	Crc32c() : bytes(40000)
	{
		for (u8 &byte : bytes)
			byte = static_cast<u8>(random());
	}
	void check(size_t at, size_t n, u32 crc)
	{
		const u32 right = bitwise(crc, &bytes[at], n);

		looked_up = 0;
		EXPECT_EQ(crc32c_fold(crc, &bytes[at], n, bitwise), right)
			<< n << " bytes at " << at;
	}

	std::mt19937 random{5044};
	std::vector<u8> bytes;
};

TEST_F(Crc32c, OfTheTestVectorsOfRfc3720)
{
	const std::vector<u8> zeros(32), ones(32, 0xff);

	EXPECT_EQ(~crc32c_fold(~0u, zeros.data(), 32, bitwise), 0x8a9136aau);
	EXPECT_EQ(~crc32c_fold(~0u, ones.data(), 32, bitwise), 0x62a8ab43u);
}

TEST_F(Crc32c, IsTheSameForAllLengthsAboutTheLeast)
{
	for (size_t n = 0; n <= CRC32C_FOLD_LEAST + 200; n++)
		check(n % 8, n, static_cast<u32>(random()));
}

TEST_F(Crc32c, IsTheSameForRandomStretches)
{
	for (int i = 0; i < 200; i++)
		check(random() % 100, random() % (bytes.size() - 100), static_cast<u32>(random()));
}

TEST_F(Crc32c, SeesEveryBit)
{
	const size_t n = 6000;
	const u32 right = crc32c_fold(~0u, bytes.data(), n, bitwise);

	for (size_t bit = 0; bit < 8 * n; bit += 1 + random() % 200) {
		bytes[bit / 8] ^= static_cast<u8>(1 << bit % 8);
		EXPECT_NE(crc32c_fold(~0u, bytes.data(), n, bitwise), right);
		bytes[bit / 8] ^= static_cast<u8>(1 << bit % 8);
	}
}

TEST_F(Crc32c, FoldsAllButTheEnd)
{
	check(0, 16384, ~0u);
	EXPECT_EQ(looked_up, 32u);
}

} // namespace
