// SPDX-License-Identifier: GPL-2.0
// The folded CRCs, compared with bit-by-bit ones: all lengths around the start of folding, any
// place, any register.
#include "proto/crc_fold.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

/* Bytes that were not folded. */
size_t looked_up;

template <u32 kPolynomial> u32 bitwise(u32 crc, const u8 *p, size_t n)
{
	looked_up += n;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (crc >> 1) ^ kPolynomial : crc >> 1;
	}
	return crc;
}

struct Crc {
	const char *name;
	u32 (*fold)(u32 crc, const u8 *p, size_t n, crc_fn table);
	crc_fn bitwise;
	u32 of_zeros, of_ones; /* 32 bytes of them */
	size_t kept;	       /* words that folding leaves */
	size_t at_once;	       /* words that are folded together */
};

/* CRC-32C: RFC 3720 B.4. CRC-32: zlib. */
const Crc crcs[] = {
	{"Crc32", crc32_fold, bitwise<0xedb88320>, 0x190a55ad, 0xff6cab0b, 5, 4},
	{"Crc32c", crc32c_fold, bitwise<0x82f63b78>, 0x8a9136aa, 0x62a8ab43, 7, 6},
};

class CrcFold : public ::testing::TestWithParam<Crc> {
protected:
	CrcFold() : bytes(40000)
	{
		for (u8 &byte : bytes)
			byte = static_cast<u8>(random());
	}
	u32 fold(u32 crc, const u8 *p, size_t n) const
	{
		return GetParam().fold(crc, p, n, GetParam().bitwise);
	}
	void check(size_t at, size_t n, u32 crc)
	{
		const u32 right = GetParam().bitwise(crc, &bytes[at], n);

		looked_up = 0;
		EXPECT_EQ(fold(crc, &bytes[at], n), right) << n << " bytes at " << at;
	}

	std::mt19937 random{5044};
	std::vector<u8> bytes;
};

TEST_P(CrcFold, OfKnownBytes)
{
	const std::vector<u8> zeros(32), ones(32, 0xff);

	EXPECT_EQ(~fold(~0u, zeros.data(), 32), GetParam().of_zeros);
	EXPECT_EQ(~fold(~0u, ones.data(), 32), GetParam().of_ones);
}

TEST_P(CrcFold, IsTheSameForAllLengthsAboutTheLeast)
{
	for (size_t n = 0; n <= CRC_FOLD_LEAST + 200; n++)
		check(n % 8, n, static_cast<u32>(random()));
}

TEST_P(CrcFold, IsTheSameForRandomStretches)
{
	for (int i = 0; i < 200; i++)
		check(random() % 100, random() % (bytes.size() - 100), static_cast<u32>(random()));
}

TEST_P(CrcFold, SeesEveryBit)
{
	const size_t n = 6000;
	const u32 right = fold(~0u, bytes.data(), n);

	for (size_t bit = 0; bit < 8 * n; bit += 1 + random() % 200) {
		bytes[bit / 8] ^= static_cast<u8>(1 << bit % 8);
		EXPECT_NE(fold(~0u, bytes.data(), n), right);
		bytes[bit / 8] ^= static_cast<u8>(1 << bit % 8);
	}
}

TEST_P(CrcFold, FoldsAllButTheEndAndAnOddBeginning)
{
	const size_t kept = GetParam().kept, at_once = GetParam().at_once;

	for (size_t words = 20; words < 40; words++) {
		check(0, 8 * words + 3, ~0u);
		EXPECT_EQ(looked_up, 8 * (kept + (words - kept) % at_once) + 3);
	}
}

INSTANTIATE_TEST_SUITE_P(Of, CrcFold, ::testing::ValuesIn(crcs),
			 [](const auto &crc) { return crc.param.name; });

} // namespace
