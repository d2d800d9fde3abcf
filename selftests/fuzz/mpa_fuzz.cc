// SPDX-License-Identifier: GPL-2.0
// Any bytes as an MPA start-up frame: nothing outside them is read, the builder restores what the
// parser accepts except reserved bits, and any result of the negotiation respects both ends'
// limits. Or a position and an FPDU whose markers must be where the stream has them.
#include <algorithm>
#include <cstring>
#include <memory>

#include "fuzz.h"
#include "proto/mpa.h"

namespace {

enum { kSettings = 6 };

// No builder reads the private data: it does not write them.
void check_round_trip(const u8 *data, const mpa_frame &parsed)
{
	u8 want[MPA_FRAME_BYTES + MPA_ENHANCED_BYTES], got[sizeof(want)];
	mpa_frame f = parsed;

	memcpy(want, data, f.private_at);
	want[16] &= f.revision == 1 ? 0xe8 : 0xf8;
	REQUIRE(mpa_frame_build(got, &f) == f.private_at);
	REQUIRE(memcmp(want, got, f.private_at) == 0);
	REQUIRE(f.bytes == parsed.bytes && f.private_at == parsed.private_at);
	REQUIRE(f.private_at + f.private_bytes == f.bytes);
	REQUIRE(f.enhanced || (!f.p2p && !f.rtr && !f.ird && !f.ord));
}

// What the other end reads in our frame.
mpa_frame over_the_wire(mpa_frame f)
{
	u8 p[MPA_FRAME_BYTES + MPA_ENHANCED_BYTES];
	u32 n = mpa_frame_build(p, &f);
	mpa_frame out;

	REQUIRE(n == f.bytes && mpa_frame_parse(p, n, f.reply, &out) == MPA_OK);
	check_round_trip(p, out);
	return out;
}

void check_depths(const mpa_offer &mine, const mpa_terms &t, const mpa_frame &theirs)
{
	REQUIRE(t.ord <= mine.ord && t.long_fpdus == (mine.long_fpdus && theirs.long_fpdus));
	if (theirs.reply)
		REQUIRE(t.ird == mine.ird ||
			(t.ird > mine.ird && t.ird == theirs.ord && t.ird <= mine.ird_most));
	else
		REQUIRE(t.ird == mine.ird || (t.ird == 1 && t.rtr & MPA_RTR_READ));
	if (t.enhanced && theirs.ird != MPA_DEPTH_ANY)
		REQUIRE(t.ord <= theirs.ird);
}

void respond(const mpa_offer &mine, const mpa_frame &request)
{
	mpa_frame reply;
	mpa_terms terms, peers;
	mpa_offer peer = {};
	mpa_verdict verdict = mpa_accept(&mine, &request, &terms, &reply);

	peer.revision = request.revision;
	peer.crc = request.crc;
	peer.p2p = request.p2p;
	peer.rtr = request.rtr;
	peer.ird = request.ird;
	peer.ord = request.ord;
	if (verdict != MPA_AGREED) {
		REQUIRE(verdict == MPA_NO_RTR && request.p2p && !(request.rtr & mine.rtr));
		reply = over_the_wire(reply);
		REQUIRE(!reply.reject && reply.p2p && reply.rtr == mine.rtr);
		REQUIRE(mpa_finish(&peer, &reply, &peers) == MPA_NO_RTR);
		mpa_reject(&mine, &request, &reply);
		reply = over_the_wire(reply);
		REQUIRE(reply.reject);
		REQUIRE(mpa_finish(&peer, &reply, &peers) == MPA_REJECTED);
		return;
	}
	check_depths(mine, terms, request);
	REQUIRE(terms.crc == (mine.crc || request.crc) && terms.tx_markers == request.markers);
	REQUIRE(terms.p2p == request.p2p && terms.p2p == (terms.rtr != 0));

	// The sender of the frame accepts our reply, and runs with the same terms.
	reply = over_the_wire(reply);
	REQUIRE(!reply.reject && !reply.markers && reply.revision == request.revision);
	REQUIRE(reply.long_fpdus == terms.long_fpdus);
	if (!request.enhanced)
		return;
	REQUIRE(mpa_finish(&peer, &reply, &peers) == MPA_AGREED);
	REQUIRE(peers.crc == terms.crc && peers.p2p == terms.p2p);
	REQUIRE(peers.ord == MPA_DEPTH_ANY || peers.ord <= terms.ird);
	REQUIRE(peers.ird == MPA_DEPTH_ANY || terms.ord <= peers.ird);
	REQUIRE((peers.rtr & terms.rtr) == peers.rtr && !(peers.rtr & (peers.rtr - 1)));
}

void initiate(const mpa_offer &mine, const mpa_frame &reply)
{
	mpa_frame request;
	mpa_terms terms;

	mpa_request(&mine, &request);
	request = over_the_wire(request);
	REQUIRE(request.p2p == (mine.revision == 2 && mine.p2p));
	if (mpa_finish(&mine, &reply, &terms) != MPA_AGREED)
		return;
	REQUIRE(!reply.reject);
	check_depths(mine, terms, reply);
	REQUIRE(terms.crc == (mine.crc || reply.crc) && terms.tx_markers == reply.markers);
	REQUIRE(terms.p2p == (terms.rtr != 0) && (terms.rtr & mine.rtr) == terms.rtr);
	REQUIRE(!(terms.rtr & (terms.rtr - 1)));
	if (terms.enhanced && reply.ord != MPA_DEPTH_ANY)
		REQUIRE(reply.ord <= terms.ird);
}

void frames(u8 how, const u8 *settings, const u8 *data, u32 n)
{
	std::unique_ptr<u8[]> p(new u8[n]);
	bool reply = how & 1;
	mpa_offer mine = {};
	mpa_frame f, early;
	mpa_error error;

	if (n)
		memcpy(p.get(), data, n);
	mine.crc = how & 2;
	mine.p2p = how & 4;
	mine.revision = how & 8 ? 2 : 1;
	mine.rtr = settings[0] & 7;
	mine.long_fpdus = settings[0] & 8;
	mine.ird_most = settings[0] & 16 ? MPA_DEPTH_MAX : 0;
	mine.ird = std::min<u16>(get_unaligned_be16(settings + 1), MPA_DEPTH_MAX);
	mine.ord = std::min<u16>(get_unaligned_be16(settings + 3), MPA_DEPTH_MAX);

	error = mpa_frame_parse(p.get(), n, reply, &f);
	// The first part says the same, or asks for more, but not too much.
	u32 part = n ? settings[0] * n / 256 : 0;
	mpa_error first = mpa_frame_parse(p.get(), part, reply, &early);
	REQUIRE(first == MPA_MORE || first == error);
	if (first == MPA_MORE) {
		REQUIRE(early.bytes > part);
		REQUIRE(error != MPA_OK || early.bytes <= f.bytes);
	}
	if (error != MPA_OK) {
		REQUIRE(error != MPA_MORE ||
			(f.bytes > n && f.bytes <= 20 + MPA_MAX_PRIVATE_BYTES));
		return;
	}
	REQUIRE(f.bytes <= n && f.reply == reply);
	check_round_trip(p.get(), f);
	if (reply)
		initiate(mine, f);
	else
		respond(mine, f);
}

// Read back as a receiver does: markers where the position says, no byte lost.
void markers(const u8 *settings, const u8 *data, u32 n)
{
	u64 pos = u64(get_unaligned_be32(settings)) << (settings[4] % 33) & ~u64(3), at = pos;
	u64 length_at = 0;
	u32 total;

	n &= ~3u;
	total = n + mpa_marker_count(pos, n + MPA_CRC_BYTES) * MPA_MARKER_BYTES;

	std::unique_ptr<u8[]> src(new u8[n]), dst(new u8[total]);

	if (n)
		memcpy(src.get(), data, n);
	REQUIRE(mpa_insert_markers(dst.get(), src.get(), n, pos) == total);
	for (u32 i = 0, from = 0; i < total; i += 4, at += 4) {
		if (at % MPA_MARKER_SPACING == 0) {
			REQUIRE(get_unaligned_be16(&dst[i]) == 0);
			REQUIRE(get_unaligned_be16(&dst[i + 2]) ==
				(from ? static_cast<u16>(at - length_at) : 0));
			continue;
		}
		if (!from)
			length_at = at;
		REQUIRE(memcmp(&dst[i], &src[from], 4) == 0);
		from += 4;
	}

	for (bool with : {false, true}) {
		u32 room = get_unaligned_be32(settings) >> (settings[4] % 32);
		u32 ulpdu = mpa_mulpdu(room, with);
		u32 fpdu = mpa_fpdu_bytes(ulpdu);

		REQUIRE(ulpdu >= MPA_LEAST_MULPDU && ulpdu < MPA_MAX_ULPDU_BYTES);
		if (with)
			fpdu += mpa_marker_count(pos, fpdu) * MPA_MARKER_BYTES;
		REQUIRE(fpdu <= room || ulpdu == MPA_LEAST_MULPDU);
		REQUIRE(fpdu <= mpa_fpdu_most(ulpdu, with));
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size < kSettings || size > 4096)
		return 0;
	u32 n = static_cast<u32>(size) - kSettings;

	if (data[0] & 0x80)
		markers(data + 1, data + kSettings, n);
	else
		frames(data[0], data + 1, data + kSettings, n);
	return 0;
}
