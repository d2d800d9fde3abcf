/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the RC responder share: the peer's packets, the engine, and what it sends back
 * as words. selftests/sim/ has whole conversations.
 */
#ifndef TERN_UNIT_RC_RESP_FIXTURE_H
#define TERN_UNIT_RC_RESP_FIXTURE_H

#include "proto/rc_resp.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

constexpr u32 kPsn = 0xfffffd; // three packets before the wrap
constexpr u16 kPmtu = 256;
constexpr u8 kAck = AETH_ACK | AETH_CREDIT_UNLIMITED;
constexpr u32 kRkey = 0x55;
constexpr u64 kVa = 0x1000;

class RcResp : public testing::Test {
protected:
	rc_resp r;
	std::vector<rc_res> res;
	rc_resp_cfg cfg = {};
	rc_act act = {};
	u64 counter = 100; // what atomics work on
	int executed = 0;  // READs and atomics

	RcResp()
	{
		cfg.service = BTH_RC;
		cfg.max_rd_atomic = 2;
		cfg.min_rnr_timer = 5;
		cfg.access = RC_ACCESS_WRITE | RC_ACCESS_READ | RC_ACCESS_ATOMIC |
			     RC_ACCESS_FLUSH_GLOBAL | RC_ACCESS_FLUSH_PERSISTENT;
		cfg.pkey = PKEY_DEFAULT;
		cfg.dqpn = 0x321;
		cfg.pmtu = kPmtu;
		cfg.rq_psn = kPsn;
		start();
	}

	void start()
	{
		res.assign(cfg.max_rd_atomic ? cfg.max_rd_atomic : 1, rc_res{});
		rc_resp_init(&r, res.data(), &cfg);
	}

	static pkt packet(u8 op, u32 psn, u16 bytes = 0, bool ack_req = true)
	{
		pkt k = {};

		k.opcode = op;
		k.op_flags = opcode_info(op)->flags;
		k.psn = psn_add(kPsn, psn);
		k.payload_bytes = bytes;
		k.npkts = 1;
		k.ack_req = ack_req;
		k.va = kVa;
		k.rkey = kRkey;
		k.dma_bytes = bytes;
		return k;
	}

	// The verdict alone.
	rc_act judge(const pkt &k)
	{
		rc_resp_rx(&r, &k, &act);
		return act;
	}

	// The verdict, committed.
	rc_act rx(const pkt &k)
	{
		u64 old = counter;

		judge(k);
		switch (act.kind) {
		case RC_ACT_ATOMIC:
			counter = !act.cmp_swap	     ? old + act.swap_add :
				  old == act.compare ? act.swap_add :
						       old;
			executed++;
			rc_resp_commit(&r, &k, &act, old);
			break;
		case RC_ACT_READ:
			executed++;
			fallthrough;
		case RC_ACT_RECV:
		case RC_ACT_WRITE:
			rc_resp_commit(&r, &k, &act, 0);
			break;
		default:
			break;
		}
		return act;
	}

	rc_act rx(u8 op, u32 psn, u16 bytes = 0, bool ack_req = true)
	{
		return rx(packet(op, psn, bytes, ack_req));
	}

	rc_act read(u32 psn, u32 length, u64 va = kVa)
	{
		pkt k = packet(OP_READ_REQUEST, psn);

		k.dma_bytes = length;
		k.va = va;
		return rx(k);
	}

	rc_act add(u32 psn, u64 value)
	{
		pkt k = packet(OP_FETCH_ADD, psn);

		k.swap_add = value;
		return rx(k);
	}

	// What is sent back, as words: "ack 3", "nak60 2", "read 1 MIDDLE", "atomic 4=100".
	std::vector<std::string> answers(u32 max_pkts = 64)
	{
		static const char *const read_name[] = {"FIRST", "MIDDLE", "LAST", "ONLY"};
		std::vector<std::string> out;
		run run;

		while (rc_resp_next(&r, max_pkts, &run) && out.size() < 1000) {
			for (u32 i = 0; i < run.npkts; i++) {
				char text[64];
				pkt k;

				run_pkt(&run, i, &k);
				u32 psn = psn_add(k.psn, 0x1000000 - kPsn);
				if (k.opcode == OP_ACK && k.syndrome == kAck)
					snprintf(text, sizeof(text), "ack %u", psn);
				else if (k.opcode == OP_ACK)
					snprintf(text, sizeof(text), "nak%02x %u", k.syndrome, psn);
				else if (k.opcode == OP_ATOMIC_ACK)
					snprintf(text, sizeof(text), "atomic %u=%llu", psn,
						 (unsigned long long)k.atomic_orig);
				else
					snprintf(text, sizeof(text), "read %u %s", psn,
						 read_name[(k.opcode - OP_READ_RESP_FIRST) & 3]);
				out.emplace_back(text);
			}
			rc_resp_sent(&r, &run, run.npkts);
		}
		return out;
	}

	using Words = std::vector<std::string>;
};

#endif
