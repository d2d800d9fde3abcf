/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of MPA share: start-up frames to bytes and back. */
#ifndef TERN_UNIT_MPA_BYTES_H
#define TERN_UNIT_MPA_BYTES_H

#include "proto/mpa.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

using Bytes = std::vector<u8>;

// A buffer of exactly n bytes, so that ASan sees the first byte read too many.
inline std::unique_ptr<u8[]> exact(const Bytes &src, size_t n)
{
	std::unique_ptr<u8[]> p(new u8[n]);

	std::copy_n(src.begin(), n, p.get());
	return p;
}

inline mpa_error parse(const Bytes &b, bool reply, mpa_frame *f)
{
	return mpa_frame_parse(exact(b, b.size()).get(), static_cast<u32>(b.size()), reply, f);
}

// The key, then whatever follows.
inline Bytes frame(bool reply, const Bytes &rest)
{
	Bytes b = {'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'q', ' ', 'F', 'r', 'a', 'm', 'e'};

	if (reply)
		b[9] = 'p';
	b.insert(b.end(), rest.begin(), rest.end());
	return b;
}

inline Bytes request(const Bytes &rest)
{
	return frame(false, rest);
}
inline Bytes reply(const Bytes &rest)
{
	return frame(true, rest);
}

inline Bytes build(mpa_frame f, const Bytes &private_data = {})
{
	Bytes b(MPA_FRAME_BYTES + MPA_ENHANCED_BYTES, 0xee);

	f.private_bytes = static_cast<u16>(private_data.size());
	b.resize(mpa_frame_build(b.data(), &f));
	EXPECT_EQ(f.private_at, b.size());
	b.insert(b.end(), private_data.begin(), private_data.end());
	EXPECT_EQ(f.bytes, b.size());
	return b;
}

#endif
