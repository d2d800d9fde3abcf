/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the iWARP responder share: the peer's segments as bytes, the engine, and what
 * it sends back as words.
 */
#ifndef TERN_UNIT_IW_RESP_FIXTURE_H
#define TERN_UNIT_IW_RESP_FIXTURE_H

#include "proto/iw_resp.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

constexpr u16 kUlpdu = 114; // 100 bytes of a Read Response
constexpr u32 kChunk = kUlpdu - DDP_TAGGED_BYTES;
constexpr u32 kStag = 0x01020304;
constexpr u64 kTo = 0x1112131415161718;
constexpr u32 kSinkStag = 0x21222324;
constexpr u64 kSinkTo = 0x3132333435363738;

using Bytes = std::vector<u8>;

inline Bytes operator+(Bytes a, const Bytes &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

inline Bytes headers(ddp_seg s)
{
	Bytes b(DDP_UNTAGGED_BYTES);

	b.resize(ddp_build(b.data(), &s));
	return b;
}

inline Bytes untagged(u8 opcode, u32 qn, u32 msn, const Bytes &payload, u32 mo = 0,
		      bool last = true)
{
	ddp_seg s = {};

	s.opcode = opcode;
	s.last = last;
	s.qn = qn;
	s.msn = msn;
	s.mo = mo;
	s.inv_stag = opcode == RDMAP_SEND_INV || opcode == RDMAP_SEND_SE_INV ? 0x99 : 0;
	return headers(s) + payload;
}

inline Bytes send(u32 msn, u32 bytes, u32 mo = 0, bool last = true, u8 opcode = RDMAP_SEND)
{
	return untagged(opcode, DDP_QN_SEND, msn, Bytes(bytes), mo, last);
}

inline Bytes write(u32 bytes, u64 to = kTo, bool last = true)
{
	ddp_seg s = {};

	s.opcode = RDMAP_WRITE;
	s.tagged = true;
	s.last = last;
	s.stag = kStag;
	s.to = to;
	return headers(s) + Bytes(bytes);
}

inline Bytes read(u32 msn, u32 bytes, u64 to = kTo)
{
	const rdmap_read r = {kSinkStag, kSinkTo, bytes, kStag, to};
	Bytes b(RDMAP_READ_BYTES);

	rdmap_read_build(b.data(), &r);
	return untagged(RDMAP_READ_REQ, DDP_QN_READ_REQ, msn, b);
}

inline rdmap_atomic fetch_add(u64 value = 1, u64 to = 0x1000)
{
	rdmap_atomic a = {};

	a.op = RDMAP_FETCH_ADD;
	a.id = 0x51525354;
	a.stag = kStag;
	a.to = to;
	a.swap_add = value;
	a.compare_mask = ~0ull;
	return a;
}

inline rdmap_atomic cmp_swap(u64 compare, u64 swap)
{
	rdmap_atomic a = fetch_add(swap);

	a.op = RDMAP_CMP_SWAP;
	a.compare = compare;
	a.swap_add_mask = a.compare_mask = ~0ull;
	return a;
}

inline Bytes atomic(u32 msn, const rdmap_atomic &a = fetch_add())
{
	Bytes b(RDMAP_ATOMIC_BYTES);

	rdmap_atomic_build(b.data(), &a);
	return untagged(RDMAP_ATOMIC_REQ, DDP_QN_READ_REQ, msn, b);
}

inline Bytes imm(u32 msn, u8 opcode = RDMAP_IMM)
{
	return untagged(opcode, DDP_QN_SEND, msn, {0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0});
}

inline Bytes terminate(const Bytes &payload)
{
	return untagged(RDMAP_TERMINATE, DDP_QN_TERMINATE, 1, payload);
}

class IwResp : public testing::Test {
protected:
	iw_resp r;
	std::vector<iw_irq> irq;
	iw_resp_cfg cfg = {};
	iw_act act = {};
	u64 counter = 100; // what atomics work on

	IwResp()
	{
		cfg.ird = 3;
		cfg.max_ulpdu = kUlpdu;
		cfg.access = IW_ACCESS_WRITE | IW_ACCESS_READ | IW_ACCESS_ATOMIC;
		start();
	}

	void start()
	{
		irq.assign(iw_irq_entries(cfg.ird), iw_irq{});
		iw_resp_init(&r, irq.data(), &cfg);
	}

	// The verdict, committed or failed; only bytes that must be readable are passed.
	iw_act rx(const Bytes &b, int fail = -1)
	{
		u32 all = static_cast<u32>(b.size());
		u32 have = std::min<u32>(all, DDP_CTRL_MAX_BYTES);
		std::unique_ptr<u8[]> p(new u8[have]);
		ddp_seg s;

		std::copy_n(b.begin(), have, p.get());
		EXPECT_EQ(ddp_parse(p.get(), have, all, &s), TERM_NONE);
		iw_resp_rx(&r, &s, p.get(), have, &act);
		if (fail >= 0) {
			EXPECT_NE(act.kind, IW_ACT_FATAL);
			act.term = iw_resp_fail(&r, &s, p.get(), have, iw_fail(fail));
			return act;
		}
		if (act.kind == IW_ACT_ATOMIC) {
			u64 old = counter;

			counter = atomic_op_result(&act.atomic, old);
			iw_resp_commit(&r, &s, &act, p.get(), old);
		} else if (act.kind != IW_ACT_FATAL && act.kind != IW_ACT_TERMINATED) {
			iw_resp_commit(&r, &s, &act, p.get(), 0);
		}
		return act;
	}

	// All that must be sent back.
	std::vector<iw_seg> answers(u32 max = 1000)
	{
		std::vector<iw_seg> out;
		iw_seg s = {};

		while (out.size() < max && iw_resp_next(&r, &s)) {
			out.push_back(s);
			iw_resp_sent(&r, &s);
		}
		return out;
	}

	static Bytes hdr(const iw_seg &s) { return Bytes(s.hdr, s.hdr + s.hdr_bytes); }

	// In words: "read 0+100 more", "atomic 1=100", "term 1100".
	std::vector<std::string> words()
	{
		std::vector<std::string> out;

		for (const iw_seg &s : answers()) {
			char text[64];
			ddp_seg h;

			EXPECT_EQ(ddp_parse(s.hdr, s.hdr_bytes, s.hdr_bytes + s.bytes, &h),
				  TERM_NONE);
			EXPECT_EQ(h.last, s.last);
			EXPECT_LE(s.hdr_bytes + s.bytes, cfg.max_ulpdu);
			const u8 *p = s.hdr + h.hdr_bytes;
			if (h.opcode == RDMAP_READ_RESP)
				snprintf(text, sizeof(text), "read %llu+%u%s",
					 (unsigned long long)(h.to - kSinkTo), s.bytes,
					 h.last ? "" : " more");
			else if (h.opcode == RDMAP_ATOMIC_RESP)
				snprintf(text, sizeof(text), "atomic %u=%llu", h.msn,
					 (unsigned long long)get_unaligned_be64(p + 4));
			else
				snprintf(text, sizeof(text), "term %04x", get_unaligned_be16(p));
			out.emplace_back(text);
		}
		return out;
	}

	using Words = std::vector<std::string>;

	// Refused with this code, and the Terminate says so.
	void expect_fatal(const Bytes &b, int term)
	{
		char text[16];

		rx(b);
		EXPECT_EQ(act.kind, IW_ACT_FATAL);
		EXPECT_EQ(act.term, term);
		snprintf(text, sizeof(text), "term %04x", term);
		EXPECT_EQ(words(), (Words{text}));
	}
};

#endif
