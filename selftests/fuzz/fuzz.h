/* SPDX-License-Identifier: GPL-2.0 */
/* What the targets share: how one fails, and its input as a sequence of choices. */
#ifndef TERN_FUZZ_H
#define TERN_FUZZ_H

#include <cstdlib>

#include "proto/deps.h"

#define REQUIRE(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			abort();                                                                   \
	} while (0)

/* Zeros when the input is used up. */
class Choices {
public:
	Choices(const u8 *p, size_t n) : p_(p), end_(p + n) {}

	bool more() const { return p_ < end_; }
	u8 byte() { return p_ < end_ ? *p_++ : 0; }
	u16 word()
	{
		u8 high = byte();

		return static_cast<u16>(high << 8 | byte());
	}
	u32 dword()
	{
		u32 high = word();

		return high << 16 | word();
	}
	u32 below(u32 n) { return byte() % n; }
	/* Usually this, else near it, or anything. */
	u32 near(u32 expected)
	{
		u8 how = byte();

		if (how < 200)
			return expected;
		return how < 245 ? expected + how - 222u : dword();
	}

private:
	const u8 *p_, *end_;
};

#endif
