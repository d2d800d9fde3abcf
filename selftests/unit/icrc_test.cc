// SPDX-License-Identifier: GPL-2.0
// The invariant CRC, compared with a bit-by-bit CRC-32 of a packet that is masked here in the words
// of the specification, field by field.
#include "proto/crc_slice.h"
#include "proto/icrc.h"

#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace {

using Bytes = std::vector<u8>;

u32 bitwise_crc32(u32 crc, const u8 *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (crc >> 1) ^ 0xedb88320u : crc >> 1;
	}
	return crc;
}

struct Format {
	const char *name;
	size_t ip_bytes;
	bool udp;
	u32 (*start)(crc_fn, icrc_memo *, const u8 *);
	std::set<size_t> variant; // byte offsets that the CRC does not cover
	size_t half_variant;	  // only its low nibble is not covered, or 0
};

// TOS, TTL, checksum; UDP checksum; BTH byte 4.
const Format kIpv4 = {"IPv4", 20, true, icrc_start_ipv4, {1, 8, 10, 11, 26, 27, 32}, SIZE_MAX};
// Traffic class and flow label, hop limit; UDP checksum; BTH byte 4.
const Format kIpv6 = {"IPv6", 40, true, icrc_start_ipv6, {1, 2, 3, 7, 46, 47, 52}, 0};
const Format kGrh = {"GRH", 40, false, icrc_start_grh, {1, 2, 3, 7, 44}, 0};

size_t bth_at(const Format &f)
{
	return f.ip_bytes + (f.udp ? 8 : 0);
}

u32 tern_icrc(const Format &f, const Bytes &pkt, icrc_memo *memo, crc_fn crc = crc32_slice)
{
	u32 reg = f.start(crc, memo, pkt.data());
	size_t body = bth_at(f) + 12;

	return icrc_finish(crc(reg, pkt.data() + body, pkt.size() - body));
}

u32 tern_icrc(const Format &f, const Bytes &pkt, crc_fn crc = crc32_slice)
{
	icrc_memo memo = {};

	return tern_icrc(f, pkt, &memo, crc);
}

