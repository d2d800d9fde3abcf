// SPDX-License-Identifier: GPL-2.0
// Which packets may join a batch behind others. A stack that gives each packet the first one's
// header, with its own length, identification and checksum, must restore the header it came with.
#include <cstring>
#include <memory>

#include "fuzz.h"
#include "proto/ip_follows.h"

namespace {

enum { kIp4Bytes = 20, kIp6Bytes = 40 };

// Of exactly its size, so that the sanitizer sees reads beyond it.
std::unique_ptr<u8[]> draw_header(Choices &in, size_t bytes)
{
	std::unique_ptr<u8[]> header(new u8[bytes]);

	for (size_t i = 0; i < bytes; i++)
		header[i] = in.byte();
	return header;
}

// Usually the same except for some bytes.
std::unique_ptr<u8[]> draw_next(Choices &in, const u8 *first, size_t bytes)
{
	if (in.below(8) == 0)
		return draw_header(in, bytes);

	std::unique_ptr<u8[]> next(new u8[bytes]);

	memcpy(next.get(), first, bytes);
	for (u32 n = in.below(4); n; n--)
		next[in.below(static_cast<u32>(bytes))] ^= in.byte();
	return next;
}

// What the caller compares: addresses, and IPv6's flow label.
void make_one_flow(const u8 *first, u8 *next, bool ipv6)
{
	if (ipv6) {
		memcpy(next + 8, first + 8, 32);
		next[1] = (next[1] & 0xf0) | (first[1] & 0x0f);
		memcpy(next + 2, first + 2, 2);
	} else {
		memcpy(next + 12, first + 12, 8);
	}
}

void ip4(Choices &in)
{
	const auto first = draw_header(in, kIp4Bytes);
	auto next = draw_next(in, first.get(), kIp4Bytes);
	const u32 before = in.byte();
	u8 made[kIp4Bytes];

	if (in.below(4))
		put_unaligned_be16(get_unaligned_be16(&first[4]) + before, &next[4]);
	make_one_flow(first.get(), next.get(), false);
	memcpy(made, first.get(), sizeof(made));
	memcpy(made + 2, &next[2], 2);
	put_unaligned_be16(get_unaligned_be16(&first[4]) + before, made + 4);
	memcpy(made + 10, &next[10], 2);
	REQUIRE(ip4_follows(first.get(), next.get(), before) ==
		!memcmp(made, next.get(), sizeof(made)));
}

void ip6(Choices &in)
{
	const auto first = draw_header(in, kIp6Bytes);
	auto next = draw_next(in, first.get(), kIp6Bytes);
	u8 made[kIp6Bytes];

	make_one_flow(first.get(), next.get(), true);
	memcpy(made, first.get(), sizeof(made));
	memcpy(made + 4, &next[4], 2);
	REQUIRE(ip6_follows(first.get(), next.get()) == !memcmp(made, next.get(), sizeof(made)));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Choices in(data, size);

	if (in.byte() & 1)
		ip4(in);
	else
		ip6(in);
	return 0;
}
