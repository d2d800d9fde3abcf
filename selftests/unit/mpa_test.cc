// SPDX-License-Identifier: GPL-2.0
// MPA: start-up frames as bytes written by hand from RFC 5044 7.1.1 and RFC 6581
// 9, all that is wrong with them, what two ends agree on, and padding and markers
// against a model that lays the stream out byte by byte.
#include "proto/mpa.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using Bytes = std::vector<u8>;

// A buffer of exactly n bytes, so that ASan sees the first byte read too many.
std::unique_ptr<u8[]> exact(const Bytes &src, size_t n)
{
	std::unique_ptr<u8[]> p(new u8[n]);

	std::copy_n(src.begin(), n, p.get());
	return p;
}

mpa_error parse(const Bytes &b, bool reply, mpa_frame *f)
{
	return mpa_frame_parse(exact(b, b.size()).get(), static_cast<u32>(b.size()), reply, f);
}

// The key, then whatever follows.
Bytes frame(bool reply, const Bytes &rest)
{
	Bytes b = {'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'q', ' ', 'F', 'r', 'a', 'm', 'e'};

	if (reply)
		b[9] = 'p';
	b.insert(b.end(), rest.begin(), rest.end());
	return b;
}

Bytes request(const Bytes &rest)
{
	return frame(false, rest);
}
Bytes reply(const Bytes &rest)
{
	return frame(true, rest);
}

Bytes build(mpa_frame f, const Bytes &private_data = {})
{
	Bytes b(MPA_FRAME_BYTES + MPA_ENHANCED_BYTES, 0xee);

	f.private_bytes = static_cast<u16>(private_data.size());
	b.resize(mpa_frame_build(b.data(), &f));
	EXPECT_EQ(f.private_at, b.size());
	b.insert(b.end(), private_data.begin(), private_data.end());
	EXPECT_EQ(f.bytes, b.size());
	return b;
}

// ---- frames ----

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
		{0x80, &mpa_frame::markers},
		{0x40, &mpa_frame::crc},
		{0x20, &mpa_frame::reject},
		{0x10, &mpa_frame::enhanced},
	};

	for (const auto &t : table) {
		mpa_frame f, g = {};

		ASSERT_EQ(parse(reply({t.byte, 2, 0, 4, 0, 0, 0, 0}), true, &f), MPA_OK);
		EXPECT_TRUE(f.*t.flag);
		EXPECT_EQ(f.markers + f.crc + f.reject + f.enhanced, 1);
		g.reply = true;
		g.revision = 2;
		g.*t.flag = true;
		EXPECT_EQ(build(g)[16], t.byte);
	}
}

