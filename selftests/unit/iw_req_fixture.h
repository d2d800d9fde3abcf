/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the iWARP requester share: the engine, the peer's part, and what is sent, as
 * words.
 */
#ifndef TERN_UNIT_IW_REQ_FIXTURE_H
#define TERN_UNIT_IW_REQ_FIXTURE_H

#include "proto/iw_resp.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "completions.h"

constexpr u16 kUlpdu = 118; // 100 bytes of a Send, 104 of a Write
constexpr u32 kSend = kUlpdu - DDP_UNTAGGED_BYTES;
constexpr u32 kWrite = kUlpdu - DDP_TAGGED_BYTES;

using Bytes = std::vector<u8>;

class IwReq : public testing::Test {
protected:
	iw_req q;
	iw_resp other; // half of the stream
	iw_irq no_irq;
	std::vector<iw_sqe> ring;
	iw_req_cfg cfg = {};

	IwReq()
	{
		cfg.ord = 2;
		cfg.max_ulpdu = kUlpdu;
		start();
	}

	void start(u32 entries = 16, u32 first = 0)
	{
		ring.assign(entries, iw_sqe{});
		const iw_resp_cfg none = {};

		iw_req_init(&q, ring.data(), entries, first, &cfg);
		iw_resp_init(&other, &no_irq, &none);
	}

	static struct wr wr(u8 op, u32 length = 0, u8 flags = 0)
	{
		struct wr w = {};

		w.op = op;
		w.flags = flags;
		w.length = length;
		w.rkey = 0x01020304;
		w.va = 0x1112131415161718;
		w.inv_rkey = 0xaabbccdd;
		return w;
	}

	u32 post(const struct wr &w)
	{
		EXPECT_TRUE(iw_req_post(&q, &w));
		return q.head - 1;
	}

	u32 post(u8 op, u32 length = 0, u8 flags = 0) { return post(wr(op, length, flags)); }

	// Everything that may be sent now; LOCAL is executed on the way.
	std::vector<iw_seg> send(u32 max = 10001)
	{
		std::vector<iw_seg> segs;
		iw_seg s = {};

		while (segs.size() < max && iw_req_next(&q, &s)) {
			segs.push_back(s);
			if (s.kind == IW_SEG_LOCAL)
				iw_req_local_done(&q, &other, s.slot, WR_ST_SUCCESS);
			else
				iw_req_sent(&q, &s);
			if (segs.size() > 10000) {
				ADD_FAILURE() << "never ends";
				break;
			}
		}
		return segs;
	}

	// As the peer would read it.
	static ddp_seg parsed(const iw_seg &s)
	{
		ddp_seg h;
		u8 p[sizeof(s.hdr)];

		memcpy(p, s.hdr, s.hdr_bytes);
		EXPECT_EQ(ddp_parse(p, s.hdr_bytes, s.hdr_bytes + s.bytes, &h), TERM_NONE);
		return h;
	}

	static Bytes hdr(const iw_seg &s) { return Bytes(s.hdr, s.hdr + s.hdr_bytes); }

	// What goes out, as words: "send 1 +100", "write 3 +4 last", "read 1", "local".
	std::vector<std::string> words()
	{
		static const char *const names[] = {"write", "read",  "",      "send",
						    "sinv",  "send!", "sinv!", "",
						    "imm",   "imm!",  "atomic"};
		std::vector<std::string> out;

		for (const iw_seg &s : send()) {
			if (s.kind == IW_SEG_LOCAL) {
				out.emplace_back("local");
				continue;
			}
			ddp_seg h = parsed(s);
			std::string w = names[h.opcode];

			if (!h.tagged)
				w += " " + std::to_string(h.msn);
			if (s.bytes || h.tagged || h.opcode == RDMAP_SEND)
				w += " @" + std::to_string(s.offset) + "+" +
				     std::to_string(s.bytes);
			if (!h.last)
				w += " more";
			EXPECT_EQ(h.last, s.last);
			out.push_back(w);
		}
		return out;
	}

	using Words = std::vector<std::string>;

	// The response comes, and nothing is placed yet.
	iw_req_act rx_read_resp(u32 slot, u64 to, u16 bytes, bool last)
	{
		iw_req_act act;
		ddp_seg s = {};

		s.opcode = RDMAP_READ_RESP;
		s.tagged = true;
		s.last = last;
		s.stag = slot;
		s.to = to;
		s.payload_bytes = bytes;
		iw_req_rx(&q, &s, nullptr, &act);
		return act;
	}

	iw_req_act read_resp(u32 slot, u64 to, u16 bytes, bool last)
	{
		iw_req_act act = rx_read_resp(slot, to, bytes, last);

		if (act.kind == IW_REQ_PLACE)
			iw_req_placed(&q, &act, last);
		return act;
	}

	iw_req_act atomic_resp(u32 msn, u32 id, u64 value = 0)
	{
		u8 p[RDMAP_ATOMIC_RESP_BYTES];
		iw_req_act act;
		ddp_seg s = {};

		put_unaligned_be32(id, p);
		put_unaligned_be64(value, p + 4);
		s.opcode = RDMAP_ATOMIC_RESP;
		s.last = true;
		s.qn = DDP_QN_ATOMIC_RESP;
		s.msn = msn;
		s.payload_bytes = sizeof(p);
		iw_req_rx(&q, &s, p, &act);
		if (act.kind == IW_REQ_PLACE_ATOMIC)
			iw_req_placed(&q, &act, true);
		return act;
	}

	// The payload of a Terminate for a segment of ours, as the RFC wants it.
	static Bytes term(int code, const iw_seg &wrong)
	{
		Bytes p(RDMAP_TERM_MAX_BYTES);

		p.resize(rdmap_term_build(p.data(), code, wrong.hdr, wrong.hdr_bytes,
					  u32{wrong.hdr_bytes} + wrong.bytes));
		return p;
	}

	void terminated(int code, const iw_seg &wrong)
	{
		const Bytes p = term(code, wrong);

		iw_req_terminated(&q, code, p.data(), static_cast<u32>(p.size()));
	}

	// By one that quotes nothing.
	void terminated(int code) { terminated(code, iw_seg{}); }

	Completions reap() { return reap_all(&q, iw_req_reap); }

	void expect_fatal(const iw_req_act &act, int term)
	{
		EXPECT_EQ(act.kind, IW_REQ_FATAL);
		EXPECT_EQ(act.term, term);
	}
};

#endif