u32 reference_icrc(const Format &f, Bytes pkt)
{
	const u8 lrh[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	for (size_t i : f.variant)
		pkt[i] = 0xff;
	if (f.half_variant != SIZE_MAX)
		pkt[f.half_variant] |= 0x0f;
	u32 crc = bitwise_crc32(0xffffffffu, lrh, sizeof(lrh));
	return ~bitwise_crc32(crc, pkt.data(), pkt.size());
}

Bytes random_packet(const Format &f, size_t body_bytes, std::mt19937 &rng)
{
	Bytes pkt(bth_at(f) + 12 + body_bytes);

	for (u8 &b : pkt)
		b = static_cast<u8>(rng());
	pkt[0] = static_cast<u8>(f.ip_bytes == 20 ? 0x45 : 0x60 | (pkt[0] & 0x0f));
	return pkt;
}

class Icrc : public testing::TestWithParam<Format> {};

TEST_P(Icrc, EqualsTheBitwiseReference)
{
	std::mt19937 rng(7);

	for (size_t body = 0; body <= 1024; body += body < 64 ? 1 : 61) {
		Bytes pkt = random_packet(GetParam(), body, rng);

		ASSERT_EQ(tern_icrc(GetParam(), pkt), reference_icrc(GetParam(), pkt)) << body;
	}
}

TEST_P(Icrc, CoversEveryBitButTheVariantFields)
{
	const Format &f = GetParam();
	std::mt19937 rng(8);
	Bytes pkt = random_packet(f, 24, rng);
	u32 want = tern_icrc(f, pkt);

	for (size_t i = 0; i < pkt.size(); i++) {
		for (int bit = 0; bit < 8; bit++) {
			bool variant = f.variant.count(i) || (i == f.half_variant && bit < 4);

			pkt[i] ^= static_cast<u8>(1 << bit);
			EXPECT_EQ(tern_icrc(f, pkt) == want, variant)
				<< "byte " << i << " bit " << bit;
			pkt[i] ^= static_cast<u8>(1 << bit);
		}
	}
}

TEST_P(Icrc, ReadsTheHeadersOnly)
{
	const Format &f = GetParam();
	std::mt19937 rng(9);
	Bytes pkt = random_packet(f, 0, rng); // exact size: ASan sees one byte more

	pkt.shrink_to_fit();
	icrc_memo memo = {};

	f.start(crc32_slice, &memo, pkt.data());
}

TEST_P(Icrc, DoesNotChangeThePacket)
{
	const Format &f = GetParam();
	std::mt19937 rng(10);
	const Bytes pkt = random_packet(f, 16, rng);
	Bytes copy = pkt;

	tern_icrc(f, copy);
	EXPECT_EQ(pkt, copy);
}

TEST_P(Icrc, UsesTheCallersCrc)
{
	const Format &f = GetParam();
	std::mt19937 rng(11);
	Bytes pkt = random_packet(f, 100, rng);

	EXPECT_EQ(tern_icrc(f, pkt, bitwise_crc32), tern_icrc(f, pkt, crc32_slice));
}

TEST_P(Icrc, WithAMemoOfAnyOtherPacketToo)
{
	const Format &f = GetParam();
	std::mt19937 rng(13);
	Bytes pkt = random_packet(f, 24, rng);
	icrc_memo memo = {};

	for (int round = 0; round < 20000; round++) {
		// usually what differs within a flow, sometimes anything
		size_t at = round % 7 ? bth_at(f) + 8 + rng() % 4 : rng() % pkt.size();

		if (round % 3 == 0 && f.ip_bytes == 20)
			at = 4 + rng() % 2;
		pkt[at] = static_cast<u8>(rng());
		pkt[0] = static_cast<u8>(f.ip_bytes == 20 ? 0x45 : 0x60 | (pkt[0] & 0x0f));
		ASSERT_EQ(tern_icrc(f, pkt, &memo), reference_icrc(f, pkt)) << round;
	}
}

u32 no_crc(u32, const u8 *, size_t)
{
	ADD_FAILURE() << "computed anew";
	return 0;
}

// Fields that the sender counts up, and variant fields, cost no CRC of the other headers.
TEST_P(Icrc, MemoServesTheWholeFlow)
{
	const Format &f = GetParam();
	std::mt19937 rng(14);
	Bytes pkt = random_packet(f, 0, rng);
	icrc_memo memo = {};

	tern_icrc(f, pkt, &memo);
	for (int round = 0; round < 1000; round++) {
		for (size_t i = bth_at(f) + 8; i < bth_at(f) + 12; i++)
			pkt[i] = static_cast<u8>(rng());
		for (size_t i : f.variant)
			pkt[i] = static_cast<u8>(rng());
		if (f.ip_bytes == 20) {
			pkt[4] = static_cast<u8>(rng());
			pkt[5] = static_cast<u8>(rng());
		}
		ASSERT_EQ(icrc_finish(f.start(no_crc, &memo, pkt.data())), reference_icrc(f, pkt));
	}
}

// The next header tells IPv6 from a GRH, the version IPv4 from both.
TEST(IcrcMemo, ServesPacketsOfAllFormatsInTurn)
{
	std::mt19937 rng(15);
	icrc_memo memo = {};

	for (int round = 0; round < 3000; round++) {
		const Format &f = round % 3 ? round % 3 == 1 ? kIpv6 : kGrh : kIpv4;
		Bytes pkt(bth_at(f) + 12 + 24);

		pkt[0] = f.ip_bytes == 20 ? 0x45 : 0x60;
		if (f.ip_bytes == 40)
			pkt[6] = f.udp ? 17 : 0x1b;
		pkt[pkt.size() - 25] = static_cast<u8>(rng());
		ASSERT_EQ(tern_icrc(f, pkt, &memo), reference_icrc(f, pkt)) << round;
	}
}

INSTANTIATE_TEST_SUITE_P(Formats, Icrc, testing::Values(kIpv4, kIpv6, kGrh),
			 [](const auto &info) { return info.param.name; });

TEST(Crc32, CheckValue)
{
	const char *s = "123456789";

	EXPECT_EQ(~crc32_slice(~0u, reinterpret_cast<const u8 *>(s), 9), 0xcbf43926u);
	EXPECT_EQ(~crc32_slice(~0u, nullptr, 0), 0u);
}

TEST(Crc32, SlicesEqualBitwiseAtAnyLengthAndRegister)
{
	std::mt19937 rng(12);
	Bytes data(300);

	for (u8 &b : data)
		b = static_cast<u8>(rng());
	for (size_t n = 0; n < data.size(); n++) {
		u32 reg = static_cast<u32>(rng());

		ASSERT_EQ(crc32_slice(reg, data.data(), n), bitwise_crc32(reg, data.data(), n));
	}
}

TEST(Crc32, ContinuesAcrossPieces)
{
	const u8 data[] = {1, 2, 3, 4, 5, 6, 7};
	u32 whole = crc32_slice(~0u, data, 7);

	for (size_t cut = 0; cut <= 7; cut++)
		EXPECT_EQ(crc32_slice(crc32_slice(~0u, data, cut), data + cut, 7 - cut), whole);
}

// A READ REQUEST over IPv4 with every byte written out, and the value of a plain CRC-32 (zlib) of
// the masked bytes.
TEST(IcrcVector, ReadRequestOverIpv4)
{
	const Bytes pkt = {
		0x45, 0x00, 0x00, 0x3c, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0x0a, 0x00,
		0x00, 0x01, 0x0a, 0x00, 0x00, 0x02, 0xc0, 0x01, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
		0x0c, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11, 0x80, 0x00, 0x00, 0x01, 0x00, 0x00,
		0x7f, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x12, 0x34, 0x00, 0x00, 0x10, 0x00,
	};

	EXPECT_EQ(tern_icrc(kIpv4, pkt), 0xe5507bbau);
}

Bytes stored_icrc(const Format &f, const Bytes &pkt)
{
	Bytes field(4);

	put_unaligned_le32(tern_icrc(f, pkt), field.data());
	return field;
}

// A CNP that a ConnectX-4 Lx sent, as published in Scapy's RoCE tests.
TEST(IcrcVector, CnpCapturedFromHardware)
{
	const Bytes pkt = {
		0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00,
		0x11, 0x01, 0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
		0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};

	EXPECT_EQ(stored_icrc(kIpv4, pkt), (Bytes{0x82, 0xfd, 0x00, 0x2a}));
}

// A padded UC SEND ONLY from the same source.
TEST(IcrcVector, PaddedUcSendOnly)
{
	const Bytes pkt = {
		0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11, 0xb4, 0xd5,
		0xc0, 0xa8, 0x00, 0x07, 0xc0, 0xa8, 0x00, 0x07, 0xc0, 0x00, 0x12, 0xb7,
		0x00, 0x2c, 0xac, 0xa2, 0x24, 0x60, 0xff, 0xff, 0x00, 0x00, 0x00, 0xd3,
		0x00, 0xcf, 0x17, 0x10, 0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9,
		0x0e, 0x9a, 0x95, 0x50, 0x54, 0x01, 0xbe, 0x88, 0x5e, 0x50, 0x00, 0x00,
	};

	EXPECT_EQ(stored_icrc(kIpv4, pkt), (Bytes{0x78, 0xf3, 0x53, 0xf3}));
}

TEST(IcrcVector, StoredLeastSignificantByteFirst)
{
	u8 field[4];

	put_unaligned_le32(icrc_finish(0x11223344u), field);
	EXPECT_EQ(field[0], 0xbb);
	EXPECT_EQ(field[3], 0xee);
}

} // namespace
