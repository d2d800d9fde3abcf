// SPDX-License-Identifier: GPL-2.0
// DDP and RDMAP headers: each message as bytes written by hand from RFC 5041 4, RFC 5040 4 and RFC
// 7306, both ways; every first word against a second table of what is allowed; every truncation;
// Terminates and what they quote.
#include "proto/ddp.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using Bytes = std::vector<u8>;

Bytes operator+(Bytes a, const Bytes &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

// A buffer of exactly n bytes, so that ASan sees the first byte read too many.
std::unique_ptr<u8[]> exact(const Bytes &src, size_t n)
{
	std::unique_ptr<u8[]> p(new u8[n]);

	std::copy_n(src.begin(), n, p.get());
	return p;
}

int parse(const Bytes &b, ddp_seg *s)
{
	u32 n = static_cast<u32>(b.size());

	return ddp_parse(exact(b, n).get(), n, n, s);
}

Bytes build(ddp_seg s)
{
	Bytes b(DDP_UNTAGGED_BYTES, 0xee);

	b.resize(ddp_build(b.data(), &s));
	EXPECT_EQ(s.hdr_bytes, b.size());
	return b;
}

// ---- each message ----

struct Message {
	const char *name;
	u8 opcode;
	u8 ctrl0, ctrl1; // as on the wire, last segment
	bool tagged;
	u32 qn;
	u32 payload; // if it has one size
};

// RFC 5040 figure 3 and 10; RFC 7306 tables 1 and 2.
const Message kMessages[] = {
	{"RDMA Write", 0x0, 0xc1, 0x40, true, 0, 0},
	{"RDMA Read Request", 0x1, 0x41, 0x41, false, 1, 28},
	{"RDMA Read Response", 0x2, 0xc1, 0x42, true, 0, 0},
	{"Send", 0x3, 0x41, 0x43, false, 0, 0},
	{"Send with Invalidate", 0x4, 0x41, 0x44, false, 0, 0},
	{"Send with Solicited Event", 0x5, 0x41, 0x45, false, 0, 0},
	{"Send with both", 0x6, 0x41, 0x46, false, 0, 0},
	{"Terminate", 0x7, 0x41, 0x47, false, 2, 0},
	{"Immediate Data", 0x8, 0x41, 0x48, false, 0, 8},
	{"Immediate Data with Solicited Event", 0x9, 0x41, 0x49, false, 0, 8},
	{"Atomic Request", 0xa, 0x41, 0x4a, false, 1, 52},
	{"Atomic Response", 0xb, 0x41, 0x4b, false, 3, 12},
};

Bytes header(const Message &m)
{
	if (m.tagged)
		return {m.ctrl0, m.ctrl1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	return {m.ctrl0, m.ctrl1, 0x11, 0x12, 0x13, 0x14, 0, 0, 0, static_cast<u8>(m.qn),
		0x21,	 0x22,	  0x23, 0x24, 0,    0,	  0, 0};
}

TEST(DdpSegment, TaggedHeaderIsRead)
{
	ddp_seg s;

	ASSERT_EQ(parse({0x81, 0x40, 0x11, 0x22, 0x33, 0x44, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
			 0x07, 0x08, 'x'},
			&s),
		  TERM_NONE);
	EXPECT_EQ(s.opcode, RDMAP_WRITE);
	EXPECT_TRUE(s.tagged && !s.last);
	EXPECT_EQ(s.stag, 0x11223344u);
	EXPECT_EQ(s.to, 0x0102030405060708u);
	EXPECT_EQ(s.hdr_bytes, 14);
	EXPECT_EQ(s.payload_bytes, 1);
}

TEST(DdpSegment, UntaggedHeaderIsRead)
{
	ddp_seg s;

	ASSERT_EQ(parse({0x41, 0x44, 0xaa, 0xbb, 0xcc, 0xdd, 0,	   0,	 0,   0,
			 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 'x', 'y'},
			&s),
		  TERM_NONE);
	EXPECT_EQ(s.opcode, RDMAP_SEND_INV);
	EXPECT_TRUE(!s.tagged && s.last);
	EXPECT_EQ(s.inv_stag, 0xaabbccddu);
	EXPECT_EQ(s.qn, 0u);
	EXPECT_EQ(s.msn, 0x01020304u);
	EXPECT_EQ(s.mo, 0x05060708u);
	EXPECT_EQ(s.hdr_bytes, 18);
	EXPECT_EQ(s.payload_bytes, 2);
}

TEST(DdpSegment, EachMessageIsReadAndWrittenBack)
{
	for (const Message &m : kMessages) {
		Bytes b = header(m) + Bytes(m.payload ? m.payload : 9);
		ddp_seg s;

		ASSERT_EQ(parse(b, &s), TERM_NONE) << m.name;
		EXPECT_EQ(s.opcode, m.opcode) << m.name;
		EXPECT_EQ(s.tagged, m.tagged) << m.name;
		EXPECT_TRUE(s.last) << m.name;
		EXPECT_EQ(s.qn, m.qn) << m.name;
		EXPECT_EQ(s.hdr_bytes, m.tagged ? 14 : 18) << m.name;
		EXPECT_EQ(s.hdr_bytes + s.payload_bytes, int(b.size())) << m.name;
		EXPECT_EQ(build(s), header(m)) << m.name;
	}
}

TEST(DdpSegment, MoreToComeHasNoLastFlag)
{
	for (u8 op : {RDMAP_WRITE, RDMAP_READ_RESP, RDMAP_SEND, RDMAP_SEND_SE_INV}) {
		Bytes b = header(kMessages[op]) + Bytes(1);
		ddp_seg s;

		b[0] &= ~0x40;
		ASSERT_EQ(parse(b, &s), TERM_NONE);
		EXPECT_FALSE(s.last);
		EXPECT_EQ(build(s)[0], b[0]);
	}
}

TEST(DdpSegment, ATruncatedHeaderHasNoCodeOfItsOwn)
{
	for (const Message &m : kMessages) {
		Bytes b = header(m);

		for (u32 n = 0; n < b.size(); n++) {
			ddp_seg s;

			EXPECT_EQ(ddp_parse(exact(b, n).get(), n, n, &s), TERM_OP_OTHER)
				<< m.name << " " << n;
			EXPECT_EQ(s.opcode, RDMAP_OPCODES);
		}
	}
}

TEST(DdpSegment, MessagesOfOneSizeHaveIt)
{
	for (const Message &m : kMessages) {
		for (u32 n = 0; n < 60; n++) {
			ddp_seg s;
			int want = !m.payload || n == m.payload ? TERM_NONE :
				   n > m.payload		? TERM_DDP_TOO_LONG :
								  TERM_OP_OTHER;

			EXPECT_EQ(parse(header(m) + Bytes(n), &s), want) << m.name << " " << n;
		}
	}
}

TEST(DdpSegment, MessagesOfOneSizeAreOneSegment)
{
	for (const Message &m : kMessages) {
		Bytes b = header(m) + Bytes(m.payload);
		ddp_seg s;

		if (!m.payload)
			continue;
		b[0] &= ~0x40;
		EXPECT_EQ(parse(b, &s), TERM_DDP_TOO_LONG) << m.name;
		b[0] |= 0x40;
		b[17] = 1;
		EXPECT_EQ(parse(b, &s), TERM_DDP_MO) << m.name;
	}
}

// The verdict on a segment of the right size with these two bytes and this queue.
int expected(u8 ctrl0, u8 ctrl1, u32 qn)
{
	bool tagged = ctrl0 & 0x80;
	u8 opcode = ctrl1 & 0x0f;

	if ((ctrl0 & 3) != 1)
		return tagged ? 0x1104 : 0x1206;
	if (!tagged && qn > 3)
		return 0x1201;
	if (ctrl1 >> 6 != 1)
		return 0x0205;
	if (opcode >= std::size(kMessages) || kMessages[opcode].tagged != tagged)
		return 0x0206;
	if (!tagged && kMessages[opcode].qn != qn)
		return 0x0206;
	return kMessages[opcode].payload && !(ctrl0 & 0x40) ? 0x1205 : -1;
}

TEST(DdpSegment, EveryControlWordAndQueueHasItsVerdict)
{
	for (u32 qn : {0u, 1u, 2u, 3u, 4u, 256u, 0x80000000u, ~0u}) {
		for (u32 ctrl = 0; ctrl < 0x10000; ctrl++) {
			u8 c0 = static_cast<u8>(ctrl >> 8), c1 = static_cast<u8>(ctrl);
			u8 b[DDP_CTRL_MAX_BYTES] = {c0, c1};
			u32 payload = 1;
			ddp_seg s;

			if (!(c0 & 0x80))
				put_unaligned_be32(qn, b + 6);
			if ((c1 & 0xf) < std::size(kMessages) && kMessages[c1 & 0xf].payload)
				payload = kMessages[c1 & 0xf].payload;
			u32 n = (c0 & 0x80 ? 14 : 18) + payload;
			ASSERT_EQ(ddp_parse(b, std::min<u32>(n, sizeof(b)), n, &s),
				  expected(c0, c1, qn))
				<< std::hex << ctrl << " " << qn;
		}
	}
}

TEST(DdpSegment, OnlyTheHeadersNeedToBeReadable)
{
	for (const Message &m : kMessages) {
		Bytes b = header(m) + Bytes(52);
		ddp_seg s;

		if (m.payload)
			continue;
		ASSERT_EQ(ddp_parse(exact(b, b.size()).get(), static_cast<u32>(b.size()), 0xffff,
				    &s),
			  TERM_NONE);
		EXPECT_EQ(s.payload_bytes, 0xffff - s.hdr_bytes);
	}
}

TEST(DdpSegment, LongerThanAnyFpduIsNone)
{
	Bytes b = header(kMessages[RDMAP_SEND]) + Bytes(52);
	ddp_seg s;

	EXPECT_EQ(ddp_parse(b.data(), static_cast<u32>(b.size()), 0x10000, &s), TERM_OP_OTHER);
}

// ---- RDMAP headers that are payload ----

const Bytes kRead = {0x11, 0x12, 0x13, 0x14,			      // sink STag
		     0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,  // sink TO
		     0x31, 0x32, 0x33, 0x34,			      // size
		     0x41, 0x42, 0x43, 0x44,			      // source STag
		     0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58}; // source TO

TEST(RdmapRead, RequestIsReadAndWrittenBack)
{
	Bytes b(RDMAP_READ_BYTES);
	rdmap_read r;

	ASSERT_EQ(kRead.size(), b.size());
	rdmap_read_parse(exact(kRead, kRead.size()).get(), &r);
	EXPECT_EQ(r.sink_stag, 0x11121314u);
	EXPECT_EQ(r.sink_to, 0x2122232425262728u);
	EXPECT_EQ(r.bytes, 0x31323334u);
	EXPECT_EQ(r.src_stag, 0x41424344u);
	EXPECT_EQ(r.src_to, 0x5152535455565758u);
	rdmap_read_build(b.data(), &r);
	EXPECT_EQ(b, kRead);
}

TEST(RdmapAtomic, RequestIsReadAndWrittenBack)
{
	const Bytes want = {0,	  0,	0,    2,    // 28 reserved bits, code
			    0x11, 0x12, 0x13, 0x14, // request identifier
			    0x21, 0x22, 0x23, 0x24, // STag
			    0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,  // TO
			    0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,  // swap or add
			    0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,  // its mask
			    0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,  // compare
			    0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78}; // its mask
	Bytes b(RDMAP_ATOMIC_BYTES);
	rdmap_atomic a;

	ASSERT_EQ(want.size(), b.size());
	rdmap_atomic_parse(exact(want, want.size()).get(), &a);
	EXPECT_EQ(a.op, RDMAP_CMP_SWAP);
	EXPECT_EQ(a.id, 0x11121314u);
	EXPECT_EQ(a.stag, 0x21222324u);
	EXPECT_EQ(a.to, 0x3132333435363738u);
	EXPECT_EQ(a.swap_add, 0x4142434445464748u);
	EXPECT_EQ(a.swap_add_mask, 0x5152535455565758u);
	EXPECT_EQ(a.compare, 0x6162636465666768u);
	EXPECT_EQ(a.compare_mask, 0x7172737475767778u);
	rdmap_atomic_build(b.data(), &a);
	EXPECT_EQ(b, want);
}

TEST(RdmapAtomic, ReservedBitsBeforeTheCodeAreIgnored)
{
	Bytes b(RDMAP_ATOMIC_BYTES);
	rdmap_atomic a;

	b[0] = b[1] = b[2] = 0xff;
	b[3] = 0xf0;
	rdmap_atomic_parse(b.data(), &a);
	EXPECT_EQ(a.op, RDMAP_FETCH_ADD);
}

// ---- Terminate ----

TEST(RdmapTerm, CodesAreLayerTypeAndCode)
{
	const struct {
		int code;
		rdmap_layer layer;
		u8 type, error;
	} table[] = {
		{TERM_LOCAL, TERM_RDMAP, 0, 0},
		{TERM_PROT_STAG, TERM_RDMAP, 1, 0},
		{TERM_PROT_BOUNDS, TERM_RDMAP, 1, 1},
		{TERM_PROT_ACCESS, TERM_RDMAP, 1, 2},
		{TERM_PROT_STREAM, TERM_RDMAP, 1, 3},
		{TERM_PROT_WRAP, TERM_RDMAP, 1, 4},
		{TERM_PROT_INVALIDATE, TERM_RDMAP, 1, 9},
		{TERM_PROT_OTHER, TERM_RDMAP, 1, 0xff},
		{TERM_OP_VERSION, TERM_RDMAP, 2, 5},
		{TERM_OP_OPCODE, TERM_RDMAP, 2, 6},
		{TERM_OP_STREAM, TERM_RDMAP, 2, 7},
		{TERM_OP_GLOBAL, TERM_RDMAP, 2, 8},
		{TERM_OP_OTHER, TERM_RDMAP, 2, 0xff},
		{TERM_DDP_LOCAL, TERM_DDP, 0, 0},
		{TERM_DDP_STAG, TERM_DDP, 1, 0},
		{TERM_DDP_BOUNDS, TERM_DDP, 1, 1},
		{TERM_DDP_STREAM, TERM_DDP, 1, 2},
		{TERM_DDP_WRAP, TERM_DDP, 1, 3},
		{TERM_DDP_VERSION, TERM_DDP, 1, 4},
		{TERM_DDP_QN, TERM_DDP, 2, 1},
		{TERM_DDP_NO_BUFFER, TERM_DDP, 2, 2},
		{TERM_DDP_MSN_RANGE, TERM_DDP, 2, 3},
		{TERM_DDP_MO, TERM_DDP, 2, 4},
		{TERM_DDP_TOO_LONG, TERM_DDP, 2, 5},
		{TERM_DDP_UT_VERSION, TERM_DDP, 2, 6},
		{TERM_MPA_CLOSED, TERM_LLP, 0, 1},
		{TERM_MPA_CRC, TERM_LLP, 0, 2},
		{TERM_MPA_MARKER, TERM_LLP, 0, 3},
		{TERM_MPA_LOCAL, TERM_LLP, 0, 5},
		{TERM_MPA_NO_IRD, TERM_LLP, 0, 6},
		{TERM_MPA_NO_RTR, TERM_LLP, 0, 7},
	};

	for (const auto &t : table) {
		u8 p[RDMAP_TERM_MAX_BYTES];

		EXPECT_EQ(rdmap_term_layer(t.code), t.layer);
		ASSERT_EQ(rdmap_term_build(p, t.code, nullptr, 0, 0), u32(RDMAP_TERM_BYTES));
		EXPECT_EQ(Bytes(p, p + 4),
			  (Bytes{static_cast<u8>(t.layer << 4 | t.type), t.error, 0, 0}));

		rdmap_term back;
		ASSERT_TRUE(rdmap_term_parse(p, 4, &back));
		EXPECT_EQ(back.code, t.code);
		EXPECT_TRUE(!back.has_length && !back.has_ddp && !back.has_rdmap);
	}
}

TEST(RdmapTerm, HeaderControlBitsAreRead)
{
	for (u32 bits = 0; bits < 256; bits++) {
		const u8 p[] = {0x11, 0x01, static_cast<u8>(bits), 0xff};
		rdmap_term t;

		ASSERT_TRUE(rdmap_term_parse(p, 4, &t));
		EXPECT_EQ(t.code, TERM_DDP_BOUNDS);
		EXPECT_EQ(t.has_length, !!(bits & 0x80));
		EXPECT_EQ(t.has_ddp, !!(bits & 0x40));
		EXPECT_EQ(t.has_rdmap, !!(bits & 0x20));
	}
}

TEST(RdmapTerm, EveryTruncationIsRefused)
{
	for (u32 n = 0; n < 4; n++) {
		rdmap_term t;

		EXPECT_FALSE(rdmap_term_parse(exact({1, 2, 3, 4}, n).get(), n, &t)) << n;
		EXPECT_EQ(t.code, TERM_NONE);
	}
}

Bytes term(int code, const Bytes &seg, u32 have, u32 ulpdu_bytes)
{
	Bytes b(RDMAP_TERM_MAX_BYTES, 0xee);

	b.resize(rdmap_term_build(b.data(), code, exact(seg, have).get(), have, ulpdu_bytes));
	return b;
}

Bytes term(int code, const Bytes &seg)
{
	u32 n = static_cast<u32>(seg.size());

	return term(code, seg, n, n);
}

TEST(RdmapTerm, ATaggedSegmentIsQuotedByLengthAndHeader)
{
	const Bytes h = header(kMessages[RDMAP_WRITE]);

	EXPECT_EQ(term(TERM_DDP_STAG, h + Bytes(10)), (Bytes{0x11, 0x00, 0xc0, 0, 0, 24}) + h);
	EXPECT_EQ(term(TERM_PROT_ACCESS, h + Bytes(10)), (Bytes{0x01, 0x02, 0xc0, 0, 0, 24}) + h);
}

TEST(RdmapTerm, AnUntaggedSegmentIsQuotedByLengthAndHeader)
{
	const Bytes h = header(kMessages[RDMAP_SEND]);

	EXPECT_EQ(term(TERM_DDP_NO_BUFFER, h + Bytes(300)),
		  (Bytes{0x12, 0x02, 0xc0, 0, 1, 0x3e}) + h);
}

TEST(RdmapTerm, AReadRequestRefusedByRdmapIsQuotedWhole)
{
	const Bytes seg = header(kMessages[RDMAP_READ_REQ]) + kRead;

	EXPECT_EQ(term(TERM_PROT_STAG, seg), (Bytes{0x01, 0x00, 0xe0, 0, 0, 46}) + seg);
	EXPECT_EQ(term(TERM_PROT_STAG, seg).size(), size_t(RDMAP_TERM_MAX_BYTES));
}

TEST(RdmapTerm, AReadRequestRefusedByDdpIsQuotedByItsDdpHeader)
{
	const Bytes h = header(kMessages[RDMAP_READ_REQ]);

	EXPECT_EQ(term(TERM_DDP_MSN_RANGE, h + kRead), (Bytes{0x12, 0x03, 0xc0, 0, 0, 46}) + h);
}

TEST(RdmapTerm, AnAtomicRequestIsQuotedByItsDdpHeader)
{
	const Bytes h = header(kMessages[RDMAP_ATOMIC_REQ]);

	EXPECT_EQ(term(TERM_PROT_STAG, h + Bytes(52)), (Bytes{0x01, 0x00, 0xc0, 0, 0, 70}) + h);
}

TEST(RdmapTerm, WhatMpaRefusedIsNotQuoted)
{
	const Bytes seg = header(kMessages[RDMAP_SEND]) + Bytes(4);

	for (int code : {int(TERM_MPA_CRC), int(TERM_MPA_LOCAL), int(TERM_MPA_NO_RTR)})
		EXPECT_EQ(term(code, seg), (Bytes{0x20, static_cast<u8>(code), 0, 0}));
}

TEST(RdmapTerm, WhatIsOurOwnFaultIsNotQuoted)
{
	EXPECT_EQ(term(TERM_LOCAL, header(kMessages[RDMAP_SEND]) + Bytes(4)), (Bytes{0, 0, 0, 0}));
	EXPECT_EQ(term(TERM_LOCAL, header(kMessages[RDMAP_READ_REQ]) + kRead), (Bytes{0, 0, 0, 0}));
}

TEST(RdmapTerm, AReadRequestThatIsNoOperationIsQuotedByItsDdpHeader)
{
	const Bytes h = header(kMessages[RDMAP_READ_REQ]);

	for (int code : {int(TERM_OP_OPCODE), int(TERM_OP_STREAM), int(TERM_OP_OTHER)})
		EXPECT_EQ(term(code, h + kRead),
			  (Bytes{0x02, static_cast<u8>(code), 0xc0, 0, 0, 46}) + h);
}

TEST(RdmapTerm, OneIsTheFirstMessageOfItsQueue)
{
	Bytes b(DDP_UNTAGGED_BYTES, 0xee);

	ASSERT_EQ(rdmap_term_header(b.data()), b.size());
	EXPECT_EQ(b, (Bytes{0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0}));
}

TEST(RdmapTerm, NothingIsQuotedInPart)
{
	const Bytes seg = header(kMessages[RDMAP_READ_REQ]) + kRead;

	for (u32 n = 0; n <= seg.size(); n++) {
		size_t want = n < 18 ? 4 : n < 46 ? 24 : 52;
		u8 bits = n < 18 ? 0 : n < 46 ? 0xc0 : 0xe0;

		for (const Bytes &b :
		     {term(TERM_PROT_STAG, seg, n, n), term(TERM_PROT_STAG, seg, n, 46),
		      term(TERM_PROT_STAG, seg, 46, n)}) {
			EXPECT_EQ(b.size(), want) << n;
			EXPECT_EQ(b[2], bits) << n;
		}
	}
}

TEST(RdmapTerm, TheLengthIsThatOfTheSegmentNotOfWhatIsReadable)
{
	const Bytes h = header(kMessages[RDMAP_WRITE]);

	EXPECT_EQ(term(TERM_DDP_BOUNDS, h, 14, 0xfffe),
		  (Bytes{0x11, 0x01, 0xc0, 0, 0xff, 0xfe}) + h);
}

// ---- what a Terminate quotes, read back ----

TEST(RdmapQuote, EachHeaderIsReadBack)
{
	for (const Message &m : kMessages) {
		const Bytes b = term(TERM_DDP_STAG, header(m) + Bytes(60));
		rdmap_quote quote;
		ddp_seg want;

		ASSERT_TRUE(rdmap_term_quote(b.data(), static_cast<u32>(b.size()), &quote));
		parse(header(m) + Bytes(m.payload), &want);
		EXPECT_EQ(quote.seg.opcode, want.opcode);
		EXPECT_EQ(quote.seg.tagged, want.tagged);
		EXPECT_EQ(quote.seg.last, want.last);
		EXPECT_EQ(quote.seg.stag, want.stag);
		EXPECT_EQ(quote.seg.to, want.to);
		EXPECT_EQ(quote.seg.qn, want.qn);
		EXPECT_EQ(quote.seg.msn, want.msn);
		EXPECT_FALSE(quote.has_read);
	}
}

TEST(RdmapQuote, AReadRequestIsReadBackWhole)
{
	const Bytes b = term(TERM_PROT_STAG, header(kMessages[RDMAP_READ_REQ]) + kRead);
	rdmap_quote quote;
	rdmap_read want;

	ASSERT_TRUE(rdmap_term_quote(b.data(), static_cast<u32>(b.size()), &quote));
	rdmap_read_parse(kRead.data(), &want);
	ASSERT_TRUE(quote.has_read);
	EXPECT_EQ(quote.read.sink_stag, want.sink_stag);
	EXPECT_EQ(quote.read.src_stag, want.src_stag);
	EXPECT_EQ(quote.read.src_to, want.src_to);
}

// The bits say what follows, and in which order.
TEST(RdmapQuote, TheLengthMayBeMissing)
{
	const Bytes h = header(kMessages[RDMAP_SEND]);
	const Bytes b = Bytes{0x12, 0x02, 0x40, 0} + h;
	rdmap_quote quote;

	ASSERT_TRUE(rdmap_term_quote(b.data(), static_cast<u32>(b.size()), &quote));
	EXPECT_EQ(quote.seg.opcode, RDMAP_SEND);
	EXPECT_EQ(quote.seg.hdr_bytes, DDP_UNTAGGED_BYTES);
}

TEST(RdmapQuote, WhatIsCutOffIsNotRead)
{
	const Bytes read = term(TERM_PROT_STAG, header(kMessages[RDMAP_READ_REQ]) + kRead);
	const Bytes write = term(TERM_DDP_STAG, header(kMessages[RDMAP_WRITE]));
	rdmap_quote quote;

	for (u32 n = 0; n <= read.size(); n++) {
		EXPECT_EQ(rdmap_term_quote(exact(read, n).get(), n, &quote), n >= 24) << n;
		EXPECT_EQ(quote.has_read, n == read.size()) << n;
	}
	for (u32 n = 0; n <= write.size(); n++)
		EXPECT_EQ(rdmap_term_quote(exact(write, n).get(), n, &quote), n == write.size())
			<< n;
}

TEST(RdmapQuote, NoHeaderIsNoQuote)
{
	Bytes b = term(TERM_DDP_NO_BUFFER, header(kMessages[RDMAP_SEND]));
	const u32 n = static_cast<u32>(b.size());
	rdmap_quote quote;

	EXPECT_FALSE(rdmap_term_quote(nullptr, 0, &quote));
	b[2] = 0x80;
	EXPECT_FALSE(rdmap_term_quote(b.data(), n, &quote));
	b[2] = 0xc0;
	b[6] ^= 0x02; // DDP's version
	EXPECT_FALSE(rdmap_term_quote(b.data(), n, &quote));
}

} // namespace
