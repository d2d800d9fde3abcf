// SPDX-License-Identifier: GPL-2.0
// Which packets GRO may put behind others: each byte of the IP headers, one at a time.
#include "proto/ip_follows.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using Ip4 = std::array<u8, 20>;
using Ip6 = std::array<u8, 40>;

// TOS 0x68, 0x1234 bytes, identification 0xfffe, DF, TTL 64, UDP.
constexpr Ip4 kIp4 = {0x45, 0x68, 0x12, 0x34, 0xff, 0xfe, 0x40, 0, 64, 17,
		      0xab, 0xcd, 10,	0,    0,    1,	  10,	0, 0,  2};
constexpr Ip6 kIp6 = {0x66, 0x80, 0x12, 0x34, 0x12, 0x34, 17, 64, 0xfd};

Ip4 with_id(Ip4 ip, u16 id)
{
	put_unaligned_be16(id, &ip[4]);
	return ip;
}

TEST(IpFollows, Ipv4IdentificationsCountUp)
{
	EXPECT_TRUE(ip4_follows(kIp4.data(), with_id(kIp4, 0xffff).data(), 1));
	EXPECT_TRUE(ip4_follows(kIp4.data(), with_id(kIp4, 0).data(), 2));
	EXPECT_TRUE(ip4_follows(kIp4.data(), with_id(kIp4, 61).data(), 63));
	for (u16 id : {0xfffe, 0xfffd, 1, 0xfeff})
		EXPECT_FALSE(ip4_follows(kIp4.data(), with_id(kIp4, id).data(), 1)) << id;
}

// Any bit that the kernel's GRO compares, too; lengths and checksums belong to each packet.
TEST(IpFollows, Ipv4HeadersAreOtherwiseAlike)
{
	const std::vector<std::pair<size_t, bool>> bytes = {
		{0, false}, {1, false}, {2, true},  {3, true},	{6, false},
		{7, false}, {8, false}, {9, false}, {10, true}, {11, true},
	};

	for (auto [at, may_differ] : bytes) {
		for (int bit = 0; bit < 8; bit++) {
			Ip4 next = with_id(kIp4, 0xffff);

			next[at] ^= static_cast<u8>(1 << bit);
			EXPECT_EQ(ip4_follows(kIp4.data(), next.data(), 1), may_differ)
				<< "bit " << bit << " of byte " << at;
		}
	}
}

TEST(IpFollows, Ipv6HeadersAreAlikeButForTheLength)
{
	EXPECT_TRUE(ip6_follows(kIp6.data(), kIp6.data()));
	for (size_t at = 0; at < 8; at++) {
		for (int bit = 0; bit < 8; bit++) {
			Ip6 next = kIp6;

			next[at] ^= static_cast<u8>(1 << bit);
			EXPECT_EQ(ip6_follows(kIp6.data(), next.data()), at == 4 || at == 5)
				<< "bit " << bit << " of byte " << at;
		}
	}
}

} // namespace