TEST(MpaFrame, ReservedFlagsAreIgnored)
{
	mpa_frame f;

	ASSERT_EQ(parse(request({0x4f, 2, 0, 0}), false, &f), MPA_OK);
	EXPECT_TRUE(f.crc && !f.markers && !f.reject && !f.enhanced);
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

// ---- negotiation, by way of the bytes ----

constexpr u8 kAllRtr = MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ;

struct Outcome {
	mpa_verdict accept, finish;
	mpa_terms initiator, responder;
	mpa_frame request, reply;
};

mpa_frame over_the_wire(const mpa_frame &f)
{
	mpa_frame out;

	EXPECT_EQ(parse(build(f), f.reply, &out), MPA_OK);
	return out;
}

Outcome negotiate(const mpa_offer &initiator, const mpa_offer &responder)
{
	Outcome o = {};
	mpa_frame f;

	mpa_request(&initiator, &f);
	o.request = over_the_wire(f);
	o.accept = mpa_accept(&responder, &o.request, &o.responder, &f);
	if (o.accept != MPA_AGREED)
		mpa_reject(&responder, &o.request, &f);
	o.reply = over_the_wire(f);
	o.finish = mpa_finish(&initiator, &o.reply, &o.initiator);
	return o;
}

mpa_offer offer(u8 revision, u16 ird = 8, u16 ord = 8)
{
	mpa_offer m = {};

	m.revision = revision;
	m.crc = true;
	m.ird = ird;
	m.ord = ord;
	m.rtr = kAllRtr;
	return m;
}

TEST(MpaNegotiation, VersionOneKeepsEachEndsOwnDepths)
{
	Outcome o = negotiate(offer(1, 3, 4), offer(2, 5, 6));

	EXPECT_EQ(o.accept, MPA_AGREED);
	EXPECT_EQ(o.finish, MPA_AGREED);
	EXPECT_TRUE(!o.request.enhanced && !o.reply.enhanced && !o.initiator.enhanced);
	EXPECT_EQ(o.initiator.revision, 1);
	EXPECT_EQ(o.responder.revision, 1);
	EXPECT_EQ(o.initiator.ird, 3);
	EXPECT_EQ(o.initiator.ord, 4);
	EXPECT_EQ(o.responder.ird, 5);
	EXPECT_EQ(o.responder.ord, 6);
}

TEST(MpaNegotiation, VersionTwoSaysItsDepths)
{
	Outcome o = negotiate(offer(2, 3, 4), offer(2, 5, 2));

	EXPECT_EQ(o.request.revision, 2);
	EXPECT_TRUE(o.request.enhanced && o.reply.enhanced);
	EXPECT_EQ(o.request.ird, 3);
	EXPECT_EQ(o.request.ord, 4);
	EXPECT_EQ(o.reply.revision, 2);
	EXPECT_EQ(o.reply.ird, 5);
	EXPECT_EQ(o.reply.ord, 2);
	EXPECT_TRUE(o.initiator.enhanced && o.responder.enhanced);
}

TEST(MpaNegotiation, NoEndUsesMoreReadsThanTheOtherLetsIn)
{
	for (u16 ird : {0, 1, 8, 100, int(MPA_DEPTH_MAX)}) {
		for (u16 ord : {0, 1, 8, 100, int(MPA_DEPTH_MAX)}) {
			Outcome o = negotiate(offer(2, ird, ord), offer(2, 8, 8));

			EXPECT_EQ(o.accept, MPA_AGREED);
			EXPECT_EQ(o.finish, MPA_AGREED);
			EXPECT_EQ(o.initiator.ord, std::min<u16>(ord, 8));
			EXPECT_EQ(o.responder.ord, std::min<u16>(ird, 8));
			EXPECT_LE(o.initiator.ord, o.responder.ird);
			EXPECT_LE(o.responder.ord, o.initiator.ird);
		}
	}
}

TEST(MpaNegotiation, AllOnesMeansNotNegotiatedHere)
{
	mpa_offer mine = offer(2, 8, 9);
	mpa_frame f = {}, answer;
	mpa_terms terms;

	f.revision = 2;
	f.enhanced = true;
	f.ird = f.ord = MPA_DEPTH_ANY;
	EXPECT_EQ(mpa_accept(&mine, &f, &terms, &answer), MPA_AGREED);
	EXPECT_EQ(terms.ord, 9);
	EXPECT_EQ(terms.ird, 8);

	f.reply = true;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_AGREED);
	EXPECT_EQ(terms.ord, 9);
	EXPECT_EQ(terms.ird, 8);
}

TEST(MpaNegotiation, AResponderThatWillAskForMoreThanWeLetInIsRefused)
{
	mpa_offer mine = offer(2, 8, 8);
	mpa_terms terms;
	mpa_frame f = {};

	f.reply = f.enhanced = true;
	f.revision = 2;
	f.ird = 1;
	f.ord = 8;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_AGREED);
	f.ord = 9;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_NO_IRD);
	f.ord = MPA_DEPTH_MAX;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_NO_IRD);
}

TEST(MpaNegotiation, CrcIsUsedIfEitherEndWantsIt)
{
	for (u8 revision : {1, 2}) {
		for (int bits = 0; bits < 4; bits++) {
			mpa_offer a = offer(revision), b = offer(2);

			a.crc = bits & 1;
			b.crc = bits & 2;
			Outcome o = negotiate(a, b);
			EXPECT_EQ(o.request.crc, a.crc);
			EXPECT_EQ(o.reply.crc, bits != 0);
			EXPECT_EQ(o.initiator.crc, bits != 0);
			EXPECT_EQ(o.responder.crc, bits != 0);
		}
	}
}

