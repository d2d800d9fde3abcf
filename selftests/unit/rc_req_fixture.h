/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the RC requester share: the engine, the peer's part, and time. selftests/sim/
 * has whole conversations.
 */
#ifndef TERN_UNIT_RC_REQ_FIXTURE_H
#define TERN_UNIT_RC_REQ_FIXTURE_H

#include "proto/rc_ack.h"
#include "proto/rc_req.h"

#include <vector>

#include <gtest/gtest.h>

#include "completions.h"

constexpr u32 kPsn = 0xfffffd; // three packets before the wrap
constexpr u64 kTimeout = 100000;
constexpr u8 kAck = AETH_ACK | AETH_CREDIT_UNLIMITED;

class RcReq : public testing::Test {
protected:
	rc_req q;
	std::vector<rc_sqe> ring;
	rc_req_cfg cfg = {};
	u64 now = 1000000;

	RcReq()
	{
		cfg.service = BTH_RC;
		cfg.retry_cnt = 2;
		cfg.rnr_retry = 2;
		cfg.max_rd_atomic = 2;
		cfg.pkey = PKEY_DEFAULT;
		cfg.dqpn = 0x123;
		cfg.pmtu = 256;
		cfg.sq_psn = kPsn;
		cfg.window = 16;
		cfg.cc = cc_find("aimd");
		cfg.ack_timeout.first_ns = kTimeout;
		start();
	}

	void start(u32 entries = 16, u32 first = 0)
	{
		ring.assign(entries, rc_sqe{});
		rc_req_init(&q, ring.data(), entries, first, &cfg);
	}

	// One that never changes.
	void set_window(u32 pkts)
	{
		rc_window window;

		rc_window_init(&window, pkts, 0);
		rc_req_set_window(&q, &window);
	}

	u32 post(u8 op, u32 length = 0, u8 flags = 0)
	{
		struct wr wr = {};

		wr.op = op;
		wr.flags = flags;
		wr.length = length;
		wr.va = 0x10000;
		wr.rkey = 0x55;
		EXPECT_TRUE(rc_req_post(&q, &wr));
		return q.head - 1;
	}

	// Everything that may be sent now; LOCAL is executed on the way.
	std::vector<run> send(u32 max_pkts = 64)
	{
		std::vector<run> runs;
		run r;

		/* The time is passed only if it is needed. */
		while (rc_req_next(&q, rc_req_needs_time(&q) ? now : 0, max_pkts, &r)) {
			runs.push_back(r);
			if (r.kind == RUN_LOCAL)
				rc_req_local_done(&q, r.slot, WR_ST_SUCCESS);
			else
				rc_req_sent(&q, now, &r, r.npkts);
			if (runs.size() > 10000) {
				ADD_FAILURE() << "never ends";
				break;
			}
		}
		return runs;
	}

	static u32 packets(const std::vector<run> &runs)
	{
		u32 n = 0;

		for (const run &r : runs)
			n += r.npkts;
		return n;
	}

	rc_req_act rx(u8 op, u32 psn, u8 syndrome = kAck, u16 bytes = 0, u64 value = 0)
	{
		rc_req_act act;
		pkt k = {};

		k.opcode = op;
		k.op_flags = opcode_info(op)->flags;
		k.psn = psn_add(kPsn, psn);
		k.syndrome = syndrome;
		k.payload_bytes = bytes;
		k.npkts = 1;
		k.atomic_orig = value;
		rc_req_rx(&q, now, &k, &act);
		return act;
	}

	// PSNs in tests count from kPsn.
	rc_req_act ack(u32 psn, u8 syndrome = kAck) { return rx(OP_ACK, psn, syndrome); }

	rc_req_act data(u8 op, u32 psn, u16 bytes)
	{
		rc_req_act act = rx(op, psn, kAck, bytes);

		if (act.kind == RC_REQ_PLACE)
			rc_req_placed(&q, now, &act);
		return act;
	}

	rc_req_act atomic(u32 psn, u64 value)
	{
		rc_req_act act = rx(OP_ATOMIC_ACK, psn, kAck, 0, value);

		if (act.kind == RC_REQ_PLACE_ATOMIC)
			rc_req_placed(&q, now, &act);
		return act;
	}

	Completions reap() { return reap_all(&q, rc_req_reap); }

	u32 rel(u32 psn) const { return psn_add(psn, 0x1000000 - kPsn); }

	void set_ack_timeout(u64 first_ns)
	{
		const rc_ack_timeout timeout = {first_ns, 0, 0};

		rc_req_set_ack_timeout(&q, now, &timeout);
	}

	rc_event time_out()
	{
		u64 at = rc_req_deadline(&q);

		EXPECT_NE(at, 0u);
		now = at;
		return rc_req_timeout(&q, now);
	}
};

#endif
