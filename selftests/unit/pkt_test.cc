// SPDX-License-Identifier: GPL-2.0
// Transport headers: opcode table, parser, builder. The expectations come from a second,
// hand-written table of IBTA's opcodes, not from the code's own.
#include "proto/pkt.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pkt_members.h"

namespace {

struct Spec {
	// R reth, A aeth, D deth, T atomic, K atomic ack, I imm, V ieth, F feth, C cnp, X xrceth
	const char *headers;
	bool payload;
};

// IBTA table 38 and annex A19, by service; annex A14 for XRC.
const std::map<u8, Spec> &spec()
{
	static const std::map<u8, Spec> table = [] {
		std::map<u8, Spec> t;

		for (u8 svc : {0x00, 0x20}) {
			t[svc + 0x00] = {"", true};
			t[svc + 0x01] = {"", true};
			t[svc + 0x02] = {"", true};
			t[svc + 0x03] = {"I", true};
			t[svc + 0x04] = {"", true};
			t[svc + 0x05] = {"I", true};
			t[svc + 0x06] = {"R", true};
			t[svc + 0x07] = {"", true};
			t[svc + 0x08] = {"", true};
			t[svc + 0x09] = {"I", true};
			t[svc + 0x0a] = {"R", true};
			t[svc + 0x0b] = {"RI", true};
		}
		t[0x0c] = {"R", false};
		t[0x0d] = {"A", true};
		t[0x0e] = {"", true};
		t[0x0f] = {"A", true};
		t[0x10] = {"A", true};
		t[0x11] = {"A", false};
		t[0x12] = {"AK", false};
		t[0x13] = {"T", false};
		t[0x14] = {"T", false};
		t[0x16] = {"V", true};
		t[0x17] = {"V", true};
		t[0x1c] = {"FR", false};
		t[0x1d] = {"R", true};
		t[0x64] = {"D", true};
		t[0x65] = {"DI", true};
		t[0x81] = {"C", false};
		t[0xa0] = {"X", true};
		t[0xa1] = {"X", true};
		t[0xa2] = {"X", true};
		t[0xa3] = {"XI", true};
		t[0xa4] = {"X", true};
		t[0xa5] = {"XI", true};
		t[0xa6] = {"XR", true};
		t[0xa7] = {"X", true};
		t[0xa8] = {"X", true};
		t[0xa9] = {"XI", true};
		t[0xaa] = {"XR", true};
		t[0xab] = {"XRI", true};
		t[0xac] = {"XR", false};
		t[0xad] = {"A", true};
		t[0xae] = {"", true};
		t[0xaf] = {"A", true};
		t[0xb0] = {"A", true};
		t[0xb1] = {"A", false};
		t[0xb2] = {"AK", false};
		t[0xb3] = {"XT", false};
		t[0xb4] = {"XT", false};
		t[0xb6] = {"XV", true};
		t[0xb7] = {"XV", true};
		return t;
	}();

	return table;
}

u32 spec_hdr_bytes(const Spec &s)
{
	u32 n = 12;

	for (const char *h = s.headers; *h; h++) {
		switch (*h) {
		case 'R':
			n += 16;
			break;
		case 'A':
			n += 4;
			break;
		case 'D':
			n += 8;
			break;
		case 'T':
			n += 28;
			break;
		case 'K':
			n += 8;
			break;
		case 'I':
			n += 4;
			break;
		case 'V':
			n += 4;
			break;
		case 'F':
			n += 4;
			break;
		case 'C':
			n += 16;
			break;
		case 'X':
			n += 4;
			break;
		default:
			ADD_FAILURE() << *h;
		}
	}
	return n;
}

// What pkt_parse() must return for `bytes` bytes that begin with this BTH.
pkt_error expected(u8 opcode, u8 bth1, u32 bytes)
{
	if (bytes < 16)
		return PKT_TOO_SHORT;
	if (bth1 & 0x0f)
		return PKT_BAD_VERSION;
	auto it = spec().find(opcode);
	if (it == spec().end())
		return PKT_BAD_OPCODE;
	u32 min = spec_hdr_bytes(it->second) + 4;
	u32 pad = (bth1 >> 4) & 3;
	if (bytes < min)
		return PKT_TOO_SHORT;
	if (!it->second.payload)
		return bytes == min && pad == 0 ? PKT_OK : PKT_BAD_LENGTH;
	if ((bytes - min) % 4)
		return PKT_BAD_LENGTH;
	if (bytes == min && pad)
		return PKT_BAD_LENGTH;
	return PKT_OK;
}

// A buffer of exactly n bytes, so that ASan sees the first byte read too many.
std::unique_ptr<u8[]> exact(const u8 *src, size_t n)
{
	std::unique_ptr<u8[]> p(new u8[n]);

	std::copy(src, src + n, p.get());
	return p;
}

bool all_zero_but_opcode(const pkt &k)
{
	pkt zero;

	memset(&zero, 0, sizeof(zero));
	zero.opcode = k.opcode;
	return memcmp(&zero, &k, sizeof(k)) == 0;
}

pkt random_pkt(u8 opcode, std::mt19937_64 &rng)
{
	pkt k = {};

	k.opcode = opcode;
	k.solicited = rng() & 1;
	k.migrated = rng() & 1;
	k.ack_req = rng() & 1;
	k.fecn = rng() & 1;
	k.becn = rng() & 1;
	k.pkey = static_cast<u16>(rng());
	k.dqpn = rng() & 0xffffff;
	k.psn = rng() & 0xffffff;
	k.syndrome = static_cast<u8>(rng());
	k.feth = rng() & 0x3f;
	k.msn = rng() & 0xffffff;
	k.va = rng();
	k.rkey = static_cast<u32>(rng());
	k.dma_bytes = static_cast<u32>(rng());
	k.swap_add = rng();
	k.compare = rng();
	k.atomic_orig = rng();
	k.qkey = static_cast<u32>(rng());
	k.sqpn = rng() & 0xffffff;
	k.imm = static_cast<__be32>(rng());
	k.inv_rkey = static_cast<u32>(rng());
	k.srqn = rng() & 0xffffff;
	return k;
}

void expect_same_fields(const pkt &in, const pkt &out, const std::string &headers)
{
	auto has = [&](char c) { return headers.find(c) != std::string::npos; };

	EXPECT_EQ(in.opcode, out.opcode);
	EXPECT_EQ(in.solicited, out.solicited);
	EXPECT_EQ(in.migrated, out.migrated);
	EXPECT_EQ(in.ack_req, out.ack_req);
	EXPECT_EQ(in.fecn, out.fecn);
	EXPECT_EQ(in.becn, out.becn);
	EXPECT_EQ(in.pkey, out.pkey);
	EXPECT_EQ(in.dqpn, out.dqpn);
	EXPECT_EQ(in.psn, out.psn);
	EXPECT_EQ(out.syndrome, has('A') ? in.syndrome : 0);
	EXPECT_EQ(out.feth, has('F') ? in.feth : 0);
	EXPECT_EQ(out.msn, has('A') ? in.msn : 0);
	EXPECT_EQ(out.va, has('R') || has('T') ? in.va : 0);
	EXPECT_EQ(out.rkey, has('R') || has('T') ? in.rkey : 0);
	EXPECT_EQ(out.dma_bytes, has('R') ? in.dma_bytes : 0);
	EXPECT_EQ(out.swap_add, has('T') ? in.swap_add : 0);
	EXPECT_EQ(out.compare, has('T') ? in.compare : 0);
	EXPECT_EQ(out.atomic_orig, has('K') ? in.atomic_orig : 0);
	EXPECT_EQ(out.qkey, has('D') ? in.qkey : 0);
	EXPECT_EQ(out.sqpn, has('D') ? in.sqpn : 0);
	EXPECT_EQ(out.imm, has('I') ? in.imm : 0);
	EXPECT_EQ(out.inv_rkey, has('V') ? in.inv_rkey : 0);
	EXPECT_EQ(out.srqn, has('X') ? in.srqn : 0);
}

TEST(Opcode, ExactlyTheSpecifiedOpcodesAreValid)
{
	for (int op = 0; op < 256; op++) {
		const struct opcode_info *info = opcode_info(static_cast<u8>(op));
		auto it = spec().find(static_cast<u8>(op));

		ASSERT_NE(info, nullptr);
		EXPECT_EQ(info->flags != 0, it != spec().end()) << op;
		EXPECT_EQ((info->flags & OPF_VALID) != 0, it != spec().end()) << op;
		if (it == spec().end())
			continue;
		EXPECT_EQ(info->hdr_bytes, spec_hdr_bytes(it->second)) << op;
		EXPECT_EQ((info->flags & OPF_PAYLOAD) != 0, it->second.payload) << op;
		EXPECT_LE(info->hdr_bytes, static_cast<u32>(PKT_HDR_MAX_BYTES)) << op;
	}
}

TEST(Opcode, PositionInMessageFollowsTheName)
{
	struct {
		u8 op;
		u32 flags;
	} const cases[] = {
		{OP_SEND_FIRST, OPF_FIRST},
		{OP_SEND_MIDDLE, 0},
		{OP_SEND_LAST, OPF_LAST},
		{OP_SEND_LAST_IMM, OPF_LAST},
		{OP_SEND_LAST_INV, OPF_LAST},
		{OP_SEND_ONLY, OPF_FIRST | OPF_LAST},
		{OP_SEND_ONLY_IMM, OPF_FIRST | OPF_LAST},
		{OP_SEND_ONLY_INV, OPF_FIRST | OPF_LAST},
		{OP_WRITE_FIRST, OPF_FIRST},
		{OP_WRITE_MIDDLE, 0},
		{OP_WRITE_LAST, OPF_LAST},
		{OP_WRITE_LAST_IMM, OPF_LAST},
		{OP_WRITE_ONLY, OPF_FIRST | OPF_LAST},
		{OP_WRITE_ONLY_IMM, OPF_FIRST | OPF_LAST},
		{OP_READ_REQUEST, OPF_FIRST | OPF_LAST},
		{OP_READ_RESP_FIRST, OPF_FIRST},
		{OP_READ_RESP_MIDDLE, 0},
		{OP_READ_RESP_LAST, OPF_LAST},
		{OP_READ_RESP_ONLY, OPF_FIRST | OPF_LAST},
	};

	for (const auto &c : cases)
		for (u8 svc : {BTH_RC, BTH_XRC})
			EXPECT_EQ(opcode_info(svc | c.op)->flags & (OPF_FIRST | OPF_LAST), c.flags)
				<< int(svc) << " " << int(c.op);
	for (u8 op : {OP_FLUSH, OP_ATOMIC_WRITE})
		EXPECT_EQ(opcode_info(op)->flags & (OPF_FIRST | OPF_LAST), OPF_FIRST | OPF_LAST);
}

TEST(Opcode, XrcDiffersFromRcByAHeaderOfItsRequests)
{
	for (u8 op = 0; op <= BTH_OP_MASK; op++) {
		u32 flags = opcode_info(BTH_RC | op)->flags;

		if (op == OP_FLUSH || op == OP_ATOMIC_WRITE)
			flags = 0; // not served
		else if (flags & OPF_REQUEST)
			flags |= OPF_XRCETH;
		EXPECT_EQ(opcode_info(BTH_XRC | op)->flags, flags) << int(op);
	}
}

TEST(Opcode, RequestsAndResponsesAreToldApart)
{
	for (const auto &[op, s] : spec()) {
		u8 low = op & BTH_OP_MASK;
		bool response = (low >= OP_READ_RESP_FIRST && low <= OP_ATOMIC_ACK) || op == 0x81;

		EXPECT_EQ(!(opcode_info(op)->flags & OPF_REQUEST), response) << int(op);
	}
}

TEST(Opcode, KindIsOneOfEight)
{
	const u32 kinds = OPF_SEND | OPF_WRITE | OPF_READ | OPF_ATOMIC | OPF_ACK | OPF_CNP |
			  OPF_FLUSH | OPF_ATOMIC_WRITE;

	for (const auto &[op, s] : spec())
		EXPECT_EQ(__builtin_popcount(opcode_info(op)->flags & kinds), 1) << int(op);
}

TEST(Pkt, BuiltHeadersParseBackForEveryOpcodeAndPayload)
{
	std::mt19937_64 rng(1);

	for (const auto &[op, s] : spec()) {
		for (int round = 0; round < 50; round++) {
			pkt in = random_pkt(op, rng);
			pkt out;
			u8 hdr[PKT_HDR_MAX_BYTES];

			in.payload_bytes = s.payload ? static_cast<u16>(rng() % 4097) : 0;
			u32 n = pkt_build(hdr, &in);
			ASSERT_EQ(n, spec_hdr_bytes(s)) << int(op);
			ASSERT_EQ(in.hdr_bytes, n);
			ASSERT_LE(in.pad_bytes, 3);
			u32 bytes = n + in.payload_bytes + in.pad_bytes + ICRC_BYTES;
			ASSERT_EQ(bytes % 4, 0u);
			ASSERT_EQ(pkt_parse(hdr, n, bytes, &out), PKT_OK) << int(op);
			expect_same_fields(in, out, s.headers);
			EXPECT_EQ(out.hdr_bytes, n);
			EXPECT_EQ(out.pad_bytes, in.pad_bytes);
			EXPECT_EQ(out.payload_bytes, in.payload_bytes);
			EXPECT_EQ(out.op_flags, opcode_info(op)->flags);
		}
	}
}

TEST(Pkt, ParsedHeadersBuildBackToTheSameBytes)
{
	std::mt19937_64 rng(2);

	for (const auto &[op, s] : spec()) {
		pkt in = random_pkt(op, rng);
		u8 first[PKT_HDR_MAX_BYTES], second[PKT_HDR_MAX_BYTES];
		pkt parsed;

		in.payload_bytes = s.payload ? 5 : 0;
		u32 n = pkt_build(first, &in);
		ASSERT_EQ(pkt_parse(first, n, n + in.payload_bytes + in.pad_bytes + 4, &parsed),
			  PKT_OK);
		ASSERT_EQ(pkt_build(second, &parsed), n);
		EXPECT_EQ(memcmp(first, second, n), 0) << int(op);
	}
}

// Whatever they held before: members of a header that the packet does not have are zero.
TEST(Pkt, ParseSetsEveryMember)
{
	std::mt19937_64 rng(3);

	for (const auto &[op, s] : spec()) {
		pkt in = random_pkt(op, rng);
		u8 hdr[PKT_HDR_MAX_BYTES];
		pkt zeros, ones;

		in.payload_bytes = s.payload ? 5 : 0;
		u32 n = pkt_build(hdr, &in);
		u32 bytes = n + in.payload_bytes + in.pad_bytes + ICRC_BYTES;

		memset(&zeros, 0, sizeof(zeros));
		memset(&ones, 1, sizeof(ones));
		ASSERT_EQ(pkt_parse(hdr, n, bytes, &zeros), PKT_OK);
		ASSERT_EQ(pkt_parse(hdr, n, bytes, &ones), PKT_OK);
		EXPECT_EQ(pkt_members(zeros), pkt_members(ones)) << int(op);
	}
}

// IBTA annex A19: FETH before RETH; placement type in bits 3:0, selectivity in bits 5:4.
TEST(Pkt, FlushIsLaidOutAsInTheAnnex)
{
	pkt k = {};
	u8 hdr[PKT_HDR_MAX_BYTES];

	k.opcode = OP_FLUSH;
	k.feth = FETH_GLOBAL | FETH_PERSISTENT | FETH_REGION;
	k.va = 0x1122334455667788;
	k.rkey = 0x99aabbcc;
	k.dma_bytes = 0x0dd00ee0;
	ASSERT_EQ(pkt_build(hdr, &k), 32u);
	const u8 expected[] = {0,    0,	   0,	 0x13, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
			       0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0x0d, 0xd0, 0x0e, 0xe0};
	EXPECT_EQ(memcmp(hdr + BTH_BYTES, expected, sizeof(expected)), 0);

	// Reserved bits are ignored.
	hdr[BTH_BYTES] = hdr[BTH_BYTES + 1] = hdr[BTH_BYTES + 2] = 0xff;
	hdr[BTH_BYTES + 3] |= 0xc0;
	pkt out;
	ASSERT_EQ(pkt_parse(hdr, 32, 36, &out), PKT_OK);
	EXPECT_EQ(out.feth, k.feth);
}

TEST(Pkt, BuildWritesNothingBehindTheHeaders)
{
	for (const auto &[op, s] : spec()) {
		pkt k = {};
		u32 n = spec_hdr_bytes(s);
		std::unique_ptr<u8[]> p(new u8[n]);

		k.opcode = op;
		EXPECT_EQ(pkt_build(p.get(), &k), n);
	}
}

TEST(Pkt, BuildOfAnUnknownOpcodeWritesNothing)
{
	u8 byte = 0x5a;
	pkt k = {};

	k.opcode = 0x15;
	EXPECT_EQ(pkt_build(&byte, &k), 0u);
	EXPECT_EQ(byte, 0x5a);
}

TEST(Pkt, BuildMasks24BitFields)
{
	u8 hdr[PKT_HDR_MAX_BYTES];
	pkt k = {}, out;

	k.opcode = int{BTH_UD} | OP_SEND_ONLY;
	k.dqpn = 0xab123456;
	k.psn = 0xcdfedcba;
	k.sqpn = 0xef654321;
	u32 n = pkt_build(hdr, &k);
	ASSERT_EQ(pkt_parse(hdr, n, n + 4, &out), PKT_OK);
	EXPECT_EQ(out.dqpn, 0x123456u);
	EXPECT_EQ(out.psn, 0xfedcbau);
	EXPECT_EQ(out.sqpn, 0x654321u);

	k.opcode = int{BTH_XRC} | OP_SEND_ONLY;
	k.srqn = 0x99abcdef;
	n = pkt_build(hdr, &k);
	EXPECT_EQ(hdr[12], 0);
	ASSERT_EQ(pkt_parse(hdr, n, n + 4, &out), PKT_OK);
	EXPECT_EQ(out.srqn, 0xabcdefu);
}

TEST(Pkt, EveryTruncationIsRefusedAndNothingIsReadBehindIt)
{
	std::mt19937_64 rng(3);

	for (const auto &[op, s] : spec()) {
		pkt in = random_pkt(op, rng);
		u8 hdr[PKT_HDR_MAX_BYTES + ICRC_BYTES] = {};
		u32 n = pkt_build(hdr, &in);

		for (u32 bytes = 0; bytes < n + ICRC_BYTES; bytes++) {
			pkt out;
			u32 have = std::min(bytes, static_cast<u32>(PKT_HDR_MAX_BYTES));
			auto p = exact(hdr, have);

			ASSERT_EQ(pkt_parse(p.get(), have, bytes, &out), PKT_TOO_SHORT)
				<< int(op) << " " << bytes;
			ASSERT_EQ(out.opcode, bytes ? op : 0);
			ASSERT_TRUE(all_zero_but_opcode(out));
		}
	}
}

// All opcodes x pad counts x lengths, against the independent expectation.
TEST(Pkt, EveryOpcodeAtEveryLength)
{
	std::mt19937_64 rng(4);

	for (u32 bytes = 0; bytes <= 128; bytes++) {
		u32 have = std::min(bytes, static_cast<u32>(PKT_HDR_MAX_BYTES));
		std::unique_ptr<u8[]> p(new u8[have]);

		for (u32 i = 0; i < have; i++)
			p[i] = static_cast<u8>(rng());
		for (int op = 0; op < 256; op++) {
			for (u8 pad = 0; pad < 4; pad++) {
				u8 bth1 = static_cast<u8>((rng() & 0xc0) | (pad << 4));
				pkt out;

				if (have > 0)
					p[0] = static_cast<u8>(op);
				if (have > 1)
					p[1] = bth1;
				pkt_error want = expected(static_cast<u8>(op), bth1, bytes);
				ASSERT_EQ(pkt_parse(p.get(), have, bytes, &out), want)
					<< op << " pad " << int(pad) << " bytes " << bytes;
				if (want != PKT_OK) {
					ASSERT_TRUE(all_zero_but_opcode(out));
					continue;
				}
				ASSERT_EQ(out.hdr_bytes + out.payload_bytes + out.pad_bytes + 4u,
					  bytes);
			}
		}
	}
}

TEST(Pkt, EveryTransportVersionButZeroIsRefused)
{
	u8 hdr[PKT_HDR_MAX_BYTES];
	pkt k = {}, out;

	k.opcode = OP_ACK;
	u32 n = pkt_build(hdr, &k);
	for (u8 version = 1; version < 16; version++) {
		hdr[1] = version;
		EXPECT_EQ(pkt_parse(hdr, n, n + 4, &out), PKT_BAD_VERSION) << int(version);
	}
}

TEST(Pkt, PadOnAnEmptyPayloadIsRefused)
{
	for (u8 pad = 1; pad < 4; pad++) {
		u8 hdr[PKT_HDR_MAX_BYTES];
		pkt k = {}, out;

		k.opcode = OP_SEND_ONLY;
		u32 n = pkt_build(hdr, &k);
		hdr[1] = static_cast<u8>(pad << 4);
		EXPECT_EQ(pkt_parse(hdr, n, n + 4, &out), PKT_BAD_LENGTH) << int(pad);
	}
}

TEST(Pkt, PayloadWhereNoneMayBeIsRefused)
{
	for (const auto &[op, s] : spec()) {
		u8 hdr[PKT_HDR_MAX_BYTES];
		pkt k = {}, out;

		if (s.payload)
			continue;
		k.opcode = op;
		u32 n = pkt_build(hdr, &k);
		EXPECT_EQ(pkt_parse(hdr, n, n + 4, &out), PKT_OK) << int(op);
		EXPECT_EQ(pkt_parse(hdr, n, n + 8, &out), PKT_BAD_LENGTH) << int(op);
	}
}

TEST(Pkt, PayloadBeyond16BitsIsRefused)
{
	u8 hdr[PKT_HDR_MAX_BYTES];
	pkt k = {}, out;

	k.opcode = OP_SEND_ONLY;
	u32 n = pkt_build(hdr, &k);
	EXPECT_EQ(pkt_parse(hdr, n, n + 65532 + 4, &out), PKT_OK);
	EXPECT_EQ(out.payload_bytes, 65532);
	EXPECT_EQ(pkt_parse(hdr, n, n + 65536 + 4, &out), PKT_BAD_LENGTH);
	EXPECT_EQ(pkt_parse(hdr, n, 0xfffffff0, &out), PKT_BAD_LENGTH);
}

// The caller promised more readable bytes than it has: refuse, do not read.
TEST(Pkt, TooLittleReadableIsTooShort)
{
	std::mt19937_64 rng(5);

	for (const auto &[op, s] : spec()) {
		u8 hdr[PKT_HDR_MAX_BYTES];
		pkt in = random_pkt(op, rng), out;
		u32 n = pkt_build(hdr, &in);

		for (u32 have = 0; have < n; have++) {
			auto p = exact(hdr, have);

			ASSERT_EQ(pkt_parse(p.get(), have, n + 4, &out), PKT_TOO_SHORT);
		}
	}
}

TEST(Pkt, ReservedBitsAreIgnored)
{
	u8 hdr[PKT_HDR_MAX_BYTES];
	pkt k = {}, out;

	k.opcode = int{BTH_UD} | OP_SEND_ONLY;
	u32 n = pkt_build(hdr, &k);
	hdr[4] |= 0x3f;
	hdr[8] |= 0x7f;
	hdr[16] = 0xff; // DETH
	ASSERT_EQ(pkt_parse(hdr, n, n + 4, &out), PKT_OK);
	EXPECT_FALSE(out.fecn);
	EXPECT_FALSE(out.becn);
	EXPECT_FALSE(out.ack_req);
	EXPECT_EQ(out.sqpn, 0u);
}

// An RDMA WRITE ONLY as in a capture, byte by byte.
TEST(Pkt, WriteOnlyFieldsAreWhereTheSpecificationPutsThem)
{
	const u8 wire[] = {
		0x0a, 0xf0, 0xff, 0xff, 0xc0, 0x00, 0x01, 0x23, 0x80, 0xab, 0xcd, 0xef, 0x00, 0x00,
		0x7f, 0x01, 0x02, 0x03, 0x04, 0x05, 0xde, 0xad, 0xbe, 0xef, 0x00, 0x00, 0x00, 0x01,
	};
	pkt k;

	ASSERT_EQ(pkt_parse(wire, sizeof(wire), sizeof(wire) + 8, &k), PKT_OK);
	EXPECT_TRUE(k.solicited);
	EXPECT_TRUE(k.migrated);
	EXPECT_TRUE(k.fecn);
	EXPECT_TRUE(k.becn);
	EXPECT_TRUE(k.ack_req);
	EXPECT_EQ(k.pad_bytes, 3);
	EXPECT_EQ(k.payload_bytes, 1);
	EXPECT_EQ(k.pkey, 0xffff);
	EXPECT_EQ(k.dqpn, 0x123u);
	EXPECT_EQ(k.psn, 0xabcdefu);
	EXPECT_EQ(k.va, 0x7f0102030405u);
	EXPECT_EQ(k.rkey, 0xdeadbeefu);
	EXPECT_EQ(k.dma_bytes, 1u);
}

TEST(Pkt, AtomicFieldsAreWhereTheSpecificationPutsThem)
{
	const u8 wire[] = {
		0x13, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11, 0x80, 0x00, 0x00, 0x07, 0x01, 0x02,
		0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24,
		0x25, 0x26, 0x27, 0x28, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
	};
	pkt k;

	ASSERT_EQ(pkt_parse(wire, sizeof(wire), sizeof(wire) + 4, &k), PKT_OK);
	EXPECT_EQ(k.va, 0x0102030405060708u);
	EXPECT_EQ(k.rkey, 0x11121314u);
	EXPECT_EQ(k.swap_add, 0x2122232425262728u);
	EXPECT_EQ(k.compare, 0x3132333435363738u);
}

TEST(Pkt, XrcethComesBeforeTheOtherHeaders)
{
	const u8 wire[] = {
		0xab, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11, 0x80, 0x00, 0x00, 0x07,
		0xff, 0x12, 0x34, 0x56, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0x11, 0x12, 0x13, 0x14, 0x00, 0x00, 0x00, 0x00, 0xde, 0xad, 0xbe, 0xef,
	};
	pkt k;

	ASSERT_EQ(pkt_parse(wire, sizeof(wire), sizeof(wire) + 4, &k), PKT_OK);
	EXPECT_EQ(k.srqn, 0x123456u); // the byte before it is reserved
	EXPECT_EQ(k.va, 0x0102030405060708u);
	EXPECT_EQ(k.rkey, 0x11121314u);
	EXPECT_EQ(k.dma_bytes, 0u);
	EXPECT_EQ(memcmp(&k.imm, &wire[32], 4), 0);
}

TEST(Pkt, CnpIsSixteenZeroBytesAfterTheBth)
{
	u8 hdr[PKT_HDR_MAX_BYTES];
	pkt k = {};

	memset(hdr, 0xee, sizeof(hdr));
	k.opcode = BTH_CNP_OPCODE;
	k.becn = true;
	ASSERT_EQ(pkt_build(hdr, &k), 28u);
	EXPECT_EQ(hdr[0], 0x81);
	EXPECT_EQ(hdr[4], 0x40);
	for (int i = 12; i < 28; i++)
		EXPECT_EQ(hdr[i], 0) << i;
}

} // namespace
