// SPDX-License-Identifier: GPL-2.0
// FPDUs: padding, and markers against a model that lays the stream out byte by byte.
#include "mpa_bytes.h"

namespace {

TEST(MpaFpdu, IsPaddedToFourBytes)
{
	for (u32 n = 0; n <= MPA_MAX_ULPDU_BYTES; n++) {
		ASSERT_LT(mpa_pad_bytes(n), 4u);
		ASSERT_EQ((2 + n + mpa_pad_bytes(n)) % 4, 0u);
		ASSERT_EQ(mpa_fpdu_bytes(n), 2 + n + mpa_pad_bytes(n) + 4);
	}
	EXPECT_EQ(mpa_fpdu_bytes(2), 8u);
	EXPECT_EQ(mpa_fpdu_bytes(14), 20u);
	EXPECT_EQ(mpa_fpdu_bytes(18), 24u);
}

// What RFC 5044 4.3 says, byte by byte: a marker at each position of the stream
// that 512 divides, pointing back to the length field, or 0 right before it. One
// due after the last byte belongs to the next FPDU.
Bytes lay_out(const Bytes &fpdu, u64 pos, u32 *markers)
{
	u64 length_at = 0;
	Bytes out;

	*markers = 0;
	for (size_t i = 0; i < fpdu.size(); i++) {
		if ((pos + out.size()) % 512 == 0) {
			u64 back = i ? pos + out.size() - length_at : 0;

			out.insert(out.end(),
				   {0, 0, static_cast<u8>(back >> 8), static_cast<u8>(back)});
			++*markers;
		}
		if (!i)
			length_at = pos + out.size();
		out.push_back(fpdu[i]);
	}
	return out;
}

Bytes counting(size_t n)
{
	Bytes b(n);

	for (size_t i = 0; i < n; i++)
		b[i] = static_cast<u8>(i * 7 + i / 256 + 1);
	return b;
}

// Without the CRC, but with a marker that is due before it.
Bytes inserted(const Bytes &fpdu, u64 pos)
{
	const u32 bytes = static_cast<u32>(fpdu.size()) - MPA_CRC_BYTES;
	std::unique_ptr<u8[]> src = exact(fpdu, bytes);
	Bytes out(bytes + MPA_MARKER_BYTES * mpa_marker_count(pos, bytes + MPA_CRC_BYTES));

	EXPECT_EQ(mpa_insert_markers(out.data(), src.get(), bytes, pos), out.size());
	return out;
}

TEST(MpaMarkers, AreCountedAsTheModelLaysThemOut)
{
	for (u64 base : {u64(0), u64(0xfffffe00), ~u64(0) - 0xffff}) {
		for (u32 at = 0; at < 512; at += 4) {
			u32 n;

			for (u32 bytes = 0; bytes <= 1600; bytes += 4) {
				lay_out(Bytes(bytes), base + at, &n);
				ASSERT_EQ(mpa_marker_count(base + at, bytes), n)
					<< base + at << " " << bytes;
			}
		}
	}
}

TEST(MpaMarkers, AreInsertedAsTheModelLaysThemOut)
{
	for (u32 at = 0; at < 512; at += 4) {
		for (u32 bytes :
		     {8u, 20u, 24u, 504u, 508u, 512u, 516u, 1016u, 1020u, 1024u, 1500u}) {
			u32 n;
			Bytes fpdu = counting(bytes);
			Bytes want = lay_out(fpdu, 512 * 9 + at, &n);

			want.resize(want.size() - MPA_CRC_BYTES);
			ASSERT_EQ(inserted(fpdu, 512 * 9 + at), want) << at << " " << bytes;
		}
	}
}

TEST(MpaMarkers, TheLongestFpduHasThemAll)
{
	for (u32 at : {0u, 4u, 508u}) {
		u32 n;
		Bytes fpdu = counting(mpa_fpdu_bytes(MPA_MAX_ULPDU_BYTES));
		Bytes want = lay_out(fpdu, at, &n);

		want.resize(want.size() - MPA_CRC_BYTES);
		EXPECT_EQ(inserted(fpdu, at), want);
	}
}

TEST(MpaMarkers, AStreamBeginsWithOneThatPointsToWhatFollowsIt)
{
	EXPECT_EQ(inserted({0, 2, 0xaa, 0xbb, 1, 2, 3, 4}, 0),
		  (Bytes{0, 0, 0, 0, 0, 2, 0xaa, 0xbb}));
}

TEST(MpaMarkers, OneAfterALeadingOnePointsToTheLengthField)
{
	Bytes out = inserted(counting(1000), 0);

	EXPECT_EQ(Bytes(out.begin() + 512, out.begin() + 516), (Bytes{0, 0, 1, 0xfc}));
}

TEST(MpaMarkers, OneDueBeforeTheCrcIsPartOfWhatTheCrcCovers)
{
	EXPECT_EQ(inserted({0, 2, 0xaa, 0xbb, 1, 2, 3, 4}, 508),
		  (Bytes{0, 2, 0xaa, 0xbb, 0, 0, 0, 4}));
}

TEST(MpaMarkers, OneDueAfterTheCrcBelongsToTheNextFpdu)
{
	EXPECT_EQ(mpa_marker_count(504, 8), 0u);
	EXPECT_EQ(inserted({0, 2, 0xaa, 0xbb, 1, 2, 3, 4}, 504), (Bytes{0, 2, 0xaa, 0xbb}));
}

TEST(MpaUlpdu, IsTheLongestThatFitsWhereverItBegins)
{
	for (bool markers : {false, true}) {
		u32 longest = 0;
		bool any = false;

		auto fits = [&](u32 ulpdu, u32 room) {
			u32 fpdu = mpa_fpdu_bytes(ulpdu), worst = 0;

			for (u32 at = 0; markers && at < 512; at += 4)
				worst = std::max(worst, mpa_marker_count(at, fpdu));
			return fpdu + worst * MPA_MARKER_BYTES <= room;
		};
		for (u32 room = 0; room < 4000; room++) {
			any = any || fits(0, room);
			while (any && fits(longest + 1, room))
				longest++;
			ASSERT_EQ(mpa_ulpdu_max(room, markers), longest) << room << " " << markers;
		}
	}
}

TEST(MpaUlpdu, NeedsNoPaddingAndNeverExceedsItsLengthField)
{
	for (bool markers : {false, true}) {
		for (u32 room : {8u, 1460u, 8960u, 65535u, 65540u, 70000u, 0x7fffffffu, ~0u}) {
			u32 n = mpa_ulpdu_max(room, markers);

			EXPECT_LE(n, u32(MPA_MAX_ULPDU_BYTES));
			EXPECT_TRUE(!n || !mpa_pad_bytes(n));
		}
		EXPECT_EQ(mpa_ulpdu_max(~0u, markers), 65534u);
	}
	EXPECT_EQ(mpa_ulpdu_max(1460, false), 1454u);
}

} // namespace