TEST(MpaNegotiation, WeSendMarkersIfThePeerAsksAndNeverAskForThem)
{
	for (bool markers : {false, true}) {
		mpa_offer mine = offer(2);
		mpa_frame f, answer;
		mpa_terms terms;

		mpa_request(&mine, &f);
		EXPECT_FALSE(f.markers);
		f.markers = markers;
		EXPECT_EQ(mpa_accept(&mine, &f, &terms, &answer), MPA_AGREED);
		EXPECT_EQ(terms.tx_markers, markers);
		EXPECT_FALSE(answer.markers);
		answer.markers = markers;
		EXPECT_EQ(mpa_finish(&mine, &answer, &terms), MPA_AGREED);
		EXPECT_EQ(terms.tx_markers, markers);
	}
}

TEST(MpaNegotiation, EachPairOfRtrSetsHasItsChoice)
{
	for (u8 a = 0; a <= kAllRtr; a++) {
		for (u8 b = 0; b <= kAllRtr; b++) {
			mpa_offer first = offer(2), second = offer(2);

			first.p2p = true;
			first.rtr = a;
			second.rtr = b;
			Outcome o = negotiate(first, second);
			u8 both = a & b;

			EXPECT_TRUE(o.request.p2p);
			EXPECT_EQ(o.request.rtr, a);
			if (!both) {
				EXPECT_EQ(o.accept, MPA_NO_RTR);
				EXPECT_TRUE(o.reply.reject);
				EXPECT_EQ(o.finish, MPA_REJECTED);
				continue;
			}
			EXPECT_EQ(o.accept, MPA_AGREED);
			EXPECT_TRUE(o.reply.p2p && o.responder.p2p && o.initiator.p2p);
			EXPECT_EQ(o.reply.rtr, both);
			EXPECT_EQ(o.responder.rtr, both);
			EXPECT_EQ(o.finish, MPA_AGREED);
			EXPECT_EQ(o.initiator.rtr, both & MPA_RTR_WRITE ? MPA_RTR_WRITE :
						   both & MPA_RTR_SEND	? MPA_RTR_SEND :
									  MPA_RTR_READ);
		}
	}
}

TEST(MpaNegotiation, WithoutPeerToPeerThereIsNoRtr)
{
	Outcome o = negotiate(offer(2), offer(2));

	EXPECT_TRUE(!o.request.p2p && !o.reply.p2p && !o.initiator.p2p && !o.responder.p2p);
	EXPECT_EQ(o.request.rtr, 0);
	EXPECT_EQ(o.reply.rtr, 0);
	EXPECT_EQ(o.initiator.rtr, 0);
	EXPECT_EQ(o.responder.rtr, 0);
}

TEST(MpaNegotiation, VersionOneCannotAskForPeerToPeer)
{
	mpa_offer mine = offer(1);
	mine.p2p = true;
	Outcome o = negotiate(mine, offer(2));

	EXPECT_EQ(o.finish, MPA_AGREED);
	EXPECT_FALSE(o.initiator.p2p);
}

TEST(MpaNegotiation, AReplyThatKnowsNoPeerToPeerHasNoRtr)
{
	mpa_offer mine = offer(2);
	mpa_terms terms;
	mpa_frame f = {};

	mine.p2p = true;
	f.reply = f.enhanced = true;
	f.revision = 2;
	f.rtr = kAllRtr;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_NO_RTR);
	f.p2p = true;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_AGREED);
	f.rtr = 0;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_NO_RTR);
}

TEST(MpaNegotiation, AReplyMayNotChooseAnRtrThatWasNotOffered)
{
	mpa_offer mine = offer(2);
	mpa_terms terms;
	mpa_frame f = {};

	mine.p2p = true;
	mine.rtr = MPA_RTR_WRITE | MPA_RTR_READ;
	f.reply = f.enhanced = f.p2p = true;
	f.revision = 2;
	f.rtr = MPA_RTR_SEND;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_NO_RTR);
	f.rtr = MPA_RTR_SEND | MPA_RTR_READ;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_AGREED);
	EXPECT_EQ(terms.rtr, MPA_RTR_READ);
}

