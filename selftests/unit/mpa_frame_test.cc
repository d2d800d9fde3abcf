// SPDX-License-Identifier: GPL-2.0
// MPA start-up frames as bytes written by hand from RFC 5044 7.1.1 and RFC 6581 9, and everything
// that can be wrong with them.
#include "mpa_bytes.h"

namespace {

TEST(MpaFrame, KeysAreThoseOfTheRfc)
{
	const Bytes req = {0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
			   0x65, 0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65};
	const Bytes rep = {0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
			   0x65, 0x70, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65};

	EXPECT_EQ(request({}), req);
	EXPECT_EQ(reply({}), rep);
}

TEST(MpaFrame, VersionOneRequestIsRead)
{
	mpa_frame f;

	ASSERT_EQ(parse(request({0x40, 1, 0, 3, 'a', 'b', 'c'}), false, &f), MPA_OK);
	EXPECT_TRUE(f.crc && !f.markers && !f.reject && !f.enhanced && !f.reply && !f.p2p);
	EXPECT_EQ(f.revision, 1);
	EXPECT_EQ(f.private_bytes, 3);
	EXPECT_EQ(f.private_at, 20);
	EXPECT_EQ(f.bytes, 23);
}

TEST(MpaFrame, VersionOneRequestIsWritten)
{
	mpa_frame f = {};

	f.crc = true;
	f.revision = 1;
	EXPECT_EQ(build(f, {'a', 'b', 'c'}), request({0x40, 1, 0, 3, 'a', 'b', 'c'}));
}

TEST(MpaFrame, EachFlagHasItsBit)
{
	const struct {
		u8 byte;
		bool mpa_frame::*flag;
	} table[] = {
		{0x80, &mpa_frame::markers},	{0x40, &mpa_frame::crc},
		{0x20, &mpa_frame::reject},	{0x10, &mpa_frame::enhanced},
		{0x08, &mpa_frame::long_fpdus},
	};

	for (const auto &t : table) {
		mpa_frame f, g = {};

		ASSERT_EQ(parse(reply({t.byte, 2, 0, 4, 0, 0, 0, 0}), true, &f), MPA_OK);
		EXPECT_TRUE(f.*t.flag);
		EXPECT_EQ(f.markers + f.crc + f.reject + f.enhanced + f.long_fpdus, 1);
		g.reply = true;
		g.revision = 2;
		g.*t.flag = true;
		EXPECT_EQ(build(g)[16], t.byte);
	}
}

TEST(MpaFrame, ReservedFlagsAreIgnored)
{
	mpa_frame f;

	ASSERT_EQ(parse(request({0x47, 2, 0, 0}), false, &f), MPA_OK);
	EXPECT_TRUE(f.crc && !f.markers && !f.reject && !f.enhanced && !f.long_fpdus);
}

TEST(MpaFrame, VersionOneHasNoEnhancedFlag)
{
	mpa_frame f;

	ASSERT_EQ(parse(request({0x10, 1, 0, 4, 0x80, 1, 0x80, 2}), false, &f), MPA_OK);
	EXPECT_FALSE(f.enhanced);
	EXPECT_FALSE(f.p2p);
	EXPECT_EQ(f.private_bytes, 4);
	EXPECT_EQ(f.private_at, 20);
	ASSERT_EQ(parse(request({0x10, 1, 0, 0}), false, &f), MPA_OK);
}

// As siw sends them: C and S, version 2, IRD and ORD, then the application's data.
TEST(MpaFrame, EnhancedRequestWithWriteRtrIsRead)
{
	mpa_frame f;

	ASSERT_EQ(parse(request({0x50, 2, 0, 6, 0x80, 0x10, 0x80, 0x20, 'h', 'i'}), false, &f),
		  MPA_OK);
	EXPECT_TRUE(f.crc && f.enhanced && f.p2p);
	EXPECT_EQ(f.rtr, MPA_RTR_WRITE);
	EXPECT_EQ(f.ird, 16);
	EXPECT_EQ(f.ord, 32);
	EXPECT_EQ(f.private_bytes, 2);
	EXPECT_EQ(f.private_at, 24);
	EXPECT_EQ(f.bytes, 26);
}

TEST(MpaFrame, EnhancedReplyWithReadRtrIsRead)
{
	mpa_frame f;

	ASSERT_EQ(parse(reply({0x50, 2, 0, 4, 0x80, 0x20, 0x40, 0x10}), true, &f), MPA_OK);
	EXPECT_TRUE(f.reply && f.p2p);
	EXPECT_EQ(f.rtr, MPA_RTR_READ);
	EXPECT_EQ(f.ird, 32);
	EXPECT_EQ(f.ord, 16);
}

TEST(MpaFrame, EachBitOfTheDepthWordsHasItsMeaning)
{
	const struct {
		Bytes words;
		bool p2p;
		u8 rtr;
		u16 ird, ord;
	} table[] = {
		{{0x00, 0x00, 0x00, 0x00}, false, 0, 0, 0},
		{{0x80, 0x00, 0x00, 0x00}, true, 0, 0, 0},
		{{0x40, 0x00, 0x00, 0x00}, false, MPA_RTR_SEND, 0, 0},
		{{0x00, 0x00, 0x80, 0x00}, false, MPA_RTR_WRITE, 0, 0},
		{{0x00, 0x00, 0x40, 0x00}, false, MPA_RTR_READ, 0, 0},
		{{0x3f, 0xff, 0x3f, 0xfe}, false, 0, MPA_DEPTH_ANY, MPA_DEPTH_MAX},
		{{0xc0, 0x01, 0xc0, 0x02}, true, MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ, 1, 2},
	};

	for (const auto &t : table) {
		Bytes rest = {0x10, 2, 0, 4};
		mpa_frame f, g = {};

		rest.insert(rest.end(), t.words.begin(), t.words.end());
		ASSERT_EQ(parse(request(rest), false, &f), MPA_OK);
		EXPECT_EQ(f.p2p, t.p2p);
		EXPECT_EQ(f.rtr, t.rtr);
		EXPECT_EQ(f.ird, t.ird);
		EXPECT_EQ(f.ord, t.ord);

		g.revision = 2;
		g.enhanced = true;
		g.p2p = t.p2p;
		g.rtr = t.rtr;
		g.ird = t.ird;
		g.ord = t.ord;
		EXPECT_EQ(build(g), request(rest));
	}
}

TEST(MpaFrame, DepthsNeverSpillIntoTheFlags)
{
	mpa_frame f = {};

	f.revision = 2;
	f.enhanced = true;
	f.ird = 0xffff;
	f.ord = 0xc001;
	EXPECT_EQ(build(f), request({0x10, 2, 0, 4, 0x3f, 0xff, 0x00, 0x01}));
}

TEST(MpaFrame, EveryTruncationAsksForMore)
{
	const Bytes whole = request({0x50, 2, 0, 6, 0x80, 0x10, 0x80, 0x20, 'h', 'i'});

	for (u32 n = 0; n < whole.size(); n++) {
		mpa_frame f;

		EXPECT_EQ(mpa_frame_parse(exact(whole, n).get(), n, false, &f), MPA_MORE) << n;
		EXPECT_EQ(f.bytes, n < 20 ? 20 : 26) << n;
	}
}

TEST(MpaFrame, WhatFollowsTheFrameIsNotLookedAt)
{
	mpa_frame f;

	ASSERT_EQ(parse(request({0x40, 1, 0, 1, 'x', 0xff, 0xff}), false, &f), MPA_OK);
	EXPECT_EQ(f.bytes, 21);
}

TEST(MpaFrame, AWrongByteOfTheKeyIsReportedAtOnce)
{
	for (u32 at = 0; at < 16; at++) {
		Bytes b = request({0x40, 1, 0, 0});

		b[at] ^= 0x20;
		for (u32 n = 0; n <= b.size(); n++) {
			mpa_frame f;
			mpa_error want = n > at ? MPA_BAD_KEY : n < b.size() ? MPA_MORE : MPA_OK;

			EXPECT_EQ(mpa_frame_parse(exact(b, n).get(), n, false, &f), want)
				<< at << " " << n;
		}
	}
}

TEST(MpaFrame, TheOtherDirectionsFrameHasTheWrongKey)
{
	mpa_frame f;

	EXPECT_EQ(parse(request({0x40, 1, 0, 0}), true, &f), MPA_BAD_KEY);
	EXPECT_EQ(parse(reply({0x40, 1, 0, 0}), false, &f), MPA_BAD_KEY);
}

TEST(MpaFrame, OnlyRevisionsOneAndTwoAreKnown)
{
	for (u32 rev = 0; rev < 256; rev++) {
		mpa_frame f;

		EXPECT_EQ(parse(request({0, static_cast<u8>(rev), 0, 0}), false, &f),
			  rev == 1 || rev == 2 ? MPA_OK : MPA_BAD_REVISION)
			<< rev;
	}
}

TEST(MpaFrame, PrivateDataMayHave512Bytes)
{
	Bytes rest = {0, 1, 2, 0};
	mpa_frame f;

	rest.resize(4 + 512, 7);
	ASSERT_EQ(parse(request(rest), false, &f), MPA_OK);
	EXPECT_EQ(f.bytes, 532);
	rest[3] = 1;
	EXPECT_EQ(parse(request(rest), false, &f), MPA_BAD_LENGTH);
}

TEST(MpaFrame, TooMuchPrivateDataIsReportedBeforeItIsThere)
{
	mpa_frame f;

	EXPECT_EQ(parse(request({0, 1, 2, 1}), false, &f), MPA_BAD_LENGTH);
	EXPECT_EQ(parse(request({0, 1, 0xff, 0xff}), false, &f), MPA_BAD_LENGTH);
}

TEST(MpaFrame, TheEnhancedPartNeedsFourBytesOfPrivateData)
{
	for (u8 n = 0; n < 4; n++) {
		mpa_frame f;

		EXPECT_EQ(parse(request({0x10, 2, 0, n, 0, 0, 0, 0}), false, &f), MPA_BAD_LENGTH);
		EXPECT_EQ(parse(request({0x00, 2, 0, n, 0, 0, 0, 0}), false, &f), MPA_OK);
	}
}

TEST(MpaFrame, NothingOfABadFrameIsLeftInTheResult)
{
	mpa_frame f;

	EXPECT_EQ(parse(request({0xf0, 9, 0, 4, 0xff, 0xff, 0xff, 0xff}), false, &f),
		  MPA_BAD_REVISION);
	EXPECT_TRUE(!f.markers && !f.crc && !f.reject && !f.enhanced && !f.p2p);
	EXPECT_EQ(f.private_bytes, 0);
}

} // namespace
