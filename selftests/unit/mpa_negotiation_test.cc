// SPDX-License-Identifier: GPL-2.0
// What two ends of MPA agree on, through the bytes of their start-up frames.
#include "mpa_bytes.h"

namespace {

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

	// Each value is returned for itself (RFC 6581 9.1).
	EXPECT_EQ(answer.ird, MPA_DEPTH_ANY);
	EXPECT_EQ(answer.ord, MPA_DEPTH_ANY);

	f.reply = true;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_AGREED);
	EXPECT_EQ(terms.ord, 9);
	EXPECT_EQ(terms.ird, 8);

	f.reply = false;
	f.ird = 4;
	EXPECT_EQ(mpa_accept(&mine, &f, &terms, &answer), MPA_AGREED);
	EXPECT_EQ(answer.ird, MPA_DEPTH_ANY);
	EXPECT_EQ(answer.ord, 4);
	f.ird = MPA_DEPTH_ANY;
	f.ord = 4;
	EXPECT_EQ(mpa_accept(&mine, &f, &terms, &answer), MPA_AGREED);
	EXPECT_EQ(answer.ird, 8);
	EXPECT_EQ(answer.ord, MPA_DEPTH_ANY);
}

TEST(MpaNegotiation, AResponderThatWillAskForMoreIsLetInAsFarAsWeCan)
{
	mpa_offer mine = offer(2, 8, 8);
	mpa_terms terms;
	mpa_frame f = {};

	mine.ird_most = 128;
	f.reply = f.enhanced = true;
	f.revision = 2;
	f.ird = 1;
	for (u16 ord : {0, 8, 9, 128}) {
		f.ord = ord;
		EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_AGREED);
		EXPECT_EQ(terms.ird, std::max<u16>(ord, 8));
	}
	f.ord = 129;
	EXPECT_EQ(mpa_finish(&mine, &f, &terms), MPA_NO_IRD);
}

TEST(MpaNegotiation, LongFpdusAreForTwoThatBothTakeThem)
{
	for (int bits = 0; bits < 4; bits++) {
		mpa_offer a = offer(2), b = offer(2);

		a.long_fpdus = bits & 1;
		b.long_fpdus = bits & 2;
		Outcome o = negotiate(a, b);
		EXPECT_EQ(build(o.request)[16] & 0x0f, bits & 1 ? 0x08 : 0);
		EXPECT_EQ(o.reply.long_fpdus, bits == 3);
		EXPECT_EQ(o.initiator.long_fpdus, bits == 3);
		EXPECT_EQ(o.responder.long_fpdus, bits == 3);
	}
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
			EXPECT_TRUE(o.reply.p2p && o.responder.p2p && !o.reply.reject);
			if (!both) {
				EXPECT_EQ(o.accept, MPA_NO_RTR);
				// The initiator ends it, and learns what there would be.
				EXPECT_EQ(o.reply.rtr, b);
				EXPECT_EQ(o.finish, MPA_NO_RTR);
				continue;
			}
			EXPECT_EQ(o.accept, MPA_AGREED);
			EXPECT_TRUE(o.initiator.p2p);
			EXPECT_EQ(o.reply.rtr, both);
			EXPECT_EQ(o.responder.rtr, both);
			EXPECT_EQ(o.finish, MPA_AGREED);
			EXPECT_EQ(o.initiator.rtr, both & MPA_RTR_WRITE ? MPA_RTR_WRITE :
						   both & MPA_RTR_SEND	? MPA_RTR_SEND :
									  MPA_RTR_READ);
		}
	}
}

TEST(MpaNegotiation, AFirstMessageThatIsAReadFindsAPlaceWhateverTheDepth)
{
	for (u8 rtr = 0; rtr <= kAllRtr; rtr++) {
		for (u16 ird : {0, 1, 8}) {
			mpa_offer first = offer(2, 0, 0), second = offer(2, ird, 0);

			first.p2p = true;
			first.rtr = rtr;
			Outcome o = negotiate(first, second);
			u16 want = rtr & MPA_RTR_READ && !ird ? 1 : ird;

			EXPECT_EQ(o.reply.ird, want);
			EXPECT_EQ(o.responder.ird, want);
		}
	}
	// A peer that speaks first by other means does not need it.
	Outcome o = negotiate(offer(2, 0, 0), offer(2, 0, 0));
	EXPECT_EQ(o.responder.ird, 0);
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

} // namespace