TEST(MpaNegotiation, UnaskedPeerToPeerInAReplyIsIgnored)
{
	mpa_offer mine = offer(2);
	mpa_terms terms;
	mpa_frame f = {};

	f.reply = f.enhanced = f.p2p = true;
	f.revision = 2;
	f.rtr = kAllRtr;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_AGREED);
	EXPECT_FALSE(terms.p2p);
	EXPECT_EQ(terms.rtr, 0);
}

TEST(MpaNegotiation, APlainReplyToAnEnhancedRequestWillDoWithoutPeerToPeer)
{
	mpa_offer mine = offer(2, 3, 4);
	mpa_terms terms;
	mpa_frame f = {};

	f.reply = true;
	f.revision = 1;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_AGREED);
	EXPECT_EQ(terms.revision, 1);
	EXPECT_EQ(terms.ird, 3);
	EXPECT_EQ(terms.ord, 4);
	mine.p2p = true;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_NO_RTR);
}

TEST(MpaNegotiation, AVersionTwoRequestWithoutTheEnhancedPartIsAnsweredAlike)
{
	mpa_offer mine = offer(2, 5, 6);
	mpa_frame f = {}, answer;
	mpa_terms terms;

	f.revision = 2;
	EXPECT_EQ(mpa_accept(&mine, &f, &terms, &answer), MPA_AGREED);
	EXPECT_EQ(build(answer), reply({0x40, 2, 0, 0}));
	EXPECT_EQ(terms.ird, 5);
	EXPECT_EQ(terms.ord, 6);
}

TEST(MpaNegotiation, ARejectionHasTheRequestsRevisionAndItsFlag)
{
	mpa_offer mine = offer(2, 5, 6);
	mpa_frame f, answer;
	mpa_terms terms;

	mine.crc = false;
	mpa_request(&mine, &f);
	mpa_reject(&mine, &f, &answer);
	EXPECT_EQ(build(answer, {9}), reply({0x30, 2, 0, 5, 0, 5, 0, 6, 9}));
	EXPECT_EQ(mpa_finish(&mine, &answer, &terms), MPA_REJECTED);

	mine.revision = 1;
	mpa_request(&mine, &f);
	mpa_reject(&mine, &f, &answer);
	EXPECT_EQ(build(answer), reply({0x20, 1, 0, 0}));
	EXPECT_EQ(mpa_finish(&mine, &answer, &terms), MPA_REJECTED);
}

TEST(MpaNegotiation, ARejectionCountsBeforeAllElse)
{
	mpa_offer mine = offer(2, 1, 1);
	mpa_terms terms;
	mpa_frame f = {};

	mine.p2p = true;
	f.reply = f.reject = f.enhanced = true;
	f.revision = 2;
	f.ord = 100;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_REJECTED);
}

TEST(MpaNegotiation, TheWholeExchangeWithSiwAsBytes)
{
	mpa_offer mine = offer(2, 16, 16);
	mpa_frame f, answer;
	mpa_terms terms;

	mine.p2p = true;
	mine.rtr = MPA_RTR_WRITE | MPA_RTR_READ;
	mpa_request(&mine, &f);
	EXPECT_EQ(build(f), request({0x50, 2, 0, 4, 0x80, 0x10, 0xc0, 0x10}));
	ASSERT_EQ(parse(reply({0x50, 2, 0, 4, 0x80, 0x10, 0x80, 0x10}), true, &answer), MPA_OK);
	EXPECT_EQ(mpa_finish(&mine, &answer, &terms), MPA_AGREED);
	EXPECT_EQ(terms.rtr, MPA_RTR_WRITE);
	EXPECT_EQ(terms.ord, 16);

	ASSERT_EQ(parse(request({0x50, 2, 0, 4, 0x80, 0x08, 0x40, 0x08}), false, &f), MPA_OK);
	EXPECT_EQ(mpa_accept(&mine, &f, &terms, &answer), MPA_AGREED);
	EXPECT_EQ(build(answer), reply({0x50, 2, 0, 4, 0x80, 0x10, 0x40, 0x08}));
}

// ---- padding and markers ----

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
