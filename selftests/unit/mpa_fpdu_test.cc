// SPDX-License-Identifier: GPL-2.0
// FPDUs: padding, length, and markers, compared with a model that lays the stream out byte by byte.
#include "mpa_bytes.h"

#include "proto/ddp.h"

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

// What RFC 5044 4.3 says, byte by byte: a marker at each position of the stream that 512 divides,
// pointing back to the length field, or 0 right before it. One due after the last byte belongs to
// the next FPDU.
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

Bytes operator+(Bytes a, const Bytes &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
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

// Bytes of stream, wherever the FPDU begins.
u32 worst_case(u32 ulpdu, bool markers)
{
	u32 fpdu = mpa_fpdu_bytes(ulpdu), worst = 0;

	for (u32 at = 0; markers && at < 512; at += 4)
		worst = std::max(worst, mpa_marker_count(at, fpdu));
	return fpdu + worst * MPA_MARKER_BYTES;
}

// RFC 5044 4.5's formulas as they stand there, and their purpose.
TEST(MpaMulpdu, IsThatOfTheFormulaAndFitsIntoASegment)
{
	for (u32 emss = 152; emss < 4000; emss++) {
		ASSERT_EQ(mpa_mulpdu(emss, false), emss - (6 + emss % 4));
		ASSERT_EQ(mpa_mulpdu(emss, true), emss - (6 + 4 * ((emss + 511) / 512) + emss % 4));
		for (bool markers : {false, true}) {
			ASSERT_LE(worst_case(mpa_mulpdu(emss, markers), markers), emss);
			ASSERT_EQ(mpa_pad_bytes(mpa_mulpdu(emss, markers)), 0u);
		}
	}
	EXPECT_EQ(mpa_mulpdu(536, false), 530u);
	EXPECT_EQ(mpa_mulpdu(1448, false), 1442u);
	EXPECT_EQ(mpa_mulpdu(1460, false), 1454u);
	EXPECT_EQ(mpa_mulpdu(1460, true), 1442u);
	EXPECT_EQ(mpa_mulpdu(8948, false), 8942u);
	EXPECT_EQ(mpa_mulpdu(8948, true), 8870u);
}

TEST(MpaMulpdu, IsNeverLessThan128NorMoreThanItsLengthFieldSays)
{
	for (bool markers : {false, true}) {
		for (u32 emss = 0; emss < 134; emss++)
			ASSERT_EQ(mpa_mulpdu(emss, markers), 128u) << emss;
		EXPECT_EQ(mpa_mulpdu(0x7fffffff, markers), 65534u);
		EXPECT_EQ(mpa_mulpdu(~0u, markers), 65534u);
	}
	EXPECT_EQ(mpa_mulpdu(136, false), 130u);
	EXPECT_EQ(mpa_mulpdu(136, true), 128u);
}

TEST(MpaMulpdu, TheLongestFpduIsKnown)
{
	for (bool markers : {false, true})
		for (u32 ulpdu = 0; ulpdu < 4000; ulpdu++)
			ASSERT_EQ(mpa_fpdu_most(ulpdu, markers), worst_case(ulpdu, markers));
}

TEST(MpaMulpdu, SegmentsAreNoBoundWhereBothEndsSaySo)
{
	mpa_terms t = {};

	EXPECT_EQ(mpa_longest_ulpdu(&t, 1460, 16384), 1454u);
	EXPECT_EQ(mpa_longest_ulpdu(&t, 65483, 16384), 16378u);
	t.tx_markers = true;
	EXPECT_EQ(mpa_longest_ulpdu(&t, 1460, 16384), 1442u);
	t.long_fpdus = true;
	EXPECT_EQ(mpa_longest_ulpdu(&t, 1460, 16384), 16250u);
	t.tx_markers = false;
	EXPECT_EQ(mpa_longest_ulpdu(&t, 1460, 16384), 16378u);
	EXPECT_EQ(mpa_longest_ulpdu(&t, 65483, 16384), 16378u);
}

// ---- RFC 5044's figures, byte by byte ----

u32 crc32c(const Bytes &b)
{
	u32 crc = ~0u;

	for (u8 c : b) {
		crc ^= c;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

// A Send of 24 bytes of zeros as the message of that number, padded.
Bytes example(u32 msn)
{
	ddp_seg s = {};
	Bytes b(u32(MPA_LENGTH_BYTES) + DDP_UNTAGGED_BYTES + 24);

	s.opcode = RDMAP_SEND;
	s.last = true;
	s.msn = msn;
	put_unaligned_be16(static_cast<u16>(ddp_build(&b[MPA_LENGTH_BYTES], &s) + 24), b.data());
	EXPECT_EQ(mpa_pad_bytes(DDP_UNTAGGED_BYTES + 24), 0u);
	return b;
}

// The stream from pos on: with markers, and with the CRC.
Bytes sent_at(const Bytes &fpdu, u64 pos)
{
	Bytes out = inserted(fpdu + Bytes(MPA_CRC_BYTES), pos);
	u32 crc = crc32c(out);

	for (int i = 0; i < 4; i++)
		out.push_back(static_cast<u8>(crc >> 8 * i));
	return out;
}

TEST(Rfc5044, Figure4AFpduWithAMarker)
{
	// A ULPDU of 16 octets; the marker comes 12 octets behind the length field.
	Bytes fpdu = {0, 0x10};

	for (u8 i = 0; i < 16; i++)
		fpdu.push_back(0xa0 + i);
	ASSERT_EQ(mpa_pad_bytes(16), 2u);
	fpdu.resize(fpdu.size() + 2);
	Bytes out = sent_at(fpdu, 512 - 12);
	out.resize(out.size() - MPA_CRC_BYTES);
	EXPECT_EQ(out, (Bytes{0, 0x10, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9,
			      0, 0,    0,    0x0c, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf, 0,    0}));
}

TEST(Rfc5044, Figure5TheFirstFpduOfAStream)
{
	Bytes want = {0, 0, 0, 0, 0, 0x2a, 0x41, 0x43, 0, 0, 0, 0,
		      0, 0, 0, 0, 0, 0,	   0,	 1,    0, 0, 0, 0};

	want.resize(0x30);
	EXPECT_EQ(sent_at(example(1), 0), want + (Bytes{0x52, 0x23, 0x99, 0x83}));
}

TEST(Rfc5044, Figure6TheSecondFpduWithAMarker)
{
	Bytes want = {0, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0,
		      0, 0,    0,    2,	   0, 0, 0, 0, 0, 0, 0, 0x14};

	want.resize(0x21c - 0x1ec);
	EXPECT_EQ(sent_at(example(2), 0x1ec), want + (Bytes{0x84, 0x92, 0x58, 0x98}));
}

TEST(Rfc5044, Figure8RequestAndReply)
{
	mpa_frame f = {};

	f.revision = 1;
	f.markers = f.crc = true;
	EXPECT_EQ(build(f, {0xaa, 0xbb}),
		  (Bytes{0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52, 0x65, 0x71, 0x20,
			 0x46, 0x72, 0x61, 0x6d, 0x65, 0xc0, 1,	   0,	 2,    0xaa, 0xbb}));
	f.reply = f.reject = true;
	f.markers = f.crc = false;
	EXPECT_EQ(build(f), (Bytes{0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52, 0x65, 0x70,
				   0x20, 0x46, 0x72, 0x61, 0x6d, 0x65, 0x20, 1,	   0,	 0}));
}

} // namespace
